//! Loops through the passes, and runs of what comes out.

use super::forms::Form;
use super::{Loop, THREADS};
use crate::kernel::{Call, Outcome, execute, parse, try_lower};
use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::inputs::{Argument, Fill};
use proptest::prelude::*;

/// A loop runs this many times at most.
pub const MOST_TRIPS: i64 = 7;

pub const SCHEDULES: [Adversary; 4] = [
    Adversary::Late,
    Adversary::Early,
    Adversary::Random(1),
    Adversary::Random(2),
];

/// Options of the pass.
pub fn shape() -> impl Strategy<Value = String> {
    let epilogue = prop_oneof![Just("peel"), Just("predicate")];
    let short = prop_oneof![2 => Just("guard"), 1 => Just("branch")];
    (epilogue, short).prop_map(|(epilogue, short)| format!("epilogue={epilogue} short-trips={short}"))
}

/// How a kernel is called. Each bit of `pattern` is the condition of an iteration.
pub fn call(of: &Loop, trips: i64, pattern: i128, seed: u64) -> Call {
    let elements = i64::from(THREADS) * 64;
    let buffer = |times: i64, fill: Fill| {
        Some(Argument::Buffer {
            sizes: vec![times * elements],
            fill,
        })
    };
    let mut arguments = vec![
        buffer(1, Fill::Ramp),
        buffer(1, Fill::Random),
        buffer(8, Fill::Zero),
        Some(Argument::Integer(trips.into())),
        Some(Argument::Integer(pattern)),
    ];
    if of.form == Form::Tma {
        arguments.push(buffer(1, Fill::Ramp));
    }
    Call {
        arguments,
        seed,
        ..Call::of(THREADS)
    }
}

/// Conditions for a run: as random bits say.
pub fn pattern(seed: u64) -> i128 {
    i128::from(seed >> 24)
}

/// The kernel after passes on its functions; `None` if they refuse it.
pub fn after(context: &Context, source: &str, passes: &str) -> Option<String> {
    let pipeline = format!("builtin.module(gpu.module(gpu.func({passes})))");
    Some(try_lower(context, source, &pipeline)?.as_operation().to_string())
}

/// What the loop does as it is written, with barriers where threads meet.
pub fn meant(context: &Context, source: &str, calls: &[Call]) -> Vec<Outcome> {
    let plain = after(context, source, "gpux-insert-barriers").expect("barriers can be placed");
    let code = parse(context, &plain);
    let outcomes = calls.iter().map(|call| execute(&code, call, Adversary::Early));
    let outcomes: Vec<Outcome> = outcomes.collect();
    for outcome in &outcomes {
        assert!(outcome.is_clean(), "{}\n{plain}", outcome.findings);
    }
    outcomes
}

/// Runs a loop in several forms under all schedules, and compares what it does with what is meant.
pub fn compare(
    context: &Context,
    of: &Loop,
    source: &str,
    forms: &[(&str, &str)],
    most: i64,
    seed: u64,
) -> Result<(), TestCaseError> {
    let codes: Vec<_> = forms
        .iter()
        .map(|(form, text)| (form, text, parse(context, text)))
        .collect();
    let trips = of.trips(most);
    let calls: Vec<Call> = trips
        .iter()
        .map(|trips| call(of, *trips, pattern(seed), seed))
        .collect();
    let meant = meant(context, source, &calls);
    for ((call, meant), trips) in calls.iter().zip(&meant).zip(trips) {
        for (form, text, code) in &codes {
            for adversary in SCHEDULES {
                let outcome = execute(code, call, adversary);
                prop_assert!(
                    outcome.is_clean(),
                    "{form}, {trips} trips: {}\n{source}\n{text}",
                    outcome.findings
                );
                prop_assert!(
                    outcome.memory == meant.memory,
                    "{form}, {trips} trips: other memory\n{source}\n{text}"
                );
            }
        }
    }
    Ok(())
}

/// The calls in which faults of a kernel are looked for.
pub fn calls(of: &Loop, most: i64, seed: u64) -> Vec<Call> {
    let trips = of.trips(most);
    // Longer runs first: they find more.
    let trips = trips.into_iter().rev();
    trips
        .flat_map(|trips| {
            [-1, pattern(seed), 0b1010_1100_0101, 0].map(|pattern| call(of, trips, pattern, seed))
        })
        .collect()
}

/// Returns true if some run of the kernel is not clean, or leaves another memory than each of `meant`.
pub fn is_faulty(context: &Context, text: &str, calls: &[Call], meant: &[Outcome]) -> bool {
    let code = parse(context, text);
    calls.iter().zip(meant).any(|(call, meant)| {
        SCHEDULES.into_iter().any(|adversary| {
            let outcome = execute(&code, call, adversary);
            !outcome.is_clean() || outcome.memory != meant.memory
        })
    })
}
