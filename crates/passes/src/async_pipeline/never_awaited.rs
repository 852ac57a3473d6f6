//! Says why an asynchronous operation is not awaited in each iteration of a loop, by all threads that it concerns.

use super::role_branches::is_for_role;
use crate::analysis::phase_skeleton::is_block_wide_load;
use crate::analysis::uniformity::find_thread_varying_op;
use async_dialects::names::{async_, gpux_attr};
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::names::scf;
use async_mlir::pass::PassError;
use rustc_hash::FxHashSet;

/// The error about `op`, of whose tokens no await counts in the loop with this `body`.
pub(super) fn never_awaited<'c>(body: Block<'c>, op: Op<'c>) -> PassError<'c> {
    let Some(wait) = await_in(body, op) else {
        let message = "is never awaited in this loop, so its buffer can't be used again";
        return PassError::new(op, message).note(op, "await its token in the loop");
    };
    let mut around: Vec<Op> = wait
        .ancestors()
        .take_while(|outer| Some(*outer) != body.parent_op())
        .filter(|outer| !outer.is_ancestor_of(op))
        .collect();
    around.reverse();
    match around.into_iter().find(|outer| !is_for_role(*outer)) {
        Some(outer) => under_condition(op, wait, outer),
        None => by_role(op, wait),
    }
}

/// What `outer` is around may be executed by other threads than it seems, or not at all.
fn under_condition<'c>(op: Op<'c>, wait: Op<'c>, outer: Op<'c>) -> PassError<'c> {
    let condition = outer.is(scf::IF).then(|| outer.operand(0));
    if let Some(source) = condition.and_then(find_thread_varying_op) {
        let message = "is awaited by some threads alone, and it is not known by which warps, so its buffer can't be used again";
        let help = "threads part here: compare the number of a warp with a constant, in a kernel that says which warps a block has \
                    (known_block_size)";
        return PassError::new(op, message)
            .note(outer, help)
            .note(source, "this differs between threads");
    }
    let message = "is not awaited in each iteration of this loop, so its buffer can't be used again";
    let help = format!(
        "it is awaited here, in an '{}' that may not execute this: await it in each iteration, under no other condition than a role",
        outer.name()
    );
    PassError::new(op, message).note(wait, help)
}

/// Some warps await `op`, and it is not known that this has to do with them alone.
fn by_role<'c>(op: Op<'c>, wait: Op<'c>) -> PassError<'c> {
    let is_without_issuer = is_block_wide_load(op) && !op.has_attr(gpux_attr::ISSUER);
    let (message, help) = if is_without_issuer {
        (
            "is awaited by some warps alone, but names no warp that issues it, so its buffer can't be used again",
            "name it at each load of the loop, such as {issuer = 4 : i32} for warp 4; or else await the load outside of the 'scf.if', \
             in all warps",
        )
    } else {
        (
            "is awaited by some warps alone, so its buffer can't be used again",
            "await it where it is issued, or outside of the 'scf.if', in all warps",
        )
    };
    PassError::new(op, message)
        .note(wait, "it is awaited here")
        .note(op, help)
}

/// Where `body`, or something nested in it, awaits a token of `op`.
fn await_in<'c>(body: Block<'c>, op: Op<'c>) -> Option<Op<'c>> {
    let mut work: Vec<Value> = op.results().filter(|result| is_token(result.ty())).collect();
    let mut seen: FxHashSet<Value> = work.iter().copied().collect();
    while let Some(token) = work.pop() {
        for owner in token.uses().into_iter().map(|used| used.owner) {
            let is_inside = body
                .parent_op()
                .is_some_and(|around| around.is_ancestor_of(owner));
            if owner.is(async_::AWAIT) && is_inside {
                return Some(owner);
            }
            let joined = owner.results().filter(|_| owner.is(async_::JOIN));
            work.extend(joined.filter(|joined| seen.insert(*joined)));
        }
    }
    None
}
