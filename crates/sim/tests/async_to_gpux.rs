//! `--async-to-gpux` keeps the meaning: random kernels, and those of all tests and examples, are clean under any schedule
//! when their transfers are asynchronous, and leave the memory that they left before; also when the tokens are counted and
//! lowered.
//!
//! The programs are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod programs;
mod transfers;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::refine;
use kernel::lit::{self, call};
use kernel::{Call, Outcome, context, count, execute, lower, run, try_lower};
use programs::config;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::ops::AddAssign;
use transfers::{THREADS, kernel_of, kernels};

const PASSES: [&str; 3] = [
    "builtin.module(async-to-gpux)",
    "builtin.module(async-to-gpux{awaits=immediate bypass-l1=false})",
    "builtin.module(async-to-gpux{engine=tma chip=sm_90 base-alignment=4})",
];

#[test]
fn random_transfers_are_clean_and_right() {
    let (transfers, copies) = (Cell::new(0), Cell::new(0));
    let strategy = (kernels(), 0..PASSES.len(), any::<u64>());
    let result = TestRunner::new(config(250)).run(&strategy, |(stmts, pass, seed)| {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let call = Call {
            seed,
            ..Call::of(THREADS)
        };
        let source = kernel_of(&stmts);
        let meant = run(&context, &source, &call, Adversary::Late);
        prop_assert!(meant.is_clean(), "{}\n{source}", meant.findings);
        let tokens = lower(&context, &source, PASSES[pass]);
        transfers.set(transfers.get() + source.matches("// transfer").count());
        copies.set(copies.get() + tokens.matches("gpux.copy").count());
        let counted = count(&context, &tokens, "");
        let lowered = lower(&context, &counted, "builtin.module(gpux-to-nvvm)");
        let form = run(&context, &tokens, &call, Adversary::Early);
        for (name, text) in [("tokens", &tokens), ("counted", &counted), ("lowered", &lowered)] {
            for adversary in [Adversary::Late, Adversary::Early, Adversary::Random(seed)] {
                let outcome = run(&context, text, &call, adversary);
                prop_assert!(
                    outcome.is_clean(),
                    "{name}: {}\n{source}\n{text}",
                    outcome.findings
                );
                prop_assert!(
                    outcome.memory == meant.memory,
                    "{name}: other memory\n{source}\n{text}"
                );
                let difference = refine::compare(&form.trace, &outcome.trace);
                prop_assert!(difference.is_none(), "{name}: {difference:?}\n{source}\n{text}");
            }
        }
        Ok(())
    });
    println!("{} copies for {} transfers", copies.get(), transfers.get());
    assert!(result.is_ok(), "{}", result.unwrap_err());
    assert!(
        transfers.get() < 4 * copies.get(),
        "few transfers are asynchronous"
    );
}

/// Calls of a kernel, and what it writes, if it is clean.
fn clean_call(code: &async_sim::code::Code) -> Option<(u64, Outcome)> {
    (0..20).find_map(|seed| {
        let outcome = execute(code, &call(code, seed), Adversary::Late);
        (!outcome.stopped && outcome.is_clean()).then_some((seed, outcome))
    })
}

#[derive(Default)]
struct Tally {
    /// Clean kernels in modules that change.
    kernels: usize,
    compared: usize,
    wrong: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.compared += other.compared;
        self.wrong.extend(other.wrong);
    }
}

/// Compares every clean kernel of a source that changes with what becomes of it.
fn hold_source(context: &Context, name: &str, source: &str, tally: &mut Tally) {
    let [before, after] = ["builtin.module()", PASSES[0]].map(|pass| try_lower(context, source, pass));
    let Some(before) = before else { return };
    let Some(after) = after else {
        tally.wrong.push(format!("{name}: the pass fails"));
        return;
    };
    let texts = [&before, &after].map(|module| module.as_operation().to_string());
    if texts[0] == texts[1] {
        return;
    }
    let [before, mut after] = [before, after].map(|module| lit::kernels(module.as_operation().into(), false));
    for (kernel, code) in before {
        let (Ok(code), Some(other)) = (code, after.remove(&kernel)) else {
            continue;
        };
        let Some((seed, meant)) = clean_call(&code) else {
            continue;
        };
        tally.kernels += 1;
        let Ok(other) = other else {
            tally.wrong.push(format!("{name}, @{kernel}: can't be read"));
            continue;
        };
        tally.compared += 1;
        for adversary in [Adversary::Late, Adversary::Early, Adversary::Random(seed)] {
            let outcome = execute(&other, &call(&code, seed), adversary);
            if !outcome.is_clean() || outcome.memory != meant.memory {
                let findings = outcome.findings;
                tally
                    .wrong
                    .push(format!("{name}, @{kernel}, call {seed}: {findings}"));
            }
        }
    }
}

#[test]
fn kernels_of_all_tests_stay_clean_and_right() {
    let tally: Tally = lit::tally_sources(hold_source);
    println!(
        "{} kernels in modules that change, {} compared",
        tally.kernels, tally.compared
    );
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
    assert!(tally.compared >= 40, "only {} kernels", tally.compared);
}
