//! Computes lower bounds: what no order can be better than.
//!
//! **Peaks.** Right before an operation, inside it, and right after it, the events are live that are produced before it in every
//! order, and whose consumers all come after it (or are the operation itself) in every order. What comes before and after in
//! every order is read off the closure of the graph, for up to [`MOST_OPERATIONS`]; beyond, only what the operation itself
//! produces and what it alone consumes counts.
//!
//! **Makespan.** The longest path; and on each engine, the operations that start at a time or later, one after another, and
//! what follows the last of them at least. Likewise from the end.
//!
//! Cost: O(n² + e n) for n operations and e events with the closure, else O(n log n).

use super::Problem;
use super::events::EventTable;
use super::graph::Graph;
use crate::ids::Id;

/// The most operations for which the closure of the graph is worked out.
const MOST_OPERATIONS: usize = 1024;

/// A point of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Before the first operation.
    Start,
    /// Right before an operation.
    Before(usize),
    /// Inside of one.
    Inside(usize),
    /// Right after one.
    After(usize),
}

/// At least so many events of a pair are live at a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeakBound {
    pub peak: u64,
    pub point: Point,
}

/// By event, the operations around which it is live in every order.
struct Spans<'a> {
    table: &'a EventTable,
    reach: Option<TransitiveClosure>,
    operations: usize,
}

/// Which operations come before and after each one in every order.
struct TransitiveClosure {
    before: Vec<Bits>,
    after: Vec<Bits>,
}

type Bits = Vec<u64>;

fn set(bits: &mut Bits, op: usize) {
    bits[op / 64] |= 1 << (op % 64);
}

fn unite(bits: &mut Bits, other: &Bits) {
    for (word, more) in bits.iter_mut().zip(other) {
        *word |= more;
    }
}

fn intersect(bits: &mut Bits, other: &Bits) {
    for (word, more) in bits.iter_mut().zip(other) {
        *word &= more;
    }
}

fn members(bits: &Bits) -> impl Iterator<Item = usize> {
    bits.iter().enumerate().flat_map(|(place, &word)| {
        let set = (0..64).filter(move |bit| word >> bit & 1 == 1);
        set.map(move |bit| place * 64 + bit)
    })
}

impl TransitiveClosure {
    fn new(graph: &Graph) -> Self {
        let empty = vec![0; graph.len().div_ceil(64)];
        let mut before = vec![empty.clone(); graph.len()];
        let mut after = vec![empty; graph.len()];
        for op in 0..graph.len() {
            for &earlier in graph.predecessors.of(op) {
                let more = before[earlier].clone();
                unite(&mut before[op], &more);
                set(&mut before[op], earlier);
            }
        }
        for op in (0..graph.len()).rev() {
            for &later in graph.successors.of(op) {
                let more = after[later].clone();
                unite(&mut after[op], &more);
                set(&mut after[op], later);
            }
        }
        Self { before, after }
    }
}

impl Spans<'_> {
    /// Calls `live` with each point at which `event` is live in every order, once for each of the events of that name.
    fn of(&self, event: usize, live: &mut impl FnMut(Point)) {
        match &self.reach {
            Some(reach) => self.by_reach(reach, event, live),
            None => self.by_neighbors(event, live),
        }
        if self.table.events[event].is_carried {
            live(Point::Start);
        }
    }

    fn by_neighbors(&self, event: usize, live: &mut impl FnMut(Point)) {
        live(Point::After(self.table.events[event].producer));
        if let [consumer] = self.table.consumers.of(event) {
            live(Point::Before(*consumer));
        }
    }

    fn by_reach(&self, reach: &TransitiveClosure, event: usize, live: &mut impl FnMut(Point)) {
        let details = self.table.events[event];
        // What its consumers come after, or are.
        let mut strictly = vec![u64::MAX; self.operations.div_ceil(64)];
        let mut weakly = strictly.clone();
        for &consumer in self.table.consumers.of(event) {
            intersect(&mut strictly, &reach.before[consumer]);
            let mut with_itself = reach.before[consumer].clone();
            set(&mut with_itself, consumer);
            intersect(&mut weakly, &with_itself);
        }
        let produced = &reach.after[details.producer];
        let mut produced_or_producer = produced.clone();
        set(&mut produced_or_producer, details.producer);
        let mut report = |sets: &[&Bits], point: fn(usize) -> Point| {
            let mut all = sets[0].clone();
            for more in &sets[1..] {
                intersect(&mut all, more);
            }
            members(&all).map(point).for_each(&mut *live);
        };
        if details.is_carried {
            report(&[produced], Point::Before);
            report(&[produced], Point::Inside);
            report(&[&produced_or_producer], Point::After);
            report(&[&weakly], Point::Before);
            report(&[&strictly], Point::Inside);
            report(&[&strictly], Point::After);
        } else {
            report(&[produced, &weakly], Point::Before);
            report(&[produced, &strictly], Point::Inside);
            report(&[&produced_or_producer, &strictly], Point::After);
        }
    }
}

/// For each pair, a bound of its peak.
pub(super) fn peaks(graph: &Graph, table: &EventTable) -> Vec<PeakBound> {
    let spans = Spans::new(graph, table);
    let mut by_pair = vec![Vec::new(); table.pairs.len()];
    for (event, details) in table.events.iter().enumerate() {
        by_pair[details.pair].push(event);
    }
    let bound = |pair: usize| {
        let mut start = 0_u64;
        // Before, inside and after each operation.
        let mut around = vec![[0_u64; 3]; graph.len()];
        for &event in &by_pair[pair] {
            spans.of(event, &mut |point| match point {
                Point::Start => start += 1,
                Point::Before(op) => around[op][0] += 1,
                Point::Inside(op) => around[op][1] += 1,
                Point::After(op) => around[op][2] += 1,
            });
        }
        let mut best = PeakBound {
            peak: start,
            point: Point::Start,
        };
        for (op, [before, inside, after]) in around.into_iter().enumerate() {
            let effects = table.effects.of(op).iter();
            let inner = effects
                .filter(|effect| effect.pair == pair)
                .map(|effect| effect.inner);
            let inside = inside + inner.max().unwrap_or(0);
            let points = [
                (before, Point::Before(op)),
                (inside, Point::Inside(op)),
                (after, Point::After(op)),
            ];
            for (peak, point) in points {
                if peak > best.peak {
                    best = PeakBound { peak, point };
                }
            }
        }
        best.peak += table.base[pair];
        best
    };
    (0..table.pairs.len()).map(bound).collect()
}

/// The operations that a bound is about: at its point, what produces and consumes the events that are live.
pub(super) fn witness(graph: &Graph, table: &EventTable, pair: usize, bound: PeakBound) -> Vec<usize> {
    let spans = Spans::new(graph, table);
    let mut operations = match bound.point {
        Point::Start => Vec::new(),
        Point::Before(op) | Point::Inside(op) | Point::After(op) => vec![op],
    };
    for (event, details) in table.events.iter().enumerate() {
        let mut is_live = false;
        // What makes part of the base of its pair is live throughout.
        if details.pair == pair {
            is_live = details.is_carried && table.base[pair] > 0;
            spans.of(event, &mut |point| is_live |= point == bound.point);
        }
        if is_live {
            operations.push(details.producer);
            operations.extend(table.consumers.of(event));
        }
    }
    operations.sort_unstable();
    operations.dedup();
    operations
}

impl<'a> Spans<'a> {
    fn new(graph: &Graph, table: &'a EventTable) -> Self {
        Self {
            table,
            reach: (graph.len() <= MOST_OPERATIONS).then(|| TransitiveClosure::new(graph)),
            operations: graph.len(),
        }
    }
}

/// A bound of the makespan.
pub(super) fn makespan(problem: &Problem, graph: &Graph) -> u64 {
    let paths = graph.heads.iter().zip(&graph.tails);
    let mut bound = paths
        .map(|(head, tail)| head.saturating_add(*tail))
        .max()
        .unwrap_or(0);
    // By engine, the head of each operation, its occupancy, and what follows that at least.
    let mut engines: Vec<Vec<(u64, u64, u64)>> = Vec::new();
    for (id, operation) in problem.operations.with_ids() {
        let op = id.index();
        for engine in operation.engines.iter().filter(|_| operation.occupancy > 0) {
            if engines.len() <= engine.index() {
                engines.resize(engine.index() + 1, Vec::new());
            }
            let rest = graph.tails[op] - operation.occupancy;
            engines[engine.index()].push((graph.heads[op], operation.occupancy, rest));
        }
    }
    for mut operations in engines {
        operations.sort_unstable_by_key(|&(head, ..)| std::cmp::Reverse(head));
        bound = bound.max(sequence(&operations));
        operations.sort_unstable_by_key(|&(.., rest)| std::cmp::Reverse(rest));
        bound = bound.max(sequence(&operations));
    }
    bound
}

/// The longest that a first part of these operations takes, one after another.
fn sequence(operations: &[(u64, u64, u64)]) -> u64 {
    let (mut head, mut total, mut rest, mut bound) = (u64::MAX, 0_u64, u64::MAX, 0);
    for operation in operations {
        head = head.min(operation.0);
        total = total.saturating_add(operation.1);
        rest = rest.min(operation.2);
        bound = bound.max(head.saturating_add(total).saturating_add(rest));
    }
    bound
}
