//! Puts a function whose loops have hand-counted copies into token form before they are pipelined.

use crate::groups_to_tokens::{Options, lift_queues};
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_dialects::types::is_token;
use async_mlir::ir::Op;
use async_mlir::names::gpu;
use async_mlir::pass::{CheckTimer, PassError};
use rustc_hash::FxHashSet;

/// Puts the queues that `loops` of `function` use into token form. Returns the function as it was, detached, if anything was done.
/// Has it checked if there are `checks`.
pub(super) fn lift<'c>(
    function: Op<'c>,
    loops: &[Op<'c>],
    checks: Option<CheckTimer<'c>>,
) -> Result<Option<Op<'c>>, PassError<'c>> {
    let mut queues: Vec<GroupQueue> = Vec::new();
    let mut seen = FxHashSet::default();
    // What is launched where it stands is no function yet.
    let is_launched = |op: &Op<'c>| op.ancestors().any(|outer| outer.is(gpu::LAUNCH));
    for around in loops.iter().filter(|around| !is_launched(around)) {
        // Outer loops come after those in them.
        let ops = around.self_and_nested().into_iter().filter(|op| seen.insert(*op));
        for queue in ops.filter_map(counted_queue) {
            if !queues.contains(&queue) {
                queues.push(queue);
            }
        }
    }
    if queues.is_empty() {
        return Ok(None);
    }
    let original = function.clone_detached();
    let options = Options {
        group_tokens: false,
        weaken: true,
    };
    match lift_queues(function, options, checks, &|queue| queues.contains(&queue)) {
        Ok(counts) if !counts.lifted.is_empty() => Ok(Some(original)),
        other => {
            original.erase();
            other.map(|_| None)
        }
    }
}

/// Puts `original` back in the place of what `function` has become.
pub(super) fn restore<'c>(function: Op<'c>, original: Op<'c>) {
    for (new, old) in function.regions().zip(original.regions()) {
        new.take_body(old);
    }
    original.erase();
}

/// The queue that `op` issues on, commits to or waits for, if it does so without tokens.
pub(super) fn counted_queue(op: Op<'_>) -> Option<GroupQueue> {
    let completion = Completion::of(op).filter(|completion| completion.effect != GroupEffect::None)?;
    let mut tokens = completion.done.into_iter().chain(completion.read);
    let has_token = tokens.any(|token| is_token(token.ty()));
    completion.queue.filter(|_| !has_token)
}
