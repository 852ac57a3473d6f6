//! Checks what a pass has written, by code that shares nothing with what found it: `crates/verify`.

use async_dialects::types::is_token;
use async_mlir::ir::Op;
use async_mlir::pass::{OptionInfo, PassError};
use async_verify::groups::check::{Fault, Refusal};
use async_verify::groups::read::Reading;
use async_verify::groups::{check, infer, read};

/// The option that turns the check off.
pub(crate) const VERIFY_RESULT: OptionInfo = OptionInfo::bool(
    "verify-result",
    true,
    "check what was written, by code that shares nothing with what found it",
);

/// Checks that every operation of a queue is complete where `function`, which has its tokens still, awaits it.
pub(crate) fn check_awaits<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    let reading = read::read(function, &is_token);
    if reading.code.blocks.is_empty() {
        return Ok(());
    }
    let certificate = infer(&reading.code);
    check(&reading.code, &certificate).map_err(|refusal| {
        let block = certificate.nodes.get(refusal.node.0 as usize).map(|node| node.block);
        let place = block.and_then(|block| reading.await_at(block, place_of(&refusal)?));
        error(function, place, &reading, &refusal)
    })
}

fn place_of(refusal: &Refusal) -> Option<usize> {
    match refusal.fault {
        Fault::Awaited { instr, .. } => Some(instr),
        _ => None,
    }
}

fn error<'c>(function: Op<'c>, place: Option<Op<'c>>, _: &Reading<'c>, refusal: &Refusal) -> PassError<'c> {
    let advice = "nothing was written; this is a bug in async-opt: please report it with the input and the options \
                  (--mlir-pass-pipeline-crash-reproducer=FILE writes both)";
    let Some(op) = place else {
        let message = format!("the check of what was written failed: {refusal}");
        return PassError::new(function, message).note(function, advice);
    };
    let message = "is reached while what it awaits may be in flight, says the check of what was written";
    PassError::new(op, message).note(op, advice)
}
