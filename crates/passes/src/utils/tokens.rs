//! Tokens: awaits of them, and everything that waits written as an `async.await`.

use super::device::own_ops;
use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::control_flow::erase_operand;
use async_mlir::ir::{Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::pass::PassError;

/// Returns an error if `function` uses a token that it gets as an argument.
pub(crate) fn refuse_token_arguments<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    let Some(entry) = function.regions().next().and_then(Region::first) else {
        return Ok(());
    };
    for arg in entry.args() {
        if is_token(arg.ty()) && arg.has_uses() {
            let message = "a token that is a function argument has no known queue";
            let help = "await it in the caller, or run --gpux-inline-calls first";
            return Err(PassError::new(arg.location(), message).note(arg.location(), help));
        }
    }
    Ok(())
}

/// Issues asynchronous regions in place: their dependencies are awaited, and their token is the join of those that they
/// yield.
pub(crate) fn inline_async_regions(function: Op<'_>) {
    // A region takes its terminator with it, which is not to be looked at afterwards.
    let mut regions = own_ops(function);
    regions.retain(|op| op.is(async_::REGION));
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
        let join = OpBuilder::new(async_::JOIN, region.location())
            .operands(&tokens)
            .results(&[token_type]);
        let mut results = vec![join.before(region).result(0)];
        results.extend(yielded);
        region.replace_with(&results);
    }
}

/// Awaits the dependencies of operations right before them.
pub(crate) fn await_dependencies(function: Op<'_>) {
    for copy in own_ops(function) {
        if !has_dependencies(copy) {
            continue;
        }
        let dependencies: Vec<Value> = copy.operands().take_while(|v| is_token(v.ty())).collect();
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
    Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Issue)
}

/// Awaits `tokens` right before `op`.
pub(crate) fn await_before<'c>(op: Op<'c>, tokens: &[Value<'c>]) -> Op<'c> {
    OpBuilder::new(async_::AWAIT, op.location())
        .operands(tokens)
        .before(op)
}

/// A token that is complete.
pub(crate) fn ready<'c>(location: Location<'c>, ty: Type<'c>) -> OpBuilder<'c> {
    OpBuilder::new(async_::READY, location).results(&[ty])
}
