//! Random host programs of regions, nests, branches, loops and calls on a few buffers: where awaits and dependencies order all
//! conflicts, every schedule gives the result of the sequential program, and nothing is reported. Where one of them is left
//! out, something is reported if the result differs.
//!
//! The programs are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod host;
mod kernel;

use async_mlir::ir::{Op, Walk};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Module;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::inputs::{Argument, Fill};
use async_sim::read::{self, UncountedWaits};
use host::{BUFFERS, State, Stmt, config, program, statements, tensor_program};
use kernel::{Call, Outcome, context, execute, lower};
use proptest::prelude::*;
use std::cell::Cell;

/// Reads `@main` of a module.
fn parse(context: &Context, source: &str) -> Code {
    let module = Module::parse(context, source).unwrap_or_else(|| panic!("can't be parsed:\n{source}"));
    let mut main = None;
    Op::from(module.as_operation()).walk(|op| {
        if op.str_attr("sym_name") == Some("main") {
            main = Some(op);
        }
        Walk::Advance
    });
    let main = main.expect("a function");
    read::read(main, UncountedWaits::All).unwrap_or_else(|unknown| panic!("{unknown}:\n{source}"))
}

fn schedules(seed: u64) -> [Adversary; 5] {
    [
        Adversary::Late,
        Adversary::Early,
        Adversary::Random(seed),
        Adversary::Random(seed.wrapping_add(1)),
        Adversary::Random(seed.wrapping_add(2)),
    ]
}

/// Runs a program on buffers that begin as 0, 1, 2, …
fn run(code: &Code, adversary: Adversary) -> Outcome {
    let ramp = Argument::Buffer {
        sizes: Vec::new(),
        fill: Fill::Ramp,
    };
    let call = Call {
        arguments: vec![Some(ramp); BUFFERS],
        ..Call::of(1)
    };
    execute(code, &call, adversary)
}

/// What the sequential program leaves in memory.
fn meant(stmts: &[Stmt]) -> Vec<Vec<u8>> {
    let mut state = State::default();
    for buffer in &mut state.buffers {
        for (element, number) in buffer.iter_mut().zip(0..) {
            *element = number;
        }
    }
    state.run(stmts);
    let bytes = |buffer: &[i32]| buffer.iter().flat_map(|number| number.to_le_bytes()).collect();
    state.buffers.iter().map(|buffer| bytes(buffer)).collect()
}

#[test]
fn ordered_programs_are_clean_and_right() {
    let context = context();
    proptest!(config(300), |(stmts in statements(), seed in any::<u64>())| {
        let meant = meant(&stmts);
        let source = program(&stmts, None).text;
        let code = parse(&context, &source);
        for adversary in schedules(seed) {
            let name = format!("{adversary:?}");
            let outcome = run(&code, adversary);
            prop_assert!(outcome.is_clean(), "{name}: {}\n{source}", outcome.findings);
            prop_assert!(outcome.memory == meant, "{name}: other memory\n{source}");
        }
    });
}

#[test]
fn programs_that_lack_a_wait_are_reported_where_they_go_wrong() {
    let context = context();
    let (wrong, reported) = (Cell::new(0), Cell::new(0));
    proptest!(config(300), |(stmts in statements(), seed in any::<u64>(), without in any::<prop::sample::Index>())| {
        let waits = program(&stmts, None).waits;
        prop_assume!(waits > 0);
        let meant = meant(&stmts);
        let source = program(&stmts, Some(without.index(waits))).text;
        let code = parse(&context, &source);
        for adversary in schedules(seed) {
            let name = format!("{adversary:?}");
            let outcome = run(&code, adversary);
            reported.set(reported.get() + u32::from(!outcome.is_clean()));
            if outcome.memory != meant || outcome.stopped {
                wrong.set(wrong.get() + 1);
                prop_assert!(!outcome.is_clean(), "{name}: nothing is reported\n{source}");
            }
        }
    });
    assert!(wrong.get() > 0, "no program goes wrong");
    eprintln!("{} runs go wrong, {} are reported", wrong.get(), reported.get());
}

/// Programs on tensors are right when they are bufferized, also with other passes before or after that.
fn bufferized_programs_are_clean_and_right(cases: u32, settled: bool) {
    let context = context();
    let bufferize = "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops \
                     function-boundary-type-conversion=identity-layout-map}";
    // Loop-invariant code motion would move uses of pending values above an await in the loop.
    let others = if settled {
        "canonicalize,cse,loop-invariant-code-motion"
    } else {
        "canonicalize,cse"
    };
    let pipelines = [
        format!("builtin.module({bufferize})"),
        format!("builtin.module({others},{bufferize})"),
        format!("builtin.module({bufferize},{others})"),
    ];
    proptest!(config(cases), |(stmts in statements(), seed in any::<u64>(), which in 0..pipelines.len())| {
        let pipeline = &pipelines[which];
        let meant = meant(&stmts);
        let source = tensor_program(&stmts, settled);
        let lowered = lower(&context, &source, pipeline);
        let code = parse(&context, &lowered);
        for adversary in schedules(seed) {
            let name = format!("{pipeline}, {adversary:?}");
            let outcome = run(&code, adversary);
            prop_assert!(outcome.is_clean(), "{name}: {}\n{source}\n{lowered}", outcome.findings);
            prop_assert!(outcome.memory == meant, "{name}: other memory\n{source}\n{lowered}");
        }
    });
}

#[test]
fn pending_tensors_are_right_when_bufferized() {
    bufferized_programs_are_clean_and_right(200, false);
}

#[test]
fn settled_tensors_are_right_when_bufferized() {
    bufferized_programs_are_clean_and_right(200, true);
}

/// Awaits are divided from the regions that they are in: what is left of them there is under loops.
#[test]
fn divided_programs_are_clean_and_right() {
    let context = context();
    proptest!(config(300), |(stmts in statements(), seed in any::<u64>())| {
        let meant = meant(&stmts);
        let source = program(&stmts, None).text;
        let divided = lower(&context, &source, "builtin.module(async-split-awaits{remarks=false})");
        let code = parse(&context, &divided);
        for adversary in schedules(seed) {
            let name = format!("{adversary:?}");
            let outcome = run(&code, adversary);
            prop_assert!(outcome.is_clean(), "{name}: {}\n{source}\n{divided}", outcome.findings);
            prop_assert!(outcome.memory == meant, "{name}: other memory\n{source}\n{divided}");
        }
    });
}
