//! Writes everything that waits as an `async.await`.

use crate::analysis::origin::Origins;
use crate::analysis::skeleton::Skeleton;
use crate::analysis::vocabulary::{Async, Vocabulary};
use crate::block_wide::barrier;
use crate::device::advice_on_escape;
use async_dialects::completion::GroupEffect;
use async_dialects::control_flow::erase_operand;
use async_dialects::diagnostic::Diagnostic;
use async_dialects::ir::{Op, OpBuilder, Region, Value, Walk};
use async_dialects::melior::ir::{Location, Type};
use async_dialects::pass::PassError;
use std::collections::HashSet;
use tokenflow::Token;

/// Returns an error if `function` uses a token that it gets as an argument.
pub(crate) fn check_arguments<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    let vocabulary = Async::new(function.context());
    let Some(entry) = function.regions().next().and_then(Region::first) else {
        return Ok(());
    };
    for arg in entry.args() {
        if vocabulary.is_token(arg.ty()) && arg.has_uses() {
            return Err(PassError::new(
                arg.location(),
                "a token that arrives as a function argument has no known queue; await it in the caller, or inline this \
                 function first (--gpux-inline-calls)",
            ));
        }
    }
    Ok(())
}

/// Issues asynchronous regions in place: their dependencies are awaited, and their token is the join of those that they
/// yield.
pub(crate) fn inline_regions(function: Op<'_>) {
    // A region takes its terminator with it, which is not to be looked at afterwards.
    let mut regions = own_ops(function);
    regions.retain(|op| op.is("async.region"));
    for region in regions {
        let dependencies: Vec<Value> = region.operands().collect();
        if !dependencies.is_empty() {
            await_before(region, &dependencies);
        }
        let Some(block) = region.region(0).first() else {
            continue;
        };
        let mut yielded: Vec<Value> = Vec::new();
        for op in block.ops() {
            if Some(op) == block.terminator() {
                yielded = op.operands().collect();
            } else {
                op.move_before(region);
            }
        }
        let tokens = yielded.split_off(region.num_results() - 1);
        let token_type = region.result(0).ty();
        let join = OpBuilder::new("async.join", region.location())
            .operands(&tokens)
            .results(&[token_type]);
        let mut results = vec![join.before(region).result(0)];
        results.extend(yielded);
        region.replace_with(&results);
    }
}

/// Awaits the dependencies of operations right before them.
pub(crate) fn split_dependencies(function: Op<'_>) {
    let vocabulary = Async::new(function.context());
    for copy in own_ops(function) {
        if !has_dependencies(copy) {
            continue;
        }
        let dependencies: Vec<Value> = copy
            .operands()
            .take_while(|v| vocabulary.is_token(v.ty()))
            .collect();
        if dependencies.is_empty() {
            continue;
        }
        await_before(copy, &dependencies);
        for _ in &dependencies {
            erase_operand(copy, 0);
        }
    }
}

/// Returns true if `op` may have dependencies, which come before its other operands.
fn has_dependencies(op: Op<'_>) -> bool {
    op.completion()
        .is_some_and(|completion| completion.effect == GroupEffect::Issue)
}

/// Awaits `tokens` right before `op`.
pub(crate) fn await_before<'c>(op: Op<'c>, tokens: &[Value<'c>]) -> Op<'c> {
    OpBuilder::new("async.await", op.location())
        .operands(tokens)
        .before(op)
}

/// Drains the queues of tokens that go where they can't be followed, and hands on complete tokens in their place.
/// `skeleton` is the function's, and no longer if anything is drained. Returns the awaits that are only there to have
/// such tokens committed in time, and emit nothing.
pub(super) fn drain_escapes<'c>(skeleton: &Skeleton<'c>) -> HashSet<Op<'c>> {
    if skeleton.escapes.is_empty() {
        return HashSet::new();
    }
    let origins = Origins::new(skeleton);
    let mut silent = HashSet::new();
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
fn drain_before<'c>(op: Op<'c>, tokens: impl Iterator<Item = Token> + Clone, origins: &Origins) -> bool {
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

/// A token that is complete.
pub(crate) fn ready<'c>(location: Location<'c>, ty: Type<'c>) -> OpBuilder<'c> {
    OpBuilder::new("async.ready", location).results(&[ty])
}

/// `function` and what is nested in it, but for functions inside: those are not run where they stand.
pub(crate) fn own_ops(function: Op<'_>) -> Vec<Op<'_>> {
    let mut ops = Vec::new();
    function.walk(|op| {
        if op != function && op.is_function() {
            return Walk::Skip;
        }
        ops.push(op);
        Walk::Advance
    });
    ops
}
