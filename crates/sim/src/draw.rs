//! Pictures of a [`Timeline`]: SVG, and the trace format that Perfetto and `chrome://tracing` load.

use crate::code::Code;
use crate::timeline::{Activity, At, BULK, Flight, Span, Timeline};
use serde_json::{Value, json};
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

/// What the instructions of a kernel are called; unlike [`Code`] it may go to another thread.
pub struct Listing(Vec<(String, bool)>);

impl Listing {
    /// Names the instructions.
    #[must_use]
    pub fn new(code: &Code) -> Self {
        let names = code.instrs.iter().map(|instr| {
            let name = format!("{} at {}", instr.place.op, instr.place.location);
            (name, !instr.loops.is_empty())
        });
        Self(names.collect())
    }

    /// `gpux.copy at k.mlir:12:5, iteration 3`
    #[must_use]
    pub fn label(&self, instr: u32, counters: &[u32]) -> String {
        let (name, in_loop) = &self.0[instr as usize];
        let mut label = name.clone();
        if *in_loop {
            let counters: Vec<String> = counters.iter().map(ToString::to_string).collect();
            let _ = write!(label, ", iteration {}", counters.join("."));
        }
        label
    }
}

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 90.0;
const LANE: f64 = 14.0;
const ROW: f64 = 6.0;
/// Rows of copies that one warp gets; more in flight at once share the last one.
const ROWS: usize = 12;

impl Picture<'_> {
    fn label(&self, at: At) -> String {
        self.listing
            .label(at.instr, &self.iterations[at.iterations as usize])
    }

    fn span(&self, span: &Span) -> String {
        let label = self.label(span.at);
        let what = match span.kind {
            Activity::Busy => "busy until".into(),
            Activity::Wait => format!("waits {} cycles for copies:", span.end - span.start),
            Activity::Barrier => format!("waits {} cycles for other warps:", span.end - span.start),
        };
        format!("{what} {label}")
    }

    fn flight(&self, flight: &Flight) -> String {
        let mut text = format!(
            "{}: issued {}, lands {}",
            self.label(flight.at),
            flight.issued,
            flight.lands
        );
        for (what, at) in [("observed", flight.observed), ("read", flight.read)] {
            if let Some(at) = at {
                let _ = write!(text, ", {what} {at}");
            }
        }
        text
    }

    /// The events of the trace; `process` numbers the picture.
    fn events(&self, process: usize) -> Vec<Value> {
        let name = |kind, id: usize, name: String| json!({"ph": "M", "name": kind, "pid": process, "tid": id, "args": {"name": name}});
        let mut events = vec![name("process_name", 0, self.title.to_owned())];
        for (warp, spans) in self.timeline.warps.iter().enumerate() {
            events.push(name("thread_name", warp, format!("warp {warp}")));
            events.extend(spans.iter().map(|span| {
                let kind = match span.kind {
                    Activity::Busy => "busy",
                    Activity::Wait => "wait",
                    Activity::Barrier => "barrier",
                };
                json!({
                    "ph": "X", "name": kind, "pid": process, "tid": warp,
                    "ts": span.start, "dur": span.end - span.start,
                    "args": {"what": self.span(span)},
                })
            }));
        }
        for (i, flight) in self.timeline.copies.iter().enumerate() {
            let id = format!("{process}.{i}");
            let event = |phase, ts| {
                json!({
                    "ph": phase, "cat": "copy", "name": format!("warp {}: {}", flight.warp, flight.lane), "id": id,
                    "pid": process, "tid": flight.warp, "ts": ts, "args": {"what": self.flight(flight)},
                })
            };
            events.push(event("b", flight.issued));
            events.push(event("e", flight.lands));
        }
        events
    }
}

/// The trace of some timelines, a process for each. A cycle is a microsecond in it.
#[must_use]
pub fn trace(pictures: &[Picture]) -> Value {
    let events = pictures.iter().enumerate();
    let events: Vec<Value> = events.flat_map(|(i, picture)| picture.events(i)).collect();
    json!({ "traceEvents": events })
}

/// Draws timelines below each other, on one axis.
#[must_use]
pub fn svg(pictures: &[Picture]) -> String {
    let end = pictures.iter().map(|picture| picture.timeline.end()).max();
    let mut canvas = Canvas {
        body: String::new(),
        y: 10.0,
        #[allow(clippy::cast_precision_loss)] // It is a picture.
        scale: (WIDTH - LEFT - 10.0) / (end.unwrap_or(0).max(1) as f64),
    };
    for picture in pictures {
        canvas.picture(picture);
    }
    canvas.legend();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{:.0}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
        canvas.y + 10.0,
        canvas.body
    )
}

struct Canvas {
    body: String,
    y: f64,
    scale: f64,
}

impl Canvas {
    fn picture(&mut self, picture: &Picture) {
        let timeline = picture.timeline;
        let title = format!(
            "{}: {} cycles; warps wait {} for copies",
            picture.title,
            timeline.end(),
            timeline.stall()
        );
        self.y += 8.0;
        self.text(8.0, &title, "bold");
        self.y += 10.0;
        for (warp, spans) in timeline.warps.iter().enumerate() {
            self.y += LANE;
            self.text(8.0, &format!("warp {warp}"), "normal");
            self.y -= LANE - 3.0;
            for span in spans {
                let color = match span.kind {
                    Activity::Busy => "#4878a8",
                    Activity::Wait => "#d1495b",
                    Activity::Barrier => "#c8c8c8",
                };
                self.bar(span.start, span.end, LANE, color, &picture.span(span));
            }
            self.y += LANE + 2.0;
            let flights = timeline.copies.iter().filter(|flight| flight.warp == warp);
            let mut lanes: Vec<&str> = Vec::new();
            for flight in flights {
                if !lanes.contains(&flight.lane) {
                    lanes.push(flight.lane);
                }
            }
            // What one thread issues for others comes last.
            lanes.sort_by_key(|lane| *lane == BULK);
            for lane in lanes {
                self.copies(picture, warp, lane);
            }
            self.y += 6.0;
        }
    }

    /// The copies of a warp in a lane, in as many rows as are in flight at once.
    fn copies(&mut self, picture: &Picture, warp: usize, lane: &str) {
        let mut rows: Vec<u64> = Vec::new();
        let top = self.y;
        for flight in picture
            .timeline
            .copies
            .iter()
            .filter(|flight| flight.warp == warp && flight.lane == lane)
        {
            let free = rows.iter().position(|&end| end <= flight.issued);
            let row = free.unwrap_or_else(|| {
                if rows.len() < ROWS {
                    rows.push(0);
                }
                rows.len() - 1
            });
            rows[row] = flight.lands;
            #[allow(clippy::cast_precision_loss)] // A small number.
            let offset = ROW * row as f64;
            self.y = top + offset;
            self.bar(
                flight.issued,
                flight.lands,
                ROW - 1.0,
                "#e9b44c",
                &picture.flight(flight),
            );
            for (at, color) in [(flight.observed, "#d1495b"), (flight.read, "#2a7f3f")] {
                if let Some(at) = at {
                    self.tick(at, color);
                }
            }
        }
        #[allow(clippy::cast_precision_loss)] // The same.
        let height = ROW * rows.len() as f64;
        self.y = top;
        if !rows.is_empty() {
            self.y += ROW + 2.0;
            self.text(8.0, lane, "normal");
        }
        self.y = top + height;
    }

    #[allow(clippy::cast_precision_loss)] // Cycles on a picture.
    fn x(&self, cycle: u64) -> f64 {
        LEFT + cycle as f64 * self.scale
    }

    fn bar(&mut self, start: u64, end: u64, height: f64, color: &str, label: &str) {
        let (x, width) = (self.x(start), (self.x(end) - self.x(start)).max(0.3));
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.2}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{height}\" fill=\"{color}\"><title>{}</title></rect>",
            self.y,
            escape(label)
        );
    }

    fn tick(&mut self, at: u64, color: &str) {
        let x = self.x(at);
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.2}\" y=\"{:.1}\" width=\"1\" height=\"{ROW}\" fill=\"{color}\"/>",
            self.y - 0.5
        );
    }

    fn text(&mut self, x: f64, text: &str, weight: &str) {
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{:.1}\" font-weight=\"{weight}\">{}</text>",
            self.y,
            escape(text)
        );
    }

    fn legend(&mut self) {
        self.y += 16.0;
        let text = "blue: runs; red: waits for copies; gray: waits for other warps; yellow: a copy from issue to landing, \
                    with a red tick where it is observed and a green one where it is read first";
        self.text(8.0, text, "normal");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
