//! `--gpux-lower-launches`: what host code hands to kernels whose descriptors have become pointers.
//!
//! **Condition.** None; kernels may be lowered before or after.
//!
//! **Effect.** A `gpu.launch_func` hands over a `!llvm.ptr` for a tensor map descriptor, which upstream's
//! `--convert-nvgpu-to-nvvm` makes of the descriptor itself.
//!
//! **Refusals.** A `nvgpu.tma.create.descriptor` of elements for which upstream has no code: it would say the wrong ones.

use async_dialects::ir::{Op, OpBuilder, Value};
use async_dialects::melior::ir::Type;
use async_dialects::nvgpu::tensor_map;
use async_dialects::pass::{Anchor, Dialect, Pass, PassContext, PassError, PassInfo};
use async_dialects::types::{known_type, memref_shape};

/// The pass.
pub struct LowerLaunches;

impl Pass for LowerLaunches {
    const INFO: PassInfo = PassInfo {
        description: "Hands kernels pointers for tensor map descriptors, where `gpu.launch_func` launches them. Refuses \
                      descriptors of elements that upstream's `nvgpu.tma.create.descriptor` has no code for.",
        anchor: Anchor::Ops(&["builtin.module"]),
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

/// Lowers all launches in `root`.
pub(crate) fn lower_launches<'c>(root: Op<'c>) -> Result<(), PassError<'c>> {
    for op in root.nested() {
        match op.name() {
            "gpu.launch_func" => lower_launch(op),
            "nvgpu.tma.create.descriptor" => check_elements(op)?,
            _ => {}
        }
    }
    Ok(())
}

fn lower_launch(launch: Op<'_>) {
    let pointer = known_type(launch.context(), "!llvm.ptr");
    let operands: Vec<Value> = launch.operands().collect();
    for (i, operand) in operands.into_iter().enumerate() {
        if tensor_map(operand.ty()).is_some() {
            let cast = OpBuilder::new("builtin.unrealized_conversion_cast", launch.location())
                .operands(&[operand])
                .results(&[pointer])
                .before(launch);
            launch.set_operand(i, cast.result(0));
        }
    }
}

/// Returns an error if upstream would say that a tensor has other elements than it has.
fn check_elements<'c>(create: Op<'c>) -> Result<(), PassError<'c>> {
    let tile = tensor_map(create.result(0).ty()).and_then(|tensor| memref_shape(tensor.tile));
    let Some(tile) = tile.filter(|tile| !has_code(tile.element)) else {
        return Ok(());
    };
    Err(PassError::new(
        create,
        format!(
            "makes a descriptor of elements of type {}, for which upstream's lowering has no code: use ui8, ui16, ui32, ui64, \
             i32, i64, f16, bf16, f32 or f64, or make the descriptor on the host by cuTensorMapEncodeTiled and hand it over \
             as an argument",
            tile.element
        ),
    ))
}

fn has_code(element: Type<'_>) -> bool {
    const KNOWN: [&str; 10] = [
        "ui8", "ui16", "ui32", "ui64", "i32", "i64", "f16", "bf16", "f32", "f64",
    ];
    KNOWN.contains(&element.to_string().as_str())
}
