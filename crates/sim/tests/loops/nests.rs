//! Random loops in a loop around them, which may be pipelined, too, or made one with them.

use super::early::random_loop_with_work_before;
use super::{BEFORE, LOOP_END, Loop, random_loop};
use proptest::prelude::*;
use std::fmt::Write;

/// What is around a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// A loop that has stages of its own.
    Staged {
        /// How many stages the inner loop's prologue is before the rest of it.
        ahead: u32,
        /// Whether that prologue is the first in a round of the outer loop, or the last.
        first: bool,
    },
    /// A loop that says nothing; true if the pipeline of the inner loop is to go on across its rounds.
    For(bool),
    /// The same, by `scf.while`.
    While(bool),
}

/// A loop in a loop.
#[derive(Clone, Debug)]
pub struct Nest {
    pub inner: Loop,
    pub around: Around,
    /// How often the outer loop runs; if that is not known, as the last bits of the pattern say.
    pub rounds: Option<usize>,
    /// Whether the outer loop carries a sum of what the inner one results in.
    pub total: bool,
    /// Whether the sums of the inner loop start as something loaded in each round.
    pub initial: bool,
}

pub fn random_nest() -> impl Strategy<Value = Nest> {
    nest_of(random_loop())
}

/// A nest with work before the inner loop, in each round or once.
pub fn random_nest_with_work_before() -> impl Strategy<Value = Nest> {
    nest_of(random_loop_with_work_before())
}

fn nest_of(inner: impl Strategy<Value = Loop>) -> impl Strategy<Value = Nest> {
    let around = prop_oneof![
        2 => (0..3_u32, any::<bool>()).prop_map(|(ahead, first)| Around::Staged { ahead, first }),
        2 => Just(Around::For(true)),
        1 => Just(Around::For(false)),
        1 => any::<bool>().prop_map(Around::While),
    ];
    let rounds = prop_oneof![2 => (0..4_usize).prop_map(Some), 1 => Just(None)];
    let automatic = prop::option::of(1..5_u32);
    (inner, around, rounds, automatic, any::<bool>(), any::<bool>()).prop_map(
        |(inner, around, rounds, automatic, total, initial)| {
            let is_staged = matches!(around, Around::Staged { .. });
            Nest {
                inner: Loop {
                    automatic: automatic.filter(|_| !is_staged),
                    ..inner
                },
                around,
                rounds,
                total: total && !is_staged,
                initial: initial && !is_staged,
            }
        },
    )
}

impl Nest {
    /// Returns true if the inner loop has parts with stages of their own, which may be refused.
    pub fn is_staged(&self) -> bool {
        matches!(self.around, Around::Staged { .. })
    }

    /// The kernel: each round has tiles of its own.
    pub fn kernel(&self) -> String {
        let kernel = self.inner.kernel();
        let total = self.total && kernel.contains("iter_args(%a0 ");
        let mut text = String::new();
        let (mut inside, mut closed) = (false, false);
        // In a loop with stages, it would need one.
        let is_once = self.is_staged() || self.initial;
        let mut before = String::new();
        for line in kernel.lines() {
            if line.ends_with(BEFORE) && !is_once {
                let _ = writeln!(before, "{line}");
                continue;
            }
            if line.contains("scf.for ") && !inside {
                inside = true;
                text.push_str(&self.head(total));
                text.push_str(&before);
                let start = if self.initial {
                    "%a0 = %start"
                } else {
                    "%a0 = %zero"
                };
                let _ = writeln!(text, "{}", line.replace("%a0 = %zero", start));
                continue;
            }
            if inside && line == "gpu.return" {
                inside = false;
                text.push_str(&self.tail(total));
            }
            let _ = match line {
                _ if line.ends_with(LOOP_END) => {
                    closed = true;
                    writeln!(text, "}} {{{}}}", self.attributes(line))
                }
                "%tile = arith.muli %i, %c16 : index" => writeln!(
                    text,
                    "%here = arith.muli %i, %c16 : index\n%tile = arith.addi %here, %block : index"
                ),
                // What the inner loop has carried.
                _ if closed && inside && line.starts_with("memref.store") => match self.around {
                    Around::Staged { ahead, .. } => {
                        let slot = format!(" {{async.stage = {ahead}, async.order = 3}} : memref");
                        writeln!(text, "{}", line.replace(" : memref", &slot))
                    }
                    _ => writeln!(text, "{line}"),
                },
                _ => writeln!(text, "{line}"),
            };
        }
        text
    }

    /// The attributes of the inner loop, which ends with `line`.
    fn attributes(&self, line: &str) -> String {
        let own = &line["} {".len()..line.rfind('}').expect("an end")];
        let comma = if own.is_empty() { "" } else { ", " };
        match self.around {
            Around::Staged { ahead, first } => {
                let order = if first || ahead == 0 { "0, 1, 2" } else { "2, 0, 1" };
                format!("{own}{comma}async.stage = [0, {ahead}, {ahead}], async.order = [{order}]")
            }
            Around::For(true) | Around::While(true) => format!("{own}{comma}async.across_rounds"),
            Around::For(false) | Around::While(false) => own.to_owned(),
        }
    }

    /// What is before the inner loop.
    fn head(&self, total: bool) -> String {
        let rounds = match self.rounds {
            Some(rounds) => format!("arith.constant {rounds} : index"),
            None => "arith.shrui %pattern, %c31_index : index".to_owned(),
        };
        let around = match (self.around, total) {
            (Around::While(_), false) => {
                "%end = scf.while (%number = %c0) : (index) -> index {
%goes_on = arith.cmpi ult, %number, %rounds : index
scf.condition(%goes_on) %number : index
} do {
^bb0(%round: index):"
            }
            (Around::While(_), true) => {
                "%end:2 = scf.while (%number = %c0, %so_far = %c31) : (index, i32) -> (index, i32) {
%goes_on = arith.cmpi ult, %number, %rounds : index
scf.condition(%goes_on) %number, %so_far : index, i32
} do {
^bb0(%round: index, %sum: i32):"
            }
            (_, false) => "scf.for %round = %c0 to %rounds step %c1 {",
            (_, true) => "%end = scf.for %round = %c0 to %rounds step %c1 iter_args(%sum = %c31) -> (i32) {",
        };
        let start = if self.initial {
            "%start = memref.load %other[%round] : memref<?xi32>\n"
        } else {
            ""
        };
        format!("%rounds = {rounds}\n{around}\n%block = arith.muli %round, %c128 : index\n{start}")
    }

    /// What is after the inner loop and what it has carried.
    fn tail(&self, total: bool) -> String {
        let sum = if total {
            "%scaled = arith.muli %sum, %c31 : i32\n%more_sum = arith.addi %scaled, %r#0 : i32\n"
        } else {
            ""
        };
        let (end, result) = match (self.around, total) {
            (Around::While(_), false) => (
                "%next_number = arith.addi %round, %c1 : index\nscf.yield %next_number : index\n",
                "",
            ),
            (Around::While(_), true) => (
                "%next_number = arith.addi %round, %c1 : index\nscf.yield %next_number, %more_sum : index, i32\n",
                "%end#1",
            ),
            (_, false) => ("", ""),
            (_, true) => ("scf.yield %more_sum : i32\n", "%end"),
        };
        let store = if total {
            format!(
                "%o_end = arith.addi %last, %c208 : index\nmemref.store {result}, %out[%o_end] : memref<?xi32>\n"
            )
        } else {
            String::new()
        };
        format!("{sum}{end}}}\n{store}")
    }
}
