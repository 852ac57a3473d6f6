//! Says what was found: for people, and for tools.

use crate::code::Code;
use crate::machine::{Reason, Stop};
use crate::memory::{Buffer, Fault};
use crate::report::{Problem, Race, Reports, Spot};
use crate::value::BufferId;
use std::fmt::Write;

/// What it takes to name things.
pub struct Names<'a> {
    /// The kernel.
    pub code: &'a Code,
    /// The buffers.
    pub buffers: &'a [Buffer],
    /// The iterations that spots refer to.
    pub iterations: &'a [Box<[u32]>],
    /// How many threads a block has.
    pub threads_per_block: u32,
}

impl Names<'_> {
    fn buffer(&self, id: BufferId) -> &str {
        &self.buffers[id.0 as usize].name
    }

    fn location(&self, spot: Spot) -> &str {
        &self.code.instrs[spot.instr as usize].place.location
    }

    fn op(&self, spot: Spot) -> &str {
        &self.code.instrs[spot.instr as usize].place.op
    }

    /// `thread 3 of block 0, iteration 2 of the scf.for at kernel.mlir:12:5`
    fn instance(&self, spot: Spot) -> String {
        let (thread, block) = (
            spot.thread % self.threads_per_block,
            spot.thread / self.threads_per_block,
        );
        let mut text = format!("thread {thread} of block {block}");
        for (iteration, place) in self.loops(spot) {
            let _ = write!(text, ", iteration {iteration} of the {place}");
        }
        text
    }

    /// The iteration of each loop around, and the loop.
    fn loops(&self, spot: Spot) -> Vec<(u32, String)> {
        let counters = &self.iterations[spot.iterations as usize];
        let loops = self.code.instrs[spot.instr as usize].loops.iter();
        loops
            .zip(counters.iter())
            .map(|(&number, &iteration)| {
                let place = &self.code.loops[number as usize];
                (iteration, format!("{} at {}", place.op, place.location))
            })
            .collect()
    }

    /// The iterations of the innermost loop in which a race was seen, if it was in several.
    fn innermost(&self, race: &Race) -> Vec<u32> {
        let depth = self.code.instrs[race.now.instr as usize].loops.len();
        let mut seen: Vec<u32> = race
            .iterations
            .iter()
            .filter_map(|&entry| {
                self.iterations[entry as usize]
                    .get(depth.checked_sub(1)?)
                    .copied()
            })
            .collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    }

    /// The report for people.
    #[must_use]
    pub fn text(&self, reports: &Reports) -> String {
        let mut text = String::new();
        for race in reports.races() {
            self.race(&mut text, race);
        }
        for problem in reports.problems() {
            self.problem(&mut text, problem);
        }
        text
    }

    fn race(&self, text: &mut String, race: &Race) {
        let (message, advice) = race.hazard.text();
        let Race {
            now,
            before,
            bytes: (first, last),
            ..
        } = *race;
        let _ = writeln!(
            text,
            "{}: error: {} race: {} {message}",
            self.location(now),
            race.hazard.kind(),
            self.op(now)
        );
        let _ = writeln!(text, "  this:    {}", self.instance(now));
        let seen = self.innermost(race);
        if let [first, .., last] = seen.as_slice() {
            let whole = seen.len() == (last - first + 1) as usize;
            let numbers: Vec<String> = seen.iter().map(ToString::to_string).collect();
            let numbers = if whole {
                format!("{first} to {last}")
            } else {
                numbers.join(", ")
            };
            let more = if race.more { ", and more" } else { "" };
            let _ = writeln!(text, "           seen in iterations {numbers}{more}");
        }
        let _ = writeln!(
            text,
            "  against: {} at {}, {}",
            self.op(before),
            self.location(before),
            self.instance(before)
        );
        let more = race.count - u64::try_from(last - first + 1).unwrap_or(0);
        let more = if more == 0 {
            String::new()
        } else {
            format!(" the first time; {more} more bytes later")
        };
        let _ = writeln!(
            text,
            "  on:      bytes {first} to {last} of {}{more}",
            self.buffer(race.buffer)
        );
        let _ = writeln!(text, "  mend it: {advice}");
    }

    fn problem(&self, text: &mut String, problem: &Problem) {
        let severity = if problem.note { "note" } else { "error" };
        let _ = writeln!(
            text,
            "{}: {severity}: {}: {}",
            self.location(problem.at),
            self.op(problem.at),
            problem.message
        );
        let _ = writeln!(text, "  this:    {}", self.instance(problem.at));
        if let Some(other) = problem.other {
            let _ = writeln!(
                text,
                "  against: {} at {}, {}",
                self.op(other),
                self.location(other),
                self.instance(other)
            );
        }
        let _ = writeln!(text, "  mend it: {}", problem.advice);
    }

    /// Why a run ended early.
    #[must_use]
    pub fn stop(&self, stop: &Stop) -> String {
        format!(
            "{}: error: {}: {}\n  this:    {}\n",
            self.location(stop.spot),
            self.op(stop.spot),
            self.reason(&stop.reason),
            self.instance(stop.spot)
        )
    }

    fn reason(&self, reason: &Reason) -> String {
        match reason {
            Reason::Fault(Fault::OutOfBounds {
                buffer,
                offset,
                bytes,
            }) => format!(
                "{bytes} bytes from byte {offset} on are not inside of {}, which has {}",
                self.buffer(*buffer),
                self.buffers[buffer.0 as usize].data.len()
            ),
            Reason::Fault(Fault::Misaligned {
                buffer,
                offset,
                align,
            }) => format!(
                "byte {offset} of {}, which is aligned to {}, is not aligned to {align}",
                self.buffer(*buffer),
                self.buffers[buffer.0 as usize].align
            ),
            Reason::Scalar(error) => error.to_string(),
            Reason::Poison => "an operand holds no value on this path".into(),
            Reason::Kind(what) => format!("an operand is not {what}"),
            Reason::Budget => "the thread has run longer than its budget allows; does it end?".into(),
            Reason::Assert(message) => format!("the assertion failed: {message}"),
            Reason::Size { bytes, of } => format!("{bytes} bytes can't be copied, only multiples of {of}"),
            Reason::PartialWarp => {
                "the warp is not complete, and all of its 32 threads have to take part".into()
            }
        }
    }

    /// The report for tools: an object per finding.
    #[must_use]
    pub fn json(&self, reports: &Reports) -> serde_json::Value {
        let spot = |spot: Spot| {
            let loops: Vec<_> = self
                .loops(spot)
                .into_iter()
                .map(|(iteration, place)| serde_json::json!({ "loop": place, "iteration": iteration }))
                .collect();
            serde_json::json!({
                "op": self.op(spot),
                "location": self.location(spot),
                "thread": spot.thread % self.threads_per_block,
                "block": spot.thread / self.threads_per_block,
                "loops": loops,
            })
        };
        let races = reports.races().map(|race| {
            let (message, advice) = race.hazard.text();
            serde_json::json!({
                "kind": race.hazard.kind(),
                "severity": "error",
                "message": message,
                "advice": advice,
                "at": spot(race.now),
                "against": spot(race.before),
                "buffer": self.buffer(race.buffer),
                "bytes": [race.bytes.0, race.bytes.1],
                "count": race.count,
                "iterations": self.innermost(race),
            })
        });
        let problems = reports.problems().map(|problem| {
            serde_json::json!({
                "kind": problem.kind,
                "severity": if problem.note { "note" } else { "error" },
                "message": problem.message,
                "advice": problem.advice,
                "at": spot(problem.at),
                "against": problem.other.map(spot),
            })
        });
        races.chain(problems).collect()
    }
}
