//! The check of `--gpux-groups-to-tokens` on all kernels of the tests and examples: it accepts what the pass writes, and refuses it with an await
//! left out or moved, or with a token left out or another one, unless the simulator finds nothing wrong with that.
//!
//! Commits and waits are gone when the pass has run. Constants stand before them in its input, and in the place of these, they are put back
//! for the check.
#![allow(missing_docs)]

mod counted_kernels;
mod kernel;
mod random;

use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_dialects::types::is_token;
use async_mlir::ir::{Op, OpBuilder, Value, int_attr};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::IntegerAttribute;
use async_mlir::melior::pass::PassManager;
use async_mlir::melior::utility::parse_pass_pipeline;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::refine;
use async_verify::awaits::{Written, verify};
use kernel::lit::{self, Kernels, call, kernels};
use kernel::{Call, Outcome, execute, try_lower};
use std::ops::AddAssign;

const COUNT: &str = "builtin.module(gpux-tokens-to-mbarriers,gpux-tokens-to-groups,lower-affine)";
const MARK: &str = "test.counted";
const ATTEMPTS: u64 = 6;

#[derive(Default)]
struct Tally {
    functions: usize,
    changes: usize,
    refused_changes: usize,
    /// Accepted changes that the simulator finds harmless, and those that it can't judge.
    harmless: usize,
    unjudged: usize,
    /// Functions that are refused as the pass writes them.
    refused: Vec<String>,
    /// Changes that are accepted, and are not harmless.
    missed: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.functions += other.functions;
        self.changes += other.changes;
        self.refused_changes += other.refused_changes;
        self.harmless += other.harmless;
        self.unjudged += other.unjudged;
        self.refused.extend(other.refused);
        self.missed.extend(other.missed);
    }
}

/// A commit or a wait of the input.
#[derive(Clone, Copy)]
struct Counted {
    queue: GroupQueue,
    /// The count of a wait, and whether it is for reads.
    wait: Option<(u8, bool)>,
}

/// Puts a constant before each commit and wait.
fn mark(root: Op<'_>) -> Vec<Counted> {
    let mut counted = Vec::new();
    for op in root.self_and_nested() {
        let Some((completion, queue)) = Completion::of(op).and_then(|c| Some((c, c.queue?))) else {
            continue;
        };
        let wait = match completion.effect {
            GroupEffect::Wait => Some((
                u8::try_from(completion.pending).unwrap_or(u8::MAX),
                completion.waits_for_reads,
            )),
            GroupEffect::Commit => None,
            _ => continue,
        };
        let number = i64::try_from(counted.len()).expect("few");
        let index = Type::index(op.context());
        OpBuilder::new("arith.constant", op.location())
            .results(&[index])
            .attr("value", IntegerAttribute::new(index, 0).into())
            .attr(MARK, int_attr(op.context(), 64, number))
            .before(op);
        counted.push(Counted { queue, wait });
    }
    counted
}

/// Puts back what stood after each constant and is gone.
fn restore<'c>(function: Op<'c>, counted: &[Counted]) -> Vec<Op<'c>> {
    let mut restored = Vec::new();
    for mark in function
        .self_and_nested()
        .into_iter()
        .filter(|op| op.has_attr(MARK))
    {
        let number = usize::try_from(mark.int_attr(MARK).expect("a number")).expect("a place");
        let Counted { queue, wait } = counted[number];
        let next = mark.next().expect("a terminator at least");
        let is_there = Completion::of(next).is_some_and(|completion| {
            completion.queue == Some(queue)
                && matches!(completion.effect, GroupEffect::Commit | GroupEffect::Wait)
        });
        if !is_there {
            let op = match wait {
                Some((pending, read)) => queue.wait(mark.location(), pending, read),
                None => queue.commit(mark.location()),
            };
            op.move_before(next);
            restored.push(op);
        }
    }
    restored
}

struct Judge<'a, 'c> {
    root: Op<'c>,
    function: Op<'c>,
    name: String,
    title: String,
    counted: &'a [Counted],
    queues: Vec<GroupQueue>,
    /// Calls with which the counted form is clean.
    calls: Vec<(Call, Outcome)>,
    tally: &'a mut Tally,
}

impl Judge<'_, '_> {
    fn is_accepted(&self) -> bool {
        let restored = restore(self.function, self.counted);
        let accepts = |queue: &GroupQueue| {
            let written = Written {
                function: self.function,
                queue: *queue,
                replaced: &[],
            };
            verify(&written).is_ok()
        };
        let accepted = self.queues.iter().all(accepts);
        restored.into_iter().for_each(Op::erase);
        accepted
    }

    /// The function has a change.
    fn change(&mut self, what: &str) {
        self.tally.changes += 1;
        if !self.is_accepted() {
            self.tally.refused_changes += 1;
            return;
        }
        let code = kernels(self.root, false).remove(&self.name);
        let Some(Ok(code)) = code.filter(|_| !self.calls.is_empty()) else {
            self.tally.unjudged += 1;
            return;
        };
        for (call, meant) in &self.calls {
            for adversary in [Adversary::Late, Adversary::Early, Adversary::Random(call.seed)] {
                let is_late = matches!(adversary, Adversary::Late);
                let outcome = execute(&code, call, adversary);
                let waits_for_more = is_late && refine::compare(&outcome.trace, &meant.trace).is_some();
                if !outcome.is_clean() || outcome.memory != meant.memory || waits_for_more {
                    let text = self.function.to_string();
                    let missed = format!("{}: {what}\n{}\n{text}", self.title, outcome.findings);
                    self.tally.missed.push(missed);
                    return;
                }
            }
        }
        self.tally.harmless += 1;
    }

    fn spoil(&mut self) {
        for op in self.function.self_and_nested() {
            match op.name() {
                "async.await" => self.spoil_await(op),
                "async.join" if op.num_operands() > 1 => self.spoil_operands(op),
                _ if op.is_terminator() => self.spoil_terminator(op),
                _ => {}
            }
        }
    }

    fn spoil_await(&mut self, op: Op<'_>) {
        let next = op.next().expect("a terminator at least");
        op.detach();
        self.change("without an await");
        op.move_before(next);
        if op.num_operands() > 1 {
            self.spoil_operands(op);
        }
        self.exchange_operands(op);
        if !next.is_terminator() && !next.has_attr(MARK) {
            op.move_after(next);
            self.change("with a later await");
            op.move_before(next);
        }
    }

    /// Leaves out each operand.
    fn spoil_operands(&mut self, op: Op<'_>) {
        let operands: Vec<Value> = op.operands().collect();
        for place in 0..operands.len() {
            let mut fewer = operands.clone();
            fewer.remove(place);
            op.set_operands(&fewer);
            self.change("without a token");
        }
        op.set_operands(&operands);
    }

    /// Puts tokens of the block in the place of each operand.
    fn exchange_operands(&mut self, op: Op<'_>) {
        let before = std::iter::successors(op.prev(), |op| op.prev());
        let tokens = before.flat_map(Op::results).filter(|value| is_token(value.ty()));
        let args = op
            .block()
            .into_iter()
            .flat_map(|block| block.args().collect::<Vec<_>>());
        let args = args.filter(|value| is_token(value.ty()));
        let others: Vec<Value> = tokens.take(3).chain(args.take(3)).collect();
        for place in 0..op.num_operands() {
            let own = op.operand(place);
            for other in others
                .iter()
                .filter(|other| !op.operands().any(|own| own == **other))
                .copied()
                .collect::<Vec<_>>()
            {
                op.set_operand(place, other);
                self.change("with another token");
                op.set_operand(place, own);
            }
        }
    }

    /// Exchanges tokens that are handed on.
    fn spoil_terminator(&mut self, op: Op<'_>) {
        let places = (0..op.num_operands()).filter(|place| is_token(op.operand(*place).ty()));
        let places: Vec<usize> = places.collect();
        for pair in places.windows(2) {
            let (first, second) = (op.operand(pair[0]), op.operand(pair[1]));
            if first == second {
                continue;
            }
            op.set_operand(pair[0], second);
            self.change("that hands on another token");
            op.set_operand(pair[1], first);
            self.change("that hands on tokens in another order");
            op.set_operand(pair[0], first);
            op.set_operand(pair[1], second);
        }
    }
}

/// Calls with which the kernel is clean, and what comes of them.
fn clean_calls(code: Option<&Code>) -> Vec<(Call, Outcome)> {
    let Some(code) = code else { return Vec::new() };
    let mut calls = Vec::new();
    for seed in 0..ATTEMPTS {
        let call = call(code, seed);
        let meant = execute(code, &call, Adversary::Late);
        if meant.stopped {
            continue;
        }
        if !meant.is_clean() || !execute(code, &call, Adversary::Early).is_clean() {
            return Vec::new();
        }
        // Tokens take more instructions.
        let budget = call.budget << 4;
        calls.push((Call { budget, ..call }, meant));
        if calls.len() == 2 {
            break;
        }
    }
    calls
}

fn hold(context: &Context, title: &str, source: &str, options: &str, tally: &mut Tally) {
    // Upstream's multiplication counts in itself.
    if source.contains("nvgpu.warpgroup.mma ") {
        return;
    }
    let Some(mut module) = try_lower(context, source, COUNT) else {
        return;
    };
    let root = Op::from(module.as_operation());
    let meant: Kernels = kernels(root, true);
    let counted = mark(root);
    if counted.is_empty() {
        return;
    }
    let passes = PassManager::new(context);
    let pipeline = format!("builtin.module(gpux-groups-to-tokens{{verify-result=false {options}}})");
    parse_pass_pipeline(passes.as_operation_pass_manager(), &pipeline).expect("a pipeline");
    if passes.run(&mut module).is_err() {
        tally.refused.push(format!("{title}: not lifted"));
        return;
    }
    // A function inside of another one is left as it is.
    let is_outermost = |op: &Op| op.is_function() && !op.ancestors().any(Op::is_function);
    for function in root.self_and_nested().into_iter().filter(is_outermost) {
        let name = function.str_attr("sym_name").unwrap_or_default().to_owned();
        let ops = function.self_and_nested().into_iter();
        let mut queues: Vec<GroupQueue> = Vec::new();
        for completion in ops.filter_map(Completion::of) {
            let has_token = completion.done.is_some_and(|token| is_token(token.ty()));
            if let Some(queue) = completion
                .queue
                .filter(|queue| has_token && !queues.contains(queue))
            {
                queues.push(queue);
            }
        }
        if queues.is_empty() {
            continue;
        }
        tally.functions += 1;
        let code = meant.get(&name).and_then(|code| code.as_ref().ok());
        let mut judge = Judge {
            root,
            function,
            title: format!("{title}, @{name}, {options}"),
            name,
            counted: &counted,
            queues,
            calls: clean_calls(code),
            tally,
        };
        if judge.is_accepted() {
            judge.spoil();
        } else {
            let title = judge.title.clone();
            judge.tally.refused.push(title);
        }
    }
}

#[test]
fn what_the_pass_writes_is_accepted_and_with_a_change_refused_or_harmless() {
    let tally = lit::tally_sources(|context, title, source, tally: &mut Tally| {
        for options in ["", "weaken=false"] {
            hold(context, title, source, options, tally);
        }
    });
    println!(
        "{} functions, {} changes: {} refused, {} harmless, {} not judged",
        tally.functions, tally.changes, tally.refused_changes, tally.harmless, tally.unjudged
    );
    assert!(tally.refused.is_empty(), "refused:\n{}", tally.refused.join("\n"));
    assert!(tally.missed.is_empty(), "accepted:\n{}", tally.missed.join("\n"));
    assert!(tally.functions >= 300, "{}", tally.functions);
    assert!(tally.refused_changes >= 1000, "{}", tally.refused_changes);
}

/// Random kernels; `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#[test]
fn random_kernels_are_accepted_and_with_a_change_refused_or_harmless() {
    let tallies = counted_kernels::map(150, |context, seed, source| {
        let mut tally = Tally::default();
        let options = if seed % 4 == 0 { "weaken=false" } else { "" };
        hold(context, &format!("seed {seed}"), source, options, &mut tally);
        tally
    });
    let tally = tallies.into_iter().fold(Tally::default(), |mut sum, tally| {
        sum += tally;
        sum
    });
    println!(
        "{} kernels, {} changes: {} refused, {} harmless, {} not judged",
        tally.functions, tally.changes, tally.refused_changes, tally.harmless, tally.unjudged
    );
    assert!(tally.refused.is_empty(), "refused:\n{}", tally.refused.join("\n"));
    assert!(tally.missed.is_empty(), "accepted:\n{}", tally.missed.join("\n"));
    assert!(
        tally.functions > 0 && tally.refused_changes > tally.changes / 4,
        "too few"
    );
}
