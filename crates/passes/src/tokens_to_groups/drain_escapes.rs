//! Awaits tokens before they escape to where they can't be followed.

use crate::analysis::skeleton::Skeleton;
use crate::analysis::token_origins::TokenOrigins;
use crate::utils::block_wide::barrier;
use crate::utils::device::advice_on_escape;
use crate::utils::tokens::{await_before, ready};
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use rustc_hash::FxHashSet;
use tokenflow::Token;

/// Drains the queues of tokens that go where they can't be followed, and hands on complete tokens in their place.
/// `skeleton` is the function's, and no longer if anything is drained. Returns the awaits that are only there to have
/// such tokens committed in time, and emit nothing.
pub(super) fn drain_escapes<'c>(skeleton: &Skeleton<'c>) -> FxHashSet<Op<'c>> {
    if skeleton.escapes.is_empty() {
        return FxHashSet::default();
    }
    let origins = TokenOrigins::new(skeleton);
    let mut silent = FxHashSet::default();
    for escapes in skeleton.escapes.chunk_by(|(a, _), (b, _)| a == b) {
        let op = escapes[0].0;
        let tokens = escapes
            .iter()
            .map(|&(_, index)| skeleton.tokens[&op.operand(index)]);
        if !drain_before(op, tokens.clone(), &origins) {
            continue;
        }
        for (&(_, index), token) in escapes.iter().zip(tokens) {
            let value = op.operand(index);
            if !origins.has_queue(token) {
                continue;
            }
            silent.insert(await_before(op, &[value]));
            if !origins.is_kept(token) {
                let ready = ready(op.location(), value.ty()).before(op);
                op.set_operand(index, ready.result(0));
            }
        }
    }
    silent
}

/// Drains the queues that any of `tokens` can belong to before `op`; returns false if there are none.
fn drain_before<'c>(op: Op<'c>, tokens: impl Iterator<Item = Token> + Clone, origins: &TokenOrigins) -> bool {
    let mut any = false;
    for &queue in origins.queues() {
        let done = tokens.clone().any(|token| origins.may_be(token, queue));
        let read = tokens.clone().any(|token| origins.may_be_read(token, queue));
        if !done && !read {
            continue;
        }
        any = true;
        queue.wait(op.location(), 0, !done).move_before(op);
        let message = format!(
            "a token of queue {} escapes here, where it can't be followed; the queue is drained before{}",
            queue.name(),
            advice_on_escape(op)
        );
        Diagnostic::remark(op.location(), message).emit();
    }
    if tokens.clone().any(|token| origins.may_be_block_wide(token)) {
        barrier(op.location()).before(op);
    }
    any
}
