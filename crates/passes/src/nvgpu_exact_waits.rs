//! `--nvgpu-exact-waits`: computes the exact counts of upstream's `nvgpu.device_async_wait`, in place.
//!
//! **Condition.** A function. Where groups are committed is what the program says: a
//! `nvgpu.device_async_create_group` commits all of the thread's uncommitted copies, whatever its operands, as the
//! hardware does, and nothing else commits any.
//!
//! **Effect.** Every wait has the largest count at which all that its token names is complete after it, or is gone if
//! that is so without it. Explicit counts that complete more on purpose stay.
//!
//! **Refusals.** No commit is added: a copy that no group commits gets a warning. A wait whose token may come from
//! elsewhere (an argument, a call, memory) can't be counted: it stays as it is, with a remark.
//!
//! [`mod@solve`] asks the algorithm, [`relax`] decides which explicit counts stay, with what [`crate::analysis::buffer_slices`] knows of buffers.

mod relax;
mod rotation;
mod rows;
mod solve;

use crate::analysis::op_classifier::pending_limit_message;
use crate::utils::certificates::CERTIFICATES;
use crate::utils::verify_result::{VERIFY_RESULT, check_nvgpu_waits};
use async_dialects::completion::Completion;
use async_dialects::registry::GPUX;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, Walk, int_attr};
use async_mlir::names::{attr, nvgpu, nvvm};
use async_mlir::pass::{Anchor, CheckTimer, Dialect, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use async_verify::groups::read::WaitRole;
use relax::Reason;
use rustc_hash::FxHashMap;
use solve::{Solved, Verdict, solve};

/// The pass.
pub struct NvgpuExactWaits;

impl Pass for NvgpuExactWaits {
    const INFO: PassInfo = PassInfo {
        description: include_str!("nvgpu_exact_waits/description.md"),
        anchor: Anchor::Functions,
        // What `nvgpu`'s operations mean to completion comes with `gpux`.
        dependent_dialects: &[GPUX, Dialect::NVGPU],
        options: &[VERIFY_RESULT, CERTIFICATES],
        statistics: &[
            StatisticInfo {
                name: "set",
                description: "Number of waits that have an exact count",
            },
            StatisticInfo {
                name: "dropped",
                description: "Number of waits that others imply",
            },
            StatisticInfo {
                name: "corrected",
                description: "Number of counts that waited for too little",
            },
            StatisticInfo {
                name: "kept",
                description: "Number of waits that stay as they are",
            },
        ],
        ..PassInfo::new(
            "nvgpu-exact-waits",
            "sets the exact numGroups on every nvgpu.device_async_wait",
        )
    };

    fn run<'c>(op: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let certificates = cx.str(CERTIFICATES.name);
        let verify = cx.bool(VERIFY_RESULT.name) || !certificates.is_empty();
        let count = |statistic, number| cx.count(statistic, number);
        let checks = verify.then(|| cx.check_timer());
        set_exact_waits(op, checks, certificates, &count)
    }
}

/// Adds to a statistic.
type Count<'a> = &'a dyn Fn(&'static str, u64);

/// Sets the counts of the waits of `function`; if there are `checks`, has them checked, and writes what proves them to the file `certificates`, if that
/// is not empty.
pub(crate) fn set_exact_waits<'c>(
    function: Op<'c>,
    checks: Option<CheckTimer<'c>>,
    certificates: &str,
    count: Count,
) -> Result<(), PassError<'c>> {
    let found = look(function)?;
    if !found.copies_or_waits {
        return Ok(());
    }
    let Solved {
        verdicts,
        uncommitted,
    } = solve(function, found.explicit, explicit_count);
    if !found.tracked_by_mbarriers {
        for copy in uncommitted {
            let message = "on some path to the end of the function, no group commits this copy, and nothing can \
                           wait for it";
            Diagnostic::warning(copy.location(), message).emit();
        }
    }
    let mut roles = FxHashMap::default();
    for verdict in verdicts {
        roles.insert(verdict.wait.op, apply(&verdict, count));
    }
    if let Some(timer) = checks {
        let role = |op| roles.get(&op).copied().unwrap_or(WaitRole::Wait);
        let pass = NvgpuExactWaits::INFO.flag;
        timer.time(|| check_nvgpu_waits(function, &role, pass, certificates))?;
    }
    let implied = roles.into_iter().filter(|(_, role)| *role == WaitRole::Await);
    implied.for_each(|(op, _)| op.erase());
    Ok(())
}

/// What a function has.
#[derive(Default)]
struct Found {
    copies_or_waits: bool,
    explicit: bool,
    tracked_by_mbarriers: bool,
}

/// Looks for what the pass works on, and refuses counts that are none.
fn look<'c>(function: Op<'c>) -> Result<Found, PassError<'c>> {
    let mut found = Found::default();
    let mut negative = None;
    function.walk(|op| {
        match op.name() {
            nvgpu::DEVICE_ASYNC_COPY => found.copies_or_waits = true,
            nvgpu::DEVICE_ASYNC_WAIT => {
                found.copies_or_waits = true;
                if let Some(n) = op.int_attr(attr::NVGPU_NUM_GROUPS) {
                    found.explicit = true;
                    if n < 0 {
                        negative = Some((op, n));
                        return Walk::Stop;
                    }
                }
            }
            nvvm::CP_ASYNC_MBARRIER_ARRIVE => found.tracked_by_mbarriers = true,
            _ => {}
        }
        Walk::Advance
    });
    match negative {
        None => Ok(found),
        Some((op, n)) => Err(PassError::new(
            op,
            format!("has numGroups = {n}, which is not a number of groups"),
        )),
    }
}

/// The count that `wait` has, as the hardware takes it.
fn explicit_count(wait: Op) -> Option<u8> {
    let n = wait.int_attr(attr::NVGPU_NUM_GROUPS)?;
    let most = Completion::of(wait)?.queue?.max_pending();
    Some(u8::try_from(n).map_or(most, |n| n.min(most)))
}

/// Writes what becomes of a wait, and says what its author should know: at locations, as a diagnostic at an operation
/// prints it, in time linear in the function. A wait that is only an await from then on is to be erased.
fn apply(verdict: &Verdict<'_>, count: Count) -> WaitRole {
    let op = verdict.wait.op;
    if verdict.open {
        warn_open(op);
    }
    let role = if verdict.open || verdict.wait.foreign {
        WaitRole::Wait
    } else {
        WaitRole::Both
    };
    if let Some(reason) = &verdict.kept {
        warn_kept(verdict, reason);
        count("kept", 1);
        return role;
    }
    let explicit = verdict.wait.explicit;
    let Some(exact) = verdict.exact else {
        if verdict.wait.foreign {
            remark_foreign(op, explicit);
            count("kept", 1);
            return WaitRole::Wait;
        }
        count("dropped", 1);
        return WaitRole::Await;
    };
    if let Some(explicit) = explicit
        && explicit > exact.n
        && verdict.sound_in_input.is_some_and(|sound| sound < explicit)
        && !verdict.open
    {
        let message = format!(
            "`numGroups = {}` waits for too little: a copy awaited here may still be in flight; the exact count is {}",
            op.int_attr(attr::NVGPU_NUM_GROUPS).unwrap_or_default(),
            exact.n
        );
        Diagnostic::warning(op.location(), message).emit();
        count("corrected", 1);
    }
    if let (true, Some(queue)) = (
        exact.clamped,
        Completion::of(op).and_then(|completion| completion.queue),
    ) {
        Diagnostic::remark(op.location(), pending_limit_message(queue)).emit();
    }
    op.set_attr(
        attr::NVGPU_NUM_GROUPS,
        int_attr(op.context(), 32, i64::from(exact.n)),
    );
    count("set", 1);
    role
}

fn warn_open(op: Op) {
    let message = "a copy awaited here may not be committed to a group yet, and no count waits for it";
    let mut warning = Diagnostic::warning(op.location(), message);
    if let Some(copy) = op.operand(0).defining_op()
        && copy.is(nvgpu::DEVICE_ASYNC_COPY)
    {
        warning = warning.note(
            copy.location(),
            "the copy; a `nvgpu.device_async_create_group` after it commits it",
        );
    }
    warning.emit();
}

fn warn_kept(verdict: &Verdict, reason: &Reason) {
    let op = verdict.wait.op;
    let explicit = op.int_attr(attr::NVGPU_NUM_GROUPS).unwrap_or_default();
    let exact = match verdict.exact {
        Some(exact) => format!("the exact count for the copies awaited here is {}", exact.n),
        None => "the copies awaited here are complete without a wait".to_owned(),
    };
    let warning = Diagnostic::warning(
        op.location(),
        format!("`numGroups = {explicit}` is kept, as it completes more; {exact}"),
    );
    let warning = match reason {
        Reason::NeverNamed(copy) => warning.note(
            copy.location(),
            "it also completes this copy, which no wait from here on names",
        ),
        Reason::Accessed { copy, by: Some(by) } => {
            warning.note(copy.location(), "it also completes this copy").note(
                by.location(),
                "what the copy writes may be accessed here before a wait names the copy",
            )
        }
        Reason::Accessed { copy, by: None } => warning.note(
            copy.location(),
            "it also completes this copy, whose buffer outlives the function",
        ),
        Reason::Calls => warning.note(
            op.location(),
            "it may also complete copies of a function that is called earlier",
        ),
        Reason::Undecided => warning.note(op.location(), "what it completes depends on too many other waits"),
    };
    warning.emit();
}

fn remark_foreign(op: Op, explicit: Option<u8>) {
    let count = match explicit {
        Some(_) => "its count stays",
        None => "it keeps waiting for all groups",
    };
    let message = format!("the token may come from elsewhere, so its group is not known here; {count}");
    Diagnostic::remark(op.location(), message).emit();
}
