//! Finds the points of a queue: where in the program a commit makes a difference. Ranks placements that force
//! the same.
//!
//! Slots with nothing between them that concerns the queue are one point, known by the first of them. Nothing in a
//! region that holds no operation, commit, wait or await of the queue is a point.

use super::QueuePlacer;
use super::incremental::Change;
use crate::age::Age;
use crate::counts::{QueueSolution, counts};
use crate::eval::{CompletionKind, Evaluator, Mode};
use crate::program::{Await, Block, Commits, Graph, Item, Queue, Slot, ensure_sufficient_stack};
use crate::program_info::{BlockInfo, GraphInfo};
use std::cmp::Ordering;

/// How often a loop of unknown trip count is taken to run where commits are weighed.
const UNKNOWN_TRIP: u64 = 64;

/// A place where a commit makes a difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommitPoint {
    pub slot: Slot,
    /// About how often it is executed.
    pub weight: u64,
    /// True if the threads of a warp may be here at different times.
    pub divergent: bool,
    /// True if something else than an operation of the queue comes right before.
    pub late: bool,
}

/// All points of a queue, in program order.
#[derive(Default)]
pub(super) struct CommitPoints {
    pub list: Vec<CommitPoint>,
    /// For each slot, its point's place in the list.
    of_slot: Vec<Option<u32>>,
    /// For each slot, whether control can reach it.
    reached: Vec<bool>,
    /// The points at which something may be open if nothing is committed elsewhere, by their slots.
    pub candidates: Vec<Slot>,
}

/// What placements that force the same are chosen by; the least is best.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rank {
    /// Commits where threads may diverge.
    divergent: u64,
    /// Commits that come later than the last operation of their group.
    late: u64,
    /// Commits that are always empty.
    pub empty: u64,
    /// About how many commits are executed.
    executed: u64,
    /// The places of the commits in the list of points.
    places: Vec<u32>,
}

impl CommitPoints {
    /// Moves each commit to the first slot of its point; one that is never executed goes.
    pub fn canonical(&self, commits: &Commits) -> Commits {
        let mut moved = vec![0; commits.len()];
        for (slot, &n) in commits.iter().enumerate().filter(|(slot, _)| self.reached[*slot]) {
            let to = self.of_slot[slot].map_or(slot, |i| self.list[i as usize].slot.0 as usize);
            moved[to] += n;
        }
        moved
    }

    /// Returns what a placement is worth among those that force the same. `empty` says how many of the commits are always
    /// empty.
    pub fn rank(&self, commits: &Commits, empty: u64) -> Rank {
        let mut rank = Rank {
            divergent: 0,
            late: 0,
            empty,
            executed: 0,
            places: Vec::new(),
        };
        for (i, point) in (0..).zip(&self.list) {
            for _ in 0..commits[point.slot.0 as usize] {
                rank.divergent += u64::from(point.divergent);
                rank.late += u64::from(point.late);
                rank.executed = rank.executed.saturating_add(point.weight);
                rank.places.push(i);
            }
        }
        rank
    }

    /// Returns true if changes of `commits`, whose rank is `rank`, certainly give a greater one. Nothing is said of changes
    /// that differ only in which commits are always empty, or in places.
    pub fn adds_cost(&self, commits: &Commits, changes: &[Change], rank: &Rank) -> bool {
        let (mut divergent, mut late, mut executed) = (0_i64, 0_i64, 0_i128);
        for &(slot, n) in changes {
            let point = self.of_slot[slot].map(|i| &self.list[i as usize]);
            let Some(point) = point else { return false };
            let more = i64::from(n) - i64::from(commits[slot]);
            divergent += if point.divergent { more } else { 0 };
            late += if point.late { more } else { 0 };
            executed += i128::from(more) * i128::from(point.weight);
        }
        let none_is_empty = rank.empty == 0 && rank.executed < u64::MAX;
        (divergent, late).cmp(&(0, 0)).then(if none_is_empty {
            executed.cmp(&0)
        } else {
            Ordering::Equal
        }) == Ordering::Greater
    }
}

impl QueuePlacer<'_> {
    /// Returns the points of the queue; `base` is any solution.
    pub(super) fn points(&self, base: &QueueSolution) -> CommitPoints {
        let open = self.open_groups(&vec![0; self.program.slots as usize]);
        let mut finder = Finder {
            queue: self.queue,
            relevant: self.relevant(base),
            concerned: vec![false; self.program_info.graphs],
            issues_alone: vec![true; self.program_info.graphs],
            groups_end_in_block: !self.program.rules(self.queue).empty_groups,
            points: CommitPoints {
                list: Vec::new(),
                of_slot: vec![None; self.program.slots as usize],
                reached: open.at.iter().map(|open| open.reached()).collect(),
                candidates: Vec::new(),
            },
        };
        finder.mark(&self.program.body, &self.program_info.root);
        finder.graph(&self.program.body, &self.program_info.root, 1, false);
        let anywhere = self.program.rules(self.queue).divergent;
        let allowed = finder
            .points
            .list
            .iter()
            .filter(|point| anywhere || !point.divergent);
        let slots = allowed.map(|point| point.slot);
        finder.points.candidates = slots.filter(|slot| open.at[slot.0 as usize].may_hold()).collect();
        finder.points
    }

    /// Returns, for each await, whether any of its tokens may be of the queue.
    fn relevant(&self, base: &QueueSolution) -> Vec<bool> {
        let awaits = (0..self.program.awaits).map(Await);
        let mut relevant: Vec<bool> = awaits.map(|w| base.has_wait(w)).collect();
        if relevant.iter().all(|&relevant| relevant) {
            return relevant;
        }
        let done = counts(&base.waits);
        for view in [CompletionKind::Done, CompletionKind::Read(&done)] {
            let mut eval = Evaluator::new(self.program, &self.program_info, self.queue, &base.commits, view);
            eval.mode = Mode::Distance;
            eval.graph(&self.program.body, &self.program_info.root, &[]);
            for (relevant, age) in relevant.iter_mut().zip(&eval.measured) {
                *relevant |= *age != Age::DONE;
            }
            if !self.reads() {
                break;
            }
        }
        relevant
    }
}

struct Finder {
    queue: Queue,
    relevant: Vec<bool>,
    /// For each graph, whether something in it is of the queue.
    concerned: Vec<bool>,
    /// For each graph, whether all of that is operations.
    issues_alone: Vec<bool>,
    /// True if a commit after an operation with regions is late for what that issues: the hardware makes a group of
    /// a straight line alone, or adds to it.
    groups_end_in_block: bool,
    points: CommitPoints,
}

impl Finder {
    /// Returns true if something in the graph is of the queue, and notes it of all graphs inside.
    fn mark(&mut self, graph: &Graph, info: &GraphInfo) -> bool {
        let (mut found, mut issues_alone) = (false, true);
        for (block, block_info) in graph.blocks.iter().zip(&info.blocks) {
            let mut inner = block_info.inner.iter();
            for item in &block.items {
                match (item.graph(), item) {
                    (Some(graph), _) => {
                        let Some(info) = inner.next() else { continue };
                        found |= ensure_sufficient_stack(|| self.mark(graph, info));
                        issues_alone &= self.issues_alone[info.id];
                    }
                    (None, item) if self.is_of_queue(item) => {
                        found = true;
                        issues_alone &= matches!(item, Item::Issue { .. });
                    }
                    _ => {}
                }
            }
        }
        self.issues_alone[info.id] = issues_alone;
        self.concerned[info.id] = found;
        found
    }

    fn is_of_queue(&self, item: &Item) -> bool {
        match item {
            Item::Issue { queue, .. } | Item::Commit { queue, .. } | Item::Wait { queue, .. } => {
                *queue == self.queue
            }
            Item::Await { site, .. } => self.relevant[site.0 as usize],
            _ => false,
        }
    }

    fn graph(&mut self, graph: &Graph, info: &GraphInfo, times: u64, divergent: bool) {
        let times = if info.cyclic {
            times.saturating_mul(UNKNOWN_TRIP)
        } else {
            times
        };
        for (block, block_info) in graph.blocks.iter().zip(&info.blocks) {
            let divergent = divergent || block.divergent;
            ensure_sufficient_stack(|| self.block(block, block_info, times, divergent));
        }
    }

    fn block(&mut self, block: &Block, info: &BlockInfo, times: u64, divergent: bool) {
        let mut inner = info.inner.iter();
        let mut here = None;
        let mut point = CommitPoint {
            slot: Slot(0),
            weight: times,
            divergent,
            late: true,
        };
        self.slot(block.start, &mut here, point);
        for item in &block.items {
            let concerned = match (item.graph(), item) {
                (Some(graph), _) => inner.next().is_some_and(|info| {
                    let concerned = self.concerned[info.id];
                    if concerned {
                        point.late = !self.issues_alone[info.id] || self.groups_end_in_block;
                        let trip = match item {
                            Item::Repeat(repeat) => repeat.trip,
                            _ => 1,
                        };
                        self.graph(graph, info, times.saturating_mul(trip), divergent);
                    }
                    concerned
                }),
                (None, item) => {
                    let concerned = self.is_of_queue(item);
                    if concerned {
                        point.late = !matches!(item, Item::Issue { .. });
                    }
                    concerned
                }
            };
            if concerned {
                here = None;
            }
            self.slot(item.after(), &mut here, point);
        }
    }

    /// Adds a slot to the current point, or to a new one.
    fn slot(&mut self, slot: Option<Slot>, here: &mut Option<u32>, point: CommitPoint) {
        let Some(slot) = slot else { return };
        let list = &mut self.points.list;
        let point = *here.get_or_insert_with(|| {
            list.push(CommitPoint { slot, ..point });
            u32::try_from(list.len() - 1).unwrap_or(u32::MAX)
        });
        self.points.of_slot[slot.0 as usize] = Some(point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brute_force::{commits, queues};
    use crate::oracle::build::{Build, Q};
    use crate::oracle::generate::{Style, any_program, config};
    use crate::solve::Options;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(config(400))]

        /// Where in its point a commit stands makes no difference to any count.
        #[test]
        fn slots_of_one_point_are_alike(recipe in any_program(Style::Mixed), seed in any::<u64>()) {
            let program = recipe.program();
            for queue in queues(&program) {
                let placer = QueuePlacer::new(&program, queue, &Options::default());
                let points = placer.points(&placer.solve(program.one_group_each(queue)));
                let anywhere = commits(&program, queue, seed | 1);
                let moved = points.canonical(&anywhere);
                prop_assert_eq!(placer.solve(moved).waits, placer.solve(anywhere).waits);
            }
        }
    }

    #[test]
    fn ranks_prefer_early_and_rare_commits_that_close_something() {
        let mut b = Build::new();
        let copy = b.copy();
        b.for_([copy], |b, _| [b.copy()]);
        b.await_all(&[copy]);
        let program = b.finish();
        let placer = QueuePlacer::new(&program, Q, &Options::default());
        let points = placer.points(&placer.solve(program.one_group_each(Q)));
        let weights: Vec<u64> = points.list.iter().map(|point| point.weight).collect();
        // Before everything, after the copy, in the loop, after it, after the await.
        assert!(weights.contains(&UNKNOWN_TRIP) && weights[0] == 1, "{weights:?}");
        let rank = |slot: Slot, empty: u64| {
            let mut commits = vec![0; program.slots as usize];
            commits[slot.0 as usize] = 1;
            points.rank(&commits, empty)
        };
        let place = |late: bool, weight: u64| {
            let mut found = points
                .list
                .iter()
                .filter(|p| (p.late, p.weight) == (late, weight));
            found.next().expect("there is one").slot
        };
        assert!(rank(place(false, 1), 0) < rank(place(false, UNKNOWN_TRIP), 0));
        assert!(rank(place(false, UNKNOWN_TRIP), 0) < rank(place(true, 1), 0));
        // It is worth more to close something than to be executed rarely.
        assert!(rank(place(false, UNKNOWN_TRIP), 0) < rank(place(false, 1), 1));
    }
}
