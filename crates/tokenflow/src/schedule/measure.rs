//! Measures what an order costs: the definitions of [`super`], word for word. It shares no code with what
//! looks for orders.

use super::{Dependence, EventModel, IssueModel, Objective, OperationId, Options, Pair, Problem};
use crate::ids::Id;
use std::collections::{BTreeMap, BTreeSet};

/// What is minimized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Events above the limits: the sum, over pairs of engines, of peak minus limit where that is positive.
    pub excess: u64,
    /// Cycles until everything is finished.
    pub makespan: u64,
    /// The sum of the peaks of all pairs of engines.
    pub peaks: u64,
}

impl Cost {
    /// The criteria, the most important one first.
    #[must_use]
    pub fn criteria(self, objective: Objective) -> [u64; 3] {
        match objective {
            Objective::Latency => [self.excess, self.makespan, self.peaks],
            Objective::Events => [self.excess, self.peaks, self.makespan],
        }
    }
}

/// What an order costs, in detail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// What is minimized.
    pub cost: Cost,
    /// The peak of each pair of engines that has events.
    pub peaks: BTreeMap<Pair, u64>,
    /// When each operation starts.
    pub starts: Vec<u64>,
}

/// Why something is no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidOrder {
    /// An operation is missing, is there twice, or does not exist.
    NoPermutation,
    /// The second operation is before the first, which it has to follow.
    Broken(OperationId, OperationId),
}

/// Measures an order. Takes O((n + m) log m) for n operations and m dependences.
///
/// # Errors
///
/// Why it is no order of the problem.
pub fn measure(
    problem: &Problem,
    options: &Options,
    order: &[OperationId],
) -> Result<Measured, InvalidOrder> {
    let positions = positions(problem, order)?;
    let peaks = peaks(problem, options.events, &positions);
    let (starts, makespan) = starts(problem, options.issue, order);
    let above = |(pair, peak): (&Pair, &u64)| peak.saturating_sub(u64::from(problem.limits.of(*pair)));
    let cost = Cost {
        excess: peaks.iter().map(above).sum(),
        makespan,
        peaks: peaks.values().sum(),
    };
    Ok(Measured { cost, peaks, starts })
}

/// Where each operation is, if all is in order.
fn positions(problem: &Problem, order: &[OperationId]) -> Result<Vec<usize>, InvalidOrder> {
    let mut positions = vec![None; problem.operations.len()];
    for (position, operation) in order.iter().enumerate() {
        match positions.get_mut(operation.index()) {
            Some(place @ None) => *place = Some(position),
            _ => return Err(InvalidOrder::NoPermutation),
        }
    }
    let positions: Option<Vec<usize>> = positions.into_iter().collect();
    let positions = positions.ok_or(InvalidOrder::NoPermutation)?;
    let waits = problem.dependences.iter().filter(|wait| wait.distance == 0);
    let pairs = waits.map(|wait| (wait.from, wait.to));
    for (from, to) in pairs.chain(problem.order.iter().copied()) {
        if positions[from.index()] >= positions[to.index()] {
            return Err(InvalidOrder::Broken(from, to));
        }
    }
    Ok(positions)
}

/// The peak of each pair. The points of time are the start (0) and, of the operation at position `i`, inside (`2 i + 1`) and
/// after (`2 i + 2`).
fn peaks(problem: &Problem, events: EventModel, positions: &[usize]) -> BTreeMap<Pair, u64> {
    let inside = |operation: OperationId| 2 * positions[operation.index()] + 1;
    let after = |operation: OperationId| 2 * positions[operation.index()] + 2;
    let end = 2 * positions.len() + 1;
    // By pair, what is live from the first point until before the second one.
    let mut live: BTreeMap<Pair, Vec<(usize, usize, u64)>> = BTreeMap::new();
    for group in groups(problem, events) {
        let nearest = group.iter().map(|edge| edge.distance).min().unwrap_or(0);
        let consumers = group.iter().filter(|edge| edge.distance == nearest);
        let first = consumers.map(|edge| inside(edge.to)).min().unwrap_or(end);
        let (producer, pair) = (group[0].from, group[0].pair);
        let intervals = live.entry(pair.expect("an event has a pair")).or_default();
        if nearest == 0 {
            intervals.push((after(producer), first, 1));
        } else {
            intervals.push((after(producer), end, 1));
            intervals.push((0, end, u64::from(nearest - 1)));
            intervals.push((0, first, 1));
        }
    }
    for (operation, details) in problem.operations.with_ids() {
        for (pair, inner) in &details.inner_peaks {
            let intervals = live.entry(*pair).or_default();
            intervals.push((inside(operation), after(operation), u64::from(*inner)));
        }
    }
    let peak = |(pair, intervals): (Pair, Vec<(usize, usize, u64)>)| {
        let begins = intervals.iter().map(|&(from, _, number)| (from, true, number));
        let ends = intervals.iter().map(|&(_, until, number)| (until, false, number));
        let mut steps: Vec<_> = begins.chain(ends).collect();
        steps.sort_unstable();
        let (mut pressure, mut peak) = (0, 0);
        for (_, begins, number) in steps {
            pressure = if begins {
                pressure + number
            } else {
                pressure - number
            };
            peak = peak.max(pressure);
        }
        (pair, peak)
    };
    live.into_iter().map(peak).collect()
}

/// The dependences that make an event, by event.
fn groups(problem: &Problem, events: EventModel) -> Vec<Vec<Dependence>> {
    let makes_event = |edge: &&Dependence| edge.pair.is_some_and(|pair| pair.from != pair.to);
    let edges: BTreeSet<Dependence> = problem.dependences.iter().filter(makes_event).copied().collect();
    match events {
        EventModel::Edge => edges.into_iter().map(|edge| vec![edge]).collect(),
        EventModel::Pair => {
            let mut groups: BTreeMap<_, Vec<Dependence>> = BTreeMap::new();
            for edge in edges {
                groups.entry((edge.from, edge.pair)).or_default().push(edge);
            }
            groups.into_values().collect()
        }
    }
}

/// When each operation starts, and when all are finished and all engines free.
fn starts(problem: &Problem, issue: IssueModel, order: &[OperationId]) -> (Vec<u64>, u64) {
    let mut inputs = vec![Vec::new(); problem.operations.len()];
    for wait in problem.dependences.iter().filter(|wait| wait.distance == 0) {
        inputs[wait.to.index()].push(wait.from);
    }
    let mut starts = vec![0_u64; problem.operations.len()];
    let mut free_at = BTreeMap::new();
    let (mut last_issue, mut makespan) = (0, 0);
    for &id in order {
        let operation = &problem.operations[id];
        let mut start = 0;
        for &input in &inputs[id.index()] {
            start = start.max(starts[input.index()].saturating_add(problem.operations[input].latency));
        }
        for engine in &operation.engines {
            start = start.max(free_at.get(engine).copied().unwrap_or(0));
        }
        if issue == IssueModel::Order {
            start = start.max(last_issue);
            last_issue = start;
        }
        for engine in &operation.engines {
            free_at.insert(engine, start.saturating_add(operation.occupancy));
        }
        starts[id.index()] = start;
        makespan = makespan.max(start.saturating_add(operation.latency.max(operation.occupancy)));
    }
    (starts, makespan)
}
