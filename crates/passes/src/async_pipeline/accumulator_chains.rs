//! Awaits all multiplications that add to one result where the last of them is awaited, and what joins join where these are awaited.
//!
//! They are complete in order, so nothing is waited for that was not waited for before. But whoever looks for the await of one of
//! them then finds it, and need not know of chains.

use crate::utils::tokens::{await_all, joined_tokens_up_to};
use async_dialects::names::{async_, gpux};
use async_mlir::ir::{Block, Op, Value};
use rustc_hash::FxHashSet;

/// An await of so many tokens and joins stays as it is: what others join as well would be looked at again and again.
const MOST: usize = 64;

/// Multiplications that have been looked at, each for awaits in a block.
type Seen<'c> = FxHashSet<(Op<'c>, Option<Block<'c>>)>;

/// Completes the awaits in `body`, and in what is nested there.
pub(super) fn complete_awaits(body: Block<'_>) {
    let ops = body.ops().into_iter().flat_map(Op::self_and_nested);
    let awaits: Vec<Op> = ops.filter(|op| op.is(async_::AWAIT)).collect();
    let mut seen = Seen::default();
    for op in awaits {
        complete(op, &mut seen);
    }
}

/// Also in upstream's dialect, whose awaits have one operand: what is awaited together has one stage.
fn complete<'c>(op: Op<'c>, seen: &mut Seen<'c>) {
    let (joined, joins) =
        joined_tokens_up_to(op, MOST).unwrap_or_else(|| (op.operands().collect(), Vec::new()));
    let implied: Vec<Value> = joined
        .iter()
        .flat_map(|token| implied(op, *token, seen))
        .collect();
    if joined.is_empty() || implied.is_empty() && joins.is_empty() {
        return;
    }
    let tokens: Vec<Value> = implied.into_iter().chain(joined).collect();
    await_all(op, &tokens);
    for join in joins {
        if !join.has_uses() {
            join.erase();
        }
    }
}

/// The tokens that nobody awaits of what `token` is added to, in the block of `wait`.
fn implied<'c>(wait: Op<'c>, token: Value<'c>, seen: &mut Seen<'c>) -> Vec<Value<'c>> {
    let chain = std::iter::successors(token.defining_op(), |op| added_to(*op)).skip(1);
    // What an await after another one in the chain has looked at has its awaits.
    chain
        .take_while(|op| seen.insert((*op, wait.block())))
        .filter(|op| op.block() == wait.block())
        .map(|op| op.result(1))
        .filter(|token| !token.has_uses())
        .collect()
}

/// The multiplication to whose result `op`, another one in token form, adds: it is complete once `op` is.
fn added_to(op: Op<'_>) -> Option<Op<'_>> {
    let has_token = |op: &Op| op.is(gpux::WGMMA) && op.num_results() == 2;
    let sum = Some(op).filter(has_token)?.operands().last()?;
    sum.defining_op().filter(has_token)
}
