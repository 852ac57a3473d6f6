//! Searches the placements of commits: which points get one.
//!
//! *Dominance* is Pareto's: one placement dominates another if on every execution what is complete after each await, and each wait
//! of the program, is a subset of what is complete there under the other one, strictly somewhere. Counts are the exact
//! ones for each placement. Among placements that force the same, the one of least [`Rank`](super::commit_points::Rank) is taken. Both together
//! are an order, so one pass over all placements, going on from each better one, ends at one that nothing is better
//! than.
//!
//! 1. **Exhaustive**, with few points that can have a commit: all sets of points, with and without empty groups that
//!    make the arms of branches equal.
//! 2. **Local**, with more: single commits are removed, moved and added, near places first, and a few points in a row
//!    changed together, until none of that is better or the budget is spent.
//!
//! Either goes on from a solution that is given, and ends with one that forces no more.
//!
//! Cost: 2^points solutions and comparisons, or those of the budget.

use super::candidate::{Candidate, empty_commits};
use super::commit_points::CommitPoints;
use super::diamond::{GraphDiamonds, diamonds};
use super::diamond_forms::{BalanceEffect, Form};
use super::incremental::{Change, IncrementalSolver, TrialResult};
use super::{Options, QueuePlacer};
use crate::compare::EarlyExit;
use crate::counts::QueueSolution;
use crate::program::{Commits, Slot};
use rustc_hash::FxHashSet;

/// Branches whose arms are made equal in all combinations; others are left alone.
const BRANCHES: usize = 5;

/// So many points in a row are changed together in the local search.
const WINDOW: usize = 5;

/// More points than this are never searched exhaustively, whatever the options say.
const MOST_EXHAUSTIVE: usize = 20;

/// Placements that were looked at. What was not better than the best one then is not better than a later best one, since
/// that forces no more, so that several searches, each going on from the last one, look at each placement once.
pub(super) type Seen = FxHashSet<Commits>;

/// A search over the placements of one queue.
pub(super) struct Search<'a, 'p> {
    placer: &'a QueuePlacer<'p>,
    options: &'a Options,
    points: &'a CommitPoints,
    seen: &'a mut Seen,
    /// The branches whose arms may be padded.
    graphs: Vec<GraphDiamonds<'p>>,
    best: Candidate,
    /// What placements near the best one are tried with, where the body allows that.
    incremental: Option<IncrementalSolver<'a>>,
    /// Trials left.
    trials: usize,
    /// True if a better one was found than the search began with. Its padding is what was kept of the padding before.
    found_better: bool,
}

/// What a search found.
pub(super) struct Found {
    pub best: Candidate,
    /// True if the budget ended it, and it is not known that nothing forces less.
    pub spent: bool,
}

impl<'p> QueuePlacer<'p> {
    /// Returns a placement that forces no more than `start`, and that nothing looked at is better than.
    pub(super) fn search(
        &self,
        start: Candidate,
        points: &CommitPoints,
        options: &Options,
        seen: &mut Seen,
    ) -> Found {
        let candidates = &points.candidates;
        let exhaustive = candidates.len() <= options.exhaustive_points.min(MOST_EXHAUSTIVE);
        if !exhaustive && self.trials == 0 {
            return Found {
                spent: !start.forces_least,
                best: start,
            };
        }
        let mut search = Search {
            placer: self,
            options,
            points,
            seen,
            graphs: Vec::new(),
            best: start,
            incremental: None,
            trials: self.trials,
            found_better: false,
        };
        let spent = if exhaustive {
            if options.balance && options.max_padding > 0 {
                search.graphs = diamonds(&self.program.body, &self.program_info.root);
            }
            search.all_sets(candidates);
            false
        } else {
            search.incremental = self.incremental(&search.best.solution);
            search.local(candidates)
        };
        let mut best = search.best;
        if search.found_better {
            best = self.candidate(best.solution, best.forces_least, points, options);
        }
        Found {
            spent: spent && !best.forces_least,
            best,
        }
    }

    /// Solves for `commits`; `None` if some await forces more than in `best`, or something is left open that is not
    /// there. Says also whether some await forces less.
    pub(super) fn try_commits(
        &self,
        best: &QueueSolution,
        commits: Commits,
    ) -> Option<(QueueSolution, bool)> {
        let solution = self.solve_as_covered(best, commits)?;
        let comparison = self.compare_as_far(best, &solution, EarlyExit::OnMore);
        let allowed = comparison.forces_no_more() && !(self.commits_all() && comparison.left_open);
        allowed.then_some((solution, comparison.less))
    }
}

impl QueuePlacer<'_> {
    /// Does what [`Self::try_commits`] does for the commits of `best` with some changes; `incremental` is for those.
    pub(super) fn try_changes(
        &self,
        best: &QueueSolution,
        changes: &[Change],
        incremental: &mut IncrementalSolver,
    ) -> Option<(QueueSolution, bool)> {
        match incremental.try_changes(changes) {
            TrialResult::More => None,
            TrialResult::NoMore(changed) => Some((changed.solution, changed.less)),
            TrialResult::Unknown => self.try_commits(best, changed(&best.commits, changes)),
        }
    }
}

impl Search<'_, '_> {
    /// Takes a placement if it is better than the best so far; returns true if so.
    fn consider(&mut self, commits: Commits, padding: &Commits) -> bool {
        if commits == self.best.solution.commits
            || self.seen.contains(&commits)
            || !self.placer.is_legal(&commits, padding, self.options)
        {
            return false;
        }
        self.seen.insert(commits.clone());
        let Some((solution, less)) = self.placer.try_commits(&self.best.solution, commits) else {
            return false;
        };
        let padding = self.placer.padding(&solution.commits);
        self.take(solution, less, empty_commits(&padding, self.options))
    }

    /// Takes a solution that forces no more if it is better than the best so far; returns true if so. `empty` says how
    /// many of its commits are always empty.
    fn take(&mut self, solution: QueueSolution, less: bool, empty: u64) -> bool {
        let rank = self.points.rank(&solution.commits, empty);
        if !less && rank >= self.best.rank {
            return false;
        }
        self.best.solution = solution;
        self.best.rank = rank;
        self.found_better = true;
        true
    }

    /// Considers a set of points, also with empty groups in the arms of branches.
    fn consider_padded(&mut self, commits: &Commits) {
        let none = vec![0; commits.len()];
        self.consider(commits.clone(), &none);
        let count = self
            .graphs
            .iter()
            .map(|graph| graph.diamonds.len())
            .sum::<usize>();
        let chosen = count.min(BRANCHES);
        for set in 1..1_usize << chosen {
            let form = |d| {
                if d < chosen && set >> d & 1 == 1 {
                    Form::Padded
                } else {
                    Form::Off
                }
            };
            let forms = (0..count).map(form).collect::<Vec<_>>();
            let applied = self.placer.apply_forms(&self.graphs, commits, &forms);
            let useful = |(form, effect): (&Form, &BalanceEffect)| {
                *form == Form::Off || *effect == BalanceEffect::Evened
            };
            if forms.iter().zip(&applied.effects).all(useful) {
                let padded = applied.commits;
                let padding = padded.iter().zip(commits).map(|(all, real)| all - real).collect();
                self.consider(padded, &padding);
            }
        }
    }

    fn all_sets(&mut self, candidates: &[Slot]) {
        for set in 0..1_usize << candidates.len() {
            let mut commits = vec![0; self.best.solution.commits.len()];
            for (i, slot) in candidates.iter().enumerate() {
                commits[slot.0 as usize] = u32::from(set >> i & 1 == 1);
            }
            self.consider_padded(&commits);
        }
    }

    /// Considers single changes until none is better, and then all changes of a few points in a row; returns true if the
    /// budget ended the single ones.
    fn local(&mut self, candidates: &[Slot]) -> bool {
        loop {
            if self.single_changes(candidates) {
                return true;
            }
            if !self.windows(candidates) {
                return false;
            }
        }
    }

    /// Considers single changes until none is better; returns true if the budget ended it.
    fn single_changes(&mut self, candidates: &[Slot]) -> bool {
        let changes = candidates.len() * 2 * candidates.len();
        let (mut next, mut in_vain) = (0, 0);
        while in_vain < changes {
            let (from, to) = change(next, candidates.len());
            next = (next + 1) % changes;
            in_vain += 1;
            let here = |i: usize| self.best.solution.commits[candidates[i].0 as usize];
            if from.is_some_and(|i| here(i) == 0) || to.is_some_and(|i| i >= candidates.len() || here(i) > 0)
            {
                continue;
            }
            if self.trials == 0 {
                return true;
            }
            self.trials -= 1;
            let taken = from.map(|from| (from, here(from) - 1));
            let changes = taken.into_iter().chain(to.map(|to| (to, 1)));
            let changes = changes.map(|(i, n)| (candidates[i].0 as usize, n)).collect();
            if self.consider_changes(changes) {
                in_vain = 0;
            }
        }
        false
    }

    /// Considers all sets of points within each window that are no single changes; returns true as soon as one is better.
    fn windows(&mut self, candidates: &[Slot]) -> bool {
        for (i, window) in candidates.windows(WINDOW).enumerate() {
            for set in 0..1_usize << WINDOW {
                let slots = window.iter().map(|slot| slot.0 as usize);
                let changes = slots.enumerate().filter_map(|(i, slot)| {
                    let n = self.best.solution.commits[slot];
                    let new = if set >> i & 1 == 1 { n.max(1) } else { 0 };
                    (new != n).then_some((slot, new))
                });
                let changes: Vec<Change> = changes.collect();
                // What leaves the last point alone was in the window before.
                let is_new =
                    i == 0 || changes.last().map(|(slot, _)| *slot) == Some(window[WINDOW - 1].0 as usize);
                if !is_new || self.is_single(&changes) {
                    continue;
                }
                if self.trials == 0 {
                    return false;
                }
                self.trials -= 1;
                if self.consider_changes(changes) {
                    return true;
                }
            }
        }
        false
    }

    /// Returns true if at most one commit is added or taken away.
    fn is_single(&self, changes: &[Change]) -> bool {
        match changes {
            [] => true,
            [(slot, n)] => self.best.solution.commits[*slot].abs_diff(*n) == 1,
            _ => false,
        }
    }

    /// Considers the best placement with some changes; always-empty groups are as many as now, where there are as many
    /// commits. Returns true if it is better.
    fn consider_changes(&mut self, mut changes: Vec<Change>) -> bool {
        let best = &mut self.best;
        if best.forces_least
            && self
                .points
                .adds_cost(&best.solution.commits, &changes, &best.rank)
        {
            return false;
        }
        changes.sort_unstable();
        if let Some(incremental) = &mut self.incremental {
            incremental.prepare_legality(&best.padding, self.options);
        }
        let kept = |&(slot, n): &Change| (best.padding[slot] > n).then_some((slot, n));
        let kept: Vec<Change> = changes.iter().filter_map(kept).collect();
        let padding: Vec<Change> = kept.iter().map(|&(slot, _)| (slot, best.padding[slot])).collect();
        apply(&kept, &mut best.padding);
        let better = self.consider_padding_kept(&changes);
        if !better {
            apply(&padding, &mut self.best.padding);
        }
        better
    }

    fn consider_padding_kept(&mut self, changes: &[Change]) -> bool {
        let best = &mut self.best;
        let Some(incremental) = &mut self.incremental else {
            let padding = std::mem::take(&mut best.padding);
            let better = self.consider(changed(&self.best.solution.commits, changes), &padding);
            self.best.padding = padding;
            return better;
        };
        if changes.is_empty()
            || incremental.is_rejected(changes)
            || !incremental.is_legal(changes, &best.padding)
        {
            return false;
        }
        let found = self.placer.try_changes(&best.solution, changes, incremental);
        let Some((solution, less)) = found else {
            return false;
        };
        // Near the best placement, the padding tells at once how many are always empty.
        let empty = best.padding.iter().copied().map(u64::from).sum();
        let better = self.take(solution, less, empty);
        if better {
            self.incremental = self.placer.incremental(&self.best.solution);
        }
        better
    }
}

/// Returns commits with some changes.
pub(super) fn changed(commits: &Commits, changes: &[Change]) -> Commits {
    let mut changed = commits.clone();
    apply(changes, &mut changed);
    changed
}

fn apply(changes: &[Change], commits: &mut Commits) {
    for &(slot, n) in changes {
        commits[slot] = n;
    }
}

/// Returns the commit that is taken away and the point that gets one in change number `i` of `n` points: first all that
/// take one away, then all that add one, then all that move one by 1, by -1, by 2 and so on. A point of `n` or more is
/// none.
fn change(i: usize, n: usize) -> (Option<usize>, Option<usize>) {
    let (kind, point) = (i / n, i % n);
    match kind {
        0 => (Some(point), None),
        1 => (None, Some(point)),
        _ => {
            let by = kind / 2;
            let to = if kind % 2 == 0 {
                point + by
            } else {
                point.wrapping_sub(by)
            };
            (Some(point), Some(to))
        }
    }
}
