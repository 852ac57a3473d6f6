//! The input: the operations of a block, their dependences, and the limits of events.

use super::EventModel;
use crate::ids::{Id, IndexVec, ids};
use std::collections::{BTreeMap, BTreeSet};

ids! {
    /// An operation, by its position in the input.
    OperationId;
    /// An engine.
    EngineId;
}

/// Two engines: of a producer, and of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The engine that produces.
    pub from: EngineId,
    /// The engine that waits.
    pub to: EngineId,
}

/// An operation; one with regions is a region op.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// What it runs on, without repetition: nothing, an engine, or all the engines of a region op.
    pub engines: Vec<EngineId>,
    /// Cycles from its start until what it produces is there.
    pub latency: u64,
    /// Cycles from its start until its engines take the next operation.
    pub occupancy: u64,
    /// Of a region op, the peaks of what happens inside.
    pub inner_peaks: BTreeMap<Pair, u32>,
}

/// A consumer waits for a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dependence {
    /// The producer.
    pub from: OperationId,
    /// The consumer.
    pub to: OperationId,
    /// How many executions of the block later the consumer is.
    pub distance: u32,
    /// The engines of both sides, if both have one. There is an event if they differ.
    pub pair: Option<Pair>,
}

/// How many events of a pair may be live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of each pair that is not in `pairs`.
    pub default: u32,
    /// Of these pairs.
    pub pairs: BTreeMap<Pair, u32>,
}

impl Limits {
    /// The limit of `pair`.
    #[must_use]
    pub fn of(&self, pair: Pair) -> u32 {
        self.pairs.get(&pair).copied().unwrap_or(self.default)
    }
}

impl Default for Limits {
    /// Eight for each pair.
    fn default() -> Self {
        Self {
            default: 8,
            pairs: BTreeMap::new(),
        }
    }
}

/// The operations of a block.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// The operations, in the order of the input.
    pub operations: IndexVec<OperationId, Operation>,
    /// Who waits for whom.
    pub dependences: Vec<Dependence>,
    /// What keeps its order, without a wait.
    pub order: Vec<(OperationId, OperationId)>,
    /// How many events may be live.
    pub limits: Limits,
}

/// What is wrong with a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidProblem {
    /// There is no such operation.
    NoOperation(OperationId),
    /// A dependence or an order pair is against the order of the input.
    Backward(OperationId, OperationId),
    /// A dependence names an engine that an operation does not run on.
    Engine(OperationId, EngineId),
    /// An operation runs on an engine twice.
    Repeated(OperationId, EngineId),
}

impl Problem {
    /// Makes `to` wait for `from`, on each pair of their engines.
    pub fn depend(&mut self, from: OperationId, to: OperationId, distance: u32) {
        let mut pairs = Vec::new();
        for &producer in &self.operations[from].engines {
            for &consumer in &self.operations[to].engines {
                pairs.push(Some(Pair {
                    from: producer,
                    to: consumer,
                }));
            }
        }
        if pairs.is_empty() {
            pairs.push(None);
        }
        let dependences = pairs.into_iter().map(|pair| Dependence {
            from,
            to,
            distance,
            pair,
        });
        self.dependences.extend(dependences);
    }

    /// Checks that ids exist and that the input is in an order that it allows.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn verify(&self) -> Result<(), InvalidProblem> {
        for (id, operation) in self.operations.with_ids() {
            let mut seen = BTreeSet::new();
            if let Some(engine) = operation.engines.iter().find(|engine| !seen.insert(**engine)) {
                return Err(InvalidProblem::Repeated(id, *engine));
            }
        }
        let exists = |id: OperationId| match self.operations.get(id) {
            Some(operation) => Ok(operation),
            None => Err(InvalidProblem::NoOperation(id)),
        };
        for &(from, to) in &self.order {
            exists(from)?;
            exists(to)?;
            if from >= to {
                return Err(InvalidProblem::Backward(from, to));
            }
        }
        for dependence in &self.dependences {
            let Dependence { from, to, .. } = *dependence;
            let (producer, consumer) = (exists(from)?, exists(to)?);
            if dependence.distance == 0 && from >= to {
                return Err(InvalidProblem::Backward(from, to));
            }
            let Some(pair) = dependence.pair else { continue };
            if !producer.engines.contains(&pair.from) {
                return Err(InvalidProblem::Engine(from, pair.from));
            }
            if !consumer.engines.contains(&pair.to) {
                return Err(InvalidProblem::Engine(to, pair.to));
            }
        }
        Ok(())
    }

    /// The part of the problem that is about `kept`, which is sorted; operation `i` of it is `kept[i]`.
    ///
    /// What is ordered through others stays ordered. An event is kept if its producer and all its consumers are. So what can't
    /// be met of the part can't be met of the whole: an order of the whole, without the others, is one of the part, and at each
    /// point of it no more events are live.
    #[must_use]
    pub(super) fn restrict(&self, kept: &[OperationId], events: EventModel) -> Self {
        let mut number = vec![None; self.operations.len()];
        for (new, old) in kept.iter().enumerate() {
            number[old.index()] = Some(OperationId(new));
        }
        let mut part = Self {
            operations: kept.iter().map(|&id| self.operations[id].clone()).collect(),
            limits: self.limits.clone(),
            order: self.closure(&number, kept.len()),
            dependences: Vec::new(),
        };
        let mut groups: BTreeMap<_, Vec<&Dependence>> = BTreeMap::new();
        for (place, dependence) in self.dependences.iter().enumerate() {
            let place = if events == EventModel::Edge { place } else { 0 };
            let group = groups.entry((dependence.from, dependence.pair, place));
            group.or_default().push(dependence);
        }
        for group in groups.into_values() {
            let nearest = group.iter().map(|dependence| dependence.distance).min();
            let consumers = group
                .iter()
                .filter(|dependence| Some(dependence.distance) == nearest);
            let is_kept = |dependence: &&&Dependence| number[dependence.to.index()].is_some();
            if !consumers.clone().all(|dependence| is_kept(&dependence)) {
                continue;
            }
            part.dependences.extend(consumers.filter_map(|dependence| {
                Some(Dependence {
                    from: number[dependence.from.index()]?,
                    to: number[dependence.to.index()]?,
                    ..**dependence
                })
            }));
        }
        part
    }

    /// Which of the operations that have a number come before which of them, also through others.
    fn closure(&self, number: &[Option<OperationId>], kept: usize) -> Vec<(OperationId, OperationId)> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.operations.len()];
        for dependence in self
            .dependences
            .iter()
            .filter(|dependence| dependence.distance == 0)
        {
            before[dependence.to.index()].push(dependence.from.index());
        }
        for (from, to) in &self.order {
            before[to.index()].push(from.index());
        }
        let mut order = Vec::new();
        let mut kept_before = vec![false; self.operations.len()];
        for source in 0..kept {
            // Everything after `source`, in the order of the input.
            let Some(start) = number.iter().position(|new| *new == Some(OperationId(source))) else {
                continue;
            };
            kept_before.fill(false);
            kept_before[start] = true;
            for operation in start + 1..self.operations.len() {
                let follows = before[operation].iter().any(|&earlier| kept_before[earlier]);
                kept_before[operation] = follows;
                if let (true, Some(new)) = (follows, number[operation]) {
                    order.push((OperationId(source), new));
                }
            }
        }
        order
    }
}
