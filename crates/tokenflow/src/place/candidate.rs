//! The choice between placements: by what they force, and where that is the same by their [`Rank`].

use super::commit_points::{CommitPoints, Rank};
use super::{Options, QueuePlacer};
use crate::counts::QueueSolution;
use crate::program::Commits;

/// A placement, with what it is chosen by.
pub(super) struct Candidate {
    pub solution: QueueSolution,
    /// How many of its commits at each slot are always empty.
    pub padding: Commits,
    pub rank: Rank,
    /// True if it is known that no solution whatsoever forces less.
    pub forces_least: bool,
}

impl QueuePlacer<'_> {
    /// Returns a candidate with each commit where its point begins.
    pub(super) fn candidate(
        &self,
        mut solution: QueueSolution,
        forces_least: bool,
        points: &CommitPoints,
        options: &Options,
    ) -> Candidate {
        solution.commits = points.canonical(&solution.commits);
        let padding = self.padding(&solution.commits);
        Candidate {
            rank: points.rank(&solution.commits, empty_commits(&padding, options)),
            solution,
            padding,
            forces_least,
        }
    }

    /// Returns `other` if it is legal, forces no more than `best` and is better, and else `best`.
    pub(super) fn better_of(
        &self,
        mut best: Candidate,
        mut other: Candidate,
        options: &Options,
    ) -> Candidate {
        if other.solution.commits == best.solution.commits {
            best.forces_least |= other.forces_least;
            return best;
        }
        let mut uncovered = other.solution.uncovered.iter();
        if !self.is_legal(&other.solution.commits, &other.padding, options)
            || uncovered.any(|w| !best.solution.uncovered.contains(w))
        {
            return best;
        }
        let has_lower_rank = other.rank < best.rank;
        if best.forces_least && (!has_lower_rank || other.forces_least && !self.commits_all()) {
            debug_assert!(
                self.forces_same_if_least(&best, &other),
                "two solutions that force least force the same"
            );
            return if has_lower_rank { other } else { best };
        }
        let comparison = self.compare(&best.solution, &other.solution);
        debug_assert!(
            !other.forces_least || comparison.forces_no_more(),
            "it forces least"
        );
        if !comparison.forces_no_more() || self.commits_all() && comparison.left_open {
            return best;
        }
        let forces_least = best.forces_least || other.forces_least;
        (best.forces_least, other.forces_least) = (forces_least, forces_least);
        if comparison.less || has_lower_rank {
            other
        } else {
            best
        }
    }

    fn forces_same_if_least(&self, best: &Candidate, other: &Candidate) -> bool {
        let comparison = self.compare(&best.solution, &other.solution);
        !comparison.less && (!other.forces_least || comparison.forces_no_more())
    }
}

impl Candidate {
    /// Ranks the candidate as other options have it.
    pub fn ranked_by(mut self, options: &Options) -> Self {
        self.rank.empty = empty_commits(&self.padding, options);
        self
    }
}

/// Returns how many commits are always empty, where the options allow any.
pub(super) fn empty_commits(padding: &Commits, options: &Options) -> u64 {
    if options.balance {
        padding.iter().copied().map(u64::from).sum()
    } else {
        0
    }
}
