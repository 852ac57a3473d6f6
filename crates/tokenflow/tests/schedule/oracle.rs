//! The oracle: enumerates all orders, and measures each by the definitions.

use tokenflow::ids::Id;
use tokenflow::schedule::{Cost, EventModel, IssueModel, Objective, OperationId, Options, Pair, Problem};

/// An event, by its definition.
struct Event {
    producer: usize,
    consumers: Vec<usize>,
    distance: u32,
    pair: usize,
}

/// A problem, on plain arrays.
pub struct Oracle<'a> {
    problem: &'a Problem,
    options: &'a Options,
    pairs: Vec<Pair>,
    events: Vec<Event>,
    /// Of each operation, what comes before it, and what it waits for.
    before: Vec<Vec<usize>>,
    inputs: Vec<Vec<usize>>,
}

impl<'a> Oracle<'a> {
    pub fn new(problem: &'a Problem, options: &'a Options) -> Self {
        let mut oracle = Self {
            problem,
            options,
            pairs: Vec::new(),
            events: Vec::new(),
            before: vec![Vec::new(); problem.operations.len()],
            inputs: vec![Vec::new(); problem.operations.len()],
        };
        for operation in &problem.operations {
            for pair in operation.inner_peaks.keys() {
                oracle.pair(*pair);
            }
        }
        let mut edges = problem.dependences.clone();
        edges.sort_unstable();
        edges.dedup();
        for edge in edges {
            if edge.distance == 0 {
                oracle.before[edge.to.index()].push(edge.from.index());
                oracle.inputs[edge.to.index()].push(edge.from.index());
            }
            let Some(pair) = edge.pair.filter(|pair| pair.from != pair.to) else {
                continue;
            };
            let event = Event {
                producer: edge.from.index(),
                consumers: vec![edge.to.index()],
                distance: edge.distance,
                pair: oracle.pair(pair),
            };
            oracle.add(event);
        }
        for (from, to) in &problem.order {
            oracle.before[to.index()].push(from.index());
        }
        oracle
    }

    fn pair(&mut self, pair: Pair) -> usize {
        let known = self.pairs.iter().position(|other| *other == pair);
        known.unwrap_or_else(|| {
            self.pairs.push(pair);
            self.pairs.len() - 1
        })
    }

    fn add(&mut self, event: Event) {
        let is_same = |other: &&mut Event| other.producer == event.producer && other.pair == event.pair;
        let same = self.events.iter_mut().find(is_same);
        let Some(same) = same.filter(|_| self.options.events == EventModel::Pair) else {
            self.events.push(event);
            return;
        };
        if event.distance < same.distance {
            *same = event;
        } else if event.distance == same.distance {
            same.consumers.extend(event.consumers);
        }
    }

    pub fn cost(&self, order: &[usize]) -> Cost {
        let mut position = vec![0; order.len()];
        for (place, &op) in order.iter().enumerate() {
            position[op] = place;
        }
        let (mut excess, mut peaks) = (0, 0);
        for (number, pair) in self.pairs.iter().enumerate() {
            let peak = (0..=2 * order.len()).map(|point| self.load(number, order, &position, point));
            let peak = peak.max().unwrap_or(0);
            excess += peak.saturating_sub(u64::from(self.problem.limits.of(*pair)));
            peaks += peak;
        }
        Cost {
            excess,
            makespan: self.makespan(order),
            peaks,
        }
    }

    /// The load at a point: 0 is the start, `2 i + 1` inside the operation at position `i`, `2 i + 2` after it.
    fn load(&self, pair: usize, order: &[usize], position: &[usize], point: usize) -> u64 {
        let mut load = 0;
        for event in self.events.iter().filter(|event| event.pair == pair) {
            let is_produced = point >= 2 * position[event.producer] + 2;
            let is_consumed = event.consumers.iter().any(|&op| point > 2 * position[op]);
            load += match event.distance {
                0 => u64::from(is_produced && !is_consumed),
                distance => u64::from(distance - 1) + u64::from(is_produced) + u64::from(!is_consumed),
            };
        }
        if point % 2 == 1 {
            let inner = &self.problem.operations[OperationId(order[point / 2])].inner_peaks;
            load += u64::from(inner.get(&self.pairs[pair]).copied().unwrap_or(0));
        }
        load
    }

    fn makespan(&self, order: &[usize]) -> u64 {
        let mut starts = vec![0; order.len()];
        let operation = |op: usize| &self.problem.operations[OperationId(op)];
        for (place, &op) in order.iter().enumerate() {
            let inputs = self.inputs[op].iter();
            let mut start = inputs
                .map(|&input| starts[input] + operation(input).latency)
                .max()
                .unwrap_or(0);
            for &earlier in &order[..place] {
                let shares = operation(earlier)
                    .engines
                    .iter()
                    .any(|engine| operation(op).engines.contains(engine));
                if shares {
                    start = start.max(starts[earlier] + operation(earlier).occupancy);
                }
                if self.options.issue == IssueModel::Order {
                    start = start.max(starts[earlier]);
                }
            }
            starts[op] = start;
        }
        let ends = order
            .iter()
            .map(|&op| starts[op] + operation(op).latency.max(operation(op).occupancy));
        ends.max().unwrap_or(0)
    }

    /// The optimum, by trying all orders.
    pub fn optimum(&self) -> (Cost, Vec<usize>) {
        let mut best = None;
        self.extend(&mut Vec::new(), &mut best);
        best.expect("there is an order")
    }

    fn extend(&self, order: &mut Vec<usize>, best: &mut Option<(Cost, Vec<usize>)>) {
        if order.len() == self.before.len() {
            let cost = self.cost(order);
            let key = |cost: Cost| match self.options.objective {
                Objective::Latency => (cost.excess, cost.makespan, cost.peaks),
                Objective::Events => (cost.excess, cost.peaks, cost.makespan),
            };
            // Orders come in lexicographic order.
            if best.as_ref().is_none_or(|(known, _)| key(cost) < key(*known)) {
                *best = Some((cost, order.clone()));
            }
            return;
        }
        for op in 0..self.before.len() {
            if !order.contains(&op) && self.before[op].iter().all(|earlier| order.contains(earlier)) {
                order.push(op);
                self.extend(order, best);
                order.pop();
            }
        }
    }
}
