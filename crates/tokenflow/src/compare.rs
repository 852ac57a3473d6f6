//! Compares what two translations of one program force to be complete.
//!
//! Both translations run in lock step over the same paths. A copy instance is known by its age in
//! either; since instances don't influence each other, the pairs of ages that are reachable at each
//! point say everything: an await forces *more* in the second translation if some instance is
//! complete after it there and still in flight in the first.
//!
//! Operations with two completions are compared for each: what has been *read* is known by the same pairs,
//! with counts that include those of the waits for reads.
//!
//! Cost: linear in the program times the pairs of ages at a point (about as many as ages, as the two
//! translations mostly shift ages alike).

mod lockstep;
mod stepwise;

pub(crate) use lockstep::{Pair, age_limit, is_left_open};
pub(crate) use stepwise::StepwiseComparison;

use self::lockstep::Lockstep;
use crate::counts::{QueueSolution, counts};
use crate::eval::WaitCount;
use crate::program::{Await, Commits, Program, Queue, Site};
use crate::program_info::ProgramInfo;
use std::collections::BTreeMap;

/// One translation: the commits and the count of every await.
#[derive(Clone, Copy)]
pub(crate) struct Translation<'a> {
    pub commits: &'a Commits,
    pub n: &'a [WaitCount],
    /// For operations with two completions, the counts that reads wait for: the smaller ones of both kinds of waits.
    pub reads: Option<&'a [WaitCount]>,
}

impl<'a> Translation<'a> {
    /// A translation in which reads are not looked at.
    pub fn new(commits: &'a Commits, n: &'a [WaitCount]) -> Self {
        Self {
            commits,
            n,
            reads: None,
        }
    }

    /// Returns the same translation as the reads see it.
    fn of_reads(self) -> Option<Self> {
        self.reads.map(|n| Self {
            n,
            reads: None,
            ..self
        })
    }
}

/// How the second translation differs from the first.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Comparison {
    /// Awaits that force more, each with operations that it forces too early, one for each age, the
    /// oldest first.
    pub more: BTreeMap<Await, Vec<Site>>,
    /// True if some await, or some wait of the program itself, forces less on some execution.
    pub less: bool,
    /// True if some wait of the program itself forces more.
    pub more_at_waits: bool,
    /// True if some operation is committed by the end of the program in the first translation and
    /// not in the second.
    pub left_open: bool,
}

/// When a comparison ends early.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlyExit {
    Never,
    /// As soon as something is forced more.
    OnMore,
}

/// Compares translation `b` with translation `a` of the same program.
pub(crate) fn compare(
    program: &Program,
    program_info: &ProgramInfo,
    queue: Queue,
    (a, b): (Translation, Translation),
    early_exit: EarlyExit,
) -> Comparison {
    let mut comparison = compare_one(
        program,
        Lockstep::new(program_info, queue, false, a, b),
        early_exit,
    );
    if early_exit == EarlyExit::OnMore && !comparison.forces_no_more() {
        return comparison;
    }
    if let (Some(a), Some(b)) = (a.of_reads(), b.of_reads()) {
        comparison.add(compare_one(
            program,
            Lockstep::new(program_info, queue, true, a, b),
            early_exit,
        ));
    }
    comparison
}

/// Compares one completion.
fn compare_one(program: &Program, mut run: Lockstep, early_exit: EarlyExit) -> Comparison {
    run.early_exit = early_exit;
    let end = run.graph(&program.body, run.root, &Vec::new(), true);
    Comparison {
        left_open: end.pairs.iter().any(|(pair, _)| is_left_open(*pair)),
        more: run
            .more
            .into_iter()
            .map(|(w, sites)| (w, sites.into_values().rev().collect()))
            .collect(),
        less: run.less,
        more_at_waits: run.more_at_waits,
    }
}

impl Comparison {
    /// Adds what the comparison of the other completion says.
    fn add(&mut self, other: Self) {
        for (w, sites) in other.more {
            self.more.entry(w).or_default().extend(sites);
        }
        self.less |= other.less;
        self.more_at_waits |= other.more_at_waits;
        self.left_open |= other.left_open;
    }

    /// Returns true if nothing is forced more.
    pub fn forces_no_more(&self) -> bool {
        self.more.is_empty() && !self.more_at_waits
    }
}

/// Returns the blocks of the program's body from which it may be left with an operation of `queue` in flight that may not
/// have read its sources.
#[must_use]
pub fn unread_exits(program: &Program, queue: Queue, solution: &QueueSolution) -> Vec<usize> {
    let program_info = ProgramInfo::new(program);
    let n = read_counts(solution);
    let translation = Translation {
        commits: &solution.commits,
        n: &n,
        reads: None,
    };
    let mut run = Lockstep::new(&program_info, queue, true, translation, translation);
    run.graph(&program.body, &program_info.root, &Vec::new(), true);
    run.exits.into_iter().collect()
}

/// Returns the counts that reads wait for.
pub(crate) fn read_counts(solution: &QueueSolution) -> Vec<WaitCount> {
    let (waits, reads) = (counts(&solution.waits), counts(&solution.reads));
    waits
        .iter()
        .zip(reads)
        .map(|(&wait, read)| wait.min(read))
        .collect()
}
