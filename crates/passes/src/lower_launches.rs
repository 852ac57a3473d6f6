//! `--gpux-lower-launches`: makes pointers of the tensor map descriptors that host code passes to kernels.
//!
//! **Condition.** Kernels that take descriptors are lowered: one that is still a `gpu.func` has another type than the launch.
//!
//! **Effect.** A `gpu.launch_func` passes a `!llvm.ptr` for a tensor map descriptor, which upstream's
//! `--convert-nvgpu-to-nvvm` makes of the descriptor itself.
//!
//! **Refusals.** A `nvgpu.tma.create.descriptor` of elements that upstream can't encode: it would encode them as others.

use crate::utils::launches::lower_launches;
use async_mlir::ir::Op;
use async_mlir::names::builtin;
use async_mlir::pass::{Anchor, Dialect, Pass, PassContext, PassError, PassInfo};

/// The pass.
pub struct LowerLaunches;

impl Pass for LowerLaunches {
    const INFO: PassInfo = PassInfo {
        description: "Passes kernels pointers for tensor map descriptors, where `gpu.launch_func` launches them. Refuses \
                      descriptors of elements that upstream's lowering of `nvgpu.tma.create.descriptor` can't encode.",
        anchor: Anchor::Ops(&[builtin::MODULE]),
        dependent_dialects: &[Dialect::LLVM, Dialect::NVGPU],
        ..PassInfo::new(
            "gpux-lower-launches",
            "passes kernels pointers for tensor map descriptors",
        )
    };

    fn run<'c>(root: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        lower_launches(root)
    }
}
