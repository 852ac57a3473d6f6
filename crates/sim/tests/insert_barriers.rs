//! The barriers of all kernels of the tests and examples, derived anew: kernels that were clean are clean, compute the same,
//! and have no more barriers in loops; and without any one of the new barriers, some run fails.
#![allow(missing_docs)]

mod kernel;

use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Op, Walk};
use async_mlir::melior::Context;
use async_mlir::names::{affine, scf};
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use kernel::lit::{self, call};
use kernel::{Outcome, execute, try_lower};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// One with a single thread, and one with a warp.
const CALLS: usize = 2;
const ATTEMPTS: u64 = 40;
/// Where some are not clean, these are enough.
const FEW_ATTEMPTS: u64 = 4;
const ADVERSARIES: [Adversary; 2] = [Adversary::Late, Adversary::Early];

/// Kernels that get more barriers than they have, and why that is as it should be.
const EXPLAINED: [(&str, &str); 14] = [
    (
        "split-roles/equal-values.mlir, @barrier_of_some_memory",
        "its barrier is of some memory, which the pass keeps and does not count on",
    ),
    (
        "tokens-to-groups/async-regions.mlir, @control_flow",
        "races where there are more iterations",
    ),
    (
        "insert-barriers/wgmma.mlir, @slots",
        "races where there are more iterations",
    ),
    (
        "emit-nvgpu.mlir, @two_tiles",
        "how much it copies is an argument, and what is made up is nothing",
    ),
    ("slots.mlir, @persistent", "races where there are more iterations"),
    (
        "slots.mlir, @begins_again",
        "races where there are more iterations",
    ),
    (
        "slots.mlir, @written_after_the_inner_loop",
        "races where there are more iterations",
    ),
    (
        "@last_one_written_after_the_inner_loop",
        "races where there are more iterations",
    ),
    ("unknown-indices.mlir", "races where there are more iterations"),
    (
        "async-pipeline/automatic.mlir, @gather",
        "races where there are more iterations",
    ),
    (
        "groups-to-tokens/refused.mlir, @no_barrier",
        "the one thread that writes is the one that has waited",
    ),
    (
        "ordered-loads.mlir, @one_thread_awaits",
        "the second load orders what one thread has awaited of the first",
    ),
    (
        "lint/warnings.mlir, @in_a_loop",
        "races where there are more iterations",
    ),
    (
        "Sim/subgroup-mma.mlir, @warp_barrier",
        "does not say that its block is one warp",
    ),
];

/// Calls that a kernel is clean with, and what it writes.
struct CleanCalls {
    calls: Vec<(u64, Outcome)>,
    /// Whether it was clean with all that were tried. One that is made for a warp need not be clean with a thread.
    always: bool,
}

/// Calls that a kernel is clean with; `None` if there is none.
fn clean_calls(code: &Code) -> Option<CleanCalls> {
    let (mut calls, mut always) = (Vec::new(), true);
    for seed in 0..ATTEMPTS {
        let call = call(code, seed);
        let outcome = execute(code, &call, Adversary::Late);
        if outcome.stopped {
            continue;
        }
        if outcome.is_clean() && execute(code, &call, Adversary::Early).is_clean() {
            calls.push((seed, outcome));
        } else {
            always = false;
        }
        if calls.len() == CALLS || seed >= FEW_ATTEMPTS && !always {
            break;
        }
    }
    (!calls.is_empty()).then_some(CleanCalls { calls, always })
}

/// How many barriers a function has at each depth of loops, the deepest first.
fn barriers(function: Op<'_>) -> Vec<usize> {
    let mut count = vec![0; 8];
    function.walk(|op| {
        if is_barrier(op) {
            let loops = op
                .ancestors()
                .filter(|outer| matches!(outer.name(), affine::FOR | scf::FOR | scf::WHILE));
            count[7 - loops.count().min(7)] += 1;
        }
        Walk::Advance
    });
    count
}

fn barriers_by_function(module: Op<'_>) -> BTreeMap<String, Vec<usize>> {
    let mut all = BTreeMap::new();
    module.walk(|op| {
        if op.is_function() {
            all.insert(
                op.str_attr("sym_name").unwrap_or_default().to_owned(),
                barriers(op),
            );
        }
        Walk::Advance
    });
    all
}

#[derive(Default)]
struct Tally {
    kernels: usize,
    /// Kernels that are clean with some calls, and with others not.
    sometimes: usize,
    changed: usize,
    barriers: usize,
    /// Kernels that are not clean any more, or have more barriers than before.
    wrong: Vec<String>,
    /// Barriers that were taken out again.
    removed: usize,
    /// Those of them that no run needs.
    unneeded: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.sometimes += other.sometimes;
        self.changed += other.changed;
        self.barriers += other.barriers;
        self.removed += other.removed;
        self.wrong.extend(other.wrong);
        self.unneeded.extend(other.unneeded);
    }
}

/// Whether a kernel runs clean without one of its barriers; `None` if it has no such barrier, or can't be run.
fn is_clean_without(
    context: &Context,
    source: &str,
    name: &str,
    barrier: Option<usize>,
    calls: &[(u64, Outcome)],
) -> Option<bool> {
    let module = try_lower(context, source, PASS)?;
    let mut barriers = Vec::new();
    Op::from(module.as_operation()).walk(|op| {
        let is_in = |op: Op| {
            op.ancestors()
                .any(|outer| outer.str_attr("sym_name") == Some(name))
        };
        if is_barrier(op) && is_in(op) {
            barriers.push(op);
        }
        Walk::Advance
    });
    if let Some(barrier) = barrier {
        barriers.get(barrier)?.erase();
    }
    let code = lit::kernels(Op::from(module.as_operation()), false)
        .remove(name)?
        .ok()?;
    let is_clean = |seed: u64| {
        let call = call(&code, seed);
        ADVERSARIES
            .into_iter()
            .all(|adversary| execute(&code, &call, adversary).is_clean())
    };
    Some(calls.iter().all(|(seed, _)| is_clean(*seed)))
}

const PASS: &str = "builtin.module(gpux-insert-barriers)";

/// Derives the barriers of a source anew and runs its kernels.
fn hold(context: &Context, title: &str, source: &str, tally: &mut Tally) {
    let Some(before) = try_lower(context, source, "builtin.module()") else {
        return;
    };
    let Some(after) = try_lower(context, source, PASS) else {
        return;
    };
    let (before, after) = (Op::from(before.as_operation()), Op::from(after.as_operation()));
    let (written, placed) = (barriers_by_function(before), barriers_by_function(after));
    let mut others = lit::kernels(after, false);
    for (name, code) in lit::kernels(before, false) {
        let (Ok(code), Some(Ok(other))) = (code, others.remove(&name)) else {
            continue;
        };
        let Some(CleanCalls { calls, always }) = clean_calls(&code) else {
            continue;
        };
        tally.kernels += 1;
        tally.sometimes += usize::from(!always);
        for (seed, meant) in &calls {
            let call = call(&code, *seed);
            for adversary in ADVERSARIES {
                let outcome = execute(&other, &call, adversary);
                if !outcome.is_clean() || outcome.memory != meant.memory {
                    tally
                        .wrong
                        .push(format!("{title}, @{name}, call {seed}: {}", outcome.findings));
                }
            }
        }
        let (Some(written), Some(placed)) = (written.get(&name), placed.get(&name)) else {
            continue;
        };
        // What is sometimes wrong as it is may need more.
        if !always {
            continue;
        }
        // What a function that is called does is not known.
        let title = format!("{title}, @{name}");
        let explained = EXPLAINED.iter().any(|(part, _)| title.contains(part));
        if placed > written && !source.contains("call @") && !explained {
            tally
                .wrong
                .push(format!("{title}: {placed:?} instead of {written:?}"));
        }
        tally.changed += usize::from(written != placed);
        tally.barriers += placed.iter().sum::<usize>();
        if source.contains("call @") || explained {
            continue;
        }
        // Without the barriers that the kernel has, all are new.
        let stripped: Vec<&str> = source
            .lines()
            .filter(|line| line.trim() != "gpu.barrier")
            .collect();
        let stripped = stripped.join("\n");
        if is_clean_without(context, &stripped, &name, None, &calls) != Some(true) {
            continue;
        }
        for barrier in 0.. {
            match is_clean_without(context, &stripped, &name, Some(barrier), &calls) {
                Some(clean) => {
                    tally.removed += 1;
                    if clean {
                        tally.unneeded.push(format!("{title}: barrier {barrier}"));
                    }
                }
                None => break,
            }
        }
    }
}

#[test]
fn barriers_that_are_derived_anew_are_enough_and_no_more() {
    let tally: Tally = lit::tally_sources(hold);
    println!(
        "{} clean kernels, {} of them with some calls alone, {} with other barriers now; {} barriers; {} were taken out, and missed",
        tally.kernels, tally.sometimes, tally.changed, tally.barriers, tally.removed
    );
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
    assert!(tally.unneeded.is_empty(), "no run needs {:#?}", tally.unneeded);
    assert!(tally.kernels >= 300, "only {} clean kernels", tally.kernels);
}
