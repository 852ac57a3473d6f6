//! Hoists stores that one thread issues out of their `scf.if`, so that all threads of the block execute them.
//!
//! **Condition.** Each store stands in an `scf.if` on `gpux.elect` that has nothing else in it but what is pure or of the same
//! queue. All threads of the block come there together, and to every other commit and wait of the queue. From a wait only the
//! thread that issues learns anything, and from an await all threads: so a barrier follows each wait, or the end.
//!
//! **Effect.** What was in the `scf.if` stands in its place. That is no program yet, until the stores have tokens: either
//! [`Hoisted::finish`] or [`Hoisted::undo`] follows.

use super::Refusal;
use crate::analysis::uniformity::Uniformity;
use crate::utils::device::own_ops;
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect, GroupQueue};
use async_dialects::names::gpux;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Op};
use async_mlir::names::scf;

/// The `scf.if`s, which are empty and in no block now, and what was in them.
#[derive(Default)]
pub(super) struct Hoisted<'c>(Vec<(Op<'c>, Vec<Op<'c>>)>);

/// Returns true if `op` is a store that one thread issues.
pub(super) fn is_store(op: Op<'_>) -> bool {
    matches!(op.name(), gpux::BULK_STORE | gpux::TMA_STORE)
}

/// Takes the stores of `queue` out of the code of the thread that issues them, if there are any.
pub(super) fn hoist<'c>(code: Op<'c>, queue: GroupQueue) -> Result<Hoisted<'c>, Refusal<'c>> {
    let ops = own_ops(code);
    if !ops.iter().any(|op| is_store(*op) && is_of(*op, queue)) {
        return Ok(Hoisted::default());
    }
    let mut branches: Vec<Op> = Vec::new();
    let mut uniform = Uniformity::of(ExecutionScope::Block);
    for &op in ops.iter().filter(|op| is_of(**op, queue)) {
        let branch = op.parent().filter(|parent| is_leaders(*parent));
        let Some(branch) = branch else {
            if is_store(op) {
                let why = "this store is not in an scf.if on gpux.elect, so it may not be issued for the whole block";
                return Err(Refusal::new(op, why));
            }
            together(op, &mut uniform)?;
            continue;
        };
        if branches.last() != Some(&branch) {
            movable(branch, queue)?;
            together(branch, &mut uniform)?;
            branches.push(branch);
        }
    }
    let hoisted = branches.into_iter().map(|branch| {
        let ops = body(branch);
        for op in &ops {
            op.move_before(branch);
        }
        branch.detach();
        (branch, ops)
    });
    let hoisted = Hoisted(hoisted.collect());
    let alone = ops.into_iter().find(|op| {
        let waits = Completion::of(*op).is_some_and(|completion| completion.effect == GroupEffect::Wait);
        waits && is_of(*op, queue) && !all_learn(*op, code, queue)
    });
    match alone {
        None => Ok(hoisted),
        Some(wait) => {
            hoisted.undo();
            let why =
                "only the thread that issues stores knows that this wait is over: a barrier has to follow";
            Err(Refusal::new(wait, why))
        }
    }
}

/// Returns true if all threads know that `wait` is over before anything else happens.
fn all_learn<'c>(wait: Op<'c>, code: Op<'c>, queue: GroupQueue) -> bool {
    let of_queue = |op: Op<'c>| is_of(op, queue) && !is_store(op);
    let mut after = std::iter::successors(wait.next(), |op| op.next());
    let next = after.find(|op| op.is_terminator() || !(op.is_pure() || of_queue(*op)));
    next.is_some_and(|op| is_barrier(op) || op.is_terminator() && op.parent() == Some(code))
}

impl<'c> Hoisted<'c> {
    /// Puts everything back.
    pub fn undo(self) {
        for (branch, ops) in self.0 {
            if let Some(first) = ops.first() {
                branch.move_before(*first);
            }
            if let Some(end) = branch.region(0).first().and_then(Block::terminator) {
                for op in ops {
                    op.move_before(end);
                }
            }
        }
    }

    /// Erases the empty `scf.if`s.
    pub fn finish(self) {
        self.0.into_iter().for_each(|(branch, _)| branch.erase());
    }
}

fn is_of(op: Op, queue: GroupQueue) -> bool {
    Completion::of(op).is_some_and(|completion| completion.queue == Some(queue))
}

/// Returns true if only the thread that issues executes what is in `op`.
fn is_leaders(op: Op) -> bool {
    op.is(scf::IF)
        && op.num_results() == 0
        && op.region(1).first().is_none()
        && op.operand(0).defining_op().is_some_and(|op| op.is(gpux::ELECT))
}

/// What is in a branch, without the terminator.
fn body(branch: Op<'_>) -> Vec<Op<'_>> {
    let block = branch.region(0).first();
    let ops = block.into_iter().flat_map(Block::ops);
    ops.filter(|op| !op.is_terminator()).collect()
}

/// Returns an error if something in `branch` must be executed by one thread alone.
fn movable<'c>(branch: Op<'c>, queue: GroupQueue) -> Result<(), Refusal<'c>> {
    let other = body(branch)
        .into_iter()
        .find(|op| !(is_of(*op, queue) || op.is_pure() && op.num_regions() == 0));
    match other {
        None => Ok(()),
        Some(other) => {
            let why = format!(
                "the thread that issues stores does more there, such as '{}'",
                other.name()
            );
            Err(Refusal::new(other, why))
        }
    }
}

/// Returns an error if threads of the block may differ in whether they execute `op`.
fn together<'c>(op: Op<'c>, uniform: &mut Uniformity<'c>) -> Result<(), Refusal<'c>> {
    uniform.check(op).map_err(|_| {
        let why = "threads of the block differ in whether they execute this, and all of them await a store together";
        Refusal::new(op, why)
    })
}
