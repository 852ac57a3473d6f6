//! The check of `--gpux-insert-flags`: it accepts what the pass writes for all modules of the tests and examples, and for random programs, and
//! refuses that with a flag left out, of another number, or in the other direction. Of flags that are moved over an operation of their
//! engine, it refuses most: some are superfluous there. What it accepts of random programs, the machine executes rightly.
#![allow(missing_docs)]

mod flag_machine;
mod flag_programs;
mod kernel;
mod random;

use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Op, int_attr, str_attr};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Module;
use async_verify::flags::{FlagKind, Machine, is_flag, verify};
use kernel::lit;
use kernel::{context, try_lower};
use random::seeds;
use std::fmt::Write;
use std::ops::AddAssign;

/// Says what goes wrong with a function that the check accepts, if anything does.
type Judge<'a> = &'a dyn Fn(Op, FlagKind) -> Option<String>;

const OPTIONS: [&str; 3] = ["event-limit=99", "flags=counting event-limit=99", ""];

#[derive(Default)]
struct Tally {
    accepted: usize,
    /// What the pass does not lower.
    failed: usize,
    spoiled: usize,
    /// Flags that were left out, and for how many of these something goes wrong.
    left_out: usize,
    left_out_wrong: usize,
    /// Flags that were moved, and how many of these are refused.
    moved: usize,
    moved_refused: usize,
    /// What is refused as the pass writes it.
    refused: Vec<String>,
    /// What is accepted after it was spoiled, or goes wrong.
    missed: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.failed += other.failed;
        self.spoiled += other.spoiled;
        self.left_out += other.left_out;
        self.left_out_wrong += other.left_out_wrong;
        self.moved += other.moved;
        self.moved_refused += other.moved_refused;
        self.refused.extend(other.refused);
        self.missed.extend(other.missed);
    }
}

/// Lowers a module, checks what comes out, and spoils it.
fn hold(context: &Context, title: &str, source: &str, options: &str, judge: Judge, tally: &mut Tally) {
    let lower = |more: &str| {
        let pipeline = format!("builtin.module(gpux-insert-flags{{{options} {more}}})");
        Module::parse(context, source).and_then(|_| try_lower(context, source, &pipeline))
    };
    let Some(module) = lower("verify-result=false") else {
        tally.failed += 1;
        return;
    };
    let root = Op::from(module.as_operation());
    let flags: Vec<Op> = root
        .self_and_nested()
        .into_iter()
        .filter(|op| is_flag(*op))
        .collect();
    if flags.is_empty() {
        return;
    }
    if lower("").is_none() {
        tally.refused.push(format!("{title}, {options}\n{source}"));
        return;
    }
    tally.accepted += 1;
    let kind = if options.contains("counting") {
        FlagKind::Counting
    } else {
        FlagKind::Binary
    };
    let functions: Vec<Op> = root
        .self_and_nested()
        .into_iter()
        .filter(|op| op.is_function())
        .collect();
    let is_accepted = || {
        let machine = Machine {
            kind,
            limit: &|_, _| usize::MAX,
        };
        functions
            .iter()
            .all(|function| verify(*function, machine).is_ok())
    };
    let wrong = || functions.iter().find_map(|function| judge(*function, kind));
    assert!(is_accepted(), "{title}");
    if let Some(wrong) = wrong() {
        tally.missed.push(format!("{title}, {options}: {wrong}\n{root}"));
    }
    for flag in flags {
        let next = flag.next().expect("a terminator follows");
        let mut is_refused = |what: &str| {
            tally.spoiled += 1;
            if is_accepted() {
                tally
                    .missed
                    .push(format!("{title}, {options}: {} {what}\n{root}", flag.name()));
            }
        };
        flag.detach();
        is_refused("left out");
        tally.left_out += 1;
        tally.left_out_wrong += usize::from(wrong().is_some());
        flag.move_before(next);
        let id = flag.int_attr(gpux_attr::ID).expect("an id");
        flag.set_attr(gpux_attr::ID, int_attr(context, 64, id + 1));
        is_refused("of another id");
        flag.set_attr(gpux_attr::ID, int_attr(context, 64, id));
        let ends = flag.str_attr(gpux_attr::FROM).zip(flag.str_attr(gpux_attr::TO));
        let (from, to) = ends.expect("two engines");
        let (from, to) = (from.to_owned(), to.to_owned());
        let direct = |from: &str, to: &str| {
            flag.set_attr(gpux_attr::FROM, str_attr(context, from));
            flag.set_attr(gpux_attr::TO, str_attr(context, to));
        };
        direct(&to, &from);
        is_refused("in the other direction");
        direct(&from, &to);
        let block = flag.block().expect("a block").ops();
        let place = block.iter().position(|op| *op == flag).expect("it is there");
        let (over, engine) = if flag.is(gpux::SET_FLAG) {
            (place.checked_sub(1).map(|before| block[before]), from)
        } else {
            (Some(next), to)
        };
        let is_own = |op: &Op| op.str_attr("async.engine") == Some(&*engine);
        let Some(over) = over.filter(is_own) else { continue };
        if flag.is(gpux::SET_FLAG) {
            flag.move_before(over);
        } else {
            flag.move_after(over);
        }
        tally.moved += 1;
        if !is_accepted() {
            tally.moved_refused += 1;
        } else if let Some(wrong) = wrong() {
            tally
                .missed
                .push(format!("{title}, {options}, moved: {wrong}\n{root}"));
        }
        flag.move_before(next);
    }
}

fn shortest(texts: &[String]) -> &str {
    texts
        .iter()
        .min_by_key(|text| text.len())
        .map_or("", String::as_str)
}

impl Tally {
    fn check(&self) {
        println!(
            "{} accepted, {} spoiled, {} of {} with a flag moved refused",
            self.accepted, self.spoiled, self.moved_refused, self.moved
        );
        assert!(
            self.refused.is_empty(),
            "{} refused:\n{}",
            self.refused.len(),
            shortest(&self.refused)
        );
        assert!(
            self.missed.is_empty(),
            "{} accepted:\n{}",
            self.missed.len(),
            shortest(&self.missed)
        );
        assert!(
            self.moved_refused * 10 >= self.moved * 8,
            "{} of {}",
            self.moved_refused,
            self.moved
        );
    }
}

#[test]
fn what_the_pass_writes_is_accepted_and_spoiled_refused() {
    let tally = lit::tally_sources(|context, name, source, tally: &mut Tally| {
        if source.contains("async.engine") {
            for options in OPTIONS {
                hold(context, name, source, options, &|_, _| None, tally);
            }
        }
    });
    tally.check();
    assert!(tally.accepted >= 20, "{}", tally.accepted);
}

fn judge(function: Op, kind: FlagKind) -> Option<String> {
    (0..4).find_map(|seed| flag_machine::execute(function, kind, seed))
}

#[test]
fn random_programs_are_accepted_and_spoiled_refused() {
    let context = context();
    context.set_allow_unregistered_dialects(true);
    context.attach_diagnostic_handler(|_| true);
    let mut tally = Tally::default();
    let seeds = seeds(600);
    let programs = seeds.end - seeds.start;
    for seed in seeds {
        let (source, has_stores) = flag_programs::program(seed);
        assert!(
            Module::parse(&context, &source).is_some(),
            "seed {seed}:\n{source}"
        );
        let options = OPTIONS[usize::try_from(seed / 3 % 2).unwrap_or(0)];
        let failed = tally.failed;
        hold(
            &context,
            &format!("seed {seed}"),
            &source,
            options,
            &judge,
            &mut tally,
        );
        // What runs on no engine may depend on one.
        assert!(
            has_stores || tally.failed == failed,
            "seed {seed}, {options}:\n{source}"
        );
    }
    tally.check();
    println!(
        "{} of {} with a flag left out go wrong",
        tally.left_out_wrong, tally.left_out
    );
    assert!(
        tally.left_out_wrong * 2 >= tally.left_out,
        "the machine finds faults"
    );
    let accepted = u64::try_from(tally.accepted).expect("a number");
    assert!(accepted * 3 >= programs, "{accepted} of {programs}");
}

/// So many buffers of callers are not told apart, neither by the pass nor by its check.
#[test]
fn many_buffers_of_callers_may_be_the_same() {
    let context = context();
    context.set_allow_unregistered_dialects(true);
    context.attach_diagnostic_handler(|_| true);
    let arguments: Vec<String> = (0..150)
        .map(|number| {
            format!(
                "%a{number}: memref<64xf32>{}",
                if number % 3 == 2 { " {llvm.noalias}" } else { "" }
            )
        })
        .collect();
    let mut source = format!("func.func @f({}) {{\n", arguments.join(", "));
    for number in 0..150 {
        let (written, read) = (number * 7 % 150, number * 11 % 150);
        let _ = writeln!(
            source,
            "\"npu.load\"(%a{written}) {{async.engine = \"A\", async.writes = [0]}} : (memref<64xf32>) -> ()\n\
             \"npu.add\"(%a{read}) {{async.engine = \"B\", async.reads = [0]}} : (memref<64xf32>) -> ()"
        );
    }
    source.push_str("return\n}\n");
    let mut tally = Tally::default();
    hold(
        &context,
        "many buffers",
        &source,
        "event-limit=99",
        &judge,
        &mut tally,
    );
    assert_eq!(tally.accepted, 1);
    tally.check();
}

/// Functions in which something on no engine depends on one: nobody would wait.
const ON_NO_ENGINE: [&str; 6] = [
    "%p = \"npu.compare\"() {async.engine = \"A\"} : () -> i1
     scf.if %p { memref.store %x, %m[] : memref<i32> }",
    "%y = \"npu.make\"() {async.engine = \"A\"} : () -> i32
     %p = arith.cmpi eq, %x, %y : i32
     %q = scf.execute_region -> i1 { scf.yield %p : i1 }
     scf.if %q { scf.execute_region { memref.store %x, %m[] : memref<i32> scf.yield } }",
    "scf.while : () -> () {
       %p = \"npu.compare\"() {async.engine = \"A\"} : () -> i1
       scf.condition(%p)
     } do { memref.store %x, %m[] : memref<i32> scf.yield }",
    "scf.while : () -> () {
       memref.store %x, %m[] : memref<i32>
       %p = \"npu.compare\"() {async.engine = \"A\"} : () -> i1
       scf.condition(%p)
     } do { scf.yield }",
    "%i = \"npu.make\"() {async.engine = \"A\"} : () -> index
     scf.for %j = %n to %i step %i { memref.store %x, %m[] : memref<i32> }",
    "%y = \"npu.make\"() {async.engine = \"A\"} : () -> i32
     %sum = arith.addi %x, %y : i32
     memref.store %sum, %m[] : memref<i32>",
];

#[test]
fn effects_on_no_engine_wait_for_nobody() {
    let context = context();
    context.set_allow_unregistered_dialects(true);
    context.attach_diagnostic_handler(|_| true);
    for body in ON_NO_ENGINE {
        let source = format!("func.func @f(%m: memref<i32>, %x: i32, %n: index) {{\n{body}\nreturn\n}}");
        let module = Module::parse(&context, &source).unwrap_or_else(|| panic!("{source}"));
        let functions = Op::from(module.as_operation()).self_and_nested().into_iter();
        let function = functions
            .into_iter()
            .find(|op| op.is_function())
            .expect("a function");
        let machine = Machine {
            kind: FlagKind::Binary,
            limit: &|_, _| usize::MAX,
        };
        assert!(verify(function, machine).is_err(), "the check accepts\n{source}");
        for option in ["true", "false"] {
            let pipeline = format!("builtin.module(gpux-insert-flags{{verify-result={option}}})");
            assert!(
                try_lower(&context, &source, &pipeline).is_none(),
                "the pass accepts\n{source}"
            );
        }
    }
}
