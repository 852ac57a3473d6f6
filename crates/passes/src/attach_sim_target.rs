//! `--gpux-attach-sim-target`: adds the simulated device as the first target of each `gpu.module`.
//!
//! **Effect.** `#gpux.sim_target` is the first target of each `gpu.module`: it is what upstream's `gpu.binary` has the host load. Others stay.

use async_dialects::registry::GPUX;
use async_dialects::types::sim_target;
use async_mlir::ir::{Op, Walk};
use async_mlir::melior::ir::attribute::ArrayAttribute;
use async_mlir::names::{attr, gpu};
use async_mlir::pass::{Pass, PassContext, PassError, PassInfo};

/// The pass.
pub struct AttachSimTarget;

impl Pass for AttachSimTarget {
    const INFO: PassInfo = PassInfo {
        description: include_str!("attach_sim_target/description.md"),
        dependent_dialects: &[GPUX],
        ..PassInfo::new(
            "gpux-attach-sim-target",
            "makes the simulated device the target of kernels",
        )
    };

    fn run<'c>(root: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        root.walk(|op| {
            if op.is(gpu::MODULE) {
                attach(op);
            }
            Walk::Advance
        });
        Ok(())
    }
}

fn attach(module: Op<'_>) {
    let context = module.context();
    let target = sim_target(context);
    let known = module
        .attr(attr::TARGETS)
        .and_then(|targets| ArrayAttribute::try_from(targets).ok());
    let known = known
        .into_iter()
        .flat_map(|targets| (0..targets.len()).filter_map(move |i| targets.element(i).ok()));
    let others = known.filter(|known| *known != target);
    let targets: Vec<_> = std::iter::once(target).chain(others).collect();
    module.set_attr(attr::TARGETS, ArrayAttribute::new(context, &targets).into());
}
