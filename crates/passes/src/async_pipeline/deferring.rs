//! Which multiplications of a loop can be awaited once those of the next iteration have been issued.
//!
//! Conservative: an await is put off only if all that it completes are multiplications, whose sums nobody looks at before the next
//! iteration adds to them. What else may have to wait for it, such as a write to the matrices, is for the check of dependences to find.

use crate::analysis::memory::is_descriptor;
use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Op, Use, Value};
use rustc_hash::FxHashSet;

/// The awaits among `late`, operations of `body`, that can be put off.
pub(super) fn awaits_to_defer<'c>(body: Block<'c>, late: &[Op<'c>]) -> FxHashSet<Op<'c>> {
    let own = |token: Value<'c>| token.defining_op().filter(|op| op.block() == Some(body));
    let can_wait = |token| own(token).is_some_and(|op| is_multiplication(op) && is_only_added_to(body, op));
    let awaits = late
        .iter()
        .filter(|op| op.is(async_::AWAIT) && op.num_operands() > 0);
    awaits.copied().filter(|op| op.operands().all(can_wait)).collect()
}

/// Returns true if `op` multiplies matrices until it is awaited.
fn is_multiplication(op: Op<'_>) -> bool {
    Completion::of(op).is_some_and(|completion| {
        completion.effect == GroupEffect::Issue && completion.matrices.iter().any(Option::is_some)
    })
}

/// Returns true if nothing but multiplications use the sums of `op`, of this iteration and the next.
fn is_only_added_to<'c>(body: Block<'c>, op: Op<'c>) -> bool {
    op.results().filter(|result| !is_token(result.ty())).all(|sum| {
        sum.uses().into_iter().all(|Use { owner, index }| {
            if Some(owner) != body.terminator() {
                return is_addition(owner, sum);
            }
            let carried = body.arg(index + 1);
            carried
                .uses()
                .into_iter()
                .all(|used| is_addition(used.owner, carried))
        })
    })
}

/// Returns true if `op` is a multiplication that adds to `sum`.
fn is_addition<'c>(op: Op<'c>, sum: Value<'c>) -> bool {
    is_multiplication(op) && !is_descriptor(sum)
}
