//! Step 3a: computes the last step that may conflict with each access: up to there, an exposed access
//! matters.
//!
//! An access counts with the range of bytes that it may touch, in whatever iteration. Of all ranges of a
//! buffer, a segment tree knows the last step that each part is accessed in, so that finding the last one for
//! every access takes `n log n` steps.

use super::conflict_relation::ConflictRelation;
use super::graph::{AccessKind, BufferId, Kernel, StepId};
use crate::ids::IndexVec;
use async_overlap::bounds;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The last step that may conflict with each access.
pub(super) struct LastConflicts {
    /// For each class of accesses, the last step that may conflict with it.
    last: FxHashMap<u32, StepId>,
    /// The first step that may come after each: itself, or where the outermost loop around it begins.
    first_after: IndexVec<StepId, StepId>,
}

impl LastConflicts {
    pub fn new(kernel: &Kernel, relation: &ConflictRelation) -> Self {
        Self {
            last: last_conflicts(kernel, relation),
            first_after: first_after(kernel),
        }
    }

    /// Returns true if something that conflicts with an access of `class` may come from step `at` on.
    pub fn matters(&self, class: u32, at: StepId) -> bool {
        self.last
            .get(&class)
            .is_some_and(|last| *last >= self.first_after[at])
    }
}

fn first_after(kernel: &Kernel) -> IndexVec<StepId, StepId> {
    let mut starts = FxHashMap::default();
    let mut first = IndexVec::filled(StepId(0), kernel.steps.len());
    for (id, step) in kernel.steps.with_ids() {
        let outermost = step.in_loop.map(|mut around| {
            while let Some(outer) = kernel.loops[around].parent {
                around = outer;
            }
            around
        });
        first[id] = outermost.map_or(id, |outermost| *starts.entry(outermost).or_insert(id));
    }
    first
}

/// An access that stands for all of its class, the bytes that it may touch, and the last step that begins one.
struct Class {
    number: u32,
    kind: AccessKind,
    bytes: Range<i64>,
    last: Option<StepId>,
}

fn last_conflicts(kernel: &Kernel, relation: &ConflictRelation) -> FxHashMap<u32, StepId> {
    let mut last = FxHashMap::default();
    for (id, step) in kernel.steps.with_ids() {
        last.extend(step.action.starts().map(|access| (relation.class(access), id)));
    }
    let mut seen = FxHashMap::default();
    let mut buffers: IndexVec<BufferId, Vec<Class>> =
        IndexVec::from(kernel.buffers.iter().map(|_| Vec::new()).collect::<Vec<_>>());
    for (id, access) in kernel.accesses.with_ids() {
        let number = relation.class(id);
        let is_new = *seen.entry(number).or_insert(id) == id;
        if let Some(bytes) = bounds(&kernel.loops, &access.footprint).filter(|_| is_new) {
            buffers[access.footprint.buffer].push(Class {
                number,
                kind: access.kind,
                bytes,
                last: last.get(&number).copied(),
            });
        }
    }
    buffers.iter().flat_map(|classes| in_buffer(classes)).collect()
}

/// For each class of one buffer, the last step that may conflict with it.
fn in_buffer(classes: &[Class]) -> Vec<(u32, StepId)> {
    const KINDS: [AccessKind; 3] = [AccessKind::Read, AccessKind::Write, AccessKind::Atomic];
    let mut ends: Vec<i64> = classes
        .iter()
        .flat_map(|class| [class.bytes.start, class.bytes.end])
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let part = |bytes: &Range<i64>| {
        ends.partition_point(|end| *end < bytes.start)..ends.partition_point(|end| *end < bytes.end)
    };
    let trees = KINDS.map(|kind| {
        let mut tree = Latest::new(ends.len());
        for class in classes.iter().filter(|class| class.kind == kind) {
            if let Some(last) = class.last {
                tree.note(part(&class.bytes), last);
            }
        }
        tree
    });
    let last = |class: &Class| {
        let conflicting = KINDS
            .iter()
            .zip(&trees)
            .filter(|(kind, _)| kind.conflicts_with(class.kind));
        conflicting
            .filter_map(|(_, tree)| tree.latest(part(&class.bytes)))
            .max()
    };
    classes
        .iter()
        .filter_map(|class| Some((class.number, last(class)?)))
        .collect()
}

/// The latest step that was noted for each of so many parts, and for ranges of them: a segment tree.
struct Latest {
    leaves: usize,
    /// For each node the latest of all its parts, and the latest that was noted for the whole of it.
    nodes: Vec<(Option<StepId>, Option<StepId>)>,
}

impl Latest {
    fn new(parts: usize) -> Self {
        let leaves = parts.next_power_of_two();
        Self {
            leaves,
            nodes: vec![(None, None); 2 * leaves],
        }
    }

    fn note(&mut self, parts: Range<usize>, step: StepId) {
        for node in self.covering(parts) {
            self.nodes[node].1 = self.nodes[node].1.max(Some(step));
            for node in around(node) {
                self.nodes[node].0 = self.nodes[node].0.max(Some(step));
            }
        }
    }

    fn latest(&self, parts: Range<usize>) -> Option<StepId> {
        let latest = |node: usize| {
            let outer = around(node).map(|node| self.nodes[node].1);
            outer.max().flatten().max(self.nodes[node].0)
        };
        self.covering(parts).into_iter().filter_map(latest).max()
    }

    /// The fewest nodes that are these parts together.
    fn covering(&self, parts: Range<usize>) -> Vec<usize> {
        let (mut low, mut high) = (parts.start + self.leaves, parts.end + self.leaves);
        let mut nodes = Vec::new();
        while low < high {
            nodes.extend((low % 2 == 1).then_some(low));
            nodes.extend((high % 2 == 1).then_some(high - 1));
            low = low.div_ceil(2);
            high /= 2;
        }
        nodes
    }
}

/// A node, and all that it is a part of.
fn around(node: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(node), |node| Some(node / 2).filter(|node| *node > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_latest_of_overlapping_ranges(
            noted in prop::collection::vec((0..9_usize, 0..9_usize, 0..20_usize), 0..8),
            asked in (0..9_usize, 0..9_usize),
        ) {
            let range = |a: usize, b: usize| a.min(b)..a.max(b);
            let mut tree = Latest::new(9);
            for &(a, b, step) in &noted {
                tree.note(range(a, b), StepId(step));
            }
            let asked = range(asked.0, asked.1);
            let meets = |other: &Range<usize>| asked.start.max(other.start) < asked.end.min(other.end);
            let best = noted.iter().filter(|(a, b, _)| meets(&range(*a, *b))).map(|(.., step)| StepId(*step)).max();
            prop_assert_eq!(tree.latest(asked.clone()), best);
        }
    }
}
