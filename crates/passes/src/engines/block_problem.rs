//! Builds the scheduling problem of a block whose operations run on engines.
//!
//! **Engines.** An operation without an engine takes no time. If it has no effects, what it hands on counts
//! as produced by what it uses: a view of a tile is as good as the tile. An operation with regions is a
//! *box*, a single node (`region_ops.rs`).
//!
//! **Dependences** are those of values (a value that is used in a region is used by the box) and those of
//! memory (`memory_dependences.rs`). In the body of an `scf.for`, values that the end hands to the next
//! iteration make loop-carried ones, as does memory.

use super::effects::{Effects, effects, effects_in_block};
use super::region_ops::{self, RegionOpInfo, RegionOps};
use super::{Engines, cross_engine_dependences, memory_dependences, thread_problem, times};
use async_dialects::names::gpux_attr;
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::{affine, scf};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use tokenflow::schedule::{Dependence, EngineId, Limits, Operation, OperationId, Pair, Problem};

/// The problem of a block, and what its numbers stand for.
pub(crate) struct BlockProblem<'c> {
    pub block: Block<'c>,
    /// The operations of the problem. Others of the block take no time, have no effects, and come where these need them.
    pub ops: Vec<Op<'c>>,
    /// The operation that stays last.
    pub last: Option<Op<'c>>,
    pub problem: Problem,
    /// In the final order, dependences on everything that an engine did up to the producer.
    pub of_all: Vec<Dependence>,
}

impl BlockProblem<'_> {
    /// The excess that boxes have inside, whatever is around them.
    pub fn excess_inside(&self) -> u64 {
        let mut peaks: BTreeMap<Pair, u32> = BTreeMap::new();
        let inner = self
            .problem
            .operations
            .iter()
            .flat_map(|operation| &operation.inner_peaks);
        for (pair, peak) in inner {
            let known = peaks.entry(*pair).or_default();
            *known = (*known).max(*peak);
        }
        let above = peaks
            .into_iter()
            .map(|(pair, peak)| u64::from(peak.saturating_sub(self.problem.limits.of(pair))));
        above.sum()
    }
}

/// Where a value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// An operation of the block, and the engine.
    Engine(usize, EngineId),
    /// An argument of the block.
    Argument(usize),
}

/// With more sources than these, a value has the last ones of each engine alone: those before them are finished by then.
const MOST_SOURCES: usize = 64;

/// What dependences are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Operations are to be put in order: a box stands for what comes before it.
    Open,
    /// They are in order, and engines wait for each other.
    Final,
}

/// Reads a block; `None` if nothing in it runs on an engine, or if it is no sequence.
pub(crate) fn read<'c>(
    block: Block<'c>,
    limits: &Limits,
    engines: &mut Engines<'c>,
    region_ops: &RegionOps<'c>,
    order: Order,
) -> Option<BlockProblem<'c>> {
    let (ops, last) = split(block);
    let infos: Vec<Option<RegionOpInfo>> = ops.iter().map(|op| region_ops.of(*op)).collect();
    let engine_of: Vec<Option<EngineId>> = ops.iter().map(|op| engines.of(*op)).collect();
    let runs_any = engine_of.iter().any(Option::is_some) || infos.iter().any(Option::is_some);
    // Functions and modules are no operations of a sequence.
    if !runs_any || ops.iter().any(|op| op.is_function()) {
        return None;
    }
    let mut reader = Reader {
        block,
        numbers: ops.iter().copied().zip(0..).collect(),
        effects: effects_in_block(&ops, effects),
        problem: Problem {
            operations: operations(&ops, &infos, &engine_of),
            limits: limits.clone(),
            ..Problem::default()
        },
        ops,
        order,
        infos,
        engine_of,
        engines,
        sources: FxHashMap::default(),
        carried: Vec::new(),
        seen: FxHashSet::default(),
        of_all: Vec::new(),
    };
    reader.values()?;
    reader.carried(last);
    reader.memory();
    reader.boxes();
    Some(BlockProblem {
        block,
        ops: reader.ops,
        last,
        problem: reader.problem,
        of_all: reader.of_all,
    })
}

fn operations(
    ops: &[Op<'_>],
    infos: &[Option<RegionOpInfo>],
    engine_of: &[Option<EngineId>],
) -> tokenflow::ids::IndexVec<OperationId, Operation> {
    let operation = |((op, info), engine): ((&Op<'_>, &Option<RegionOpInfo>), &Option<EngineId>)| {
        let info = info.clone().filter(|_| engine.is_none());
        let otherwise = info
            .as_ref()
            .map_or(u64::from(engine.is_some()), |info| info.latency);
        let (latency, occupancy) = times(*op, otherwise);
        let (of_box, inner_peaks) = info
            .map(|info| (info.engines, info.inner_peaks))
            .unwrap_or_default();
        Operation {
            engines: engine.iter().copied().chain(of_box).collect(),
            latency,
            occupancy,
            inner_peaks,
        }
    };
    ops.iter().zip(infos).zip(engine_of).map(operation).collect()
}

struct Reader<'a, 'c> {
    block: Block<'c>,
    ops: Vec<Op<'c>>,
    order: Order,
    numbers: FxHashMap<Op<'c>, usize>,
    infos: Vec<Option<RegionOpInfo>>,
    engine_of: Vec<Option<EngineId>>,
    effects: Vec<Effects<'c>>,
    engines: &'a mut Engines<'c>,
    problem: Problem,
    /// Where values are from, by value.
    sources: FxHashMap<Value<'c>, Vec<Source>>,
    /// Arguments of the block that an operation uses on an engine.
    carried: Vec<(usize, usize, EngineId)>,
    seen: FxHashSet<Dependence>,
    of_all: Vec<Dependence>,
}

impl<'c> Reader<'_, 'c> {
    /// Dependences of values. `None` if an operation uses a result of a later one.
    fn values(&mut self) -> Option<()> {
        for number in 0..self.ops.len() {
            for (value, engines) in self.uses(number) {
                if let Some(source) = value.defining_op().and_then(|op| self.numbers.get(&op).copied()) {
                    if source >= number {
                        return None;
                    }
                    self.depend(source, number, 0, None);
                }
                for source in self.sources_of(value) {
                    for &engine in &engines {
                        match source {
                            Source::Engine(from, producer) => {
                                let pair = Pair {
                                    from: producer,
                                    to: engine,
                                };
                                self.depend(from, number, 0, Some(pair));
                            }
                            Source::Argument(index) => self.carried.push((index, number, engine)),
                        }
                    }
                }
            }
            self.hand_on(number);
        }
        Some(())
    }

    /// The values that an operation of the block uses, with the engines that use them.
    fn uses(&mut self, number: usize) -> Vec<(Value<'c>, BTreeSet<EngineId>)> {
        let op = self.ops[number];
        if op.num_regions() == 0 {
            let engines: BTreeSet<_> = self.engine_of[number].into_iter().collect();
            return op.operands().map(|value| (value, engines.clone())).collect();
        }
        let engines = self.problem.operations[OperationId(number)]
            .engines
            .iter()
            .copied()
            .collect();
        let users = region_ops::users(op, &engines, self.engines).into_iter();
        let users = users.map(|(value, users)| match self.engine_of[number] {
            Some(engine) => (value, BTreeSet::from([engine])),
            None => (value, users.intersection(&engines).copied().collect()),
        });
        let mut users: Vec<(Value, BTreeSet<EngineId>)> = users.collect();
        // In the order of the block, whatever the order of the table is.
        users.retain(|(value, _)| self.is_from_here(*value));
        users.sort_by_key(|(value, _)| self.place(*value));
        users
    }

    /// Returns true if `value` is made in the block, or an argument of it.
    fn is_from_here(&self, value: Value<'c>) -> bool {
        match value.definition() {
            Definition::Result(op, _) => self.numbers.contains_key(&op),
            Definition::Argument(block, _) => block == self.block,
        }
    }

    fn place(&self, value: Value<'c>) -> (Option<usize>, usize) {
        match value.definition() {
            Definition::Result(op, index) => (self.numbers.get(&op).copied(), index),
            Definition::Argument(_, index) => (None, index),
        }
    }

    fn sources_of(&self, value: Value<'c>) -> Vec<Source> {
        match value.definition() {
            Definition::Argument(block, index) if block == self.block => vec![Source::Argument(index)],
            _ => self.sources.get(&value).cloned().unwrap_or_default(),
        }
    }

    /// Notes where the results of an operation are from.
    fn hand_on(&mut self, number: usize) {
        let op = self.ops[number];
        if let Some(engine) = self.engine_of[number] {
            for result in op.results() {
                self.sources.insert(result, vec![Source::Engine(number, engine)]);
            }
        } else if self.infos[number].is_some() {
            let own = self.problem.operations[OperationId(number)].engines.clone();
            for (index, result) in op.results().enumerate() {
                let (producers, outside) = region_ops::producers(op, index, self.engines);
                let producers = producers
                    .unwrap_or_else(|| own.iter().copied().collect())
                    .into_iter();
                let producers = producers.filter(|engine| own.contains(engine));
                let mut sources: Vec<Source> =
                    producers.map(|engine| Source::Engine(number, engine)).collect();
                // What is only handed through.
                sources.extend(outside.into_iter().flat_map(|value| self.sources_of(value)));
                self.insert(result, sources);
            }
        } else if op.num_results() > 0 {
            let uses: FxHashSet<Value> = thread_problem::uses(op).into_iter().collect();
            let sources = uses.into_iter().flat_map(|value| self.sources_of(value));
            let sources: Vec<Source> = sources.collect();
            for result in op.results() {
                self.insert(result, sources.clone());
            }
        }
    }

    /// Notes where a value is from.
    fn insert(&mut self, value: Value<'c>, mut sources: Vec<Source>) {
        sources.sort_unstable();
        sources.dedup();
        if sources.len() > MOST_SOURCES {
            let mut last: BTreeMap<EngineId, usize> = BTreeMap::new();
            sources.retain(|source| match *source {
                Source::Engine(number, engine) => {
                    last.insert(engine, number);
                    false
                }
                Source::Argument(_) => true,
            });
            sources.extend(
                last.into_iter()
                    .map(|(engine, number)| Source::Engine(number, engine)),
            );
        }
        self.sources.insert(value, sources);
    }

    /// Dependences of values that the end of the block hands to the next iteration.
    fn carried(&mut self, last: Option<Op<'c>>) {
        let is_loop = self.block.parent_op().is_some_and(|op| op.is(scf::FOR));
        let Some(end) = last.filter(|_| is_loop) else {
            return;
        };
        for (argument, number, engine) in std::mem::take(&mut self.carried) {
            let mut seen = BTreeSet::new();
            let mut work = vec![(argument, 1)];
            while let Some((argument, distance)) = work.pop() {
                // The first argument is the induction variable.
                if argument == 0 || argument > end.num_operands() || !seen.insert(argument) {
                    continue;
                }
                for source in self.sources_of(end.operand(argument - 1)) {
                    match source {
                        Source::Engine(from, producer) => {
                            let pair = Pair {
                                from: producer,
                                to: engine,
                            };
                            self.depend(from, number, distance, Some(pair));
                        }
                        Source::Argument(earlier) => work.push((earlier, distance + 1)),
                    }
                }
            }
        }
    }

    /// Dependences of memory.
    fn memory(&mut self) {
        let around = self.block.parent_op();
        // In the final order, the two regions of an `scf.while` are parts of one body, and what that carries is known of both together.
        let is_body = |op: Op| op.is(scf::WHILE) && self.order == Order::Open;
        let repeats = around.is_some_and(|op| op.is(scf::FOR) || op.is(affine::FOR) || is_body(op));
        let found = match self.order {
            Order::Open => {
                let found = memory_dependences::dependences(&self.ops, &self.effects, repeats).into_iter();
                found.map(|dependence| (dependence, false)).collect()
            }
            Order::Final => {
                let (ops, effects) = (self.ops.clone(), std::mem::take(&mut self.effects));
                cross_engine_dependences::dependences(&ops, &effects, repeats, |op| self.accessing(op))
            }
        };
        for (dependence, is_of_all) in found {
            let (from, to) = (dependence.from, dependence.to);
            let (producers, consumers) = (self.accessing(from), self.accessing(to));
            if producers.is_empty() || consumers.is_empty() {
                self.depend(from.0, to.0, dependence.distance, None);
            }
            for &from_engine in &producers {
                for &to_engine in &consumers {
                    let pair = Pair {
                        from: from_engine,
                        to: to_engine,
                    };
                    if is_of_all {
                        self.of_all.push(Dependence {
                            from: OperationId(from.0),
                            to: OperationId(to.0),
                            distance: dependence.distance,
                            pair: Some(pair),
                        });
                    } else {
                        self.depend(from.0, to.0, dependence.distance, Some(pair));
                    }
                }
            }
        }
    }

    /// The engines on which an operation, of this number or inside of the one of this number, accesses memory.
    fn accessing(&mut self, (number, op): (usize, Op<'c>)) -> Vec<EngineId> {
        let operation = &self.problem.operations[OperationId(number)];
        let all = || operation.engines.clone();
        self.engines.accessing(op, self.ops[number], all)
    }

    /// Boxes keep their order.
    fn boxes(&mut self) {
        let is_box = |number: &usize| {
            self.ops[*number].num_regions() > 0 && !self.ops[*number].has_attr(gpux_attr::ENGINE)
        };
        let boxes: Vec<usize> = (0..self.ops.len()).filter(is_box).collect();
        let pairs = boxes
            .windows(2)
            .map(|pair| (OperationId(pair[0]), OperationId(pair[1])));
        self.problem.order.extend(pairs);
    }

    fn depend(&mut self, from: usize, to: usize, distance: u32, pair: Option<Pair>) {
        // An engine that is not the operation's own is one that nothing is known of.
        let runs_on = |number: usize, engine: EngineId| {
            self.problem.operations[OperationId(number)]
                .engines
                .contains(&engine)
        };
        let pair = pair.filter(|pair| runs_on(from, pair.from) && runs_on(to, pair.to));
        let dependence = Dependence {
            from: OperationId(from),
            to: OperationId(to),
            distance,
            pair,
        };
        if self.seen.insert(dependence) {
            self.problem.dependences.push(dependence);
        }
    }
}

/// The operations of `block` that may move, and the one that stays last.
pub(super) fn split(block: Block<'_>) -> (Vec<Op<'_>>, Option<Op<'_>>) {
    let mut ops = block.ops();
    let last = block.terminator();
    if last.is_some() {
        ops.pop();
    }
    (ops, last)
}
