//! `--gpux-insert-flags`: inserts flags that synchronize the engines of a machine.
//!
//! **Condition.** Operations run on engines (`async.engine`), in structured control flow, in their final order: after `--gpux-schedule`. What
//! runs on no engine has no effects that an engine's operation depends on.
//!
//! **Effect.** `gpux.set_flag` and `gpux.wait_flag` stand where each dependence between two engines needs them, with the fewest ids for
//! each pair; engines that execute their own instructions alone, in program order and as fast as they like, keep every dependence.
//! Operations don't move. What was written is checked (`crates/verify/src/flags`).
//!
//! **Refusals.** A pair of engines needs more flags than there are; control flow other than `scf.for`, `scf.while`, `scf.if` and what executes its regions at
//! most once; operations of engines outside of functions; flags that are there already.
//!
//! [`program`] reads a function, `tokenflow::flags` decides, and [`emit`] writes.

mod emit;
mod program;
mod while_loop;
mod without_engine;

use crate::engines::Engines;
use crate::engines::event_limits::{read_count, read_limits};
use crate::utils::verify_result::{VERIFY_RESULT, check_flags, checks};
use async_dialects::completion::engine_name;
use async_dialects::names::gpux;
use async_dialects::registry::GPUX;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use async_mlir::pass::{OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use async_verify::flags::Machine;
use async_verify::{flags, orders};
use program::Reader;
use std::fmt::Write;
use tokenflow::flags::{EngineId, Event, FlagKind, Options, OverLimit, Purpose, Usage, plan};
use tokenflow::schedule::{Limits, Pair};

/// The pass.
pub struct InsertFlags;

impl Pass for InsertFlags {
    const INFO: PassInfo = PassInfo {
        description: include_str!("insert_flags/description.md"),
        dependent_dialects: &[GPUX],
        options: &[
            OptionInfo::int(
                "event-limit",
                8,
                "how many flags there are from one engine to another",
            ),
            OptionInfo::string(
                "event-limits",
                "",
                "other limits for some pairs, such as `MTE2:V=4,V:MTE3=2`",
            ),
            OptionInfo::choice(
                "flags",
                "binary",
                &[
                    ("binary", "a flag is set or not; a wait clears it"),
                    ("counting", "a flag counts how often it was set; a wait takes one"),
                ],
                "what a flag does",
            ),
            OptionInfo::int(
                "budget",
                1_000_000,
                "how many events the search for fewer ids looks at, for each pair of engines",
            ),
            VERIFY_RESULT,
        ],
        statistics: &[
            StatisticInfo {
                name: "flags",
                description: "Number of ids in use, of all pairs of engines",
            },
            StatisticInfo {
                name: "events",
                description: "Number of places where a flag is set for a wait",
            },
        ],
        ..PassInfo::new(
            "gpux-insert-flags",
            "sets flags and waits for them where engines depend on each other",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let mut engines = Engines::default();
        let limits = read_limits(root, cx, &mut engines)?;
        let budget = read_count(root, cx, "budget", "events")?;
        let budget = usize::try_from(budget).unwrap_or(usize::MAX);
        let kind = if cx.str("flags") == "counting" {
            FlagKind::Counting
        } else {
            FlagKind::Binary
        };
        let ops = root.self_and_nested();
        if let Some(flag) = ops
            .iter()
            .find(|op| op.is(gpux::SET_FLAG) || op.is(gpux::WAIT_FLAG))
        {
            let message = "there are flags already, whose ids this pass does not know to be free";
            return Err(PassError::new(*flag, message)
                .note(flag.location(), "run it once, on a program without flags"));
        }
        refuse_outside_functions(&ops)?;
        let check = checks(cx).map(|timer| (timer, timer.time(|| orders::Before::of(root))));
        let functions: Vec<Op> = ops.into_iter().filter(|op| op.is_function()).collect();
        for &function in &functions {
            let Some(read) = Reader::read(function, &limits, &mut engines)? else {
                continue;
            };
            let limit = |from, to| limit(&limits, from, to);
            let options = Options {
                kind,
                limit: &limit,
                budget,
            };
            let plan = plan(&read.program, &options).map_err(|over| too_many(&read, &engines, &over))?;
            for usage in &plan.usage {
                report(function, usage, limit(usage.from, usage.to), &engines);
                cx.count("flags", usage.ids as u64);
            }
            cx.count("events", plan.events.len() as u64);
            emit::emit(&read, &plan, &engines);
        }
        let Some((timer, before)) = check else {
            return Ok(());
        };
        let machine = Machine {
            kind: match kind {
                FlagKind::Binary => flags::FlagKind::Binary,
                FlagKind::Counting => flags::FlagKind::Counting,
            },
            limit: &|from, to| {
                engines
                    .pair(from, to)
                    .map_or(0, |(from, to)| limit(&limits, from, to))
            },
        };
        timer.time(|| check_flags(&before, &functions, machine))
    }
}

/// Refuses operations that run on an engine, but in no function: who executes them, and how often, is not known.
fn refuse_outside_functions<'c>(ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let is_inside = |op: Op<'c>| op.is_function() || op.ancestors().any(Op::is_function);
    let mut on_engines = ops.iter().filter(|op| engine_name(**op).is_some());
    let Some(outside) = on_engines.find(|op| !is_inside(**op)) else {
        return Ok(());
    };
    let message = "runs on an engine, but is in no function, and flags are set in functions";
    Err(PassError::new(*outside, message)
        .note(outside.location(), "put it into a function, such as a func.func"))
}

/// The number of flags from one engine to another.
fn limit(limits: &Limits, from: EngineId, to: EngineId) -> usize {
    usize::try_from(limits.of(Pair { from, to })).unwrap_or(usize::MAX)
}

/// Says how many ids a pair of engines uses.
fn report(function: Op<'_>, usage: &Usage, limit: usize, engines: &Engines<'_>) {
    let (from, to) = (engines.name(usage.from), engines.name(usage.to));
    let mut message = format!("{} of {limit} flags from '{from}' to '{to}'", usage.ids);
    if usage.at_least < usage.ids {
        let _ = write!(
            message,
            "; whether {} are enough was not found within the budget",
            usage.at_least
        );
    }
    Diagnostic::remark(function, message).emit();
}

/// The error for more flags than there are.
fn too_many<'c>(read: &Reader<'c>, engines: &Engines<'c>, over: &OverLimit) -> PassError<'c> {
    let (from, to) = (engines.name(over.from), engines.name(over.to));
    let first = over.events.first().map(|event| read.ops_of(event).0);
    let message = if over.is_proven {
        format!(
            "more than {} flags are needed from '{from}' to '{to}'",
            over.limit
        )
    } else {
        format!(
            "no ids were found for {} flags from '{from}' to '{to}' within the budget",
            over.limit
        )
    };
    let mut error = match first {
        Some(op) => PassError::new(op, message),
        None => PassError::new(read.function, message),
    };
    for event in &over.events {
        let (producer, consumer) = read.ops_of(event);
        error = error.note(producer.location(), describe(event));
        error = error.note(consumer.location(), "... and is waited for here");
    }
    error.note(
        read.function.location(),
        "schedule for fewer events (--gpux-schedule=objective=events), or raise event-limits",
    )
}

fn describe(event: &Event) -> &'static str {
    match event.purpose {
        Purpose::Dependence(_) => "a flag is set after this ...",
        Purpose::Reuse => "a flag is set here, so that others can be used again ...",
    }
}
