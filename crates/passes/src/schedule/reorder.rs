//! Reorders the operations of a block as a schedule says.
//!
//! Operations that are no part of the problem keep their places as long as all before them do; then each comes right before the
//! first one that needs it.

use crate::engines::block_problem::BlockProblem;
use crate::engines::thread_problem::uses;
use async_mlir::ir::{Op, Value};
use rustc_hash::FxHashSet;
use tokenflow::schedule::OperationId;

/// Puts the operations of `block` in `order`.
pub(super) fn reorder(block: &BlockProblem<'_>, order: &[OperationId]) {
    let mut before = block.block.ops();
    before.retain(|op| Some(*op) != block.last);
    let mut reordering = Reordering {
        missing: before.iter().copied().collect(),
        others: before.iter().copied().collect(),
        after: Vec::with_capacity(before.len()),
    };
    for op in &block.ops {
        reordering.others.remove(op);
    }
    let mut next = 0;
    for op in order.iter().map(|id| block.ops[id.0]) {
        next = reordering.go_on(&before, next);
        reordering.put_with_needed(op);
    }
    reordering.go_on(&before, next);
    for op in before {
        if reordering.missing.contains(&op) {
            reordering.put_with_needed(op);
        }
    }
    for op in reordering.after {
        match block.last {
            Some(last) => op.move_before(last),
            None => op.move_to_end(block.block),
        }
    }
}

struct Reordering<'c> {
    /// What has no place yet.
    missing: FxHashSet<Op<'c>>,
    /// What is no part of the problem.
    others: FxHashSet<Op<'c>>,
    after: Vec<Op<'c>>,
}

impl<'c> Reordering<'c> {
    /// Puts what is no part of the problem where it was, as long as all before it has a place. Returns up to where that is so.
    fn go_on(&mut self, before: &[Op<'c>], mut next: usize) -> usize {
        while let Some(&op) = before.get(next) {
            if self.missing.contains(&op) {
                if !self.others.contains(&op) {
                    break;
                }
                self.put(op);
            }
            next += 1;
        }
        next
    }

    /// Puts `op` next, after all that it needs.
    fn put_with_needed(&mut self, op: Op<'c>) {
        // Operations, and whether what they need was looked at.
        let mut work = vec![(op, false)];
        while let Some((op, is_ready)) = work.pop() {
            if !self.missing.contains(&op) {
                continue;
            }
            if is_ready {
                self.put(op);
                continue;
            }
            work.push((op, true));
            let needed = uses(op).into_iter().filter_map(Value::defining_op);
            let needed = needed.filter(|other| self.missing.contains(other) && *other != op);
            // The first one comes first.
            work.extend(needed.rev().map(|other| (other, false)));
        }
    }

    fn put(&mut self, op: Op<'c>) {
        self.missing.remove(&op);
        self.after.push(op);
    }
}
