//! The check of `--gpux-insert-flags`: it accepts what the pass writes for all modules of the tests and examples, and for random programs, and
//! refuses that with a flag left out, of another number, or in the other direction. Of flags that are moved over an operation of their
//! engine, it refuses most: some are superfluous there.
#![allow(missing_docs)]

mod kernel;
mod random;

use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Op, int_attr, str_attr};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Module;
use async_verify::flags::{FlagKind, Machine, is_flag, verify};
use kernel::lit;
use kernel::{context, try_lower};
use random::Random;
use std::fmt::Write;
use std::ops::AddAssign;

const OPTIONS: [&str; 3] = ["event-limit=99", "flags=counting event-limit=99", ""];

#[derive(Default)]
struct Tally {
    accepted: usize,
    /// What the pass does not lower.
    failed: usize,
    spoiled: usize,
    /// Flags that were moved, and how many of these are refused.
    moved: usize,
    moved_refused: usize,
    /// What is refused as the pass writes it.
    refused: Vec<String>,
    /// What is accepted after it was spoiled.
    missed: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.failed += other.failed;
        self.spoiled += other.spoiled;
        self.moved += other.moved;
        self.moved_refused += other.moved_refused;
        self.refused.extend(other.refused);
        self.missed.extend(other.missed);
    }
}

/// Lowers a module, checks what comes out, and spoils it.
fn hold(context: &Context, title: &str, source: &str, options: &str, tally: &mut Tally) {
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
    assert!(is_accepted(), "{title}");
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
        tally.moved_refused += usize::from(!is_accepted());
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
                hold(context, name, source, options, tally);
            }
        }
    });
    tally.check();
    assert!(tally.accepted >= 20, "{}", tally.accepted);
}

/// Writes random programs of three engines.
struct Writer {
    state: Random,
    text: String,
    /// How many values there are.
    values: usize,
}

const ENGINES: [&str; 3] = ["A", "B", "C"];

impl Writer {
    fn draw(&mut self, below: usize) -> usize {
        self.state.below(below)
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("%v{}", self.values)
    }

    fn pick(&mut self, visible: &[String]) -> String {
        let at = self.draw(visible.len());
        visible[at].clone()
    }

    /// An operation that accesses a tile, in an iteration of `index`. Returns its result.
    fn operation(&mut self, visible: &[String], index: &str) -> String {
        let result = self.value();
        let mut tile = format!("%t{}", self.draw(3));
        let mut ty = "!tile";
        if self.draw(3) == 0 {
            let row = self.value();
            let _ = writeln!(
                self.text,
                "{row} = memref.subview {tile}[{index}, 0] [1, 64] [1, 1] : !tile to !row"
            );
            (tile, ty) = (row, "!row");
        }
        let used = self.pick(visible);
        let engine = ENGINES[self.draw(3)];
        let effect = [
            "async.reads = [0]",
            "async.writes = [0]",
            "async.reads = [], async.writes = []",
        ][self.draw(3)];
        let _ = writeln!(
            self.text,
            "{result} = \"npu.op\"({tile}, {used}) {{async.engine = \"{engine}\", {effect}}} : ({ty}, i32) -> i32"
        );
        result
    }

    /// A condition on one of the values.
    fn condition(&mut self, visible: &[String]) -> String {
        let used = self.pick(visible);
        let condition = self.value();
        let _ = writeln!(self.text, "{condition} = arith.cmpi eq, {used}, %zero : i32");
        condition
    }

    /// Some operations; returns a value of theirs.
    fn block(&mut self, depth: usize, visible: &[String], index: &str) -> String {
        let mut visible = visible.to_vec();
        for _ in 0..=self.draw(4) {
            let made = match self.draw(if depth == 0 { 5 } else { 9 }) {
                5 | 6 => {
                    let (result, argument, inner) = (self.value(), self.value(), self.value());
                    let first = self.pick(&visible);
                    let _ = writeln!(
                        self.text,
                        "{result} = scf.for {inner} = %c0 to %n step %c1 iter_args({argument} = {first}) -> (i32) {{"
                    );
                    let all = [&visible[..], &[argument]].concat();
                    let last = self.block(depth - 1, &all, &inner);
                    let _ = writeln!(self.text, "scf.yield {last} : i32\n}}");
                    result
                }
                7 => {
                    let result = self.value();
                    let condition = self.condition(&visible);
                    let _ = writeln!(self.text, "{result} = scf.if {condition} -> (i32) {{");
                    let last = self.block(depth - 1, &visible, index);
                    let _ = writeln!(self.text, "scf.yield {last} : i32\n}} else {{");
                    let last = if self.draw(2) == 0 {
                        self.pick(&visible)
                    } else {
                        self.block(depth - 1, &visible, index)
                    };
                    let _ = writeln!(self.text, "scf.yield {last} : i32\n}}");
                    result
                }
                8 => {
                    let (result, argument, handed) = (self.value(), self.value(), self.value());
                    let first = self.pick(&visible);
                    let _ = writeln!(
                        self.text,
                        "{result} = scf.while ({argument} = {first}) : (i32) -> i32 {{"
                    );
                    let all = [&visible[..], &[argument]].concat();
                    let last = self.block(depth - 1, &all, index);
                    let condition = self.condition(&[&all[..], std::slice::from_ref(&last)].concat());
                    let _ = writeln!(
                        self.text,
                        "scf.condition({condition}) {last} : i32\n}} do {{\n^bb0({handed}: i32):"
                    );
                    let all = [&visible[..], &[handed]].concat();
                    let last = self.block(depth - 1, &all, index);
                    let _ = writeln!(self.text, "scf.yield {last} : i32\n}}");
                    result
                }
                _ => self.operation(&visible, index),
            };
            visible.push(made);
        }
        self.pick(&visible)
    }
}

/// A random program.
fn program(seed: u64) -> String {
    let mut writer = Writer {
        state: Random(seed),
        text: String::new(),
        values: 0,
    };
    let visible = ["%x".to_owned(), "%y".to_owned()];
    let depth = usize::try_from(seed % 3).unwrap_or(0);
    writer.block(depth, &visible, "%c1");
    format!(
        "!tile = memref<8x64xf32>\n!row = memref<1x64xf32, strided<[64, 1], offset: ?>>\n\
         func.func @random(%x: i32, %y: i32, %n: index) {{\n\
         %c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%zero = arith.constant 0 : i32\n\
         %t0 = memref.alloc() : !tile\n%t1 = memref.alloc() : !tile\n%t2 = memref.alloc() : !tile\n{}return\n}}\n",
        writer.text
    )
}

#[test]
fn random_programs_are_accepted_and_spoiled_refused() {
    let context = context();
    context.set_allow_unregistered_dialects(true);
    context.attach_diagnostic_handler(|_| true);
    let mut tally = Tally::default();
    for seed in 0..600 {
        let source = program(seed);
        assert!(
            Module::parse(&context, &source).is_some(),
            "seed {seed}:\n{source}"
        );
        let options = OPTIONS[usize::try_from(seed / 3 % 2).unwrap_or(0)];
        hold(&context, &format!("seed {seed}"), &source, options, &mut tally);
    }
    tally.check();
    assert_eq!(tally.failed, 0, "there are as many flags as are needed");
    assert!(tally.accepted >= 200, "{}", tally.accepted);
}
