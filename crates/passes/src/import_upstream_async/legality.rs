//! Checks that all operations can be imported: reports those that have no counterpart in our dialect.

use crate::utils::signature::Signature;
use async_dialects::names::{async_, upstream_async};
use async_dialects::types::{async_value_element, is_async_group};
use async_mlir::calls::callee_name;
use async_mlir::control_flow::branch_edges;
use async_mlir::ir::{Block, Op, Region, Value, Walk};
use async_mlir::melior::ir::Type;
use async_mlir::names::{arith, attr, builtin, func, scf};
use async_mlir::pass::PassError;

/// Returns an error for the first thing in `module` that can't be imported. What groups do is looked at later.
pub(super) fn check(module: Op<'_>) -> Result<(), PassError<'_>> {
    let mut error = None;
    module.walk(|op| match operation(op) {
        Ok(()) => Walk::Advance,
        Err(found) => {
            error = Some(found);
            Walk::Stop
        }
    });
    error.map_or(Ok(()), Err)
}

fn operation(op: Op<'_>) -> Result<(), PassError<'_>> {
    let is_low_level = |prefix: &&str| op.name().starts_with(prefix);
    if upstream_async::LOW_LEVEL.iter().any(is_low_level) {
        let message = "can't be imported: it is what upstream's dialect 'async' is lowered to";
        let help = if op.is(upstream_async::NUM_WORKER_THREADS) {
            "give --async-parallel-for a number: num-workers=8"
        } else {
            "import the program as it was before --async-to-async-runtime"
        };
        return Err(PassError::new(op, message).note(op, help));
    }
    if op.is(upstream_async::ADD_TO_GROUP) && op.has_uses() {
        let message = "returns a rank that is used: tokens have no ranks";
        return Err(PassError::new(op, message).note(op, "count what is added to the group"));
    }
    if let Some(signature) = Signature::of(op) {
        check_signature(op, &signature)?;
    }
    for value in op.results() {
        check_type(op, value.ty())?;
        if is_value(value) && !makes_value(op) && !carries_values(op) {
            return Err(escapes(op, value));
        }
    }
    for block in op.regions().flat_map(Region::blocks) {
        for argument in block.args() {
            check_type(op, argument.ty())?;
            if !can_be_argument(op, block, argument) {
                return Err(escapes(op, argument));
            }
        }
    }
    for value in op.operands() {
        if is_value(value) && !takes_value(op) || is_async_group(value.ty()) && !takes_group(op) {
            return Err(escapes(op, value));
        }
    }
    Ok(())
}

fn check_signature<'c>(function: Op<'c>, signature: &Signature<'c>) -> Result<(), PassError<'c>> {
    let (inputs, results) = (&signature.inputs, &signature.results);
    for &ty in inputs.iter().chain(results) {
        check_type(function, ty)?;
    }
    let has_body = function.region(0).first().is_some();
    let takes = inputs.iter().any(|ty| is_async_group(*ty)) && !(function.is(func::FUNC) && has_body);
    if takes || results.iter().any(|ty| is_async_group(*ty)) {
        let message = "has a group where it can't be followed, in its type";
        return Err(PassError::new(function, message).note(function, GROUP_HELP));
    }
    Ok(())
}

/// Returns an error if `ty`, of something of `op`, is made of types of upstream's dialect in a way that can't be imported.
fn check_type<'c>(op: Op<'c>, ty: Type<'c>) -> Result<(), PassError<'c>> {
    let element = async_value_element(ty);
    let text = element.unwrap_or(ty).to_string();
    let inside = ["!async.value", "!async.group", "!async.coro"]
        .into_iter()
        .find(|name| text.contains(name))
        .or_else(|| (element.is_some() && text.contains(TOKEN)).then_some(TOKEN));
    match inside {
        Some(inside) if !is_async_group(ty) => {
            let message = format!("has '{inside}' where it can't be followed, in '{ty}'");
            Err(PassError::new(op, message).note(op, "await it, and pass on what comes of that"))
        }
        _ => Ok(()),
    }
}

const TOKEN: &str = "!async.token";

fn is_value(value: Value<'_>) -> bool {
    async_value_element(value.ty()).is_some()
}

/// Returns true if `op` makes the values among its results.
fn makes_value(op: Op<'_>) -> bool {
    matches!(op.name(), upstream_async::EXECUTE | async_::CALL)
}

/// Returns true if the values among the results of `op` come from its operands, its regions or its callee.
fn carries_values(op: Op<'_>) -> bool {
    matches!(
        op.name(),
        scf::FOR
            | scf::WHILE
            | scf::IF
            | scf::INDEX_SWITCH
            | scf::EXECUTE_REGION
            | func::CALL
            | arith::SELECT
    )
}

/// Returns true if the values among the operands of `op` can be followed.
fn takes_value(op: Op<'_>) -> bool {
    match op.name() {
        async_::AWAIT
        | async_::CALL
        | upstream_async::EXECUTE
        | upstream_async::ADD_TO_GROUP
        | func::RETURN => true,
        scf::YIELD | scf::CONDITION => op.parent().is_some_and(carries_values),
        _ if op.successors().len() > 0 => branch_edges(op).is_some(),
        _ => carries_values(op),
    }
}

/// Returns true if the groups among the operands of `op` can be followed.
fn takes_group(op: Op<'_>) -> bool {
    match op.name() {
        upstream_async::ADD_TO_GROUP | upstream_async::AWAIT_ALL => true,
        func::CALL => callee(op).is_some(),
        _ => false,
    }
}

/// Returns true if `argument` of a block in `op` is no value or group, or one that can be followed to it.
fn can_be_argument<'c>(op: Op<'c>, block: Block<'c>, argument: Value<'c>) -> bool {
    let is_entry = op.regions().any(|region| region.first() == Some(block));
    if is_value(argument) {
        !is_entry || op.is(func::FUNC) || op.is(async_::FUNC) || carries_values(op)
    } else if is_async_group(argument.ty()) {
        op.is(func::FUNC) && is_entry
    } else {
        true
    }
}

/// The function with a body that a `func.call` calls.
pub(super) fn callee(call: Op<'_>) -> Option<Op<'_>> {
    let name = callee_name(call)?;
    let table = call.ancestors().find(|outer| outer.is(builtin::MODULE))?;
    let functions = table.region(0).first()?.ops();
    functions.into_iter().find(|function| {
        let is_called = function.is(func::FUNC) && function.str_attr(attr::SYM_NAME) == Some(name);
        is_called && function.region(0).first().is_some()
    })
}

const GROUP_HELP: &str =
    "groups can be followed in the func.func that makes them, and into those that it calls";

fn escapes<'c>(op: Op<'c>, value: Value<'c>) -> PassError<'c> {
    let ty = value.ty();
    let (help, origin) = if is_async_group(ty) {
        (GROUP_HELP, "the group comes from here")
    } else {
        ("await it, and pass on what it wraps", "the value comes from here")
    };
    PassError::new(op, format!("has '{ty}' where it can't be followed"))
        .note(value.location(), origin)
        .note(op, help)
}
