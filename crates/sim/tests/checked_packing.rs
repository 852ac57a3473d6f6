//! The check of `--gpux-pack-workgroup-memory`: it accepts what the pass writes for all kernels of the tests and examples, and refuses that with
//! offsets, sizes or operands changed, unless `async-sim` finds nothing wrong with it. And of random kernels whose buffers are put anywhere,
//! those that it accepts are clean, with the same result.
#![allow(missing_docs)]

mod buffer_kernels;
mod counted_kernels;
mod kernel;
mod random;

use async_mlir::ir::{Block, Op, OpBuilder, Use, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::attribute::IntegerAttribute;
use async_mlir::melior::ir::{Module, Type};
use async_mlir::melior::pass::PassManager;
use async_mlir::melior::utility::parse_pass_pipeline;
use async_sim::adversary::Adversary;
use async_verify::packing::{Before, Sharing};
use kernel::lit::{self, call, kernels, lowered};
use kernel::{Call, context, execute, lower, try_lower};
use random::{Random, seeds};
use std::ops::AddAssign;

const ADVERSARIES: [Adversary; 3] = [Adversary::Late, Adversary::Early, Adversary::Random(1)];

/// Which buffers may share, what the pass calls that, and what else runs before kernels do.
const SHARING: [(Sharing, &str, &str); 3] = [
    (Sharing::Liveness, "liveness", "gpux-insert-barriers,"),
    (Sharing::Barriers, "free", ""),
    (Sharing::None, "none", ""),
];

/// The most bytes that a block can have.
const MOST: u64 = 227 << 10;

#[derive(Default)]
struct Tally {
    /// Kernels with buffers that were moved.
    kernels: usize,
    spoiled: usize,
    harmless: usize,
    /// What is refused as the pass writes it.
    refused: Vec<String>,
    /// What is accepted after it was spoiled, and is wrong.
    missed: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.spoiled += other.spoiled;
        self.harmless += other.harmless;
        self.refused.extend(other.refused);
        self.missed.extend(other.missed);
    }
}

/// The functions of a module, as they are.
fn functions(root: Op<'_>) -> Vec<Op<'_>> {
    let ops = root.self_and_nested().into_iter();
    ops.filter(|op| op.is_function() && op.num_regions() == 1 && op.region(0).first().is_some())
        .collect()
}

/// The views that the pass has made in `function`.
fn views(function: Op<'_>) -> Vec<Op<'_>> {
    let is_pool = |value: Value| {
        let op = value.defining_op();
        op.is_some_and(|op| op.is("gpu.dynamic_shared_memory") || op.is("memref.get_global"))
    };
    let ops = function.self_and_nested().into_iter();
    ops.filter(|op| op.is("memref.view") && is_pool(op.operand(0)))
        .collect()
}

/// Packs a module in place.
fn pack(context: &Context, module: &mut Module, options: &str) -> bool {
    let passes = PassManager::new(context);
    let pipeline = format!("builtin.module(gpux-pack-workgroup-memory{{verify-result=false {options}}})");
    parse_pass_pipeline(passes.as_operation_pass_manager(), &pipeline).expect("a pipeline");
    passes.run(module).is_ok()
}

/// Puts `view` at `offset`.
fn set_offset(view: Op<'_>, offset: i64) {
    let index = Type::index(view.context());
    let offset = OpBuilder::new("arith.constant", view.location())
        .results(&[index])
        .attr("value", IntegerAttribute::new(index, offset).into())
        .before(view);
    view.set_operand(1, offset.result(0));
}

/// Returns what is wrong with `text`, which was made of `source`, in any kernel that is clean in there.
fn judge(context: &Context, source: &str, text: &str, passes: &str) -> Option<String> {
    let meant = lowered(context, source, &format!("{passes}lower-affine,"))?;
    let Some(written) = lowered(context, text, &format!("{passes}lower-affine,")) else {
        return Some("it can't be lowered".to_owned());
    };
    for (name, code) in meant {
        let (Ok(code), Some(Ok(other))) = (code, written.get(&name)) else {
            continue;
        };
        for seed in 0..2 {
            let call = call(&code, seed);
            let meant = execute(&code, &call, Adversary::Late);
            if meant.stopped || !meant.is_clean() {
                continue;
            }
            let call = Call {
                budget: call.budget << 4,
                ..call
            };
            for adversary in ADVERSARIES {
                let outcome = execute(other, &call, adversary);
                if !outcome.is_clean() || outcome.memory != meant.memory {
                    return Some(format!("@{name}, call {seed}: {}", outcome.findings));
                }
            }
        }
    }
    None
}

struct Spoiler<'a, 'c> {
    context: &'a Context,
    root: Op<'c>,
    before: &'a Before<'c>,
    title: &'a str,
    source: &'a str,
    sharing: Sharing,
    passes: &'a str,
    tally: &'a mut Tally,
}

impl<'c> Spoiler<'_, 'c> {
    /// Checks what there is now, which is another thing than the pass has written.
    fn try_now(&mut self, what: &str) {
        self.tally.spoiled += 1;
        if self.before.check(self.root, self.sharing, MOST).is_err() {
            return;
        }
        let text = self.root.as_melior().to_string();
        match judge(self.context, self.source, &text, self.passes) {
            None => self.tally.harmless += 1,
            Some(wrong) => self.tally.missed.push(format!("{}: {what}: {wrong}", self.title)),
        }
    }

    fn spoil(&mut self, function: Op<'c>) {
        let views = views(function);
        let offset = |view: Op| view.operand(1).as_constant_int().unwrap_or(0);
        let mut offsets: Vec<i64> = views.iter().map(|view| offset(*view)).collect();
        offsets.sort_unstable();
        offsets.dedup();
        for &view in &views {
            let (own, operand) = (offset(view), view.operand(1));
            let near = [own + 1, own + 16, own - 16, own + 1024, 1 << 20];
            let others = offsets.iter().copied().chain(near);
            for other in others.filter(|other| *other != own && *other >= 0) {
                set_offset(view, other);
                self.try_now(&format!("a view at {other} instead of {own}"));
                let constant = view.operand(1).defining_op().expect("a constant");
                view.set_operand(1, operand);
                constant.erase();
            }
        }
        for (first, second) in views.iter().zip(views.iter().skip(1)) {
            let (a, b) = (first.result(0), second.result(0));
            if a.ty() != b.ty() {
                continue;
            }
            let uses = a.uses();
            for Use { owner, index } in uses {
                owner.set_operand(index, b);
                self.try_now(&format!("another buffer in {}", owner.name()));
                owner.set_operand(index, a);
            }
        }
        self.spoil_pool(function);
        for op in function.self_and_nested() {
            if op.has_uses() || op.is_terminator() || op.is_pure() || op == function {
                continue;
            }
            let next = op.next().expect("a terminator at least");
            op.detach();
            self.try_now(&format!("without {}", op.name()));
            op.move_before(next);
        }
    }

    /// Makes the allocation less aligned.
    fn spoil_pool(&mut self, function: Op<'c>) {
        let Some(view) = views(function).first().copied() else {
            return;
        };
        let Some(module) = function.parent() else { return };
        let name = view.operand(0).defining_op().and_then(|get| get.attr("name"));
        let name = name.map(|name| name.to_string());
        let globals = module.region(0).first().map(Block::ops).unwrap_or_default();
        for global in globals {
            let own = global.str_attr("sym_name").map(|own| format!("@{own}"));
            let alignment = global.attr("alignment").filter(|_| own.is_some() && own == name);
            if let Some(alignment) = alignment {
                global.remove_attr("alignment");
                self.try_now("an allocation without alignment");
                global.set_attr("alignment", alignment);
            }
        }
    }
}

fn hold(
    context: &Context,
    title: &str,
    source: &str,
    (sharing, name, passes): (Sharing, &str, &str),
    tally: &mut Tally,
) {
    let Some(mut module) = Module::parse(context, source) else {
        return;
    };
    let root = Op::from(module.as_operation());
    let before: Vec<(Op, Before)> = functions(root)
        .into_iter()
        .map(|function| (function, Before::of(function)))
        .collect();
    if !pack(context, &mut module, &format!("share={name}")) {
        return;
    }
    let checked = format!("builtin.module(gpux-pack-workgroup-memory{{share={name}}})");
    if try_lower(context, source, &checked).is_none() {
        tally.refused.push(title.to_owned());
        return;
    }
    for (function, before) in &before {
        if views(*function).is_empty() || before.check(root, sharing, MOST).is_err() {
            continue;
        }
        tally.kernels += 1;
        let mut spoiler = Spoiler {
            context,
            root,
            before,
            title,
            source,
            sharing,
            passes,
            tally,
        };
        spoiler.spoil(*function);
    }
}

#[test]
fn what_the_pass_writes_is_accepted_and_spoiled_refused() {
    let tally = lit::tally_sources(|context, name, source, tally: &mut Tally| {
        for sharing in SHARING {
            hold(context, &format!("{name}, {}", sharing.1), source, sharing, tally);
        }
    });
    println!(
        "{} kernels, {} spoiled, of which {} are harmless",
        tally.kernels, tally.spoiled, tally.harmless
    );
    assert!(tally.refused.is_empty(), "refused:\n{}", tally.refused.join("\n"));
    assert!(tally.missed.is_empty(), "accepted:\n{}", tally.missed.join("\n"));
    assert!(
        tally.kernels >= 300 && tally.spoiled >= 3000 && tally.harmless < tally.spoiled / 4,
        "too few"
    );
}

/// Puts each buffer, or some of them, anywhere.
fn shuffle(function: Op<'_>, seed: u64) {
    let mut random = Random(seed);
    let mut draw = |below| random.below(below);
    let (slots, most) = (1 + draw(5), 1 + draw(4));
    for view in views(function) {
        if draw(4) > most {
            continue;
        }
        // Half of a buffer, or all of it.
        let offset = draw(2 * slots - 1) * 128;
        set_offset(view, i64::try_from(offset).unwrap_or(0));
    }
}

/// Returns true if what the pass makes of `source` is accepted, or if the pass itself refuses that.
fn is_accepted(context: &Context, source: &str, sharing: &str) -> bool {
    let runs = |verify: bool| {
        let options = format!("share={sharing} verify-result={verify}");
        let pipeline = format!("builtin.module(gpux-pack-workgroup-memory{{{options}}})");
        try_lower(context, source, &pipeline).is_some()
    };
    runs(true) || !runs(false)
}

#[test]
fn random_layouts_that_are_accepted_are_clean_with_the_same_result() {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let seeds = seeds(1000);
    let number = seeds.end - seeds.start;
    let (mut accepted, mut refused, mut wrong) = (0_u64, 0_u64, 0_u64);
    for seed in seeds {
        let counted = (seed % 4 == 1).then(|| counted_kernels::kernel(&context, seed));
        let Some(mut source) = counted.unwrap_or_else(|| Some(buffer_kernels::kernel(seed))) else {
            continue;
        };
        if seed % 3 == 0 {
            source = lower(&context, &source, "builtin.module(gpux-tokens-to-groups)");
        }
        for (sharing, name, passes) in SHARING {
            assert!(
                is_accepted(&context, &source, name),
                "seed {seed}, {name}: what the pass writes is refused\n{source}"
            );
            if sharing == Sharing::None {
                continue;
            }
            let mut module = Module::parse(&context, &source).expect("a kernel");
            let root = Op::from(module.as_operation());
            let function = functions(root)
                .into_iter()
                .find(|op| op.is("gpu.func"))
                .expect("a kernel");
            let before = Before::of(function);
            // What is allocated again and again is refused if barriers have to be there already.
            if !pack(&context, &mut module, "share=none") {
                continue;
            }
            if views(function).len() < 2 {
                continue;
            }
            shuffle(function, seed);
            let verdict = before.check(root, sharing, MOST);
            let text = module.as_operation().to_string();
            let fault = judge(&context, &source, &text, passes);
            if verdict.is_ok() {
                accepted += 1;
                assert!(
                    fault.is_none(),
                    "seed {seed}, {name}: {}\n{source}\n{text}",
                    fault.unwrap_or_default()
                );
            } else {
                refused += 1;
                wrong += u64::from(fault.is_some());
            }
        }
    }
    println!("{accepted} layouts accepted, {refused} refused, {wrong} of them wrong");
    assert!(
        accepted >= number / 20 && refused >= number / 20 && wrong >= refused / 4,
        "{accepted} accepted, {refused} refused, {wrong} of them wrong"
    );
}

/// Sanity: the kernels of the generator run, and are clean.
#[test]
fn random_kernels_are_clean() {
    let context = context();
    for seed in 0..200 {
        let source = buffer_kernels::kernel(seed);
        let module = Module::parse(&context, &source).unwrap_or_else(|| panic!("{source}"));
        for code in kernels(Op::from(module.as_operation()), false).into_values() {
            let code = code.expect("code");
            let outcome = execute(&code, &call(&code, 0), Adversary::Late);
            assert!(outcome.is_clean(), "{}\n{source}", outcome.findings);
        }
    }
}

/// Random kernels; `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#[test]
fn random_kernels_are_accepted_and_spoiled_refused() {
    let tallies = counted_kernels::map(60, |context, seed, source| {
        let mut tally = Tally::default();
        for sharing in SHARING {
            let title = format!("seed {seed}, {}", sharing.1);
            hold(context, &title, source, sharing, &mut tally);
        }
        tally
    });
    let tally = tallies.into_iter().fold(Tally::default(), |mut sum, tally| {
        sum += tally;
        sum
    });
    println!(
        "{} kernels, {} spoiled, of which {} are harmless",
        tally.kernels, tally.spoiled, tally.harmless
    );
    assert!(tally.refused.is_empty(), "refused:\n{}", tally.refused.join("\n"));
    assert!(tally.missed.is_empty(), "accepted:\n{}", tally.missed.join("\n"));
    assert!(tally.kernels > 0 && tally.harmless < tally.spoiled / 2, "too few");
}
