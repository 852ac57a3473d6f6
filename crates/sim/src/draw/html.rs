//! An HTML page to look around in: it needs nothing but itself, and loads nothing.
//!
//! The page has the timelines as numbers, and its script draws the part of them that is looked at. Names come out of the
//! input, so they are data for the script, never markup: it only ever sets them as text.

use super::rows::{Content, rows};
use super::{LEGEND, Picture, READ, WAIT, color, escape};
use crate::timeline::{Activity, At, MULTIPLICATIONS};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;

/// How many spans, iterations and copies a page has at most; they share it evenly between the pictures. Each is some 30
/// bytes of the page.
pub const MOST: usize = 400_000;

/// A page with timelines: those of a group beside each other, the groups below each other, all on one scale.
#[must_use]
pub fn html(groups: &[Vec<Picture>]) -> String {
    let pictures = groups.iter().map(Vec::len).sum::<usize>();
    page(groups, MOST / pictures.max(1))
}

/// The same, with at most so many items of each picture.
pub(super) fn page(groups: &[Vec<Picture>], most: usize) -> String {
    let all = || groups.iter().flatten();
    let extent = all().map(|picture| picture.timeline.extent()).max().unwrap_or(0);
    let data: Vec<Vec<Value>> = groups
        .iter()
        .map(|group| group.iter().map(|picture| data(picture, most)).collect())
        .collect();
    let colors: HashMap<&str, &str> = [
        ("copy", super::COPY),
        ("multiplication", super::MULTIPLICATION),
        ("observed", WAIT),
        ("read", READ),
        ("even", super::ITERATIONS[0]),
        ("odd", super::ITERATIONS[1]),
    ]
    .into();
    let kinds = [
        (Activity::Busy, "runs until"),
        (Activity::Wait, "waits for copies"),
        (Activity::Barrier, "waits at a block barrier"),
        (Activity::MBarrier, "waits at an mbarrier"),
    ];
    let kinds = kinds.map(|(kind, what)| json!({ "color": color(kind), "what": what }));
    let data = json!({ "extent": extent, "groups": data, "colors": colors, "kinds": kinds });
    // The one thing that could end the element: JSON has `<` only in strings, where it may be written like this.
    let data = data.to_string().replace('<', "\\u003c");
    let titles: Vec<&str> = all().map(|picture| picture.title).collect();
    let mut legend = String::new();
    for (color, text) in LEGEND {
        let _ = write!(legend, "<span><i style=\"background:{color}\"></i>{text}</span> ");
    }
    format!(
        include_str!("page.html"),
        title = escape(&titles.join(", ")),
        style = include_str!("page.css"),
        legend = legend,
        data = data,
        script = include_str!("page.js"),
    )
}

/// A picture for the script.
fn data(picture: &Picture, most: usize) -> Value {
    let (until, left_out) = cut(picture, most);
    let mut names = Names::new(picture);
    let rows: Vec<Value> = rows(picture.timeline)
        .iter()
        .map(|row| {
            let (kind, items) = names.items(&row.content, until);
            json!({ "label": row.label, "first": row.first, "kind": kind, "items": items })
        })
        .collect();
    let loops = picture.listing.loops.iter();
    json!({
        "title": picture.title,
        "summary": picture.summary(),
        "end": picture.timeline.end(),
        "cut": (left_out > 0).then(|| json!({ "at": until, "items": left_out })),
        "rows": rows,
        "places": names.places,
        "loops": loops.map(|name| json!([name.op, name.location])).collect::<Vec<_>>(),
    })
}

/// The cycle from which on a picture leaves out what begins, so that at most so many items are left, and how many it
/// leaves out.
fn cut(picture: &Picture, most: usize) -> (u64, usize) {
    let timeline = picture.timeline;
    let spans = timeline.warps.iter().flatten().map(|span| span.start);
    let iterations = timeline.iterations.iter().flatten();
    let copies = timeline.copies.iter().map(|flight| flight.issued);
    let mut starts: Vec<u64> = spans
        .chain(iterations.map(|iteration| iteration.start))
        .chain(copies)
        .collect();
    if starts.len() <= most {
        return (u64::MAX, 0);
    }
    let (_, &mut until, _) = starts.select_nth_unstable(most);
    (until, starts.iter().filter(|start| **start >= until).count())
}

/// The places that a picture names, each once: a page names the same few very often.
struct Names<'a> {
    picture: &'a Picture<'a>,
    numbers: HashMap<At, usize>,
    /// The operation, its location, and its iteration or nothing.
    places: Vec<Value>,
}

impl<'a> Names<'a> {
    fn new(picture: &'a Picture<'a>) -> Self {
        Self {
            picture,
            numbers: HashMap::new(),
            places: Vec::new(),
        }
    }

    fn place(&mut self, at: At) -> usize {
        *self.numbers.entry(at).or_insert_with(|| {
            let name = &self.picture.listing.instrs[at.instr as usize];
            let counters = &self.picture.iterations[at.iterations as usize];
            let iteration = name.in_loop.then(|| super::numbers(counters));
            self.places.push(json!([name.op, name.location, iteration]));
            self.places.len() - 1
        })
    }

    /// What is in a row, as numbers in a row: of each iteration, span or copy its start, its end, and what the script
    /// reads for its kind.
    fn items(&mut self, content: &Content, until: u64) -> (&'static str, Vec<Value>) {
        let mut items = Vec::new();
        match content {
            Content::Iterations(iterations) => {
                for each in iterations.iter().filter(|each| each.start < until) {
                    items.extend([each.start, each.end, each.of.into(), each.number.into()].map(Value::from));
                }
                ("iterations", items)
            }
            Content::Spans(spans) => {
                for span in spans.iter().filter(|span| span.start < until) {
                    let kind = match span.kind {
                        Activity::Busy => 0,
                        Activity::Wait => 1,
                        Activity::Barrier => 2,
                        Activity::MBarrier => 3,
                    };
                    items.extend([span.start, span.end, kind].map(Value::from));
                    items.push(self.place(span.at).into());
                }
                ("spans", items)
            }
            Content::Copies(copies) => {
                for copy in copies.iter().filter(|copy| copy.issued < until) {
                    items.extend([copy.issued, copy.lands].map(Value::from));
                    items.push(self.place(copy.at).into());
                    items.extend([copy.observed, copy.read].map(Value::from));
                }
                let multiply = copies
                    .first()
                    .is_some_and(|first| &*first.lane == MULTIPLICATIONS);
                (if multiply { "multiplications" } else { "copies" }, items)
            }
        }
    }
}
