//! Explains why limits can't be met: finds an irreducible infeasible subset of the operations.
//!
//! A set of operations is infeasible if the part of the problem that is about them (`Problem::restrict`) has
//! no order without excess. If a set is, each larger one is. So a set is irreducible if it is feasible
//! without any one of its operations, and one is found by leaving out pieces, smaller and smaller, and at
//! last one operation after another. It starts from what a bound is about, or from all operations, if they
//! are few enough to be searched.

use super::bounds;
use super::events::EventTable;
use super::graph::Graph;
use super::search::{Answer, MOST_OPERATIONS, Search, Target};
use super::{InvalidProblem, OperationId, Options, Problem};
use crate::ids::Id;

/// How many operations are looked at for each of a set, and at least, before it is left as it is.
const WORK: usize = 64;
const LEAST_WORK: usize = 1 << 20;

/// Why limits can't be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfeasibleSubset {
    /// Operations that can't be put in an order that meets all limits.
    pub operations: Vec<OperationId>,
    /// Whether they could, without any one of them. It is not known if the budget ran out.
    pub is_minimal: bool,
}

/// Operations that show that limits can't be met; nothing if they can, or if that is not known. Each question has the budget of
/// `options`.
///
/// # Errors
///
/// What is wrong with the problem.
pub fn infeasible_subset(
    problem: &Problem,
    options: &Options,
) -> Result<Option<InfeasibleSubset>, InvalidProblem> {
    problem.verify()?;
    let Some(mut operations) = start(problem, options) else {
        return Ok(None);
    };
    let mut part = problem.restrict(&operations, options.events);
    let mut is_minimal = true;
    let mut work = 0;
    let most_work = WORK * operations.len() + LEAST_WORK;
    // Large pieces first: most of a large set has nothing to do with it.
    let mut size = (operations.len() / 2).max(1);
    loop {
        // What comes last goes first: what is left is near the start.
        let mut end = operations.len();
        while end > 0 && work < most_work {
            work += operations.len();
            let start = end.saturating_sub(size);
            let ids = part.operations.ids();
            let kept: Vec<OperationId> = ids.filter(|id| !(start..end).contains(&id.index())).collect();
            let smaller = part.restrict(&kept, options.events);
            match can_be_met(&smaller, options) {
                Some(true) => {}
                Some(false) => {
                    part = smaller;
                    operations.drain(start..end);
                }
                None => is_minimal &= size > 1,
            }
            end = start;
        }
        if size == 1 || work >= most_work {
            break;
        }
        size /= 2;
    }
    is_minimal &= work < most_work;
    Ok(Some(InfeasibleSubset {
        operations,
        is_minimal,
    }))
}

/// A set that shows that limits can't be met.
fn start(problem: &Problem, options: &Options) -> Option<Vec<OperationId>> {
    let graph = Graph::new(problem, options.issue);
    let table = EventTable::new(problem, options.events);
    let peaks = bounds::peaks(&graph, &table);
    let above = (0..peaks.len()).filter(|&pair| peaks[pair].peak > table.limits[pair]);
    let witnesses = above.map(|pair| bounds::witness(&graph, &table, pair, peaks[pair]));
    if let Some(smallest) = witnesses.min_by_key(Vec::len) {
        return Some(smallest.into_iter().map(OperationId).collect());
    }
    let is_shown = graph.len() <= MOST_OPERATIONS && can_be_met(problem, options) == Some(false);
    is_shown.then(|| problem.operations.ids().collect())
}

/// Whether there is an order that meets all limits, if that is known.
fn can_be_met(problem: &Problem, options: &Options) -> Option<bool> {
    let graph = Graph::new(problem, options.issue);
    let table = EventTable::new(problem, options.events);
    let least = bounds::peaks(&graph, &table);
    let least: Vec<u64> = least.into_iter().map(|bound| bound.peak).collect();
    if table.totals(&least).0 > 0 {
        return Some(false);
    }
    if graph.len() > MOST_OPERATIONS {
        return None;
    }
    let mut search = Search::new(problem, &graph, &table, options.issue, least, options.budget);
    let target = Target {
        excess: 0,
        makespan: None,
        peaks: None,
    };
    match search.run(target) {
        Answer::Found(_) => Some(true),
        Answer::Impossible => Some(false),
        Answer::OutOfBudget => None,
    }
}
