//! Computes exact counts for given commits.
//!
//! The counts are a solution of: `n(w)` is the largest count at which await `w` is still sound, all
//! other counts being what they are. Completions make this non-monotone (a tighter wait completes
//! more and so loosens others), hence three phases for each outermost loop; straight-line code and
//! branches outside of loops need none of them, since each await there is reached once and takes the
//! age found ([`Mode::Assign`]).
//!
//! 1. **Tighten.** Start without waits; run the loop, shrinking `n(w)` to every age found at `w`;
//!    again, until a run changes nothing. The counts are sound now, and most often exact.
//! 2. **Measure.** With all counts fixed, the smallest age `a(w)` at every await. `a = n`
//!    everywhere: done.
//! 3. **Relax.** The others are raised: first all together, then one by one in program order, each
//!    to the largest count at which it is sound; awaits that this makes unsound shrink to the age
//!    measured. An await that can't be raised although `a(w) > n(w)` is covered by an earlier
//!    instance of its own wait, and is exact.
//!
//! Ties (several exact solutions) are broken by program order: the earlier await is relaxed first.
//! If the rounds run out (see [`Evaluator::relax`]), what remains is sound.

use crate::age::Age;
use crate::eval::{CompletionKind, Evaluator, Mode, NO_WAIT, Outcome, WaitCount, count};
use crate::program::{Await, Commits, Graph, Item, Program, Queue, Target, ensure_sufficient_stack};
use crate::program_info::{GraphInfo, ProgramInfo};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::ops::Range;

/// The count of an emitted wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Count {
    /// How many groups may stay in flight: 0 to 63.
    pub n: u8,
    /// True if more than 63 might, were it not for the hardware.
    pub clamped: bool,
}

/// What is emitted for one queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QueueSolution {
    /// How many commits are inserted at each slot.
    pub commits: Commits,
    /// The wait of each await; `None` where nothing has to be waited for.
    pub waits: Vec<Option<Count>>,
    /// The wait for reads alone of each await, in addition to the other one.
    pub reads: Vec<Option<Count>>,
    /// Awaits that may be reached with a token whose group is still open, so that no wait covers it; or that have no wait of
    /// their own, and are not covered by those of the program.
    pub uncovered: Vec<Await>,
}

impl QueueSolution {
    /// Returns true if `w` has a wait of either kind.
    #[must_use]
    pub fn has_wait(&self, w: Await) -> bool {
        let w = w.0 as usize;
        self.waits[w].is_some() || self.reads[w].is_some()
    }

    /// Returns the last await in the text that has a wait.
    pub(crate) fn last_wait(&self) -> Option<usize> {
        let mut waits = self.waits.iter().zip(&self.reads);
        waits.rposition(|(wait, read)| wait.is_some() || read.is_some())
    }

    /// Adds the solution of what comes next in the program.
    pub(crate) fn append(&mut self, next: &Self) {
        let awaits = u32::try_from(self.waits.len()).unwrap_or(u32::MAX);
        self.commits.extend_from_slice(&next.commits);
        self.waits.extend_from_slice(&next.waits);
        self.reads.extend_from_slice(&next.reads);
        self.uncovered
            .extend(next.uncovered.iter().map(|w| Await(awaits + w.0)));
    }
}

/// Solves one queue for given commits. Without `drop_implied` every await gets the distance of its
/// tokens in the FIFO, whatever other waits complete.
#[must_use]
pub fn solve_queue(program: &Program, queue: Queue, commits: Commits, drop_implied: bool) -> QueueSolution {
    let program_info = ProgramInfo::new(program);
    solve_indexed(program, &program_info, queue, commits, drop_implied)
}

pub(crate) fn solve_indexed(
    program: &Program,
    program_info: &ProgramInfo,
    queue: Queue,
    commits: Commits,
    drop_implied: bool,
) -> QueueSolution {
    let solution = solve_unless_uncovered(program, program_info, queue, commits, drop_implied, None);
    solution.unwrap_or_else(|| unreachable!("any await may be uncovered"))
}

/// Does what [`solve_indexed`] does; `None` if some await is uncovered that is not in `may_be_uncovered`, which is found out
/// early.
pub(crate) fn solve_unless_uncovered(
    program: &Program,
    program_info: &ProgramInfo,
    queue: Queue,
    commits: Commits,
    drop_implied: bool,
    may_be_uncovered: Option<&[Await]>,
) -> Option<QueueSolution> {
    let solve = |view| {
        let mut eval = Evaluator::new(program, program_info, queue, &commits, view);
        eval.may_be_uncovered = may_be_uncovered;
        solve_view(eval, drop_implied)
    };
    let (waits, mut uncovered) = solve(CompletionKind::Done)?;
    let mut reads = vec![None; waits.len()];
    if program_info.reads[usize::from(queue.0)] {
        // Waits for reads complete nothing else, so the counts above are not theirs to change.
        let done = counts(&waits);
        let (found, open_reads) = solve(CompletionKind::Read(&done))?;
        reads = found;
        uncovered.extend(open_reads);
        // Only the distance does not know of the other wait.
        for (read, done) in reads.iter_mut().zip(&waits) {
            *read = read.filter(|read: &Count| done.is_none_or(|done| done.n > read.n));
        }
    }
    Some(QueueSolution {
        commits,
        waits,
        reads,
        uncovered: uncovered.into_iter().map(Await).collect(),
    })
}

/// Returns the counts for one completion, and the awaits that are reached with an open group.
fn solve_view(mut eval: Evaluator, drop_implied: bool) -> Option<(Vec<Option<Count>>, BTreeSet<u32>)> {
    let (program, program_info) = (eval.program, eval.program_info);
    if drop_implied {
        eval.assign_counts();
    } else {
        eval.mode = Mode::Distance;
        eval.graph(&program.body, &program_info.root, &[]);
        eval.n = eval.measured.iter().map(|&age| count(age)).collect();
        if program_info.covered {
            // The distance does not know what is complete.
            let distances = eval.measured.clone();
            eval.mode = Mode::Measure;
            eval.graph(&program.body, &program_info.root, &[]);
            eval.measured = distances;
        }
    }
    if eval.gave_up {
        return None;
    }
    let waits = eval.n.iter().zip(&eval.measured);
    let waits = waits.map(|(&n, &age)| wait_of(n, age));
    Some((waits.collect(), eval.uncovered))
}

/// Returns the wait with count `n` of an await that is reached with `age`.
pub(crate) fn wait_of(n: WaitCount, age: Age) -> Option<Count> {
    (n != NO_WAIT).then_some(Count {
        n,
        clamped: age == Age::MANY,
    })
}

/// Returns the count of every wait.
pub(crate) fn counts(waits: &[Option<Count>]) -> Vec<WaitCount> {
    waits
        .iter()
        .map(|wait| wait.map_or(NO_WAIT, |count| count.n))
        .collect()
}

/// Returns, for each await, true if its tokens of `queue` are complete after it by the waits of awaits alone: those of
/// the program itself may be left out.
#[must_use]
pub fn covered_by_awaits(program: &Program, queue: Queue, solution: &QueueSolution) -> Vec<bool> {
    let program_info = ProgramInfo::new(program);
    let (done, reads) = (counts(&solution.waits), counts(&solution.reads));
    let mut covered = vec![true; done.len()];
    for (view, n) in [
        (CompletionKind::Done, &done),
        (CompletionKind::Read(&done), &reads),
    ] {
        let mut eval = Evaluator::new(program, &program_info, queue, &solution.commits, view);
        eval.mode = Mode::Measure;
        eval.awaits_alone = true;
        eval.n.clone_from(n);
        eval.graph(&program.body, &program_info.root, &[]);
        for (covered, (&age, &n)) in covered.iter_mut().zip(eval.measured.iter().zip(n)) {
            *covered &= count(age) >= n;
        }
    }
    covered
}

/// Returns true if control can reach the end of the program.
pub(crate) fn reaches_end(program: &Program) -> bool {
    fn graph(graph: &Graph) -> bool {
        ensure_sufficient_stack(|| {
            let mut seen = vec![false; graph.blocks.len()];
            let mut work = vec![0];
            while let Some(b) = work.pop() {
                let Some(block) = graph.blocks.get(b) else {
                    continue;
                };
                if std::mem::replace(&mut seen[b], true) || !block.items.iter().all(item) {
                    continue;
                }
                for edge in &block.edges {
                    match edge.to {
                        Target::Exit => return true,
                        Target::Block(to) => work.push(to),
                    }
                }
            }
            false
        })
    }
    fn item(item: &Item) -> bool {
        let runs = !matches!(item, Item::Repeat(repeat) if repeat.trip == 0);
        item.graph().is_none_or(|inner| !runs || graph(inner))
    }
    graph(&program.body)
}

impl<'p> Evaluator<'p> {
    fn assign_counts(&mut self) {
        let (program, program_info) = (self.program, self.program_info);
        self.mode = Mode::Assign;
        if program_info.root.cyclic {
            self.solve_loop(&program_info.root, |this| {
                this.graph(&program.body, &program_info.root, &[])
            });
        } else {
            self.graph(&program.body, &program_info.root, &[]);
        }
    }

    /// Finds the counts of an outermost loop, and returns the state after it.
    pub(crate) fn solve_loop(
        &mut self,
        info: &'p GraphInfo,
        run: impl Fn(&mut Self) -> Option<Outcome>,
    ) -> Option<Outcome> {
        let awaits = info.awaits.clone();
        self.mode = Mode::Tighten;
        loop {
            let version = self.version;
            run(self);
            if self.gave_up {
                return None;
            }
            if version == self.version {
                break;
            }
        }
        let before = self.work;
        let mut outcome = self.measure(&awaits, &run);
        let cost = (self.work - before).max(1);
        if self.slack(&awaits).next().is_some() {
            outcome = self.relax(&awaits, cost, &run);
        }
        self.mode = Mode::Assign;
        outcome
    }

    /// Measures the smallest age at every await, for the counts as they are.
    fn measure(
        &mut self,
        awaits: &Range<u32>,
        run: &impl Fn(&mut Self) -> Option<Outcome>,
    ) -> Option<Outcome> {
        self.mode = Mode::Measure;
        self.version += 1;
        for w in awaits.clone() {
            self.measured[w as usize] = Age::DONE;
        }
        run(self)
    }

    /// The awaits whose count is smaller than the age measured.
    fn slack(&self, awaits: &Range<u32>) -> impl Iterator<Item = usize> + '_ {
        awaits
            .clone()
            .map(|w| w as usize)
            .filter(|&w| count(self.measured[w]) > self.n[w])
    }

    /// Shrinks the counts of unsound awaits to the age measured; returns true if there were any.
    fn shrink(&mut self, awaits: &Range<u32>) -> bool {
        let mut any = false;
        for w in awaits.clone().map(|w| w as usize) {
            if count(self.measured[w]) < self.n[w] {
                self.n[w] = count(self.measured[w]);
                any = true;
            }
        }
        any
    }

    /// Phase 3. `cost` is the work of one measurement; in all about 2^26 block evaluations are
    /// spent on it at most, but never less than 64 measurements.
    fn relax(
        &mut self,
        awaits: &Range<u32>,
        cost: u64,
        run: &impl Fn(&mut Self) -> Option<Outcome>,
    ) -> Option<Outcome> {
        let mut rounds = ((1 << 26) / cost).clamp(64, 64 + 8 * u64::from(awaits.end - awaits.start));
        let mut exact = FxHashSet::default();
        for w in self.slack(awaits).collect::<Vec<_>>() {
            self.n[w] = count(self.measured[w]);
        }
        loop {
            let outcome = self.measure(awaits, run);
            rounds = rounds.saturating_sub(1);
            if self.shrink(awaits) {
                continue;
            }
            let next = self.slack(awaits).find(|w| !exact.contains(w));
            match next {
                Some(w) if rounds > 0 => {
                    if !self.raise(w, awaits, run) {
                        exact.insert(w);
                    }
                }
                _ => return outcome,
            }
        }
    }

    /// Raises the count of `w` as far as `w` stays sound; returns false if it can't be raised.
    fn raise(&mut self, w: usize, awaits: &Range<u32>, run: &impl Fn(&mut Self) -> Option<Outcome>) -> bool {
        let old = self.n[w];
        // Sound at `low`, not known to be above; `high` is the first count not to be tried.
        let (mut low, mut high) = (old, u16::from(count(self.measured[w])) + 1);
        let mut candidate = count(self.measured[w]);
        while u16::from(low) + 1 < high {
            self.n[w] = candidate;
            self.measure(awaits, run);
            let age = count(self.measured[w]);
            if age >= candidate {
                low = candidate;
            } else {
                high = u16::from(candidate);
                // Ages shrink as the count grows, so the age found at a larger count is sound.
                low = low.max(age);
            }
            candidate = WaitCount::try_from(u16::midpoint(u16::from(low), high)).unwrap_or(low);
        }
        self.n[w] = low;
        low > old
    }
}
