//! Where to commit: the options `balance`, `form_groups` and `unroll_limit`.
//!
//! Each option proposes changes to the commits (or to loops), solves the changed program exactly,
//! and keeps a change only if the comparison of [`crate::compare`] allows it: nothing may be forced
//! earlier by any await on any execution. Proposals are made for all candidates at once and thinned
//! out by what the comparison finds, so that the usual program costs a handful of solutions; single
//! candidates are tried one by one within a budget. What they give is where [`mod@search`] begins, which
//! looks at all legal places, whoever proposed them.
//!
//! The body is cut into [`mod@segments`] first, so that the number of trials depends on a segment's size
//! and not on the program's.

mod balance;
mod complete;
mod diamond;
mod flows;
mod groups;
mod joined;
mod nearby;
mod occupancy;
mod peeling;
mod points;
mod search;
mod segments;
mod staging;
mod why;

pub use why::{Barred, Elsewhere, elsewhere, groups};

use self::balance::Balanced;
use self::joined::Joined;
use self::peeling::Round;
use self::points::Points;
use self::search::Seen;
use self::segments::segments;
use crate::compare::{Comparison, Extent, Translation, compare, read_counts};
use crate::copy::{Peel, copy_items};
use crate::eval::N;
use crate::index::Index;
use crate::line::Line;
use crate::program::{Await, CommitRules, Commits, Item, Program, Queue, Slot};
use crate::solve::{QueueSolution, counts, solve_indexed, solve_queue};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// What to do beyond exact counts for one group per operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Operations share a group where that makes no await force more.
    pub form_groups: bool,
    /// Empty groups make the counts of different paths equal where that makes an await force less.
    pub balance: bool,
    /// Awaits that other waits imply emit nothing.
    pub drop_implied: bool,
    /// How many empty groups an arm of a branch gets at most.
    pub max_padding: u32,
    /// How many iterations may be peeled off a constant-trip loop; 0: never.
    pub unroll_limit: u64,
    /// All placements are tried where no more points than this can have a commit.
    pub exhaustive_points: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            form_groups: true,
            balance: true,
            drop_implied: true,
            max_padding: 4,
            unroll_limit: 8,
            exhaustive_points: 10,
        }
    }
}

/// The translation of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Solution {
    /// Rounds of loops to be peeled (see [`peel`](crate::peel)), each of the program that the round
    /// before it leaves.
    pub peel: Vec<Vec<Peel>>,
    /// For each queue, the commits and waits of the program that is left.
    pub queues: Vec<QueueSolution>,
    /// The slot behind (or at the meeting point of) branches whose arms commit unequal numbers of
    /// groups and can't be made equal, because of a loop of unknown trip count in one of them.
    pub uneven: Vec<Slot>,
    /// True if a budget ended the search for places to commit, so that a single commit elsewhere may force less.
    pub spent: bool,
}

/// Translates a program whose operations are committed at its slots.
#[must_use]
pub fn solve(program: &Program, options: &Options) -> Solution {
    debug_assert!(crate::copy::is_in_order(program), "numbered in program order");
    let (rounds, placed) = Whole::new(program, options).place(options);
    let mut solution = Solution {
        peel: rounds.into_iter().map(|round| round.peels).collect(),
        ..Solution::default()
    };
    for placed in placed {
        solution.queues.push(placed.best);
        solution.uneven.extend(placed.uneven);
        solution.spent |= placed.spent;
    }
    solution
}

/// Solves a program whose commits are given, one vector for each queue.
#[must_use]
pub fn solve_given(program: &Program, commits: &[Commits], drop_implied: bool) -> Vec<QueueSolution> {
    (0..program.queues)
        .zip(commits)
        .map(|(q, commits)| solve_queue(program, Queue(q), commits.clone(), drop_implied))
        .collect()
}

/// A program with the exact solutions for one group per operation.
struct Whole<'p> {
    program: &'p Program,
    parts: Vec<Part<'p>>,
    bases: Vec<QueueSolution>,
}

impl<'p> Whole<'p> {
    fn new(program: &'p Program, options: &Options) -> Self {
        let queues = (0..program.queues).map(Queue);
        let parts: Vec<Part> = queues.map(|queue| Part::new(program, queue, options)).collect();
        let bases = parts.iter();
        let bases = bases.map(|part| part.solve(program.one_group_each(part.queue)));
        Self {
            program,
            bases: bases.collect(),
            parts,
        }
    }

    /// Goes on from the commits of a translation of this program with other counts; `None` if something awaited is not
    /// committed then.
    fn improve(&self, from: &[QueueSolution], options: &Options) -> Option<Vec<QueueSolution>> {
        let parts = self.parts.iter().zip(&self.bases).zip(from);
        parts
            .map(|((part, base), from)| {
                let points = part.points(base);
                let start = part.solve(points.canonical(&from.commits));
                let options = part.allowed(options);
                (start.open == base.open).then(|| {
                    part.search(start, &points, &options, &mut Seen::default())
                        .solution
                })
            })
            .collect()
    }

    /// Places the commits of every queue, after some rounds of peeling.
    fn place(&self, options: &Options) -> (Vec<Round>, Vec<Placed>) {
        let segments = segments(self);
        if segments.len() < 2 {
            let parts = self.parts.iter().zip(&self.bases);
            let placed = parts.map(|(part, base)| part.place(base, options)).collect();
            return peeling::peel(self, placed, options);
        }
        let mut all = Joined::new(self);
        // Unrolled and inlined code repeats itself.
        let mut known: HashMap<Program, (Vec<Round>, Vec<Placed>)> = HashMap::new();
        let commit_rules: Vec<CommitRules> = self.parts.iter().map(Part::rules).collect();
        for items in segments {
            let mut segment = copy_items(self.program, items).program;
            segment.commit_rules.clone_from(&commit_rules);
            if let Some((rounds, placed)) = known.get(&segment) {
                all.add(&segment, rounds, placed);
                continue;
            }
            let (rounds, placed) = Whole::new(&segment, options).place(options);
            all.add(&segment, &rounds, &placed);
            let goes_on = crate::solve::reaches_end(&segment);
            known.insert(segment, (rounds, placed));
            if !goes_on {
                // What comes behind is never run.
                break;
            }
        }
        all.finish()
    }
}

/// A program under one queue's view.
struct Part<'p> {
    program: &'p Program,
    index: Index,
    queue: Queue,
    drop_implied: bool,
    max_padding: u32,
    /// How many solutions may be tried one by one.
    trials: usize,
    /// The steps of the body, if commits can be tried step by step.
    line: OnceCell<Option<Line>>,
    /// What [`Self::balance`] and [`Self::form_groups`] found last: staging often comes to the same commits.
    balanced: RefCell<Option<QueueSolution>>,
    grouped: RefCell<Option<Grouped>>,
}

/// What [`Part::form_groups`] makes of some commits.
struct Grouped {
    base: Commits,
    columns: Vec<Vec<Slot>>,
    found: QueueSolution,
}

/// The result for a [`Part`].
#[derive(Clone, Default)]
struct Placed {
    /// One group per operation, balanced if so asked.
    ungrouped: QueueSolution,
    best: QueueSolution,
    uneven: Vec<Slot>,
    /// True if the budget ended a search.
    spent: bool,
}

impl Placed {
    fn new(base: &QueueSolution) -> Self {
        Self {
            ungrouped: base.clone(),
            best: base.clone(),
            uneven: Vec::new(),
            spent: false,
        }
    }

    /// Adds the result for what comes next in the program.
    fn append(&mut self, next: &Placed) {
        let slots = u32::try_from(self.best.commits.len()).unwrap_or(u32::MAX);
        let uneven = next.uneven.iter();
        self.uneven.extend(uneven.map(|slot| Slot(slots + slot.0)));
        self.ungrouped.append(&next.ungrouped);
        self.best.append(&next.best);
        self.spent |= next.spent;
    }
}

impl<'p> Part<'p> {
    fn new(program: &'p Program, queue: Queue, options: &Options) -> Self {
        let size = (program.slots + program.awaits + program.tokens) as usize;
        Self {
            program,
            index: Index::new(program),
            queue,
            drop_implied: options.drop_implied,
            max_padding: options.max_padding,
            trials: ((1 << 16) / (size + 1)).min(2048),
            line: OnceCell::new(),
            balanced: RefCell::new(None),
            grouped: RefCell::new(None),
        }
    }

    /// What of the options the queue allows.
    fn allowed(&self, options: &Options) -> Options {
        Options {
            balance: options.balance && self.program.rules(self.queue).empty_groups,
            ..*options
        }
    }

    /// Places commits; `base` is the solution for one group per operation.
    fn place(&self, base: &QueueSolution, options: &Options) -> Placed {
        let options = &self.allowed(options);
        let mut placed = Placed::new(base);
        let given = self.index.largest_wait[usize::from(self.queue.0)];
        if base.last_wait().is_none() && given.is_none() && !options.form_groups {
            return placed;
        }
        let points = self.points(base);
        let mut seen = Seen::default();
        // Each option goes on from what the options before it give, and so forces no more.
        let mut go_on = |from: QueueSolution, seeds: &[QueueSolution], options: &Options| {
            let from = self.better_of(from, seeds, &points, options);
            let found = self.search(from, &points, options, &mut seen);
            placed.spent |= found.spent;
            found.solution
        };
        let plain = Options {
            form_groups: false,
            balance: false,
            ..*options
        };
        let mut best = go_on(points.start(base), &[], &plain);
        let balanced = options.balance.then(|| self.balance(base));
        if let Some(balanced) = &balanced {
            let balance = Options {
                balance: true,
                ..plain
            };
            let mut seeds = vec![balanced.solution.clone()];
            seeds.extend(self.commit_before(base, &balance));
            best = go_on(best, &seeds, &balance);
        }
        let ungrouped = best.clone();
        if options.form_groups {
            let mut seeds = vec![self.grouped(base, balanced.as_ref())];
            let staged = self.stage(base, options);
            if staged.commits != base.commits {
                let balanced = options.balance.then(|| self.balance(&staged));
                seeds.push(self.grouped(&staged, balanced.as_ref()));
            }
            best = go_on(best, &seeds, options);
        }
        if options.balance {
            placed.uneven = self.uneven(&best);
        }
        placed.ungrouped = ungrouped;
        placed.best = best;
        placed
    }

    /// Groups operations of `base`, or of what balance made of it.
    fn grouped(&self, base: &QueueSolution, balanced: Option<&Balanced>) -> QueueSolution {
        match balanced {
            Some(balanced) => self.form_groups_balanced(base, &balanced.solution, &balanced.columns),
            None => self.form_groups(base, &[]),
        }
    }

    /// Returns the best of `start` and those of `others` that force no more.
    fn better_of(
        &self,
        start: QueueSolution,
        others: &[QueueSolution],
        points: &Points,
        options: &Options,
    ) -> QueueSolution {
        let mut best = start;
        for other in others {
            let other = points.start(other);
            let padding = self.padding(&other.commits);
            if other.commits == best.commits || !self.is_legal(&other.commits, &padding, options) {
                continue;
            }
            if other.open.iter().any(|w| !best.open.contains(w)) {
                continue;
            }
            let comparison = self.compare(&best, &other);
            let rank = |solution: &QueueSolution| points.rank(&solution.commits);
            if comparison.forces_no_more()
                && !(self.commits_all() && comparison.left_open)
                && (comparison.less || rank(&other) < rank(&best))
            {
                best = other;
            }
        }
        best
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
        // Not in very large programs without a cut, whose time it would double.
        if balanced.commits == base.commits || self.trials == 0 {
            return grouped;
        }
        let groups_alone = self.form_groups(base, &[]);
        let as_good = |solution: &QueueSolution| {
            let no_more = |than| self.compare(than, solution).forces_no_more();
            no_more(&groups_alone) && no_more(balanced)
        };
        if as_good(&grouped) {
            return grouped;
        }
        let groups_first = self.balance(&groups_alone).solution;
        let others = [&groups_first, &groups_alone, balanced];
        let found = others.into_iter().find(|other| as_good(other)).cloned();
        found.unwrap_or(grouped)
    }

    fn solve(&self, commits: Commits) -> QueueSolution {
        if let Some(known) = &*self.balanced.borrow()
            && known.commits == commits
        {
            return known.clone();
        }
        solve_indexed(self.program, &self.index, self.queue, commits, self.drop_implied)
    }

    /// Returns true if every operation has to be committed by the end.
    fn commits_all(&self) -> bool {
        self.rules().all
    }

    /// What the queue asks of commits, in any segment of the program.
    fn rules(&self) -> CommitRules {
        let rules = self.program.rules(self.queue);
        CommitRules {
            all: rules.all || self.reads(),
            ..rules
        }
    }

    /// Returns true if the operations have two completions.
    fn reads(&self) -> bool {
        self.index.reads[usize::from(self.queue.0)]
    }

    /// Compares solution `b` with solution `a`.
    fn compare(&self, a: &QueueSolution, b: &QueueSolution) -> Comparison {
        self.compare_as_far(a, b, Extent::Whole)
    }

    fn compare_as_far(&self, a: &QueueSolution, b: &QueueSolution, extent: Extent) -> Comparison {
        let (na, nb) = (Counts::new(a), Counts::new(b));
        let reads = self.reads();
        let both = (na.with(&a.commits, reads), nb.with(&b.commits, reads));
        compare(self.program, &self.index, self.queue, both, extent)
    }
}

/// The counts of every await.
struct Counts {
    done: Vec<N>,
    /// Those that reads wait for.
    reads: Vec<N>,
}

impl Counts {
    fn new(solution: &QueueSolution) -> Self {
        Self {
            done: counts(&solution.waits),
            reads: read_counts(solution),
        }
    }

    /// The translation with these counts; `reads` says whether reads are looked at.
    fn with<'a>(&'a self, commits: &'a Commits, reads: bool) -> Translation<'a> {
        Translation {
            commits,
            n: &self.done,
            reads: reads.then_some(&*self.reads),
        }
    }

    /// Returns the counts of a program in which await `i` is what `originals[i]` is here.
    fn pick(&self, originals: &[Await]) -> Self {
        let pick = |counts: &[N]| originals.iter().map(|w| counts[w.0 as usize]).collect();
        Self {
            done: pick(&self.done),
            reads: pick(&self.reads),
        }
    }
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
