//! Checks that all operations can be imported: reports those that have no counterpart in `gpux`.

use crate::utils::signature::Signature;
use async_mlir::gpu::is_gpu_token;
use async_mlir::ir::{Op, Region, Value, Walk};
use async_mlir::melior::ir::Type;
use async_mlir::names::gpu;
use async_mlir::pass::PassError;

/// Returns an error for the first thing in `module` that can't be imported.
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
    let arguments = op
        .regions()
        .flat_map(Region::blocks)
        .flat_map(|block| block.args().collect::<Vec<_>>());
    let mut types: Vec<Type> = op.results().chain(arguments).map(Value::ty).collect();
    if let Some(signature) = Signature::of(op) {
        types.extend(signature.inputs);
        types.extend(signature.results);
    }
    for ty in types {
        if ty.to_string().contains("!gpu.async.token") && !is_gpu_token(ty) {
            let message = format!("has a type made of tokens, '{ty}', which can't be imported");
            return Err(PassError::new(op, message).note(op, "pass on the tokens themselves"));
        }
    }
    if op.dialect() != gpu::NAMESPACE || super::convert::is_known(op) {
        return Ok(());
    }
    if op
        .results()
        .chain(op.operands())
        .any(|value| is_gpu_token(value.ty()))
    {
        let message = "has a token, and no counterpart in 'gpux'";
        let help = if op.is(gpu::LAUNCH) {
            "run --gpu-kernel-outlining first"
        } else {
            "make it synchronous, and await what it depends on before"
        };
        return Err(PassError::new(op, message).note(op, help));
    }
    Ok(())
}
