//! The table of all events of a problem: who produces and consumes them, and their effects on the pressure.

use super::graph::Lists;
use super::{Dependence, EventModel, Pair, Problem};
use crate::ids::Id;
use std::collections::BTreeMap;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// The operation that produces it.
    pub producer: usize,
    /// The number of its pair.
    pub pair: usize,
    /// The first consumer is in a later execution of the block.
    pub is_carried: bool,
}

/// What an operation does to the pressure of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PairEffect {
    /// The number of the pair.
    pub pair: usize,
    /// How many events of the pair the operation produces.
    pub produced: u64,
    /// The peak inside.
    pub inner: u64,
}

/// The events of a problem.
#[derive(Clone, Debug)]
pub(super) struct EventTable {
    /// The pairs of engines.
    pub pairs: Vec<Pair>,
    /// The limit of each pair.
    pub limits: Vec<u64>,
    /// Events of each pair that are live throughout.
    pub base: Vec<u64>,
    /// The events.
    pub events: Vec<Event>,
    /// Of each event, the consumers that count.
    pub consumers: Lists<usize>,
    /// Of each consumer of an event, in the order of `consumers`, the number of its effect.
    pub consumer_effects: Vec<usize>,
    /// Of each operation, the events that it produces.
    pub produced: Lists<usize>,
    /// Of each operation, the events that it may be the first consumer of.
    pub consumed: Lists<usize>,
    /// Of each operation, what it does to which pair.
    pub effects: Lists<PairEffect>,
}

/// An event before it has a number.
#[derive(Clone, Debug)]
pub(super) struct NewEvent {
    /// Nothing if it was produced before all.
    pub producer: Option<usize>,
    pub pair: usize,
    pub is_carried: bool,
    pub consumers: Vec<usize>,
}

impl EventTable {
    pub fn new(problem: &Problem, events: EventModel) -> Self {
        let groups = groups(problem, events);
        let inner = problem.operations.iter();
        let inner = inner.flat_map(|operation| operation.inner_peaks.keys().copied());
        let mut pairs: Vec<Pair> = groups.iter().map(|(pair, _)| *pair).chain(inner).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let number = |pair: Pair| pairs.partition_point(|other| *other < pair);
        let mut base = vec![0; pairs.len()];
        let mut all = Vec::new();
        for (pair, edges) in &groups {
            let distance = edges[0].distance;
            base[number(*pair)] += u64::from(distance.saturating_sub(1));
            all.push(NewEvent {
                producer: Some(edges[0].from.index()),
                pair: number(*pair),
                is_carried: distance > 0,
                consumers: edges.iter().map(|edge| edge.to.index()).collect(),
            });
        }
        let mut inner = Vec::new();
        for (operation, details) in problem.operations.with_ids() {
            let peaks = details.inner_peaks.iter();
            inner.extend(peaks.map(|(pair, peak)| ((operation.index(), number(*pair)), u64::from(*peak))));
        }
        let limits = pairs.iter().map(|pair| u64::from(problem.limits.of(*pair)));
        let limits = limits.collect();
        Self::build(problem.operations.len(), (pairs, limits, base), &all, &inner)
    }

    /// The table of these events, and of the peaks inside of operations; with the limit of each pair, and how many more events of it are live
    /// throughout.
    pub fn build(
        operations: usize,
        (pairs, limits, base): (Vec<Pair>, Vec<u64>, Vec<u64>),
        all: &[NewEvent],
        inner: &[((usize, usize), u64)],
    ) -> Self {
        let (mut consumers, mut produced, mut consumed) = (Vec::new(), Vec::new(), Vec::new());
        // Of each operation and pair, the events that are produced and the peak inside.
        let mut effects: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
        for (event, details) in all.iter().enumerate() {
            if let Some(producer) = details.producer {
                produced.push((producer, event));
                effects.entry((producer, details.pair)).or_default().0 += 1;
            }
            for &consumer in &details.consumers {
                consumers.push((event, consumer));
                consumed.push((consumer, event));
                effects.entry((consumer, details.pair)).or_default();
            }
        }
        for &(key, peak) in inner {
            effects.entry(key).or_default().1 = peak;
        }
        let effect_of: BTreeMap<_, _> = effects.keys().copied().zip(0..).collect();
        let consumer_effects = consumers
            .iter()
            .map(|&(event, consumer)| effect_of[&(consumer, all[event].pair)]);
        let effects = effects.iter().map(|(&(op, pair), &(produced, inner))| {
            let effect = PairEffect {
                pair,
                produced,
                inner,
            };
            (op, effect)
        });
        let events = all.iter().map(|event| Event {
            producer: event.producer.unwrap_or(usize::MAX),
            pair: event.pair,
            is_carried: event.is_carried,
        });
        Self {
            events: events.collect(),
            consumer_effects: consumer_effects.collect(),
            consumers: Lists::new(all.len(), &consumers),
            produced: Lists::new(operations, &produced),
            consumed: Lists::new(operations, &consumed),
            effects: Lists::new(operations, &effects.collect::<Vec<_>>()),
            pairs,
            limits,
            base,
        }
    }

    /// The excess and the sum of these peaks.
    pub fn totals(&self, peaks: &[u64]) -> (u64, u64) {
        let above = peaks.iter().zip(&self.limits);
        let above = above.map(|(peak, limit)| peak.saturating_sub(*limit));
        (above.sum(), peaks.iter().sum())
    }
}

/// The pair of each event, and the dependences that make it: those of the least distance.
fn groups(problem: &Problem, events: EventModel) -> Vec<(Pair, Vec<Dependence>)> {
    let with_pairs = problem
        .dependences
        .iter()
        .filter_map(|edge| Some((edge.pair?, *edge)));
    let mut edges: Vec<_> = with_pairs.filter(|(pair, _)| pair.from != pair.to).collect();
    edges.sort_unstable_by_key(|(pair, edge)| (edge.from, *pair, edge.distance, edge.to));
    edges.dedup();
    let mut groups: Vec<(Pair, Vec<Dependence>)> = Vec::new();
    for (pair, edge) in edges {
        if events == EventModel::Pair
            && let Some((last_pair, last)) = groups.last_mut()
            && *last_pair == pair
            && last[0].from == edge.from
        {
            if last[0].distance == edge.distance {
                last.push(edge);
            }
            continue;
        }
        groups.push((pair, vec![edge]));
    }
    groups
}
