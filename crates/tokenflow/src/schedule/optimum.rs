//! Finds the optimum, one criterion at a time, by bisection.
//!
//! The best order of the portfolio is where it starts; longer ones are improved in windows first (`windows.rs`). For each criterion, with those before it held at their least: is there an
//! order that is at least as good as the middle between the bound and what is known? Each answer narrows that down. At last, of
//! all the orders that are as good, the least one is found position by position: could an operation with a lower number be
//! here? Each of these questions is one to `search.rs`, and they share the budget.

use super::bounds::{self, PeakBound};
use super::events::EventTable;
use super::graph::Graph;
use super::heuristics::{Input, strategies};
use super::measure::{Cost, InvalidOrder, measure};
use super::search::{Answer, MOST_OPERATIONS, Search, Target};
use super::windows::{self, FullProblem, WINDOW};
use super::{InvalidProblem, Objective, OperationId, Options, Problem};
use crate::ids::Id;
use std::collections::BTreeMap;

/// In larger blocks, the budget is for each so many.
const OPERATIONS_OF_BUDGET: u64 = 20_000;

/// Which parts of a result are known to be the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proven {
    /// None.
    #[default]
    Nothing,
    /// The excess.
    Excess,
    /// The excess and the next criterion of the objective.
    TwoCriteria,
    /// All that is counted. Another order that is as good may come first.
    Cost,
    /// Everything: the order is the optimum.
    Order,
}

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The operations in their new order.
    pub order: Vec<OperationId>,
    /// What it costs.
    pub cost: Cost,
    /// What the order of the input costs.
    pub cost_before: Cost,
    /// No order has a smaller excess. Of those with the least excess, none has a smaller value of the second criterion; of those
    /// with the least of both, none has a smaller one of the third.
    pub bound: Cost,
    /// What is known of it.
    pub proven: Proven,
    /// The nodes that the search looked at.
    pub nodes: u64,
}

/// Schedules a block. Blocks of up to 128 operations are searched within the budget, larger ones in windows. Above 20 000
/// operations, the budget is for each 20 000.
///
/// # Errors
///
/// What is wrong with the problem.
pub fn solve(problem: &Problem, options: &Options) -> Result<Schedule, InvalidProblem> {
    problem.verify()?;
    let graph = Graph::new(problem, options.issue);
    let table = EventTable::new(problem, options.events);
    let least_peaks = bounds::peaks(&graph, &table);
    let mut starts = portfolio(problem, options, &graph, &table).into_iter();
    let mut run = Run {
        problem,
        options,
        table: &table,
        best: starts.next().unwrap_or_default(),
        bound: bound(problem, &graph, &table, &least_peaks).criteria(options.objective),
        proven: 0,
    };
    let nodes;
    if graph.len() <= MOST_OPERATIONS {
        let mut budget = options.budget;
        let is_long = graph.len() > WINDOW / 2;
        if is_long {
            budget -= run.improve(&graph, None, budget / 4);
        }
        let kept = if is_long { budget / 8 } else { 0 };
        let peaks = least_peaks.iter().map(|bound| bound.peak).collect();
        budget -= run.search(peaks, budget - kept);
        // What the search found may be better in one criterion, and worse in others that it had no time for.
        if is_long && run.proven < 3 {
            budget -= run.improve(&graph, None, kept);
        }
        nodes = options.budget - budget;
    } else {
        let budget = options
            .budget
            .saturating_mul((graph.len() as u64 / OPERATIONS_OF_BUDGET).max(1));
        let second = starts
            .next()
            .filter(|_| graph.len() as u64 <= OPERATIONS_OF_BUDGET);
        let share = if second.is_some() { 2 } else { 1 };
        let first = run.improve(&graph, None, budget / share);
        nodes = first + second.map_or(0, |second| run.improve(&graph, Some(second), budget - first));
        run.compare_with_bound();
    }
    let before: Vec<OperationId> = problem.operations.ids().collect();
    let [excess, second, third] = run.bound;
    let (makespan, peaks) = match options.objective {
        Objective::Latency => (second, third),
        Objective::Events => (third, second),
    };
    Ok(Schedule {
        cost: run.best.0,
        order: run.best.1.into_iter().map(OperationId).collect(),
        cost_before: cost(problem, options, &before).unwrap_or_default(),
        bound: Cost {
            excess,
            makespan,
            peaks,
        },
        proven: match run.proven {
            0 => Proven::Nothing,
            1 => Proven::Excess,
            2 => Proven::TwoCriteria,
            3 => Proven::Cost,
            _ => Proven::Order,
        },
        nodes,
    })
}

fn cost(problem: &Problem, options: &Options, order: &[OperationId]) -> Result<Cost, InvalidOrder> {
    measure(problem, options, order).map(|measured| measured.cost)
}

/// What no order can be better than.
fn bound(problem: &Problem, graph: &Graph, table: &EventTable, peaks: &[PeakBound]) -> Cost {
    let peaks: Vec<u64> = peaks.iter().map(|bound| bound.peak).collect();
    let (excess, peaks) = table.totals(&peaks);
    Cost {
        excess,
        makespan: bounds::makespan(problem, graph),
        peaks,
    }
}

/// The orders that the strategies find, the best first; of equally good ones, the least.
fn portfolio(
    problem: &Problem,
    options: &Options,
    graph: &Graph,
    table: &EventTable,
) -> Vec<(Cost, Vec<usize>)> {
    let input = Input {
        problem,
        graph,
        table,
        issue: options.issue,
    };
    let measured = strategies().into_iter().filter_map(|strategy| {
        let order = strategy.order(input);
        let ids: Vec<OperationId> = order.iter().copied().map(OperationId).collect();
        let cost = cost(problem, options, &ids);
        debug_assert!(cost.is_ok(), "{strategy:?}: {cost:?}");
        Some((cost.ok()?, order))
    });
    let mut measured: Vec<_> = measured.collect();
    measured.sort_by(|a, b| {
        let criteria = |cost: Cost| cost.criteria(options.objective);
        criteria(a.0).cmp(&criteria(b.0)).then_with(|| a.1.cmp(&b.1))
    });
    measured.dedup();
    measured
}

struct Run<'a> {
    problem: &'a Problem,
    options: &'a Options,
    table: &'a EventTable,
    best: (Cost, Vec<usize>),
    /// Of each criterion, a bound.
    bound: [u64; 3],
    /// How many criteria are proven; one more with the order.
    proven: usize,
}

impl Run<'_> {
    /// Notes which criteria are at their bound.
    fn compare_with_bound(&mut self) {
        let known = self.best.0.criteria(self.options.objective);
        while self.proven < 3 && known[self.proven] == self.bound[self.proven] {
            self.proven += 1;
        }
    }

    /// Improves the best order in windows, or `start`, and takes what is better. Returns how many nodes that took.
    fn improve(&mut self, graph: &Graph, start: Option<(Cost, Vec<usize>)>, budget: u64) -> u64 {
        let whole = FullProblem {
            problem: self.problem,
            graph,
            table: self.table,
            issue: self.options.issue,
            objective: self.options.objective,
        };
        let (before, order) = start.unwrap_or_else(|| self.best.clone());
        let (order, left) = windows::improve(whole, order, budget);
        let ids: Vec<OperationId> = order.iter().copied().map(OperationId).collect();
        let cost = cost(self.problem, self.options, &ids);
        debug_assert!(
            cost.is_ok_and(|cost| cost.excess <= before.excess),
            "{cost:?}, {before:?}"
        );
        debug_assert!(
            cost.is_ok_and(|cost| cost.excess < before.excess || cost.makespan <= before.makespan),
            "{cost:?}, {before:?}"
        );
        let criteria = |cost: Cost| cost.criteria(self.options.objective);
        if let Some(cost) = cost.ok().filter(|cost| criteria(*cost) < criteria(self.best.0)) {
            self.best = (cost, order);
        }
        budget - left
    }

    /// Searches, and returns how many nodes that took.
    fn search(&mut self, least_peaks: Vec<u64>, budget: u64) -> u64 {
        let twins = twins(self.problem);
        let pairs: Vec<(usize, usize)> = twins
            .iter()
            .flat_map(|class| class.windows(2))
            .map(|pair| (pair[0], pair[1]))
            .collect();
        let graph = Graph::with_order(self.problem, self.options.issue, &pairs);
        let mut search = Search::new(
            self.problem,
            &graph,
            self.table,
            self.options.issue,
            least_peaks,
            budget,
        );
        while self.proven < 3 {
            if !self.minimize(&mut search) {
                return budget - search.budget;
            }
            self.proven += 1;
        }
        sort_twins(&mut self.best.1, &twins);
        let target = self.target(self.best.0.criteria(self.options.objective).map(Some));
        let (order, is_least, left) = search.least(target, std::mem::take(&mut self.best.1));
        self.best.1 = order;
        self.proven += usize::from(is_least);
        budget - left
    }

    /// Finds the least value of the first criterion that is not proven. Returns false if the budget ran out.
    fn minimize(&mut self, search: &mut Search<'_>) -> bool {
        let level = self.proven;
        loop {
            let known = self.best.0.criteria(self.options.objective);
            if known[level] <= self.bound[level] {
                return true;
            }
            let middle = self.bound[level] + (known[level] - self.bound[level]) / 2;
            let mut most = [None; 3];
            for (earlier, most) in most.iter_mut().take(level).enumerate() {
                *most = Some(known[earlier]);
            }
            most[level] = Some(middle);
            match search.run(self.target(most)) {
                Answer::Found(order) => {
                    let ids: Vec<OperationId> = order.iter().copied().map(OperationId).collect();
                    let cost = cost(self.problem, self.options, &ids);
                    let is_better = |cost: &Cost| cost.criteria(self.options.objective)[level] <= middle;
                    // The search and the measure agree, or there is a fault in one of them.
                    debug_assert!(cost.as_ref().is_ok_and(is_better), "{order:?}: {cost:?}");
                    let Some(cost) = cost.ok().filter(is_better) else {
                        return false;
                    };
                    self.best = (cost, order);
                }
                Answer::Impossible => self.bound[level] = middle + 1,
                Answer::OutOfBudget => return false,
            }
        }
    }

    /// What is at most this, criterion by criterion.
    fn target(&self, most: [Option<u64>; 3]) -> Target {
        let [excess, second, third] = most;
        let (makespan, peaks) = match self.options.objective {
            Objective::Latency => (second, third),
            Objective::Events => (third, second),
        };
        Target {
            excess: excess.unwrap_or(u64::MAX),
            makespan,
            peaks,
        }
    }
}

/// Sets of operations that nobody can tell apart, in order: each may take the place of each.
fn twins(problem: &Problem) -> Vec<Vec<usize>> {
    let operations = problem.operations.len();
    // What is around each operation: what, where, and in which direction.
    let mut around = vec![Vec::new(); operations];
    for edge in &problem.dependences {
        let details = Some((edge.distance, edge.pair));
        around[edge.from.index()].push((edge.to, details, true));
        around[edge.to.index()].push((edge.from, details, false));
    }
    for &(from, to) in &problem.order {
        around[from.index()].push((to, None, true));
        around[to.index()].push((from, None, false));
    }
    let mut classes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (op, mut around) in around.into_iter().enumerate() {
        around.sort_unstable();
        around.dedup();
        let own = &problem.operations[OperationId(op)];
        let times = (own.latency, own.occupancy);
        let key = (around, times, &own.engines, &own.inner_peaks);
        classes.entry(key).or_default().push(op);
    }
    classes.into_values().filter(|class| class.len() > 1).collect()
}

/// Puts twins in order, each at a place of one of them.
fn sort_twins(order: &mut [usize], twins: &[Vec<usize>]) {
    let mut places = vec![0; order.len()];
    for (place, &op) in order.iter().enumerate() {
        places[op] = place;
    }
    for class in twins {
        let mut taken: Vec<usize> = class.iter().map(|&op| places[op]).collect();
        taken.sort_unstable();
        for (&op, place) in class.iter().zip(taken) {
            order[place] = op;
        }
    }
}
