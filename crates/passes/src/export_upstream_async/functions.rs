//! Rewrites asynchronous functions, and calls of them, to upstream's.
//!
//! Upstream's return to their callers at the first await; what comes after it is then a task. Ours return at the end. The two are the
//! same where nothing is awaited, but at the end.

use super::{Futures, end_task};
use crate::utils::signature::Signature;
use async_dialects::names::{async_, upstream_async};
use async_dialects::types::{async_value, is_token, token};
use async_mlir::ir::{Op, OpBuilder, Value, Walk};
use async_mlir::melior::ir::Type;
use async_mlir::names::attr;
use async_mlir::pass::PassError;

/// Returns an error if `function` can't be one of upstream's.
pub(super) fn check(function: Op<'_>) -> Result<(), PassError<'_>> {
    let results = Signature::of(function)
        .map(|signature| signature.results)
        .unwrap_or_default();
    let last = results.len().saturating_sub(1);
    if results[..last].iter().any(|ty| is_token(*ty)) {
        let message =
            "returns a token that is not its last result, which functions of upstream's dialect can't";
        let help = "join its tokens to one, or make it a func.func";
        return Err(PassError::new(function, message).note(function, help));
    }
    let mut found = None;
    function.walk(|op| match op.name() {
        async_::REGION => Walk::Skip,
        async_::AWAIT => {
            found = Some(op);
            Walk::Stop
        }
        _ => Walk::Advance,
    });
    let Some(op) = found else { return Ok(()) };
    let message =
        "can't be exported: a function of upstream's dialect returns to its caller here, and ours does not";
    let help = "put this and what comes after it into an async.region, or make the function a func.func";
    Err(PassError::new(op, message).note(op, help))
}

/// Makes `function` one of upstream's. What it returns is wrapped there.
pub(super) fn function(function: Op<'_>) {
    let mut signature = Signature::of(function).expect("a function has a type");
    signature.results.retain(|ty| !is_token(*ty));
    signature.results.iter_mut().for_each(|ty| *ty = async_value(*ty));
    signature.results.insert(0, token(function.context()));
    function.remove_attr(attr::RES_ATTRS);
    signature.set(function);
    unwrap_body(function);
    for op in function.self_and_nested() {
        if op.is(async_::YIELD) && op.parent() == Some(function) {
            end_task(op, upstream_async::RETURN);
        }
    }
}

/// Where all that `function` does is one region, has the function do it.
fn unwrap_body(function: Op<'_>) {
    let blocks = function.region(0).blocks();
    let [block] = blocks.as_slice() else { return };
    let ops = block.ops();
    let [region, end] = ops.as_slice() else { return };
    if !region.is(async_::REGION) || region.num_operands() > 0 {
        return;
    }
    let mut results: Vec<Value> = region.results().skip(1).collect();
    results.push(region.result(0));
    let Some(body) = region.region(0).first() else {
        return;
    };
    if end.operands().collect::<Vec<_>>() != results {
        return;
    }
    end.erase();
    body.move_ops_to(*block);
    region.erase();
}

/// Makes `call` one of upstream's.
pub(super) fn call<'c>(call: Op<'c>, futures: &mut Futures<'c>) {
    let values: Vec<Value> = call.results().filter(|result| !is_token(result.ty())).collect();
    let mut types: Vec<Type> = vec![token(call.context())];
    types.extend(values.iter().map(|value| async_value(value.ty())));
    let operands: Vec<Value> = call.operands().collect();
    let mut new = OpBuilder::new(async_::CALL, call.location())
        .operands(&operands)
        .results(&types);
    for name in [attr::CALLEE, attr::ARG_ATTRS] {
        if let Some(attribute) = call.attr(name) {
            new = new.attr(name, attribute);
        }
    }
    let new = new.before(call);
    new.copy_discardable_attrs(call);
    let mut next = 1;
    for result in call.results().collect::<Vec<_>>() {
        if is_token(result.ty()) {
            result.replace_all_uses_with(new.result(0));
        } else {
            result.replace_all_uses_with(new.result(next));
            futures.0.insert(new.result(next), new.result(0));
            next += 1;
        }
    }
    call.erase();
}
