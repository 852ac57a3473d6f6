//! Searches for the smallest layout: branch and bound over the orders in which buffers are placed.
//!
//! Some optimal layout is what first fit makes of its buffers from the lowest to the highest: first fit in that order puts
//! no buffer higher than it was, so that repeating it ends at a layout that it reproduces. The search tries only such
//! orders: each buffer goes to the lowest offset that is free, and no lower than the last one, ties by number.
//!
//! A step is given up if a buffer that is left can't end below the best layout's end, and everything is once that is the
//! lower bound. Each component of the interference graph is searched by itself. A budget that runs out leaves the best
//! layout so far, which is never worse than the one given.

use super::{Layout, Neighbors, Problem, align_up, lowest};
use std::cmp::Reverse;

/// The most buffers of a component that is searched: each step looks at all of them.
const MOST_BUFFERS: usize = 64;

/// Returns a layout that is no larger than `layout`.
pub(super) fn improve(problem: &Problem, neighbors: &Neighbors, layout: Layout, budget: u32) -> Layout {
    let components = components(problem, neighbors);
    let bounds = components
        .iter()
        .map(|members| lower_bound(problem, neighbors, members));
    let floor = bounds.max().unwrap_or(0);
    let mut offsets = layout.offsets;
    let mut budget = budget;
    for members in components
        .into_iter()
        .filter(|members| members.len() <= MOST_BUFFERS)
    {
        let ends = members
            .iter()
            .map(|&b| offsets[b].saturating_add(problem.buffers[b].bytes));
        let best = ends.max().unwrap_or(0);
        if best <= floor {
            continue;
        }
        let mut search = Search {
            problem,
            neighbors,
            placed: vec![None; problem.buffers.len()],
            best,
            found: None,
            floor,
            budget,
        };
        search.extend(&mut members.clone(), (0, 0), 0);
        budget = search.budget;
        for (b, offset) in search.found.into_iter().flatten() {
            offsets[b] = offset;
        }
    }
    Layout::of(problem, offsets)
}

/// Buffers that interfere with each other, directly or through others.
fn components(problem: &Problem, neighbors: &Neighbors) -> Vec<Vec<usize>> {
    let mut seen = vec![false; problem.buffers.len()];
    let mut components = Vec::new();
    for first in 0..problem.buffers.len() {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        let mut members = vec![first];
        let mut next = 0;
        while next < members.len() {
            for &other in neighbors.of_buffer(members[next]) {
                if !std::mem::replace(&mut seen[other], true) {
                    members.push(other);
                }
            }
            next += 1;
        }
        members.sort_unstable();
        components.push(members);
    }
    components
}

/// What `members` need at least: all buffers of a set in which each interferes with each. The sets are grown from the
/// largest buffers.
fn lower_bound(problem: &Problem, neighbors: &Neighbors, members: &[usize]) -> u64 {
    const STARTS: usize = 16;
    let mut order = members.to_vec();
    order.sort_by_key(|&b| Reverse(problem.buffers[b].bytes));
    let grow = |&first: &usize| {
        let mut clique = vec![first];
        for &b in &order {
            let beside = neighbors.of_buffer(b);
            if clique.iter().all(|member| beside.binary_search(member).is_ok()) {
                clique.push(b);
            }
        }
        let bytes = clique.iter().map(|&b| problem.buffers[b].bytes);
        bytes.fold(0, u64::saturating_add)
    };
    order.iter().take(STARTS).map(grow).max().unwrap_or(0)
}

struct Search<'a> {
    problem: &'a Problem,
    neighbors: &'a Neighbors,
    placed: Vec<Option<u64>>,
    /// What a layout has to be smaller than.
    best: u64,
    /// The best layout, if it is not the one given.
    found: Option<Vec<(usize, u64)>>,
    floor: u64,
    budget: u32,
}

impl Search<'_> {
    /// Places the buffers of `left` after what is placed, the last of which is at `last` and which all end at `end`.
    fn extend(&mut self, left: &mut Vec<usize>, last: (u64, usize), end: u64) {
        if left.is_empty() {
            self.best = end;
            let placed = self.placed.iter().enumerate();
            self.found = Some(placed.filter_map(|(b, offset)| Some((b, (*offset)?))).collect());
            return;
        }
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        let mut next = Vec::new();
        for &b in left.iter() {
            let buffer = self.problem.buffers[b];
            let offset = lowest(self.problem, self.neighbors, &self.placed, b);
            // Others that come before it don't make it lower.
            let at_least = offset.max(align_up(last.0, buffer.alignment));
            if at_least.saturating_add(buffer.bytes) >= self.best {
                return;
            }
            if (offset, b) >= last {
                next.push((offset, Reverse(buffer.bytes), b));
            }
        }
        next.sort_unstable();
        for (offset, Reverse(bytes), b) in next {
            let end = end.max(offset + bytes);
            if end >= self.best {
                continue;
            }
            left.retain(|&other| other != b);
            self.placed[b] = Some(offset);
            self.extend(left, (offset, b), end);
            self.placed[b] = None;
            left.push(b);
            if self.best <= self.floor {
                return;
            }
        }
    }
}
