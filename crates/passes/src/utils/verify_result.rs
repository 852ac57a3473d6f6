//! Checks what a pass has written, by code that shares nothing with what found it: `crates/verify`.

use super::certificates;
use async_dialects::types::is_token;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, Text};
use async_mlir::nvgpu::copy_token;
use async_mlir::pass::{OptionInfo, PassError};
use async_verify::groups::check::Fault;
use async_verify::groups::read::{Reading, Vocabulary, WaitRole, read};
use async_verify::groups::{Certificate, Record, check, infer, path_of, superfluous_waits};
use async_verify::mbarriers;

/// The option that turns the check off.
pub(crate) const VERIFY_RESULT: OptionInfo = OptionInfo::bool(
    "verify-result",
    true,
    "check what was written, by code that shares nothing with what found it",
);

/// So many waits are tried with a larger number.
const TRIALS: usize = 16;

/// Checks that every operation of a queue is complete where `function`, which `pass` has written and which has its tokens still, awaits
/// it. Remarks on those of `waits` that could leave one group more in flight. Writes the certificate to `file`, if that is not empty.
pub(crate) fn check_awaits<'c>(
    function: Op<'c>,
    waits: &[Op<'c>],
    pass: &str,
    file: &str,
) -> Result<(), PassError<'c>> {
    let vocabulary = Vocabulary {
        is_token: &is_token,
        role: &|_| WaitRole::Wait,
    };
    let (reading, certificate) = check_groups(function, vocabulary)?;
    if reading.code.instrs.is_empty() {
        return Ok(());
    }
    remark_on_superfluous(&reading, &certificate, waits);
    if file.is_empty() {
        return Ok(());
    }
    let text = Text::new(function);
    let record = Record::new(pass, path_of(function), &reading, &certificate, &text);
    certificates::write(file, &record, function)
}

/// Remarks on those of `waits` that could leave one group more in flight.
fn remark_on_superfluous<'c>(reading: &Reading<'c>, certificate: &Certificate, waits: &[Op<'c>]) {
    if waits.is_empty() {
        return;
    }
    let limit = |fifo| {
        reading
            .queue(fifo)
            .map_or(0, |queue| u32::from(queue.max_pending()))
    };
    for place in superfluous_waits(&reading.code, certificate, limit, TRIALS) {
        if let Some(op) = reading.wait_at(place).filter(|op| waits.contains(op)) {
            let message = "waits for more than its await needs: with one group more in flight, the awaited operations would still be complete";
            Diagnostic::remark(op.location(), message).emit();
        }
    }
}

/// The same for `nvgpu`'s tokens and waits, which are what `role` says.
pub(crate) fn check_nvgpu_waits<'c>(
    function: Op<'c>,
    role: &dyn Fn(Op<'c>) -> WaitRole,
) -> Result<(), PassError<'c>> {
    let token = copy_token(function.context());
    let vocabulary = Vocabulary {
        is_token: &|ty| ty == token,
        role,
    };
    check_groups(function, vocabulary).map(|_| ())
}

/// Checks that every phase of the mbarriers that `rings` create is waited for as it should be in `function`, where each of `loads`, which are
/// in token form, stands beside the load that is issued for it.
pub(crate) fn check_mbarriers<'c>(
    function: Op<'c>,
    rings: &[Op<'c>],
    loads: &[Op<'c>],
    has_roles: bool,
) -> Result<(), PassError<'c>> {
    let written = mbarriers::Written {
        function,
        rings,
        loads,
        has_roles,
    };
    mbarriers::verify(&written).map_err(|failure| {
        let message = format!("{}, says the check of what was written", failure.what);
        PassError::new(failure.op, message).note(failure.op, ADVICE)
    })
}

fn check_groups<'c>(
    function: Op<'c>,
    vocabulary: Vocabulary<'_, 'c>,
) -> Result<(Reading<'c>, Certificate), PassError<'c>> {
    let reading = read(function, vocabulary);
    let certificate = infer(&reading.code);
    if reading.code.blocks.is_empty() {
        return Ok((reading, certificate));
    }
    let Err(refusal) = check(&reading.code, &certificate) else {
        return Ok((reading, certificate));
    };
    let node = certificate.nodes.get(refusal.node.0 as usize);
    let place = match refusal.fault {
        Fault::Awaited { instr, .. } => node.and_then(|node| reading.await_at(node.block, instr)),
        _ => None,
    };
    Err(match place {
        Some(op) => {
            let message =
                "is reached while what it awaits may be in flight, says the check of what was written";
            PassError::new(op, message).note(op, ADVICE)
        }
        None => {
            let message = format!("the check of what was written failed: {refusal}");
            PassError::new(function.location(), message).note(function.location(), ADVICE)
        }
    })
}

/// What to do where the check fails.
const ADVICE: &str = "nothing was written; this is a bug in async-opt: please report it with the input and the options \
                      (--mlir-pass-pipeline-crash-reproducer=FILE writes both)";
