//! Runs the algorithm under test, and translates its answers into the oracle's terms.

use super::execute::Emitted;
use super::reads::split;
use tokenflow::{Await, Commits, Options, Program, Queue, QueueSolution, peel, solve, solve_given};

/// What a program is lowered to.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The program, with iterations peeled off where that was asked for.
    pub program: Program,
    /// How many loops were peeled.
    pub peels: usize,
    /// True if a budget ended the search for places to commit.
    pub spent: bool,
    /// What is emitted for each queue.
    pub emitted: Vec<Emitted>,
    /// Awaits that may come before the commit, for each queue of the original.
    pub open: Vec<Vec<Await>>,
    /// For each queue of the original, the one for its reads, if it has any.
    pub reads: Vec<Option<Queue>>,
    /// The program and what is emitted before queues with reads were split; [`Self::program`] and
    /// [`Self::emitted`] know no reads.
    pub original: (Program, Vec<Emitted>),
}

/// Every translation there is, but for peeling: one group a copy.
pub const PLAIN: Options = Options {
    form_groups: false,
    balance: false,
    drop_implied: true,
    unroll_limit: 0,
    max_padding: 4,
    exhaustive_points: 10,
};

/// Lowers a program whose commits are to be chosen.
pub fn lower(program: &Program, options: &Options) -> Lowered {
    let solution = solve(program, options);
    let rounds = solution.peel.iter();
    let program = rounds.fold(program.clone(), |program, round| peel(&program, round));
    let peels = solution.peel.iter().map(Vec::len).sum();
    Lowered {
        spent: solution.spent,
        ..lowered(program, peels, &solution.queues)
    }
}

/// Lowers a program for the given commits.
pub fn lower_given(program: &Program, commits: &[Commits], drop_implied: bool) -> Lowered {
    let solutions = solve_given(program, commits, drop_implied);
    lowered(program.clone(), 0, &solutions)
}

/// Lowers a program that has all its commits.
pub fn lower_counted(program: &Program, drop_implied: bool) -> Lowered {
    let none = vec![vec![0; program.slots as usize]; program.queues as usize];
    lower_given(program, &none, drop_implied)
}

/// The commits of one group per copy, for each queue.
pub fn one_group_each(program: &Program) -> Vec<Commits> {
    (0..program.queues)
        .map(|queue| program.one_group_each(Queue(queue)))
        .collect()
}

/// Lowers a program as its solutions say, none of which peels.
pub fn lowered(program: Program, peels: usize, solutions: &[QueueSolution]) -> Lowered {
    assert_eq!(solutions.len(), program.queues as usize, "one solution a queue");
    let emitted = |solution: &QueueSolution| Emitted {
        commits: solution.commits.clone(),
        waits: solution
            .waits
            .iter()
            .map(|wait| wait.map(|count| u32::from(count.n)))
            .collect(),
        reads: solution
            .reads
            .iter()
            .map(|wait| wait.map(|count| u32::from(count.n)))
            .collect(),
    };
    let emitted: Vec<Emitted> = solutions.iter().map(emitted).collect();
    let split = split(&program, &emitted);
    Lowered {
        program: split.program,
        peels,
        spent: false,
        emitted: split.emitted,
        reads: split.reads,
        open: solutions
            .iter()
            .map(|solution| solution.uncovered.clone())
            .collect(),
        original: (program, emitted),
    }
}
