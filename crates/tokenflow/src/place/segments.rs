//! Cuts a program's body into segments where no token is alive and nothing is in flight, whatever the
//! commits: what stands on one side of a cut does not influence what is right on the other.

use super::Placer;
use super::all_complete::all_complete_after;
use crate::program::{Block, Item};
use crate::program_info::{defs, uses};
use rustc_hash::FxHashMap;
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
    let nothing_in_flight_after = nothing_in_flight_after(placer);
    let mut segments = Vec::new();
    let (mut end, mut start) = (block.items.len(), usize::MAX);
    for i in (0..block.items.len()).rev() {
        start = start.min(needs[i]);
        // What is in flight, though nothing awaits it, may share a group with what comes next.
        // A point belongs to what comes before it.
        let point = matches!(block.items[i], Item::Point(_));
        let cut = i == 0 || !point && nothing_in_flight_after.get(i - 1) == Some(&true);
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
    let mut defined = FxHashMap::default();
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
fn nothing_in_flight_after(placer: &Placer) -> Vec<bool> {
    let mut all: Option<Vec<bool>> = None;
    for queue_placer in &placer.queues {
        let complete = all_complete_after(
            queue_placer.program,
            &queue_placer.program_info,
            queue_placer.queue,
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::build::Build;
    use crate::program::{Commits, Program};
    use crate::solve::{Options, solve};

    fn lengths(program: &Program) -> Vec<usize> {
        let segments = segments(&Placer::new(program, &Options::default()));
        segments.into_iter().map(|items| items.len()).collect()
    }

    /// Copies, awaited one after the other, each with a point after it.
    fn copies(b: &mut Build, n: usize) {
        let copies: Vec<_> = (0..n).map(|_| b.copy()).collect();
        for copy in copies {
            b.await_all(&[copy]);
        }
    }

    #[test]
    fn cuts_where_nothing_is_in_flight() {
        let mut b = Build::new();
        copies(&mut b, 1);
        copies(&mut b, 2);
        assert_eq!(lengths(&b.finish()), [3, 6]);
    }

    #[test]
    fn does_not_cut_where_something_is_alive() {
        let mut b = Build::new();
        let copy = b.copy();
        b.await_all(&[copy]);
        copies(&mut b, 1);
        b.await_all(&[copy]);
        assert_eq!(lengths(&b.finish()), [8]);
        // Nor where something is in flight that nothing awaits.
        let mut b = Build::new();
        b.copy();
        copies(&mut b, 1);
        copies(&mut b, 1);
        assert_eq!(lengths(&b.finish()), [4, 3]);
    }

    /// The segments put together are the translations of each, one after the other.
    #[test]
    fn segments_are_solved_one_by_one() {
        let parts: [&dyn Fn(&mut Build); 3] = [
            &|b| copies(b, 2),
            &|b| {
                let first = b.copy();
                let [last] = b.for_([first], |b, [last]| {
                    b.await_all(&[last]);
                    [b.copy()]
                });
                b.await_all(&[last]);
            },
            &|b| copies(b, 1),
        ];
        let solve_all = |parts: &[&dyn Fn(&mut Build)]| {
            let mut b = Build::new();
            for part in parts {
                part(&mut b);
            }
            let program = b.finish();
            solve(&program, &Options::default()).queues.remove(0)
        };
        let all = solve_all(&parts);
        let each = parts.map(|part| solve_all(&[part]));
        let waits: Vec<_> = each.iter().flat_map(|part| part.waits.clone()).collect();
        assert_eq!(all.waits, waits);
        // The start of the body is a slot of its own.
        let commits: Commits = each.iter().flat_map(|part| part.commits[1..].to_vec()).collect();
        assert_eq!(all.commits[1..], commits);
    }
}
