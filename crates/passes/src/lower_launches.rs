//! `--gpux-lower-launches`: what host code hands to kernels whose descriptors have become pointers.
//!
//! **Condition.** None; kernels may be lowered before or after.
//!
//! **Effect.** A `gpu.launch_func` hands over a `!llvm.ptr` for a tensor map descriptor, which upstream's
//! `--convert-nvgpu-to-nvvm` makes of the descriptor itself.
//!
//! **Refusals.** A `nvgpu.tma.create.descriptor` of elements for which upstream has no code: it would say the wrong ones.

use crate::utils::launches::lower_launches;
use async_dialects::ir::Op;
use async_dialects::names::builtin;
use async_dialects::pass::{Anchor, Dialect, Pass, PassContext, PassError, PassInfo};

/// The pass.
pub struct LowerLaunches;

impl Pass for LowerLaunches {
    const INFO: PassInfo = PassInfo {
        description: "Hands kernels pointers for tensor map descriptors, where `gpu.launch_func` launches them. Refuses \
                      descriptors of elements that upstream's `nvgpu.tma.create.descriptor` has no code for.",
        anchor: Anchor::Ops(&[builtin::MODULE]),
        dependent_dialects: &[Dialect::Llvm, Dialect::NvGpu],
        ..PassInfo::new(
            "gpux-lower-launches",
            "hands kernels pointers for tensor map descriptors",
        )
    };

    fn run<'c>(root: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        lower_launches(root)
    }
}
