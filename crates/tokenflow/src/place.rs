//! Where to commit: the options `balance`, `form_groups` and `unroll_limit`.
//!
//! Each option proposes changes to the commits (or to loops), solves the changed program exactly,
//! and keeps a change only if the comparison of [`crate::compare`] allows it: nothing may be forced
//! earlier by any await on any execution. Proposals are made for all candidates at once and thinned
//! out by what the comparison finds, so that the usual program costs a handful of solutions; single
//! candidates are tried one by one within a budget.
//!
//! The body is cut into [`mod@segments`] first, so that the number of trials depends on a segment's size
//! and not on the program's.

mod balance;
mod diamond;
mod groups;
mod peeling;
mod segments;

use self::segments::segments;
use crate::compare::{Comparison, Translation, compare};
use crate::copy::{Copy, Peel, copy_items};
use crate::eval::{N, NO_WAIT};
use crate::index::Index;
use crate::program::{Commits, Item, Program, Queue, Slot};
use crate::solve::{QueueSolution, solve_indexed, solve_queue};

/// What to do beyond exact counts for one group per operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Operations share a group where that makes no await force more.
    pub form_groups: bool,
    /// Empty groups make the counts of different paths equal where that makes an await force less.
    pub balance: bool,
    /// Awaits that other waits imply emit nothing.
    pub drop_implied: bool,
    /// How many iterations may be peeled off a constant-trip loop; 0: never.
    pub unroll_limit: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            form_groups: true,
            balance: true,
            drop_implied: true,
            unroll_limit: 8,
        }
    }
}

/// The translation of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Solution {
    /// For each queue, its commits and waits.
    pub queues: Vec<QueueSolution>,
    /// Loops to be peeled. If there are any, `queues` holds for the program as it is, and the one to
    /// use is the solution of the peeled program.
    pub peel: Vec<Peel>,
    /// The slot behind (or at the meeting point of) branches whose arms commit unequal numbers of
    /// groups and can't be made equal, because of a loop of unknown trip count in one of them.
    pub uneven: Vec<Slot>,
}

/// Translates a program whose operations are committed at its slots.
#[must_use]
pub fn solve(program: &Program, options: &Options) -> Solution {
    let wholes: Vec<(Part, QueueSolution)> = (0..program.queues)
        .map(|q| {
            let part = Part::new(program, Queue(q), options.drop_implied);
            let base = part.solve(program.one_group_each(Queue(q)));
            (part, base)
        })
        .collect();
    let segments = segments(program, &wholes);
    let mut solution = Solution::default();
    if segments.len() < 2 {
        for (part, base) in wholes {
            let placed = part.place(&base, options);
            solution.queues.push(placed.best);
            solution.peel.extend(placed.peel);
            solution.uneven.extend(placed.uneven);
        }
        return solution;
    }
    solution.queues.extend(wholes.into_iter().map(|(_, base)| base));
    for items in segments {
        let copy = copy_items(program, items);
        for q in 0..program.queues {
            let part = Part::new(&copy.program, Queue(q), options.drop_implied);
            let base = part.solve(copy.program.one_group_each(Queue(q)));
            add_segment(&mut solution, usize::from(q), &copy, part.place(&base, options));
        }
        if !crate::solve::reaches_end(&copy.program) {
            // What comes behind is never run.
            break;
        }
    }
    solution
}

/// Writes the translation of a segment over that of the whole.
fn add_segment(solution: &mut Solution, q: usize, copy: &Copy, placed: Placed) {
    let whole = &mut solution.queues[q];
    for (&slot, &commits) in copy.slots.iter().zip(&placed.best.commits) {
        whole.commits[slot.0 as usize] = commits;
    }
    for (&w, &wait) in copy.awaits.iter().zip(&placed.best.waits) {
        whole.waits[w.0 as usize] = wait;
    }
    solution.peel.extend(placed.peel.into_iter().map(|peel| Peel {
        id: copy.loops[peel.id.0 as usize],
        ..peel
    }));
    let uneven = placed.uneven.iter();
    let uneven = uneven.map(|slot| copy.slots[slot.0 as usize]);
    solution.uneven.extend(uneven);
}

/// Solves a program whose commits are given, one vector for each queue.
#[must_use]
pub fn solve_given(program: &Program, commits: &[Commits], drop_implied: bool) -> Vec<QueueSolution> {
    (0..program.queues)
        .zip(commits)
        .map(|(q, commits)| solve_queue(program, Queue(q), commits.clone(), drop_implied))
        .collect()
}

/// A program under one queue's view.
struct Part<'p> {
    program: &'p Program,
    index: Index,
    queue: Queue,
    drop_implied: bool,
    /// How many solutions may be tried one by one.
    trials: usize,
}

/// The result for a [`Part`].
struct Placed {
    best: QueueSolution,
    peel: Vec<Peel>,
    uneven: Vec<Slot>,
}

impl<'p> Part<'p> {
    fn new(program: &'p Program, queue: Queue, drop_implied: bool) -> Self {
        let size = (program.slots + program.awaits + program.tokens) as usize;
        Self {
            program,
            index: Index::new(program),
            queue,
            drop_implied,
            trials: ((1 << 18) / (size + 1)).min(2048),
        }
    }

    /// Places commits; `base` is the solution for one group per operation.
    fn place(&self, base: &QueueSolution, options: &Options) -> Placed {
        let mut placed = Placed {
            best: base.clone(),
            peel: Vec::new(),
            uneven: Vec::new(),
        };
        if placed.best.waits.iter().all(Option::is_none) && !options.form_groups {
            return placed;
        }
        let mut columns = Vec::new();
        if options.balance {
            let balanced = self.balance(base);
            placed.best = balanced.solution;
            placed.uneven = balanced.uneven;
            columns = balanced.columns;
        }
        // Groups are judged against the peeled program's, so peeling is decided without them.
        if options.unroll_limit > 0 {
            placed.peel = self.peel(&placed.best, options.unroll_limit);
        }
        if options.form_groups {
            placed.best = self.form_groups_balanced(base, &placed.best, &columns);
            placed
                .peel
                .retain(|peel| self.helps_with_groups(*peel, &placed.best, options));
        }
        placed
    }

    /// Groups operations of the balanced program. Groups can also even out branches by themselves: where
    /// the balanced program would force more than groups alone, groups come first and balance second.
    fn form_groups_balanced(
        &self,
        base: &QueueSolution,
        balanced: &QueueSolution,
        columns: &[Vec<Slot>],
    ) -> QueueSolution {
        let grouped = self.form_groups(balanced, columns);
        if balanced.commits == base.commits {
            return grouped;
        }
        let no_more = |a, b| self.compare(a, b).forces_no_more();
        let groups_alone = self.form_groups(base, &[]);
        if no_more(&groups_alone, &grouped) {
            return grouped;
        }
        let groups_first = self.balance(&groups_alone).solution;
        if no_more(balanced, &groups_first) {
            groups_first
        } else if no_more(&groups_alone, balanced) {
            balanced.clone()
        } else {
            grouped
        }
    }

    fn solve(&self, commits: Commits) -> QueueSolution {
        solve_indexed(self.program, &self.index, self.queue, commits, self.drop_implied)
    }

    /// Compares solution `b` with solution `a`.
    fn compare(&self, a: &QueueSolution, b: &QueueSolution) -> Comparison {
        let (na, nb) = (counts(a), counts(b));
        let a = Translation {
            commits: &a.commits,
            n: &na,
        };
        let b = Translation {
            commits: &b.commits,
            n: &nb,
        };
        compare(self.program, &self.index, self.queue, a, b)
    }
}

/// Returns the count of every await.
fn counts(solution: &QueueSolution) -> Vec<N> {
    let counts = solution.waits.iter();
    counts.map(|wait| wait.map_or(NO_WAIT, |count| count.n)).collect()
}

/// Returns true if `item` is an operation of `queue` or holds one or a commit of it.
fn touches(item: &Item, queue: Queue) -> bool {
    let mut found = false;
    let mut check = |item: &Item| {
        found |= matches!(item, Item::Issue { queue: q, .. } | Item::Commit { queue: q, .. } if *q == queue);
    };
    check(item);
    let never = matches!(item, Item::Repeat(repeat) if repeat.trip == 0);
    if let (Some(graph), false) = (item.graph(), never) {
        graph.visit(&mut check);
    }
    found
}
