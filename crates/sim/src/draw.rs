//! Pictures of a [`Timeline`]: SVG, an HTML page to look around in, and the trace format that Perfetto and
//! `chrome://tracing` load.
//!
//! The cost of each is linear in the number of spans, iterations and copies.

mod axis;
mod html;
mod rows;
mod svg;
mod trace;

pub use self::html::{MOST, html};
pub use self::svg::svg;
pub use self::trace::trace;
use crate::code::Code;
use crate::timeline::{Activity, At, Flight, Iteration, MULTIPLICATIONS, Span, Timeline};
use std::fmt::Write;

/// A timeline and what it takes to name things in it.
pub struct Picture<'a> {
    /// What to call it.
    pub title: &'a str,
    /// The kernel's instructions.
    pub listing: &'a Listing,
    /// The iterations that spans refer to.
    pub iterations: &'a [Box<[u32]>],
    /// The timeline.
    pub timeline: &'a Timeline,
}

/// What the instructions and loops of a kernel are called; unlike [`Code`] it may go to another thread.
pub struct Listing {
    instrs: Vec<Name>,
    loops: Vec<Name>,
}

/// What an instruction or a loop is called.
struct Name {
    op: String,
    location: String,
    /// True if the iteration belongs to the name.
    in_loop: bool,
}

impl Name {
    fn new(place: &crate::code::OpLocation, in_loop: bool) -> Self {
        Self {
            op: place.op.to_string(),
            location: place.location.to_string(),
            in_loop,
        }
    }
}

impl Listing {
    /// Names the instructions and the loops.
    #[must_use]
    pub fn new(code: &Code) -> Self {
        let instrs = code.instrs.iter();
        let loops = code.loops.iter();
        Self {
            instrs: instrs
                .map(|instr| Name::new(&instr.place, !instr.loops.is_empty()))
                .collect(),
            loops: loops.map(|place| Name::new(place, false)).collect(),
        }
    }

    /// `gpux.copy at k.mlir:12:5, iteration 3`
    #[must_use]
    pub fn label(&self, instr: u32, counters: &[u32]) -> String {
        let name = &self.instrs[instr as usize];
        let mut label = format!("{} at {}", name.op, name.location);
        if name.in_loop {
            let _ = write!(label, ", iteration {}", numbers(counters));
        }
        label
    }
}

/// `1.3`: iteration 3 of a loop in iteration 1 of the one around it.
fn numbers(counters: &[u32]) -> String {
    let counters: Vec<String> = counters.iter().map(ToString::to_string).collect();
    counters.join(".")
}

impl Picture<'_> {
    /// How long it takes and how much of that the warps wait: `567 cycles; warps wait 425: …`
    #[must_use]
    pub fn summary(&self) -> String {
        let (end, waits) = (self.timeline.end(), self.timeline.waits());
        let cycles = if end == 1 { "cycle" } else { "cycles" };
        format!(
            "{end} {cycles}; warps wait {}: {} for copies, {} at block barriers, {} at mbarriers",
            waits.total(),
            waits.copies,
            waits.barriers,
            waits.mbarriers
        )
    }

    fn label(&self, at: At) -> String {
        self.listing
            .label(at.instr, &self.iterations[at.iterations as usize])
    }

    fn span(&self, span: &Span) -> String {
        let (label, cycles) = (self.label(span.at), span.end - span.start);
        let what = match span.kind {
            Activity::Busy => "busy until".into(),
            Activity::Wait => format!("waits {cycles} cycles for copies:"),
            Activity::Barrier => format!("waits {cycles} cycles for other warps:"),
            Activity::MBarrier => format!("waits {cycles} cycles for a phase:"),
        };
        format!("{what} {label}")
    }

    fn iteration(&self, iteration: &Iteration) -> String {
        let Name { op, location, .. } = &self.listing.loops[iteration.of as usize];
        let Iteration {
            number, start, end, ..
        } = iteration;
        format!("iteration {number} of the {op} at {location}: cycles {start} to {end}")
    }

    fn flight(&self, flight: &Flight) -> String {
        let mut text = format!(
            "{}: issued {}, {} {}",
            self.label(flight.at),
            flight.issued,
            if &*flight.lane == MULTIPLICATIONS {
                "done"
            } else {
                "lands"
            },
            flight.lands
        );
        for (what, at) in [("observed", flight.observed), ("read", flight.read)] {
            if let Some(at) = at {
                let _ = write!(text, ", {what} {at}");
            }
        }
        text
    }
}

/// The colors of the pictures, and what they stand for.
const LEGEND: [(&str, &str); 7] = [
    (BUSY, "runs"),
    (WAIT, "waits for copies"),
    (BARRIER, "waits at a block barrier"),
    (MBARRIER, "waits at an mbarrier"),
    (
        COPY,
        "a copy, from issue to landing (red tick: observed; green tick: read first)",
    ),
    (MULTIPLICATION, "a multiplication of a warpgroup"),
    (ITERATIONS[1], "iterations of a loop"),
];

const BUSY: &str = "#4878a8";
const WAIT: &str = "#d1495b";
const BARRIER: &str = "#a8a8a8";
const MBARRIER: &str = "#8e5aa8";
const COPY: &str = "#e9b44c";
const MULTIPLICATION: &str = "#5fa887";
const READ: &str = "#2a7f3f";
/// Neighboring iterations differ.
const ITERATIONS: [&str; 2] = ["#eef1f5", "#d7dfe8"];

/// The color of a copy, or of a multiplication.
fn color_in(lane: &str) -> &'static str {
    if lane == MULTIPLICATIONS {
        MULTIPLICATION
    } else {
        COPY
    }
}

/// The color of a span.
fn color(kind: Activity) -> &'static str {
    match kind {
        Activity::Busy => BUSY,
        Activity::Wait => WAIT,
        Activity::Barrier => BARRIER,
        Activity::MBarrier => MBARRIER,
    }
}

/// Text as SVG and HTML take it, in quotes, too.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // XML has no way to write the others.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
