//! `unroll_limit`: peels iterations off constant-trip loops, which then have bodies of their own.
//!
//! A loop body has one count for each await, however different its iterations are. A loop is a
//! candidate where peeling as many iterations as allowed makes some await force less. As few are
//! peeled as give the same counts: trailing iterations that agree stay a loop.
//!
//! Loops inside of peeled loops are looked at again in the next round, copy by copy. A round is kept
//! if the program that it leaves, placed anew, is better than the one before it; with groups, the
//! fewest rounds are kept that are as good as all of them.

mod iterations;

use super::{Options, Placer, QueuePlacement, QueuePlacer};
use crate::clone::{Peel, ProgramClone, clone_peeled};
use crate::counts::QueueSolution;
use crate::program::{Await, Graph, Item, LoopId, Program, Queue, Repeat, ensure_sufficient_stack};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of peeling at most.
const ROUNDS: usize = 4;

/// Loops that are peeled together.
pub(crate) struct Round {
    pub peels: Vec<Peel>,
    /// How many loops the program has then.
    pub loops_left: u32,
}

/// Returns what to peel, and the translation of what is left; `placed` is that of the unpeeled program.
pub(super) fn peel(
    placer: &Placer,
    placed: Vec<QueuePlacement>,
    options: &Options,
) -> (Vec<Round>, Vec<QueuePlacement>) {
    let hopeless = |placed: &QueuePlacement| candidates(placer.program, &placed.ungrouped).is_empty();
    if options.unroll_limit == 0 || placed.iter().all(hopeless) {
        return (Vec::new(), placed);
    }
    let first = PeeledProgram::unpeeled(placer.program, placed);
    let mut stages = Vec::new();
    for _ in 0..ROUNDS {
        let last = stages.last().map_or(&first, |(_, stage)| stage);
        match last.next(options) {
            Some(next) => stages.push(next),
            None => match last.together(options) {
                Some(next) => stages.push(next),
                None => match last.next_two_rounds(options) {
                    Some(next) => stages.extend(next),
                    None => break,
                },
            },
        }
    }
    if options.form_groups && !stages.is_empty() {
        with_groups(&first, &mut stages, options);
    }
    let mut placed = first.placed;
    let mut rounds = Vec::new();
    for (peels, stage) in stages {
        placed = stage.placed;
        rounds.push(Round {
            peels,
            loops_left: stage.copy.program.loops,
        });
    }
    (rounds, placed)
}

/// Keeps the rounds that are worth it once operations share groups: the fewest after which no round is better. The
/// result forces no more than the unpeeled program with groups does, and, if any placement that is found can do both,
/// no more than the peeled one with one group per operation.
fn with_groups(first: &PeeledProgram, stages: &mut Vec<(Vec<Peel>, PeeledProgram)>, options: &Options) {
    let Some((_, last)) = stages.last() else { return };
    let placer = Placer::new(&last.copy.program, options);
    let ungrouped = last.ungrouped();
    // The groups of every stage, in the last one's program.
    let mut carried = vec![last.best()];
    for i in (0..stages.len()).rev() {
        let before = if i == 0 { first } else { &stages[i - 1].1 };
        let mut best = before.best();
        for (_, stage) in &stages[i..] {
            best = stage.carry(&best);
        }
        carried.insert(0, best);
    }
    let no_more_than = |old: &[QueueSolution], new: &[QueueSolution]| compare_all(&placer, old, new).no_more;
    let pick = |allowed: &dyn Fn(&[QueueSolution]) -> bool| {
        let mut keep: Option<usize> = None;
        for (i, best) in carried.iter().enumerate() {
            if allowed(best) && keep.is_none_or(|kept| compare_all(&placer, &carried[kept], best).better()) {
                keep = Some(i);
            }
        }
        keep
    };
    let both = |new: &[QueueSolution]| no_more_than(&carried[0], new) && no_more_than(&ungrouped, new);
    if let Some(keep) = pick(&both) {
        stages.truncate(keep);
        return drop_needless_peels(first, stages, options);
    }
    // The groups of the unpeeled program have made something equal that is not so in the peeled one. With these groups
    // to begin with, the peeled program may be as good everywhere.
    let found = placer.improve(&carried[0], options);
    if let Some(found) =
        found.filter(|found| both(found) && compare_all(&placer, &carried[0], found).better())
    {
        drop(placer);
        if let Some((_, last)) = stages.last_mut() {
            for (placed, found) in last.placed.iter_mut().zip(found) {
                placed.best = found;
            }
        }
        return;
    }
    let keep = pick(&|new| no_more_than(&carried[0], new)).unwrap_or(0);
    stages.truncate(keep);
    drop_needless_peels(first, stages, options);
}

/// Takes those loops out of the last round that, with groups, need not be peeled.
fn drop_needless_peels(
    first: &PeeledProgram,
    stages: &mut Vec<(Vec<Peel>, PeeledProgram)>,
    options: &Options,
) {
    if let Some((mut peels, last)) = stages.pop() {
        let before = stages.last().map_or(first, |(_, stage)| stage);
        let last = before.drop_needless_peels(&mut peels, last, options);
        stages.push((peels, last));
    }
}

/// How one translation compares with another, over all queues.
struct OverallComparison {
    no_more: bool,
    less: bool,
}

impl OverallComparison {
    fn better(&self) -> bool {
        self.no_more && self.less
    }
}

/// Compares `new` with `old`, both translations of the program of `placer`.
fn compare_all(placer: &Placer, old: &[QueueSolution], new: &[QueueSolution]) -> OverallComparison {
    let mut overall = OverallComparison {
        no_more: true,
        less: false,
    };
    for (queue_placer, (old, new)) in placer.queues.iter().zip(old.iter().zip(new)) {
        let comparison = queue_placer.compare(old, new);
        overall.no_more &= comparison.forces_no_more();
        overall.less |= comparison.less;
    }
    overall
}

/// A program with some loops peeled, and its translation.
struct PeeledProgram {
    copy: ProgramClone,
    placed: Vec<QueuePlacement>,
}

impl PeeledProgram {
    fn unpeeled(program: &Program, placed: Vec<QueuePlacement>) -> Self {
        Self {
            copy: clone_peeled(program, &[]),
            placed,
        }
    }

    /// Peels loops and places anew.
    fn peeled(&self, peels: &[Peel], options: &Options) -> Self {
        let copy = clone_peeled(&self.copy.program, peels);
        let options = Options {
            unroll_limit: 0,
            ..*options
        };
        let (_, placed) = Placer::new(&copy.program, &options).place(&options);
        Self { copy, placed }
    }

    fn best(&self) -> Vec<QueueSolution> {
        self.placed.iter().map(|placed| placed.best.clone()).collect()
    }

    fn ungrouped(&self) -> Vec<QueueSolution> {
        self.placed
            .iter()
            .map(|placed| placed.ungrouped.clone())
            .collect()
    }

    /// Turns a translation of the program before into one of this program.
    fn carry(&self, solutions: &[QueueSolution]) -> Vec<QueueSolution> {
        solutions
            .iter()
            .map(|solution| QueueSolution {
                commits: self.copy.commits(&solution.commits),
                waits: self.copy.pick(&solution.waits),
                reads: self.copy.pick(&solution.reads),
                uncovered: Vec::new(),
            })
            .collect()
    }

    /// The next round: what to peel and the stage after it, if anything gets better.
    fn next(&self, options: &Options) -> Option<(Vec<Peel>, PeeledProgram)> {
        let mut most = BTreeMap::new();
        for (queue, placed) in (0..).map(Queue).zip(&self.placed) {
            let candidates = candidates(&self.copy.program, &placed.ungrouped);
            if candidates.is_empty() {
                continue;
            }
            let queue_placer = QueuePlacer::new(&self.copy.program, queue, options);
            for (id, trip) in candidates.into_iter().take(queue_placer.trials) {
                let iterations = queue_placer.iterations(&placed.ungrouped, id, trip, options.unroll_limit);
                let known: &mut u64 = most.entry(id).or_default();
                *known = iterations.unwrap_or(0).max(*known);
            }
        }
        let peels: Vec<Peel> = most
            .into_iter()
            .filter(|(_, iterations)| *iterations > 0)
            .map(|(id, iterations)| Peel { id, iterations })
            .collect();
        if peels.is_empty() {
            return None;
        }
        let next = self.peeled(&peels, options);
        let placer = Placer::new(&next.copy.program, options);
        let better = compare_all(&placer, &next.carry(&self.ungrouped()), &next.ungrouped()).better();
        drop(placer);
        better.then(|| self.with_more(peels, next, options))
    }

    /// Returns the round with as many iterations of each loop as allowed, if that is better than `next`, the stage
    /// after `peels`: loops were looked at one by one, and together they may differ more.
    fn with_more(
        &self,
        peels: Vec<Peel>,
        next: PeeledProgram,
        options: &Options,
    ) -> (Vec<Peel>, PeeledProgram) {
        let trips: BTreeMap<LoopId, u64> = loops(&self.copy.program).into_iter().collect();
        let most = |peel: &Peel| Peel {
            iterations: options.unroll_limit.min(trips[&peel.id]),
            ..*peel
        };
        let all: Vec<Peel> = peels.iter().map(most).collect();
        if all == peels {
            return (peels, next);
        }
        // The program of `all`, reached by way of `next`.
        let missing: BTreeMap<LoopId, u64> = peels
            .iter()
            .zip(&all)
            .map(|(peel, all)| (peel.id, all.iterations - peel.iterations))
            .collect();
        let copies = clone_peeled(&self.copy.program, &peels).loops;
        let rest = copies.iter().zip((0..).map(LoopId)).filter_map(|(of, id)| {
            let iterations = *missing.get(of)?;
            (iterations > 0).then_some(Peel { id, iterations })
        });
        let more = next.peeled(&rest.collect::<Vec<_>>(), options);
        let placer = Placer::new(&more.copy.program, options);
        let better = compare_all(&placer, &more.carry(&next.ungrouped()), &more.ungrouped()).better();
        drop(placer);
        if better {
            let stage = self.peeled(&all, options);
            (all, stage)
        } else {
            (peels, next)
        }
    }

    /// The next round, where no loop alone makes anything better and all of them do: without the waits of one, another
    /// has to wait.
    fn together(&self, options: &Options) -> Option<(Vec<Peel>, PeeledProgram)> {
        // Also those that wait for nothing yet.
        let most = loops_with(&self.copy.program, &|_| true);
        if most.len() < 2 {
            return None;
        }
        let peel = |(id, trip): (LoopId, u64)| Peel {
            id,
            iterations: options.unroll_limit.min(trip),
        };
        let mut peels: Vec<Peel> = most.into_iter().map(peel).collect();
        let all = self.peeled(&peels, options);
        let placer = Placer::new(&all.copy.program, options);
        let better = compare_all(&placer, &all.carry(&self.ungrouped()), &all.ungrouped()).better();
        drop(placer);
        better.then(|| {
            let fewer = self.drop_needless_peels(&mut peels, all, options);
            (peels, fewer)
        })
    }

    /// The next two rounds, where the first alone makes nothing better: loops around others, whose inner loops then
    /// differ.
    fn next_two_rounds(&self, options: &Options) -> Option<[(Vec<Peel>, PeeledProgram); 2]> {
        let mut around = BTreeSet::new();
        for placed in &self.placed {
            for (id, trip) in candidates(&self.copy.program, &placed.ungrouped) {
                around.insert((id, trip));
            }
        }
        let mut holding = BTreeSet::new();
        add_loops_around(&self.copy.program.body, &mut holding);
        around.retain(|(id, _)| holding.contains(id));
        if around.is_empty() {
            return None;
        }
        let peels: Vec<Peel> = around
            .iter()
            .map(|&(id, trip)| Peel {
                id,
                iterations: options.unroll_limit.min(trip),
            })
            .collect();
        let first = self.peeled(&peels, options);
        let second = first.next(options)?;
        // The first round alone may even make something worse.
        let placer = Placer::new(&second.1.copy.program, options);
        let before = second.1.carry(&first.carry(&self.ungrouped()));
        let better = compare_all(&placer, &before, &second.1.ungrouped()).better();
        drop(placer);
        better.then_some([(peels, first), second])
    }

    /// Takes those loops out of `peels` that, with groups, need not be peeled; `all` is what becomes of
    /// peeling all of them.
    fn drop_needless_peels(
        &self,
        peels: &mut Vec<Peel>,
        all: PeeledProgram,
        options: &Options,
    ) -> PeeledProgram {
        let mut best = all;
        let mut trials = QueuePlacer::new(&best.copy.program, Queue(0), options).trials;
        let mut i = 0;
        while peels.len() > 1 && i < peels.len() && trials > 0 {
            trials -= 1;
            let mut fewer = peels.clone();
            let idle = fewer.remove(i);
            let without = self.peeled(&fewer, options);
            // The program of `best` again, reached by way of `without`.
            let loops = clone_peeled(&self.copy.program, &fewer).loops;
            let copies = loops.iter().zip((0..).map(LoopId));
            let rest: Vec<Peel> = copies
                .filter(|(of, _)| **of == idle.id)
                .map(|(_, id)| Peel { id, ..idle })
                .collect();
            let again = without.peeled(&rest, options);
            let placer = Placer::new(&again.copy.program, options);
            if compare_all(&placer, &best.best(), &again.carry(&without.best())).no_more {
                best = without;
                *peels = fewer;
            } else {
                i += 1;
            }
        }
        best
    }
}

/// Returns the loops of constant trip count, with their trip counts.
fn loops(program: &Program) -> Vec<(LoopId, u64)> {
    let mut loops = Vec::new();
    program.body.visit(&mut |item| {
        if let Item::Repeat(repeat) = item {
            loops.push((repeat.id, repeat.trip));
        }
    });
    loops
}

/// Adds the loops that have others inside which may be peeled; returns true if there are such loops in `graph`.
fn add_loops_around(graph: &Graph, around: &mut BTreeSet<LoopId>) -> bool {
    let mut peelable = false;
    for item in graph.blocks.iter().flat_map(|block| &block.items) {
        let Some(inner) = item.graph() else { continue };
        let inside = ensure_sufficient_stack(|| add_loops_around(inner, around));
        if let Item::Repeat(repeat) = item {
            peelable |= repeat.peelable && repeat.trip > 1;
            if inside {
                around.insert(repeat.id);
            }
        }
        peelable |= inside;
    }
    peelable
}

/// Returns the loops that may be peeled and hold a wait, with their trip counts.
fn candidates(program: &Program, solution: &QueueSolution) -> Vec<(LoopId, u64)> {
    loops_with(program, &|w| solution.has_wait(w))
}

/// Returns the loops that may be peeled and hold an await that is `wanted`, with their trip counts.
fn loops_with(program: &Program, wanted: &dyn Fn(Await) -> bool) -> Vec<(LoopId, u64)> {
    let waits = |repeat: &Repeat| {
        let mut waits = false;
        repeat.body.visit(&mut |item| {
            waits |= matches!(item, Item::Await { site, .. } if wanted(*site));
        });
        waits
    };
    let mut candidates = Vec::new();
    program.body.visit(&mut |item| {
        if let Item::Repeat(repeat) = item
            && repeat.peelable
            && repeat.trip > 1
            && waits(repeat)
        {
            candidates.push((repeat.id, repeat.trip));
        }
    });
    candidates
}
