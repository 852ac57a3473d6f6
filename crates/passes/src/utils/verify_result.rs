//! Checks what a pass has written, by code that shares nothing with what found it: `crates/verify`.

mod groups;

use super::certificates;
use super::llvm_builder::rt;
use async_dialects::completion::GroupQueue;
use async_mlir::diagnostic::{Diagnostic, Place};
use async_mlir::ir::{Op, Text, Value};
use async_mlir::pass::{CheckTimer, OptionInfo, PassContext, PassError, request_reproducer};
use async_mlir::pipeline::PipelineOptions;
use async_verify::awaits;
use async_verify::barriers;
use async_verify::certificates::{Record, path_of};
use async_verify::flags;
use async_verify::mbarriers;
use async_verify::orders;
use async_verify::packing;
use async_verify::pipeline;
use async_verify::references::{self, Conventions};
use async_verify::roles;
pub(crate) use groups::{AwaitCheck, check_nvgpu_waits};

/// The option that turns the check off.
pub(crate) const VERIFY_RESULT: OptionInfo = OptionInfo::bool(
    "verify-result",
    true,
    "check what was written, by code that shares nothing with what found it",
);

/// The timer of the checks of a pass, if the option says that there are any.
pub(crate) fn checks<'c>(cx: &PassContext<'c>) -> Option<CheckTimer<'c>> {
    cx.bool(VERIFY_RESULT.name).then(|| cx.check_timer())
}

/// The same option for a pass of a pipeline that has it.
pub(crate) fn verify_result(options: &PipelineOptions) -> (&'static str, &'static str) {
    let value = if options.bool(VERIFY_RESULT.name) {
        "true"
    } else {
        "false"
    };
    (VERIFY_RESULT.name, value)
}

/// Checks that each await of `queue` completes all that the wait before it has completed and that is accessed before a later await, and no
/// more. The operations in `replaced` come right after those that took their places.
pub(crate) fn check_lifted_queue<'c>(
    code: Op<'c>,
    queue: GroupQueue,
    replaced: &[Op<'c>],
) -> Result<(), PassError<'c>> {
    let written = awaits::Written {
        function: code,
        queue,
        replaced,
    };
    awaits::verify(&written).map_err(|failure| {
        let message = format!("{}, says the check of what was written", failure.what);
        let mut error = PassError::new(failure.op, message);
        if let Some(issue) = failure.issue {
            error = error.note(issue, "such an operation");
        }
        advise(error, failure.op)
    })
}

/// Checks that every phase of the mbarriers of a function is waited for as it should be, where each load in token form stands beside the load
/// that is issued for it. Writes the certificate, of `pass`, to `file`, if that is not empty.
pub(crate) fn check_mbarriers<'c>(
    written: &mbarriers::Written<'_, 'c>,
    pass: &str,
    file: &str,
) -> Result<(), PassError<'c>> {
    let function = written.function;
    let proofs = mbarriers::verify(written).map_err(|failure| {
        let message = format!("{}, says the check of what was written", failure.what);
        if failure.is_limit {
            let help = "nothing is known to be wrong with it: verify-result=false has it come out unchecked";
            return PassError::new(failure.op, message).note(function, help);
        }
        advise(PassError::new(failure.op, message), failure.op)
    })?;
    if file.is_empty() {
        return Ok(());
    }
    let rings = mbarriers::rings_of(function);
    if let Some(own) = rings.iter().find(|create| !written.rings.contains(create)) {
        let message = "gets no certificate: it has mbarriers of its own, which are not looked at";
        let remark = Diagnostic::remark(function.location(), message);
        remark.note(own.location(), "these").emit();
        return Ok(());
    }
    let text = Text::new(function);
    let record = mbarriers::Record::new(pass, path_of(function), &rings, &proofs, &text);
    certificates::write(file, &Record::Mbarriers(record), function)
}

/// Checks that the pipelined loop that was `written` does what the plain loop does.
pub(crate) fn check_pipeline<'c>(written: &pipeline::Written<'c>) -> Result<(), PassError<'c>> {
    pipeline::verify(written).map_err(pipeline_error)
}

/// Checks that a schedule keeps the order of accesses that may meet, and that iterations may have versions of buffers.
pub(crate) fn check_schedule<'c>(
    schedule: &pipeline::Schedule<'c>,
    checked: &pipeline::Checked<'c>,
) -> Result<(), PassError<'c>> {
    pipeline::verify_schedule(schedule, checked).map_err(pipeline_error)
}

/// Checks that there is room for versions of buffers that `written` code uses.
pub(crate) fn check_versions<'c, 'v>(
    mut versions: impl Iterator<Item = &'v pipeline::Versions<'c>>,
    written: &[Op<'c>],
    checked: &mut pipeline::Checked<'c>,
) -> Result<(), PassError<'c>>
where
    'c: 'v,
{
    versions
        .try_for_each(|versions| versions.verify_room(written, checked))
        .map_err(pipeline_error)
}

fn pipeline_error(failure: pipeline::Failure<'_>) -> PassError<'_> {
    let message = format!("{}, says the check of what was written", failure.what);
    let mut error = PassError::new(failure.op, message);
    if let Some(first) = failure.first {
        error = error.note(first, "what the plain loop executes first");
    }
    advise(error, failure.op)
}

/// Checks that `function`, whose tokens are counted, releases each reference once, on every path. `owner` says which token an address in a
/// frame is good with.
pub(crate) fn check_references<'c>(
    function: Op<'c>,
    owner: &dyn Fn(Value<'c>) -> Option<Value<'c>>,
) -> Result<(), PassError<'c>> {
    let conventions = Conventions {
        retain: rt::RETAIN,
        release: rt::RELEASE,
    };
    references::read(function, conventions, owner)
        .check()
        .map_err(|(refusal, op, token)| {
            let message = format!(
                "a token here {}, says the check of what was written",
                refusal.fault
            );
            let op = op.unwrap_or(function);
            let mut error = PassError::new(op.location(), message);
            if let Some(defined) = token.and_then(Value::defining_op) {
                error = error.note(defined.location(), "it is defined here");
            }
            advise(error, op)
        })
}

/// Checks that barriers lie between all accesses of the workgroup's memory in `function` that meet. Before the pass wrote it, barriers were
/// in `around_barriers`.
pub(crate) fn check_barriers<'c>(
    function: Op<'c>,
    around_barriers: &barriers::AroundBarriers<'c>,
) -> Result<(), PassError<'c>> {
    let Some(reading) = barriers::read(function, around_barriers) else {
        let message = "has branches between blocks, so that the check of what was written can't read it";
        return Err(advise(PassError::new(function, message), function));
    };
    let certificate = barriers::infer(&reading.code);
    let Err(refusal) = barriers::check(&reading.code, &certificate) else {
        return Ok(());
    };
    if let barriers::Refusal::Unordered {
        block,
        instr,
        earlier,
        ..
    } = refusal
        && let Some(later) = reading.op(block, instr)
        && let Some(first) = reading.last_before(earlier.class, (block, instr))
    {
        let message = "accesses memory of the workgroup that another thread may have accessed with no barrier between, says the check of \
                       what was written";
        let error = PassError::new(later, message).note(first, "the earlier access");
        return Err(advise(error, later));
    }
    let message = format!("the check of what was written failed: {refusal}");
    Err(advise(PassError::new(function.location(), message), function))
}

/// Checks that all warps do in `function` what they do in `before`, a copy from before it was written, which is erased.
pub(crate) fn check_roles<'c>(before: Op<'c>, function: Op<'c>) -> Result<(), PassError<'c>> {
    let checked = roles::check(before, function).map_err(|difference| {
        // What was before is about to be erased, but for where it stood.
        let message = "is not what some warps did before, says the check of what was written";
        let op = difference.after.unwrap_or(function);
        let error = PassError::new(op, message);
        let error = match difference.before {
            Some(before) => error.note(before.location(), "this is what they did"),
            None => error,
        };
        advise(error, op)
    });
    before.erase();
    checked
}

/// Checks that blocks have the operations that they had `before`, in an order that keeps what has to be kept. `in_threads` is true if they
/// are what threads of a GPU execute.
pub(crate) fn check_order<'c>(before: &orders::Before<'c>, in_threads: bool) -> Result<(), PassError<'c>> {
    before.check(in_threads).map_err(|fault| {
        let message = format!("{}, says the check of what was written", fault.what);
        let mut error = PassError::new(fault.op, message);
        if let Some(earlier) = fault.earlier {
            error = error.note(earlier, "this one");
        }
        advise(error, fault.op)
    })
}

/// Checks that what was noted `before` is in one allocation of `bytes`, that buffers in there that share some are never in use at once, and that
/// launches in `root` ask for enough.
pub(crate) fn check_packing<'c>(
    before: &packing::Before<'c>,
    root: Op<'c>,
    sharing: packing::Sharing,
    bytes: u64,
) -> Result<(), PassError<'c>> {
    before.check(root, sharing, bytes).map_err(|wrong| {
        let message = format!("{}, says the check of what was written", wrong.what);
        let error = match wrong.op {
            Some(op) => PassError::new(op, message),
            None => PassError::new(wrong.location, message),
        };
        let notes = wrong.notes.into_iter();
        let error = notes.fold(error, |error, (place, what)| error.note(place, what));
        request_reproducer();
        error.note(wrong.location, ADVICE)
    })
}

/// Checks that nothing but flags was inserted since `before`, and that those in `functions` keep every dependence between engines.
pub(crate) fn check_flags<'c>(
    before: &orders::Before<'c>,
    functions: &[Op<'c>],
    machine: flags::Machine,
) -> Result<(), PassError<'c>> {
    let inserted = before.check_inserted(flags::is_flag);
    let inserted = inserted.map_err(|fault| flags::Failure {
        op: fault.op,
        what: fault.what.to_owned(),
        earlier: None,
    });
    let checked = inserted.and_then(|()| {
        functions
            .iter()
            .try_for_each(|function| flags::verify(*function, machine))
    });
    checked.map_err(|failure| {
        let message = format!("{}, says the check of what was written", failure.what);
        let mut error = PassError::new(failure.op, message);
        if let Some(earlier) = failure.earlier {
            error = error.note(earlier, "this one");
        }
        advise(error, failure.op)
    })
}

/// Says what to do about `error`, the check's at `place`, and has the input kept.
fn advise<'c>(error: PassError<'c>, place: impl Into<Place<'c>>) -> PassError<'c> {
    request_reproducer();
    error.note(place, ADVICE)
}

/// What to do where the check fails.
const ADVICE: &str = "nothing was written; this is a bug in async-opt: please report it with the input and the options (verify-result=false turns the check off)";
