//! Finds the awaits of multiplications that can be deferred until those of the next iteration have been
//! issued.
//!
//! Conservative: an await is put off only if all that it completes are multiplications, whose sums nobody
//! looks at before the next iteration adds to them, and none of which reads A from registers that the next
//! iteration writes. What else may have to wait for it, such as a write to the matrices in memory, is for
//! the check of dependences to find.

use super::body::is_inside;
use super::role_branches::{awaited, is_for_role};
use crate::analysis::memory::is_descriptor;
use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Op, Region, Use, Value};
use async_mlir::names::scf;
use async_mlir::nvgpu::accumulated_matrix;
use rustc_hash::FxHashSet;

/// The awaits among `late`, operations of `body`, that can be put off.
pub(super) fn awaits_to_defer<'c>(body: Block<'c>, late: &[Op<'c>]) -> FxHashSet<Op<'c>> {
    let can_wait = |token| {
        issue_of(body, token).is_some_and(|op| {
            is_multiplication(op) && is_only_added_to(body, op) && !reads_registers_of(body, op)
        })
    };
    let is_put_off = |op: &Op<'c>| {
        awaited(*op).is_some_and(|tokens| !tokens.is_empty() && tokens.into_iter().all(can_wait))
    };
    late.iter().copied().filter(is_put_off).collect()
}

/// What starts what `token` stands for: an operation of `body`, or one in an `scf.if` there that some warps execute.
fn issue_of<'c>(body: Block<'c>, token: Value<'c>) -> Option<Op<'c>> {
    let op = token.defining_op().filter(|op| op.block() == Some(body))?;
    if !is_for_role(op) {
        return Some(op);
    }
    let number = op.results().position(|result| result == token)?;
    let ends = op
        .regions()
        .filter_map(Region::first)
        .filter_map(Block::terminator);
    let issues = ends.map(|end| end.operand(number).defining_op());
    // For other warps, nothing is in flight.
    let mut issues = issues.filter(|op| !op.is_some_and(|op| op.is(async_::READY)));
    issues.next().flatten().filter(|_| issues.next().is_none())
}

/// Returns true if `op` multiplies matrices until it is awaited.
fn is_multiplication(op: Op<'_>) -> bool {
    Completion::of(op).is_some_and(|completion| {
        completion.effect == GroupEffect::Issue && completion.matrices.iter().any(Option::is_some)
    })
}

/// Returns true if the multiplication `op` reads A from registers that an iteration of `body` makes or is handed: the next one
/// writes them again.
fn reads_registers_of<'c>(body: Block<'c>, op: Op<'c>) -> bool {
    let a = op.operand(0);
    let around = body.parent_op();
    accumulated_matrix(a.ty()).is_some() && around.is_some_and(|around| is_inside(around, a))
}

/// Returns true if nothing but multiplications use the sums of `op`, of this iteration and later ones.
fn is_only_added_to<'c>(body: Block<'c>, op: Op<'c>) -> bool {
    let mut work: Vec<Value> = op.results().filter(|result| !is_token(result.ty())).collect();
    let mut seen: FxHashSet<Value> = work.iter().copied().collect();
    while let Some(sum) = work.pop() {
        for Use { owner, index } in sum.uses() {
            let next = if Some(owner) == body.terminator() {
                body.arg(index + 1)
            } else if let Some(around) = owner
                .parent()
                .filter(|op| owner.is(scf::YIELD) && is_for_role(*op))
            {
                around.result(index)
            } else if is_addition(owner, sum) {
                continue;
            } else {
                return false;
            };
            if seen.insert(next) {
                work.push(next);
            }
        }
    }
    true
}

/// Returns true if `op` is a multiplication that adds to `sum`.
fn is_addition<'c>(op: Op<'c>, sum: Value<'c>) -> bool {
    is_multiplication(op) && !is_descriptor(sum)
}
