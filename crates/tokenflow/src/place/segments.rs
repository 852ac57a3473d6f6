//! Cuts a program's body where no token is alive and nothing is in flight: what stands on one side of
//! a cut does not influence what is right on the other.

use super::Whole;
use crate::compare::{self, Translation};
use crate::index::{defs, uses};
use crate::program::{Block, Item};
use crate::solve::counts;
use std::collections::HashMap;
use std::ops::Range;

/// Cuts the items of the body's only block; a body of several blocks is left whole (and no range is
/// returned).
pub(super) fn segments(whole: &Whole) -> Vec<Range<usize>> {
    let [block] = whole.program.body.blocks.as_slice() else {
        return Vec::new();
    };
    if block.edges.iter().any(|edge| !edge.args.is_empty()) {
        return Vec::new();
    }
    let needs = needs(block);
    let quiet = quiet(whole);
    let mut segments = Vec::new();
    let (mut end, mut start) = (block.items.len(), usize::MAX);
    for i in (0..block.items.len()).rev() {
        start = start.min(needs[i]);
        // What is in flight, though nothing awaits it, may share a group with what comes next.
        // A point belongs to what comes before it.
        let point = matches!(block.items[i], Item::Point(_));
        let cut = i == 0 || !point && quiet.get(i - 1).is_some_and(|&quiet| quiet);
        if start == i && cut {
            segments.push(i..end);
            (end, start) = (i, usize::MAX);
        }
    }
    segments.reverse();
    segments
}

/// Returns, for each item, the earliest one that defines a token it uses, or itself.
fn needs(block: &Block) -> Vec<usize> {
    let mut defined = HashMap::new();
    for (i, item) in block.items.iter().enumerate() {
        for token in defs(item) {
            defined.insert(token, i);
        }
    }
    let items = block.items.iter().enumerate();
    items
        .map(|(i, item)| {
            let mut earliest = i;
            uses(item, &mut |token| {
                if let Some(&at) = defined.get(&token) {
                    earliest = earliest.min(at);
                }
            });
            earliest
        })
        .collect()
}

/// Returns, for each item, whether no queue has anything in flight behind it.
fn quiet(whole: &Whole) -> Vec<bool> {
    let mut all: Option<Vec<bool>> = None;
    for (part, base) in whole.parts.iter().zip(&whole.bases) {
        let n = counts(&base.waits);
        let translation = Translation {
            commits: &base.commits,
            n: &n,
            reads: None,
        };
        let quiet = compare::quiet(part.program, &part.index, part.queue, translation);
        all = Some(match all {
            None => quiet,
            Some(all) => all.iter().zip(quiet).map(|(&all, quiet)| all && quiet).collect(),
        });
    }
    all.unwrap_or_default()
}
