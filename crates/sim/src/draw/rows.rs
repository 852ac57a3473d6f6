//! What a picture shows in which row, whatever it is drawn with.

use crate::timeline::{BULK, Flight, Iteration, MULTIPLICATIONS, Span, Timeline};

/// Rows of copies that a lane gets; more in flight at once share the last one.
const ROWS: usize = 12;
/// Loops in each other whose iterations are labeled, from the outermost one on.
const DEPTHS: usize = 3;

/// A row of a picture; what is in it is in the order in which it begins.
pub(super) struct Row<'a> {
    /// What stands before it, if it is the first of its lane.
    pub label: String,
    /// True if it is the first of its warp.
    pub first: bool,
    /// What it shows.
    pub content: Content<'a>,
}

/// What a row shows.
pub(super) enum Content<'a> {
    /// The iterations of loops, which the same number of loops is around.
    Iterations(Vec<&'a Iteration>),
    /// What a warp does.
    Spans(&'a [Span]),
    /// Copies, or multiplications.
    Copies(Vec<&'a Flight>),
}

/// The rows of a timeline: for each warp its iterations, what it does, and its copies.
pub(super) fn rows(timeline: &Timeline) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut copies: Vec<Vec<&Flight>> = vec![Vec::new(); timeline.warps.len()];
    for flight in &timeline.copies {
        copies[flight.warp].push(flight);
    }
    for ((warp, spans), copies) in timeline.warps.iter().enumerate().zip(copies) {
        let start = rows.len();
        for depth in 0..DEPTHS {
            let here = |iteration: &&Iteration| iteration.depth == depth;
            let iterations: Vec<&Iteration> = timeline.iterations[warp].iter().filter(here).collect();
            if !iterations.is_empty() {
                let label = if depth == 0 { "iteration" } else { "" };
                rows.push(row(label, Content::Iterations(iterations)));
            }
        }
        rows.push(row(&format!("warp {warp}"), Content::Spans(spans)));
        let mut lanes: Vec<&str> = Vec::new();
        for flight in &copies {
            if !lanes.contains(&&*flight.lane) {
                lanes.push(&flight.lane);
            }
        }
        // What one thread issues for others comes last, and then what is computed.
        lanes.sort_by_key(|lane| (*lane == MULTIPLICATIONS, *lane == BULK));
        for lane in lanes {
            let of_lane = copies.iter().copied().filter(|flight| &*flight.lane == lane);
            let in_rows = stacked(of_lane).into_iter().enumerate();
            rows.extend(
                in_rows.map(|(i, copies)| row(if i == 0 { lane } else { "" }, Content::Copies(copies))),
            );
        }
        rows[start].first = true;
    }
    rows
}

fn row<'a>(label: &str, content: Content<'a>) -> Row<'a> {
    Row {
        label: label.to_owned(),
        first: false,
        content,
    }
}

/// Copies in as many rows as are in flight at once.
fn stacked<'a>(copies: impl Iterator<Item = &'a Flight>) -> Vec<Vec<&'a Flight>> {
    let mut rows: Vec<Vec<&Flight>> = Vec::new();
    for flight in copies {
        let is_free = |row: &Vec<&Flight>| row.last().is_none_or(|last| last.lands <= flight.issued);
        let free = rows.iter().position(is_free);
        let row = free.unwrap_or_else(|| {
            if rows.len() < ROWS {
                rows.push(Vec::new());
            }
            rows.len() - 1
        });
        rows[row].push(flight);
    }
    rows
}
