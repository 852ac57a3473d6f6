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

/// Those that are tried; where one has no say, the others can't differ.
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
    let slots = any::<bool>();
    (epilogue, short, slots).prop_map(|(epilogue, short, slots)| {
        format!("epilogue={epilogue} short-trips={short} computed-slots={slots}")
    })
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
        buffer(of.outputs(), Fill::Zero),
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

/// Conditions for a run: those of its iterations, as the lowest bits of `random` say, and others, as its next bits do.
fn pattern(of: &Loop, random: u64) -> i128 {
    let iterations = (0..MOST_TRIPS).filter(|trip| random >> trip & 1 == 1);
    let bits = iterations.fold(0, |bits, trip| bits | 1_i128 << (of.lower + trip * of.step));
    bits | i128::from(random >> MOST_TRIPS & 7) << 30
}

/// Conditions for runs of `trips` iterations in which faults are looked for: for few iterations, all there are.
fn patterns(of: &Loop, trips: i64, seed: u64) -> Vec<i128> {
    let in_none = 7 << MOST_TRIPS;
    let iterations: Vec<u64> = match trips {
        0..=3 => (0..1 << trips).rev().collect(),
        _ => vec![
            0x7f,
            0,
            0b101_0101,
            0b010_1010,
            0b001_1001,
            0b110_0110,
            seed & 0x7f,
        ],
    };
    let mut all: Vec<u64> = iterations.iter().map(|bits| bits | in_none).collect();
    all.extend([seed, 0x7f]);
    all.into_iter().map(|bits| pattern(of, bits)).collect()
}

/// The kernel after passes on its functions; `None` if they refuse it.
pub fn after(context: &Context, source: &str, passes: &str) -> Option<String> {
    let pipeline = format!("builtin.module(gpu.module(gpu.func({passes})))");
    Some(try_lower(context, source, &pipeline)?.as_operation().to_string())
}

/// What the loop does as it is written, with barriers where threads meet.
pub fn meant(context: &Context, source: &str, calls: &[Call]) -> Vec<Outcome> {
    let plain = after(context, source, "gpux-insert-barriers");
    let plain = plain.unwrap_or_else(|| panic!("no barriers can be placed:\n{source}"));
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
        .map(|trips| call(of, *trips, pattern(of, seed >> 24), seed))
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
                if !outcome.schedule_matters {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// The calls in which faults of a kernel are looked for, one that depends on the pattern or not.
pub fn calls(of: &Loop, most: i64, seed: u64, depends: bool) -> Vec<Call> {
    // Longer runs first: they find more.
    let mut calls = Vec::new();
    for trips in of.trips(most).into_iter().rev() {
        let patterns = if depends {
            patterns(of, trips, seed >> 24)
        } else {
            vec![0]
        };
        calls.extend(patterns.into_iter().map(|pattern| call(of, trips, pattern, seed)));
    }
    calls
}

/// Returns true if some run of the kernel is not clean, or leaves another memory than each of `meant`.
pub fn is_faulty(context: &Context, text: &str, calls: &[Call], meant: &[Outcome]) -> bool {
    let code = parse(context, text);
    calls.iter().zip(meant).any(|(call, meant)| {
        for adversary in SCHEDULES {
            let outcome = execute(&code, call, adversary);
            if !outcome.is_clean() || outcome.memory != meant.memory {
                return true;
            }
            if !outcome.schedule_matters {
                break;
            }
        }
        false
    })
}
