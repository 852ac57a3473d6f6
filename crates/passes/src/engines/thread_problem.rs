//! Builds the scheduling problem of a block that is executed by a thread of a GPU.
//!
//! **What moves** is what the assembler leaves where it is: asynchronous copies, awaits, barriers between
//! threads, and what says on which engine it runs. Everything else that takes time, accesses memory or has
//! regions keeps its order, since the assembler reorders loads and arithmetic anyway, by what it knows of
//! registers. What does none of that is no part of the problem: values are followed through it.
//!
//! **Time** is from the chip's table, unless attributes say otherwise. A copy that no await of the block
//! waits for is done when it is issued. No dependence takes an event: a thread's instructions are in one
//! stream.
//!
//! **Dependences** are those of values and of memory; of the latter, a thread waits for barriers alone.
//! Copies of one queue keep their order, as groups complete in order, and so do awaits: so none completes
//! more than before.

use super::Engines;
use super::awaits::InFlightCopies;
use super::block_problem::{BlockProblem, split};
use super::cost_model::{CostModel, UNITS, is_copy};
use super::effects::{Effects, effects_in_block, effects_in_flight};
use super::memory_dependences::dependences;
use super::region_ops::RegionOps;
use super::times;
use async_dialects::completion::Completion;
use async_dialects::names::{async_, gpux_attr};
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Op, Region, Value, Walk};
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::schedule::{Dependence, Limits, Operation, OperationId, Problem};

/// An operation that depends on more than these is part of the problem, so that what depends on it does not depend on all of them.
const MOST_SOURCES: usize = 64;

/// Reads a block; `None` if nothing in it takes time, or if it is no sequence.
pub(crate) fn read<'c>(
    block: Block<'c>,
    costs: CostModel,
    in_flight: &InFlightCopies<'c>,
    engines: &mut Engines<'c>,
    region_ops: &RegionOps<'c>,
) -> Option<BlockProblem<'c>> {
    let (all, last) = split(block);
    // Functions and modules are no operations of a sequence.
    if all.iter().any(|op| op.is_function()) {
        return None;
    }
    let effects = effects_in_block(&all, |op| effects_in_flight(op, Some(in_flight)));
    let mut reader = Reader {
        costs,
        engines,
        region_ops,
        numbers: FxHashMap::default(),
        sources: FxHashMap::default(),
        ops: Vec::new(),
        problem: Problem {
            limits: Limits::default(),
            ..Problem::default()
        },
        seen: FxHashSet::default(),
    };
    let places: FxHashMap<Op, usize> = all.iter().copied().zip(0..).collect();
    for (place, op) in all.iter().enumerate() {
        // A value of a later operation: no sequence.
        let is_later = |value: &Value<'c>| {
            let source = value.defining_op().and_then(|op| places.get(&op));
            source.is_some_and(|source| *source >= place)
        };
        let uses = uses(*op);
        if uses.iter().any(is_later) {
            return None;
        }
        reader.add(*op, &uses, &effects[place]);
    }
    if reader
        .problem
        .operations
        .iter()
        .all(|operation| operation.latency == 0)
    {
        return None;
    }
    for dependence in dependences(&all, &effects, false) {
        let number = |place: usize| reader.numbers.get(&all[place]).copied();
        if let (Some(from), Some(to)) = (number(dependence.from.0), number(dependence.to.0)) {
            reader.follow(from, to);
        }
    }
    reader.keep_order();
    reader.shorten_copies();
    Some(BlockProblem {
        block,
        ops: reader.ops,
        last,
        problem: reader.problem,
        of_all: Vec::new(),
    })
}

/// Returns true if `op` may change its place among the others.
pub(crate) fn moves(op: Op<'_>) -> bool {
    is_copy(op) || op.is(async_::AWAIT) || is_barrier(op) || op.has_attr(gpux_attr::ENGINE)
}

/// The values that `op` uses, also in its regions.
pub(crate) fn uses(op: Op<'_>) -> Vec<Value<'_>> {
    let mut values: Vec<Value> = op.operands().collect();
    for inner in op.regions().flat_map(Region::blocks).flat_map(Block::ops) {
        inner.walk(|inner| {
            values.extend(inner.operands());
            Walk::Advance
        });
    }
    values
}

struct Reader<'a, 'c> {
    costs: CostModel,
    engines: &'a mut Engines<'c>,
    region_ops: &'a RegionOps<'c>,
    numbers: FxHashMap<Op<'c>, usize>,
    /// Of each operation that is no part of the problem, those that its results are made of.
    sources: FxHashMap<Op<'c>, Vec<usize>>,
    ops: Vec<Op<'c>>,
    problem: Problem,
    seen: FxHashSet<(usize, usize)>,
}

impl<'c> Reader<'_, 'c> {
    fn add(&mut self, op: Op<'c>, uses: &[Value<'c>], effects: &Effects<'c>) {
        let mut sources: Vec<usize> = Vec::new();
        for source in uses.iter().filter_map(|value| value.defining_op()) {
            match self.numbers.get(&source) {
                Some(number) => sources.push(*number),
                None => sources.extend(self.sources.get(&source).into_iter().flatten()),
            }
        }
        sources.sort_unstable();
        sources.dedup();
        let operation = self.operation(op);
        let has_effects = effects.is_fence || effects.stays || !effects.accesses.is_empty();
        let is_other = operation.latency == 0 && operation.occupancy == 0 && !has_effects;
        if is_other && op.num_regions() == 0 && sources.len() <= MOST_SOURCES && !moves(op) {
            self.sources.insert(op, sources);
            return;
        }
        let number = self.ops.len();
        self.numbers.insert(op, number);
        self.ops.push(op);
        self.problem.operations.push(operation);
        for source in sources {
            self.depend(source, number);
        }
    }

    /// What `op` runs on, and for how long.
    fn operation(&mut self, op: Op<'c>) -> Operation {
        if let Some(info) = self.region_ops.of(op).filter(|_| !op.has_attr(gpux_attr::ENGINE)) {
            let (latency, occupancy) = times(op, info.latency);
            // Meanwhile, the thread does nothing else.
            let mut engines = info.engines;
            engines.extend(UNITS.iter().map(|unit| self.engines.number(unit)));
            return Operation {
                engines: engines.into_iter().collect(),
                latency,
                occupancy,
                ..Operation::default()
            };
        }
        let cost = self.costs.cost(op).unwrap_or_default();
        let engine = op.str_attr(gpux_attr::ENGINE).or(cost.unit);
        let states_latency = op.has_attr(gpux_attr::LATENCY);
        let (latency, mut occupancy) = times(op, cost.latency.max(u64::from(op.has_attr(gpux_attr::ENGINE))));
        if !states_latency && !op.has_attr(gpux_attr::OCCUPANCY) && cost.unit.is_some() {
            occupancy = cost.occupancy;
        }
        let engines: Vec<_> = engine.map(|name| self.engines.number(name)).into_iter().collect();
        Operation {
            // What takes no engine takes none for any time.
            occupancy: if engines.is_empty() { 0 } else { occupancy },
            engines,
            latency,
            ..Operation::default()
        }
    }

    fn depend(&mut self, from: usize, to: usize) {
        if self.seen.insert((from, to)) {
            self.problem.dependences.push(Dependence {
                from: OperationId(from),
                to: OperationId(to),
                distance: 0,
                pair: None,
            });
        }
    }

    /// Memory keeps `to` after `from`. The thread's accesses are in order; what it waits for is a barrier.
    fn follow(&mut self, from: usize, to: usize) {
        if is_barrier(self.ops[from]) {
            self.depend(from, to);
        } else {
            self.problem.order.push((OperationId(from), OperationId(to)));
        }
    }

    /// Keeps the order of what does not move, of the copies of each queue, and of awaits.
    fn keep_order(&mut self) {
        let mut last_of: FxHashMap<&str, usize> = FxHashMap::default();
        for (number, &op) in self.ops.iter().enumerate() {
            let queue = Completion::of(op).and_then(|completion| completion.queue);
            let class = match queue.filter(|_| is_copy(op)) {
                Some(queue) => queue.name(),
                None if op.is(async_::AWAIT) => async_::AWAIT,
                None if moves(op) => continue,
                None => "",
            };
            if let Some(previous) = last_of.insert(class, number) {
                self.problem
                    .order
                    .push((OperationId(previous), OperationId(number)));
            }
        }
    }

    /// Copies that nothing of the block waits for are done when they are issued.
    fn shorten_copies(&mut self) {
        let waited: FxHashSet<usize> = self
            .problem
            .dependences
            .iter()
            .filter(|wait| self.ops[wait.to.0].is(async_::AWAIT))
            .map(|wait| wait.from.0)
            .collect();
        for (number, operation) in self.problem.operations.iter_mut().enumerate() {
            let op = self.ops[number];
            if is_copy(op) && !waited.contains(&number) && !op.has_attr(gpux_attr::LATENCY) {
                operation.latency = operation.occupancy;
            }
        }
    }
}
