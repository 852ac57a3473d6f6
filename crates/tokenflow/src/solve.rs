//! Translates a program: the entry point.
//!
//! Where the program gives its commits, only counts are left to be found: [`solve_given`]. Else [`solve`] decides as well
//! where to commit and what to peel, see [`mod@crate::place`].

use crate::clone::{Peel, is_in_order};
use crate::counts::{QueueSolution, solve_queue};
use crate::place::Placer;
use crate::program::{Commits, Program, Queue, Slot};

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
    /// The slot after (or at the meeting point of) branches whose arms commit unequal numbers of
    /// groups and can't be made equal, because of a loop of unknown trip count in one of them.
    pub uneven: Vec<Slot>,
    /// True if a budget ended the search for places to commit, so that a single commit elsewhere may force less.
    pub spent: bool,
}

/// Translates a program whose operations are committed at its slots.
#[must_use]
pub fn solve(program: &Program, options: &Options) -> Solution {
    debug_assert!(is_in_order(program), "numbered in program order");
    let (rounds, placed) = Placer::new(program, options).place(options);
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
