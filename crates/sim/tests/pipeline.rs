//! Random loops, pipelined: whatever the stages, the orders and the number of iterations, the result is that of the loop as it
//! is written, no schedule of the hardware finds a race in it, and every barrier in it is needed.
//!
//! The loops are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod loops;
mod programs;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::inputs::{Argument, Fill};
use kernel::{Call, Outcome, context, run, try_lower};
use loops::nests::random_nest;
use loops::{Stmt, THREADS, random_loop};
use programs::config;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// A loop runs this many times at most.
const MOST_TRIPS: i64 = 7;

fn call(trips: i64, seed: u64) -> Call {
    let buffer = |elements: i64, fill: Fill| {
        Some(Argument::Buffer {
            sizes: vec![elements],
            fill,
        })
    };
    let elements = i64::from(THREADS) * 64;
    Call {
        seed,
        arguments: vec![
            buffer(elements, Fill::Ramp),
            buffer(elements, Fill::Random),
            buffer(elements, Fill::Zero),
            Some(Argument::Integer(trips.into())),
        ],
        ..Call::of(THREADS)
    }
}

/// The kernel after passes on its functions; `None` if they refuse it.
fn after(context: &Context, source: &str, passes: &str) -> Option<String> {
    let pipeline = format!("builtin.module(gpu.module(gpu.func({passes})))");
    Some(try_lower(context, source, &pipeline)?.as_operation().to_string())
}

/// What the loop does as it is written, with barriers where threads meet.
fn meant(context: &Context, source: &str, call: &Call) -> Outcome {
    let plain = after(context, source, "gpux-insert-barriers").expect("barriers can be placed");
    let outcome = run(context, &plain, call, Adversary::Early);
    assert!(outcome.is_clean(), "{}\n{plain}", outcome.findings);
    outcome
}

const SCHEDULES: [Adversary; 4] = [
    Adversary::Late,
    Adversary::Early,
    Adversary::Random(1),
    Adversary::Random(2),
];

/// A barrier in a loop or a condition of a kernel.
const IN_LOOP: &str = "        gpu.barrier\n";

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn pipelined_loops_do_what_plain_ones_do(random in random_loop(), seed in any::<u64>()) {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let source = random.kernel();
        for epilogue in ["peel", "predicate"] {
            let passes = format!("async-pipeline{{epilogue={epilogue}}}");
            let Some(pipelined) = after(&context, &source, &passes) else {
                return Err(TestCaseError::fail(format!("refused with {epilogue}:\n{source}")));
            };
            let counted = after(&context, &pipelined, "gpux-tokens-to-groups").expect("tokens can be counted");
            for trips in random.trips(MOST_TRIPS) {
                let call = call(trips, seed);
                let meant = meant(&context, &source, &call);
                for (form, source) in [("tokens", &pipelined), ("counted", &counted)] {
                    for adversary in SCHEDULES {
                        let outcome = run(&context, source, &call, adversary);
                        prop_assert!(outcome.is_clean(), "{form}, {epilogue}, {trips} trips: {}\n{}\n{source}",
                            outcome.findings, random.kernel());
                        prop_assert!(outcome.memory == meant.memory, "{form}, {epilogue}, {trips} trips: other memory\n{}\n{source}",
                            random.kernel());
                    }
                }
            }
        }
    }

    #[test]
    fn pipelined_nests_do_what_plain_ones_do(nest in random_nest(), seed in any::<u64>()) {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let source = nest.kernel();
        for epilogue in ["peel", "predicate"] {
            let passes = format!("async-pipeline{{epilogue={epilogue}}}");
            let Some(pipelined) = after(&context, &source, &passes) else {
                // The parts of the inner loop may overtake each other where it is not known how often it runs.
                continue;
            };
            let counted = after(&context, &pipelined, "gpux-tokens-to-groups").expect("tokens can be counted");
            for trips in nest.inner.trips(4) {
                let call = call(trips, seed);
                let meant = meant(&context, &source, &call);
                for (form, source) in [("tokens", &pipelined), ("counted", &counted)] {
                    for adversary in [Adversary::Late, Adversary::Early, Adversary::Random(1)] {
                        let outcome = run(&context, source, &call, adversary);
                        prop_assert!(outcome.is_clean(), "{form}, {epilogue}, {trips} trips: {}\n{}\n{source}",
                            outcome.findings, nest.kernel());
                        prop_assert!(outcome.memory == meant.memory, "{form}, {epilogue}, {trips} trips: other memory\n{}\n{source}",
                            nest.kernel());
                    }
                }
            }
        }
    }

    #[test]
    fn each_barrier_in_pipelined_loops_is_needed(mut random in random_loop(), seed in any::<u64>()) {
        // Conditions of iterations that contradict each other may make a barrier superfluous.
        // So may those of a prologue and an epilogue. Which slot is which after the kernel is not known, either.
        random.stmts.retain(|stmt| !matches!(stmt, Stmt::LoadIf | Stmt::StoreIf(..)));
        random.constant = Some(MOST_TRIPS);
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let source = random.kernel();
        let Some(pipelined) = after(&context, &source, "async-pipeline") else {
            return Ok(());
        };
            for (number, _) in pipelined.match_indices(IN_LOOP) {
                let fewer = format!("{}{}", &pipelined[..number], &pipelined[number + IN_LOOP.len()..]);
                let is_found = random.trips(MOST_TRIPS).into_iter().any(|trips| {
                    let call = call(trips, seed);
                    SCHEDULES.into_iter().any(|adversary| !run(&context, &fewer, &call, adversary).is_clean())
                });
                let line = pipelined[..number].lines().count();
                prop_assert!(is_found, "nothing needs the barrier in line {line}\n{}\n{pipelined}",
                    random.kernel());
            }
    }
}

/// The loop without stages of its own, which asks for `stages` of them. With `synchronous`, its copies are loads and stores.
fn asking_for(source: &str, stages: u32, synchronous: bool) -> String {
    let mut lines = Vec::new();
    for line in source.lines() {
        let line = match line.find("{async.stage") {
            Some(at) => format!(
                "{}{}",
                &line[..at],
                &line[at + line[at..].find('}').expect("an end") + 1..]
            ),
            None => line.to_owned(),
        };
        let copied = line
            .split("gpux.copy async %in[%from], ")
            .nth(1)
            .filter(|_| line.starts_with("%token"));
        match copied.and_then(|to| to.split('[').next()) {
            Some(to) if synchronous => {
                let name = &to[1..];
                lines.push(format!("%loaded_{name} = memref.load %in[%from] : memref<?xi32>"));
                lines.push(format!("memref.store %loaded_{name}, {to}[%t] : !Tile"));
            }
            _ if synchronous && line.starts_with("async.await %token") && !line.contains("tokenx") => {}
            _ => lines.push(line),
        }
    }
    let end = lines
        .iter()
        .rposition(|line| line.starts_with("scf.yield"))
        .expect("the end of the loop");
    lines[end + 1] = format!("}} {{async.num_stages = {stages}}}");
    lines.join("\n")
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn loops_that_ask_for_stages_do_what_plain_ones_do(
        random in random_loop(),
        stages in 1..5_u32,
        synchronous in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let source = asking_for(&random.kernel(), stages, synchronous);
        let pipelined = after(&context, &source, "async-pipeline");
        let Some(pipelined) = pipelined else {
            return Err(TestCaseError::fail(format!("an error:\n{source}")));
        };
        // What could not be pipelined has no barriers yet. By itself, that pass refuses some of the others: it does not follow how
        // often a loop runs.
        let pipelined = after(&context, &pipelined, "gpux-insert-barriers").unwrap_or(pipelined);
        let counted = after(&context, &pipelined, "gpux-tokens-to-groups").expect("tokens can be counted");
        for trips in random.trips(MOST_TRIPS) {
            let call = call(trips, seed);
            let meant = meant(&context, &source, &call);
            for (form, lowered) in [("tokens", &pipelined), ("counted", &counted)] {
                for adversary in SCHEDULES {
                    let outcome = run(&context, lowered, &call, adversary);
                    prop_assert!(outcome.is_clean(), "{form}, {trips} trips: {}\n{source}\n{lowered}", outcome.findings);
                    prop_assert!(outcome.memory == meant.memory, "{form}, {trips} trips: other memory\n{source}\n{lowered}");
                }
            }
        }
    }
}

/// Nests that are refused are left out above: these must not be most of them.
#[test]
fn most_nests_are_pipelined() {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let mut runner = TestRunner::new(config(1));
    let pipelined = (0..100).filter(|_| {
        let nest = random_nest().new_tree(&mut runner).expect("a nest").current();
        after(&context, &nest.kernel(), "async-pipeline").is_some()
    });
    let pipelined = pipelined.count();
    assert!(pipelined >= 80, "only {pipelined} of 100");
}
