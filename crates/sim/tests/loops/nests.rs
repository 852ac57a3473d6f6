//! Random loops in a loop around them, which is pipelined, too.

use super::{LOOP_END, Loop, random_loop};
use proptest::prelude::*;
use std::fmt::Write;

/// A loop in a loop.
#[derive(Clone, Debug)]
pub struct Nest {
    pub inner: Loop,
    /// How often the outer loop runs.
    pub rounds: usize,
    /// How many stages the inner loop's prologue is before the rest of it.
    pub ahead: u32,
    /// Whether that prologue is the first in a round of the outer loop, or the last.
    pub first: bool,
}

pub fn random_nest() -> impl Strategy<Value = Nest> {
    (random_loop(), 0..4_usize, 0..3_u32, any::<bool>()).prop_map(|(inner, rounds, ahead, first)| Nest {
        inner,
        rounds,
        ahead,
        first,
    })
}

impl Nest {
    /// The kernel: each round has tiles of its own.
    pub fn kernel(&self) -> String {
        let Self { rounds, ahead, .. } = *self;
        let order = if self.first || ahead == 0 {
            "0, 1, 2"
        } else {
            "2, 0, 1"
        };
        let mut text = String::new();
        let (mut inside, mut closed) = (false, false);
        for line in self.inner.kernel().lines() {
            if line.contains("scf.for ") {
                inside = true;
                let _ = writeln!(text, "%rounds = arith.constant {rounds} : index");
                text.push_str("scf.for %round = %c0 to %rounds step %c1 {\n");
                text.push_str("%block = arith.muli %round, %c128 : index\n");
            }
            if inside && line == "gpu.return" {
                inside = false;
                text.push_str("}\n");
            }
            let _ = match line {
                _ if line.ends_with(LOOP_END) => {
                    closed = true;
                    let own = &line["} {".len()..line.rfind('}').expect("an end")];
                    let comma = if own.is_empty() { "" } else { ", " };
                    writeln!(
                        text,
                        "}} {{{own}{comma}async.stage = [0, {ahead}, {ahead}], async.order = [{order}]}}"
                    )
                }
                "%tile = arith.muli %i, %c16 : index" => writeln!(
                    text,
                    "%here = arith.muli %i, %c16 : index\n%tile = arith.addi %here, %block : index"
                ),
                // What the inner loop has carried.
                _ if closed && inside && line.starts_with("memref.store") => {
                    let line = line.replace(
                        " : memref",
                        &format!(" {{async.stage = {ahead}, async.order = 3}} : memref"),
                    );
                    writeln!(text, "{line}")
                }
                _ => writeln!(text, "{line}"),
            };
        }
        text
    }
}
