//! Cuts a program's body where no token is alive and nothing is in flight, whatever the commits: what stands on one
//! side of a cut does not influence what is right on the other.

use super::Placer;
use super::complete::complete;
use crate::index::{defs, uses};
use crate::program::{Block, Item};
use std::collections::HashMap;
use std::ops::Range;

/// Cuts the items of the body's only block; a body of several blocks is left whole (and no range is
/// returned).
pub(super) fn segments(placer: &Placer) -> Vec<Range<usize>> {
    let [block] = placer.program.body.blocks.as_slice() else {
        return Vec::new();
    };
    if block.edges.iter().any(|edge| !edge.args.is_empty()) {
        return Vec::new();
    }
    let needs = needs(block);
    let quiet = quiet(placer);
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

/// Returns, for each item, whether the operations of every queue are complete after it.
fn quiet(placer: &Placer) -> Vec<bool> {
    let mut all: Option<Vec<bool>> = None;
    for queue_placer in &placer.queues {
        let complete = complete(queue_placer.program, &queue_placer.index, queue_placer.queue);
        all = Some(match all {
            None => complete,
            Some(all) => all
                .iter()
                .zip(complete)
                .map(|(&all, complete)| all && complete)
                .collect(),
        });
    }
    all.unwrap_or_default()
}
