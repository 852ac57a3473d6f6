//! Control flow of operations with regions, as MLIR's interfaces have it.

use async_mlir::control_flow::{Edges, constant_trip_count, entry_edges, region_exit_edges};
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::{arith, attr, gpu, scf};
use rustc_hash::FxHashMap;

/// How control flows through an operation, each region of which has one block, or none.
pub(super) struct Flow<'c> {
    /// The blocks, by region.
    pub blocks: Vec<Option<Block<'c>>>,
    /// The edges on which it is entered.
    pub entries: Edges<'c>,
    /// The edges from the end of each region.
    pub exits: Vec<Edges<'c>>,
    /// How often it runs, if it is a loop of constant trip count.
    pub trip: Option<u64>,
    /// What edges bind to each value, and what they bind each value to.
    sources: FxHashMap<Value<'c>, Vec<Value<'c>>>,
    targets: FxHashMap<Value<'c>, Vec<Value<'c>>>,
}

impl<'c> Flow<'c> {
    /// How control flows through `op`; `None` if that is not known.
    pub fn of(op: Op<'c>) -> Option<Self> {
        if matches!(op.name(), scf::FORALL | gpu::WARP_EXECUTE_ON_LANE_0) {
            return None;
        }
        let entries = entry_edges(op)?;
        let (mut blocks, mut exits) = (Vec::new(), Vec::new());
        for region in op.regions() {
            let first = region.first();
            if first.is_some_and(|first| first.next().is_some()) {
                return None;
            }
            blocks.push(first);
            exits.push(match first.map(Block::terminator) {
                None => Edges::new(),
                Some(terminator) => region_exit_edges(terminator?)?,
            });
        }
        let (mut sources, mut targets) = (FxHashMap::default(), FxHashMap::default());
        for edge in entries.iter().chain(exits.iter().flatten()) {
            for &(from, to) in &edge.bindings {
                sources.entry(to).or_insert_with(Vec::new).push(from);
                targets.entry(from).or_insert_with(Vec::new).push(to);
            }
        }
        let trip = constant_trip_count(op);
        Some(Self {
            blocks,
            entries,
            exits,
            trip,
            sources,
            targets,
        })
    }

    /// What edges bind to `value`.
    pub fn bound_to(&self, value: Value<'c>) -> impl Iterator<Item = Value<'c>> {
        self.sources.get(&value).into_iter().flatten().copied()
    }

    /// What edges bind `value` to.
    pub fn bound_from(&self, value: Value<'c>) -> impl Iterator<Item = Value<'c>> {
        self.targets.get(&value).into_iter().flatten().copied()
    }
}

/// A bound of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Limit<'c> {
    /// A number.
    Const(i64),
    /// A value.
    Value(Value<'c>),
}

impl<'c> Limit<'c> {
    /// The number that `value` holds, whatever its width.
    pub fn of(value: Value<'c>) -> Self {
        let value = without_casts(value);
        value.as_constant_int().map_or(Self::Value(value), Self::Const)
    }
}

/// The value that is cast to `value`, which has the same low bits.
pub(super) fn without_casts(mut value: Value<'_>) -> Value<'_> {
    while let Some(op) = value.defining_op().filter(|op| op.is(arith::INDEX_CAST)) {
        value = op.operand(0);
    }
    value
}

/// What says how often a loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Bounds<'c> {
    pub lower: Limit<'c>,
    pub upper: Limit<'c>,
    pub step: Limit<'c>,
}

impl<'c> Bounds<'c> {
    /// The bounds of `op`, if it is a loop that counts from one to the other, as signed numbers.
    pub fn of(op: Op<'c>) -> Option<Self> {
        let is_signed = op.is(scf::FOR) && !op.has_attr(attr::UNSIGNED_CMP);
        is_signed.then(|| Self {
            lower: Limit::of(op.operand(0)),
            upper: Limit::of(op.operand(1)),
            step: Limit::of(op.operand(2)),
        })
    }

    /// The bounds of loops that run as often as `value` says: `max(upper - lower, 0)`, divided by the step and rounded up. A difference may be
    /// an upper bound, too.
    pub fn whose_trips_are(value: Value<'c>) -> Vec<Self> {
        let Some(mut op) = value.defining_op() else {
            return Vec::new();
        };
        let mut step = Limit::Const(1);
        if op.is(arith::CEILDIVUI) {
            step = Limit::of(op.operand(1));
            match op.operand(0).defining_op() {
                Some(distance) => op = distance,
                None => return Vec::new(),
            }
        }
        if !op.is(arith::MAXSI) || op.operand(1).as_constant_int() != Some(0) {
            return Vec::new();
        }
        let distance = op.operand(0);
        let mut found = vec![Self {
            lower: Limit::Const(0),
            upper: Limit::of(distance),
            step,
        }];
        if let Some(difference) = distance.defining_op().filter(|op| op.is(arith::SUBI)) {
            found.push(Self {
                lower: Limit::of(difference.operand(1)),
                upper: Limit::of(difference.operand(0)),
                step,
            });
        }
        found
    }

    /// All three.
    pub fn limits(self) -> [Limit<'c>; 3] {
        [self.lower, self.upper, self.step]
    }
}

/// The loop whose induction variable is `value`.
pub(super) fn loop_of(value: Value<'_>) -> Option<Op<'_>> {
    match value.definition() {
        Definition::Argument(block, 0) => block.parent_op().filter(|op| op.is(scf::FOR)),
        _ => None,
    }
}
