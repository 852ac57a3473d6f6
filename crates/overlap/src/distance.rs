//! Iteration distance vectors, as in dependence analysis: how many iterations of each loop lie
//! between two steps of an execution.

use crate::loops::{MAX_RUNNING_COUNTS, RunningCount};

/// How many loops can be around an access whose iterations are told apart; further in, they are not.
pub const MAX_DEPTH: usize = 6;

/// How many iterations of each loop lie between two steps of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Distance {
    /// For each loop around the second step, outermost first, how many iterations later it is than the first step, or, if
    /// that was not in the loop, than the first iteration. No more than the loop's `counted`, which means so many or more.
    pub counts: [u8; MAX_DEPTH],
    /// How many loops, outermost first, have not been left since the first step.
    pub common: u8,
    /// For each loop around the first step, outermost first, how many iterations came after that of the first step until the
    /// loop was left, plus one; 0 if that is not known, or of no use. No more than the loop's `counted` plus one, which means
    /// so many or more.
    left: [u8; MAX_DEPTH],
    /// For each [`RunningCount`], how many iterations have ended since the first step, modulo its modulus.
    pub running_counts: [u8; MAX_RUNNING_COUNTS],
}

impl Distance {
    /// From a step to itself, within so many loops.
    #[must_use]
    pub fn none(depth: usize) -> Self {
        Self {
            counts: [0; MAX_DEPTH],
            common: u8::try_from(depth).unwrap_or(u8::MAX),
            left: [0; MAX_DEPTH],
            running_counts: [0; MAX_RUNNING_COUNTS],
        }
    }

    /// To the end of an iteration of a loop.
    #[must_use]
    pub fn end_iteration(mut self, running_count: Option<RunningCount>) -> Self {
        if let Some(RunningCount { index, modulus }) = running_count
            && let Some(count) = self.running_counts.get_mut(usize::from(index))
        {
            *count = (*count + 1) % modulus.max(1);
        }
        self
    }

    /// Into the first iteration of a loop.
    #[must_use]
    pub fn enter(mut self, depth: usize) -> Self {
        if let Some(count) = self.counts.get_mut(depth) {
            *count = 0;
        }
        self
    }

    /// To the next iteration of a loop.
    #[must_use]
    pub fn back(mut self, depth: usize, counted: u8) -> Self {
        if let Some(count) = self.counts.get_mut(depth) {
            *count = (*count + 1).min(counted);
        }
        self
    }

    /// Out of a loop; with `is_limited`, of which it is known how many iterations it has at most.
    #[must_use]
    pub fn leave(mut self, depth: usize, is_limited: bool) -> Self {
        if let (Some(count), Some(left)) = (self.counts.get_mut(depth), self.left.get_mut(depth)) {
            if is_limited && depth < usize::from(self.common) {
                *left = count.saturating_add(1);
            }
            *count = 0;
        }
        self.common = self.common.min(u8::try_from(depth).unwrap_or(u8::MAX));
        self
    }

    /// How many iterations of the loop at `depth` around the first step came after that of the first step until it was left, or
    /// as many as are counted.
    #[must_use]
    pub fn until_left(&self, depth: usize) -> Option<u8> {
        self.left.get(depth)?.checked_sub(1)
    }
}
