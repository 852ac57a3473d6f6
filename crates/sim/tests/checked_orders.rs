//! The check of `--gpux-schedule`: it accepts what the pass writes for all modules of the tests and examples, and refuses that with an operation
//! before one whose value it uses, left out, or with another operand. And of random kernels with operations moved at random, those that it
//! accepts are clean, with the same result.
#![allow(missing_docs)]

mod kernel;
mod race_free;
mod random;

use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Module;
use async_mlir::melior::pass::PassManager;
use async_mlir::melior::utility::parse_pass_pipeline;
use async_sim::adversary::Adversary;
use async_verify::orders::Before;
use kernel::lit::{self, call, kernels};
use kernel::{context, execute, try_lower};
use random::Random;
use std::ops::AddAssign;

const ADVERSARIES: [Adversary; 3] = [Adversary::Late, Adversary::Early, Adversary::Random(1)];

const OPTIONS: [&str; 5] = [
    "",
    "objective=events event-limit=1",
    "events=edge issue=engine budget=100",
    "chip=sm_80",
    "chip=sm_90 budget=100",
];

#[derive(Default)]
struct Tally {
    reordered: usize,
    spoiled: usize,
    /// What is refused as the pass writes it.
    refused: Vec<String>,
    /// What is accepted after it was spoiled.
    missed: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.reordered += other.reordered;
        self.spoiled += other.spoiled;
        self.refused.extend(other.refused);
        self.missed.extend(other.missed);
    }
}

fn blocks(root: Op<'_>) -> Vec<Block<'_>> {
    let ops = root.self_and_nested().into_iter();
    ops.flat_map(|op| op.regions().flat_map(Region::blocks)).collect()
}

fn hold(context: &Context, title: &str, source: &str, options: &str, tally: &mut Tally) {
    let Some(mut module) = Module::parse(context, source) else {
        return;
    };
    let root = Op::from(module.as_operation());
    let before = Before::of(root);
    let order = |root| -> Vec<Op<'_>> { blocks(root).into_iter().flat_map(Block::ops).collect() };
    let was = order(root);
    let passes = PassManager::new(context);
    let pipeline = format!("builtin.module(gpux-schedule{{verify-result=false {options}}})");
    parse_pass_pipeline(passes.as_operation_pass_manager(), &pipeline).expect("a pipeline");
    if passes.run(&mut module).is_err() {
        return;
    }
    let checked = try_lower(
        context,
        source,
        &format!("builtin.module(gpux-schedule{{{options}}})"),
    );
    if checked.is_none() {
        tally.refused.push(title.to_owned());
        return;
    }
    if was == order(root) {
        return;
    }
    tally.reordered += 1;
    let in_threads = options.contains("chip");
    let mut is_refused = |what: &str, op: Op| {
        tally.spoiled += 1;
        if before.check(in_threads).is_ok() {
            tally.missed.push(format!("{title}: {} {what}", op.name()));
        }
    };
    for op in blocks(root).into_iter().flat_map(Block::ops) {
        let Some(next) = op.next() else { continue };
        if next.operands().any(|value| value.defining_op() == Some(op)) {
            next.move_before(op);
            is_refused("after what uses it", op);
            next.move_after(op);
        }
        op.detach();
        is_refused("left out", op);
        op.move_before(next);
        let other = op.block().and_then(|block| block.args().next());
        let other = other.filter(|value| op.num_operands() > 0 && op.operand(0) != *value);
        if let Some(value) = other {
            let own: Value = op.operand(0);
            op.set_operand(0, value);
            is_refused("with another operand", op);
            op.set_operand(0, own);
        }
    }
}

#[test]
fn what_the_pass_writes_is_accepted_and_spoiled_refused() {
    let tally = lit::tally_sources(|context, name, source, tally: &mut Tally| {
        for options in OPTIONS {
            hold(context, &format!("{name}, {options}"), source, options, tally);
        }
    });
    println!(
        "{} modules in another order, {} spoiled",
        tally.reordered, tally.spoiled
    );
    assert!(tally.refused.is_empty(), "refused:\n{}", tally.refused.join("\n"));
    assert!(tally.missed.is_empty(), "accepted:\n{}", tally.missed.join("\n"));
    assert!(tally.reordered >= 50, "{}", tally.reordered);
}

/// Moves a few operations of the largest block of `root` at random, but none before what it uses. Returns whether any moved.
fn shuffle(root: Op<'_>, seed: u64) -> bool {
    let mut random = Random(seed);
    let mut draw = |below| random.below(below);
    let block = blocks(root)
        .into_iter()
        .max_by_key(|block| block.ops().len())
        .expect("a block");
    let mut moved = false;
    for _ in 0..=draw(3) {
        let ops = block.ops();
        let from = draw(ops.len() - 1);
        let to = (from + 1 + draw(12)).min(ops.len() - 1);
        // Up or down.
        if draw(2) == 0 {
            ops[from].move_before(ops[to]);
        } else {
            ops[to - 1].move_before(ops[from]);
        }
        if root.verify_quietly().is_ok() {
            moved = true;
            continue;
        }
        for op in &ops[..ops.len() - 1] {
            op.move_before(ops[ops.len() - 1]);
        }
    }
    moved
}

#[test]
fn what_is_accepted_is_clean_with_the_same_result() {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..1500 {
        let source = race_free::kernel(seed);
        let module = try_lower(&context, &source, "builtin.module(canonicalize)").expect("a kernel");
        let root = Op::from(module.as_operation());
        let code = |root| {
            kernels(root, true)
                .into_values()
                .next()
                .expect("a kernel")
                .expect("code")
        };
        let plain = code(root);
        let before = Before::of(root);
        if !shuffle(root, seed) {
            continue;
        }
        if before.check(true).is_err() {
            refused += 1;
            continue;
        }
        accepted += 1;
        let call = call(&plain, 0);
        let meant = execute(&plain, &call, Adversary::Late);
        let other = code(root);
        for adversary in ADVERSARIES {
            let outcome = execute(&other, &call, adversary.clone());
            let title = || format!("seed {seed}, {adversary:?}\n{}", module.as_operation());
            assert!(outcome.is_clean(), "{}: {}", title(), outcome.findings);
            assert!(outcome.memory == meant.memory, "{}: other memory", title());
        }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(
        accepted >= 100 && refused >= 100,
        "{accepted} accepted, {refused} refused"
    );
}
