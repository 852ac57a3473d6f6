//! The dependence graph of a problem: who comes after whom, and how far from the start and the end of the
//! block everything is.

use super::{IssueModel, Operation, Problem};
use crate::ids::Id;

/// Lists, one for each of several things, in one allocation (compressed sparse rows).
#[derive(Clone, Debug, Default)]
pub(super) struct Lists<T> {
    starts: Vec<usize>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Lists for `number` things, of `(thing, item)`; items stay in order.
    pub fn new(number: usize, entries: &[(usize, T)]) -> Self {
        let mut starts = vec![0; number + 1];
        for (thing, _) in entries {
            starts[thing + 1] += 1;
        }
        for thing in 0..number {
            starts[thing + 1] += starts[thing];
        }
        let mut next = starts.clone();
        let mut places = vec![0; entries.len()];
        for (entry, (thing, _)) in entries.iter().enumerate() {
            places[next[*thing]] = entry;
            next[*thing] += 1;
        }
        let items = places.into_iter().map(|entry| entries[entry].1).collect();
        Self { starts, items }
    }

    /// The list of a thing.
    pub fn of(&self, thing: usize) -> &[T] {
        &self.items[self.range(thing)]
    }

    /// Where the list of a thing is among the items of all.
    pub fn range(&self, thing: usize) -> std::ops::Range<usize> {
        self.starts[thing]..self.starts[thing + 1]
    }

    /// All items.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}

/// The graph. Operations are plain numbers here.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// What has to come after each operation.
    pub successors: Lists<usize>,
    /// What has to come before each operation.
    pub predecessors: Lists<usize>,
    /// What each operation waits for.
    pub inputs: Lists<usize>,
    /// What waits for each operation.
    pub users: Lists<usize>,
    /// Of each operation, the least time from the block's start to its start, along what has to come before it.
    pub heads: Vec<u64>,
    /// Of each operation, the least time from its start to the block's end.
    pub tails: Vec<u64>,
    /// When each operation may start at the earliest, whatever comes before it here.
    pub releases: Vec<u64>,
    /// Of each operation, how long after its start all ends that is not shown here: it itself, at least.
    pub rests: Vec<u64>,
}

impl Graph {
    pub fn new(problem: &Problem, issue: IssueModel) -> Self {
        Self::with_order(problem, issue, &[])
    }

    /// The graph, with more pairs that keep their order.
    pub fn with_order(problem: &Problem, issue: IssueModel, more: &[(usize, usize)]) -> Self {
        let number = problem.operations.len();
        let now = problem.dependences.iter().filter(|wait| wait.distance == 0);
        let mut waits: Vec<_> = now.map(|wait| (wait.from.index(), wait.to.index())).collect();
        sort(&mut waits);
        let order = problem.order.iter().map(|(from, to)| (from.index(), to.index()));
        let mut all: Vec<_> = waits
            .iter()
            .copied()
            .chain(order)
            .chain(more.iter().copied())
            .collect();
        sort(&mut all);
        let rests = problem.operations.iter();
        let rests = rests.map(|own| own.latency.max(own.occupancy)).collect();
        Self::build(&problem.operations, issue, &waits, &all, (vec![0; number], rests))
    }

    /// The graph of `operations`, of which some wait for others, and all pairs of `all` keep their order; with releases and rests.
    pub fn build(
        operations: &[Operation],
        issue: IssueModel,
        waits: &[(usize, usize)],
        all: &[(usize, usize)],
        (releases, rests): (Vec<u64>, Vec<u64>),
    ) -> Self {
        let number = operations.len();
        let flip =
            |edges: &[(usize, usize)]| -> Vec<_> { edges.iter().map(|&(from, to)| (to, from)).collect() };
        let (users, inputs) = (Lists::new(number, waits), Lists::new(number, &flip(waits)));
        let (mut heads, mut tails) = (releases.clone(), rests.clone());
        let gap = |(from, to): (usize, usize)| {
            let waits = inputs.of(to).binary_search(&from).is_ok();
            gap(&operations[from], &operations[to], issue, waits)
        };
        // All pairs agree with the order of the numbers.
        for &(from, to) in all {
            if let Some(gap) = gap((from, to)) {
                heads[to] = heads[to].max(heads[from].saturating_add(gap));
            }
        }
        for &(from, to) in all.iter().rev() {
            if let Some(gap) = gap((from, to)) {
                tails[from] = tails[from].max(tails[to].saturating_add(gap));
            }
        }
        Self {
            successors: Lists::new(number, all),
            predecessors: Lists::new(number, &flip(all)),
            inputs,
            users,
            heads,
            tails,
            releases,
            rests,
        }
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.heads.len()
    }
}

/// The least time from the start of an operation to that of one that has to come later; `None` if that may start earlier.
fn gap(from: &Operation, to: &Operation, issue: IssueModel, waits: bool) -> Option<u64> {
    let shares_engine = from.engines.iter().any(|engine| to.engines.contains(engine));
    let latency = waits.then_some(from.latency);
    let occupancy = shares_engine.then_some(from.occupancy);
    latency
        .max(occupancy)
        .max((issue == IssueModel::Order).then_some(0))
}

/// Sorts pairs, as [`Graph::build`] wants them.
pub(super) fn sort(edges: &mut Vec<(usize, usize)>) {
    edges.sort_unstable();
    edges.dedup();
}
