//! The transform operation `transform.async.pipeline`: pipelines the loops of a handle.

use super::pipeliner::Attempt;
use super::{OPTIONS, finish, inner_first, joined, new_pipeliner, read_settings, verify};
use async_dialects::names::{gpux_attr, transform};
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, int_attr};
use async_mlir::names::{gpu, scf};
use async_mlir::pass::{OptionInfo, Options, PassError};
use async_mlir::transform::{Outcome, Transform, TransformOp};
use rustc_hash::FxHashMap;

/// The transform.
pub struct PipelineTransform;

const STAGES: &str = "num-stages";

impl Transform for PipelineTransform {
    const NAME: &'static str = transform::ASYNC_PIPELINE;
    const OPTIONS: &'static [OptionInfo] = &const { joined::<{ OPTIONS.len() + 1 }>(OPTIONS, STAGES_OPTION) };

    fn apply<'c>(transform: &TransformOp<'c>, payload: &[Op<'c>]) -> Result<Outcome<'c>, PassError<'c>> {
        let mut outcome = Outcome::default();
        // Functions in the order of the handle.
        let mut functions: Vec<(Op<'c>, Vec<Op<'c>>)> = Vec::new();
        let mut numbers: FxHashMap<Op<'c>, usize> = FxHashMap::default();
        for &op in payload {
            let function = op.ancestors().find(|outer| outer.is_function());
            let Some(function) = function.filter(|_| op.is(scf::FOR)) else {
                let message = "is not an 'scf.for' in a function: only those are pipelined";
                outcome.refused.push(Diagnostic::error(op, message).at_location());
                continue;
            };
            let launch = op.ancestors().find(|outer| outer.is(gpu::LAUNCH));
            if let Some(launch) = launch.filter(|_| transform.bool("insert-barriers")) {
                let message =
                    "is in a gpu.launch, which is not a function yet, so no barrier can be placed in it";
                let why = Diagnostic::error(op, message).note(launch, "apply --gpu-kernel-outlining first");
                outcome.refused.push(why.at_location());
                continue;
            }
            let number = *numbers.entry(function).or_insert_with(|| {
                functions.push((function, Vec::new()));
                functions.len() - 1
            });
            functions[number].1.push(op);
        }
        for (function, loops) in functions {
            pipeline(transform, function, loops, &mut outcome)?;
        }
        Ok(outcome)
    }
}

/// How many stages all loops are to have; 0 if they say that themselves.
const STAGES_OPTION: &[OptionInfo] = &[OptionInfo::int(STAGES, 0, "the stages of all loops")];

/// Pipelines `loops` of `function`.
fn pipeline<'c>(
    transform: &TransformOp<'c>,
    function: Op<'c>,
    loops: Vec<Op<'c>>,
    outcome: &mut Outcome<'c>,
) -> Result<(), PassError<'c>> {
    verify(function)?;
    let at = transform.op.location();
    let mut pipeliner = new_pipeliner(function, read_settings(at, transform)?, transform, true)?;
    for around in inner_first(loops) {
        let own = around.attr(gpux_attr::NUM_STAGES);
        let stages = transform.int(STAGES);
        if stages > 0 {
            around.set_attr(gpux_attr::NUM_STAGES, int_attr(around.context(), 32, stages));
        }
        // Across the iterations of a loop, it is pipelined with that.
        let whole = around
            .parent()
            .filter(|outer| outer.is(scf::FOR) && around.has_attr(gpux_attr::ACROSS_ROUNDS));
        let restored = match pipeliner.pipeline(whole.unwrap_or(around)) {
            Ok(Attempt::Pipelined) => continue,
            Ok(Attempt::NotAsked) => {
                let message = "does not say how it is to be pipelined: give it 'async.num_stages', or 'num_stages' to the transform";
                outcome
                    .refused
                    .push(Diagnostic::error(around, message).at_location());
                around
            }
            Ok(Attempt::Refused(refused)) => {
                let (restored, why) = refused.restore();
                outcome.refused.push(why);
                restored
            }
            Err(error) if pipeliner.is_faulty => return Err(error),
            Err(error) => {
                let why = error.into_diagnostic().map(Diagnostic::at_location);
                outcome.refused.extend(why);
                around
            }
        };
        match own {
            Some(own) => restored.set_attr(gpux_attr::NUM_STAGES, own),
            None => {
                restored.remove_attr(gpux_attr::NUM_STAGES);
            }
        }
    }
    pipeliner.storage.finish();
    finish(function, &pipeliner)?;
    // Only now: what an inner loop has become is cloned with what is around it.
    for op in function.self_and_nested() {
        if op.remove_attr(gpux_attr::KERNEL) {
            outcome.results.push(op);
        }
    }
    Ok(())
}
