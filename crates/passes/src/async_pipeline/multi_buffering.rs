//! Multi-buffering: makes the slot indices and views by which each iteration accesses its own version of a
//! buffer.

use super::folding::{Arithmetic, Constants, FoldedBool, FoldedInt, InsertionPoint};
use super::rounds::Scoped;
use crate::analysis::views::view_source;
use crate::utils::builders::compare;
use async_mlir::arith::Predicate;
use async_mlir::ir::{Definition, Mapping, Op, OpBuilder, Value};
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::{arith, memref};
use async_verify::pipeline::{Copied, Round};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A buffer with several versions.
#[derive(Clone, Copy)]
pub(super) struct Versioned<'c> {
    pub versions: u32,
    /// How many bytes each version is after the one before.
    pub stride: i64,
    /// What the versions are in.
    pub storage: Value<'c>,
    /// The type of a version.
    pub ty: Type<'c>,
}

impl Versioned<'_> {
    /// How many bytes all versions have.
    pub fn bytes(&self) -> i64 {
        i64::from(self.versions).saturating_mul(self.stride)
    }
}

/// Which versions a round accesses. Iteration `i` accesses version `i mod versions`: what has lag `l` in round `t` accesses
/// slot `(t - l) mod versions`.
pub(super) struct Slots<'a, 'c> {
    pub buffers: &'a FxHashMap<Value<'c>, Versioned<'c>>,
    /// The versioned buffers that an operation uses.
    pub uses: &'a FxHashMap<Op<'c>, Vec<Value<'c>>>,
    pub arithmetic: Arithmetic<'a, 'c>,
    /// Numbers that are counted from round to round: `(t + ahead) mod versions` for a pair of these.
    pub counters: Vec<((u32, u32), FoldedInt<'c>)>,
    /// Such numbers that are worked out from the number of the round.
    computed: Vec<((u32, u32), FoldedInt<'c>)>,
    /// All such numbers that are needed, in this round.
    numbers: FxHashMap<(u32, u32), FoldedInt<'c>>,
    needed: BTreeSet<(u32, u32)>,
    /// The versions of this round, by their lag.
    pub views: Scoped<(Value<'c>, u32), Value<'c>>,
    /// All versions that were made.
    pub made: Vec<Op<'c>>,
    /// Copies of views that were made in this round.
    round: Round,
    pub copies: Vec<(Op<'c>, Copied<'c>)>,
}

impl<'a, 'c> Slots<'a, 'c> {
    /// The slots of round 0, for accesses of these lags.
    pub fn new(
        around: Op<'c>,
        constants: &'a Constants<'c>,
        buffers: &'a FxHashMap<Value<'c>, Versioned<'c>>,
        uses: &'a FxHashMap<Op<'c>, Vec<Value<'c>>>,
        lags: &FxHashSet<(Value<'c>, u32)>,
    ) -> Self {
        let needed = lags.iter().map(|(buffer, lag)| {
            let versions = buffers[buffer].versions;
            (versions, ahead(versions, *lag))
        });
        let needed: BTreeSet<(u32, u32)> = needed.collect();
        // A number that is one more than another is computed from that one in the same round.
        let follows = |(versions, ahead): (u32, u32)| {
            let before = (ahead + versions - 1) % versions;
            ahead != 0 && needed.contains(&(versions, before))
                || ahead == 0
                    && needed.contains(&(versions, before))
                    && (0..versions).any(|ahead| !needed.contains(&(versions, ahead)))
        };
        let first = needed.iter().copied().filter(|number| !follows(*number));
        let counters = first.map(|(versions, ahead)| ((versions, ahead), FoldedInt::Constant(ahead.into())));
        Self {
            buffers,
            uses,
            arithmetic: Arithmetic {
                constants,
                location: around.location(),
                ty: IntegerType::new(around.context(), 32).into(),
                unsigned: true,
            },
            counters: counters.collect(),
            computed: Vec::new(),
            numbers: FxHashMap::default(),
            needed,
            views: Scoped::default(),
            made: Vec::new(),
            round: Round::Kernel,
            copies: Vec::new(),
        }
    }

    /// The versioned buffers that `op` uses.
    pub fn versioned(&self, op: Op<'c>) -> Vec<Value<'c>> {
        self.uses.get(&op).cloned().unwrap_or_default()
    }

    /// Works out the slots of a round, at its start.
    pub fn start(&mut self, at: InsertionPoint<'c>, round: Round) {
        self.round = round;
        self.views.clear();
        self.numbers.clear();
        let all: Vec<_> = self.counters.iter().chain(&self.computed).copied().collect();
        for ((versions, mut ahead), mut number) in all {
            loop {
                self.numbers.insert((versions, ahead), number);
                ahead = (ahead + 1) % versions;
                let is_next = self.needed.contains(&(versions, ahead));
                if !is_next || self.numbers.contains_key(&(versions, ahead)) {
                    break;
                }
                number = self.after(at, number, versions);
            }
        }
    }

    /// Moves on to the next round, at the end of one.
    pub fn turn(&mut self, at: InsertionPoint<'c>) {
        for i in 0..self.counters.len() {
            let ((versions, ahead), number) = self.counters[i];
            let known = self.numbers.get(&(versions, (ahead + 1) % versions)).copied();
            self.counters[i].1 = known.unwrap_or_else(|| self.after(at, number, versions));
        }
    }

    /// Has counters for powers of two of versions no longer count, but be worked out.
    pub fn compute(&mut self) {
        let (computed, counters) = std::mem::take(&mut self.counters)
            .into_iter()
            .partition(|((versions, _), _)| versions.is_power_of_two());
        (self.computed, self.counters) = (computed, counters);
    }

    /// Has them count again, from round `variable + further` on.
    pub fn count(&mut self, at: InsertionPoint<'c>, variable: FoldedInt<'c>, further: u32) {
        self.set_computed(at, variable, further);
        self.counters.append(&mut self.computed);
    }

    /// Works those out for round `variable + further`.
    pub fn set_computed(&mut self, at: InsertionPoint<'c>, variable: FoldedInt<'c>, further: u32) {
        if self.computed.is_empty() {
            return;
        }
        let arithmetic = self.arithmetic;
        let round = in_32_bits(at, arithmetic, variable);
        for ((versions, ahead), number) in &mut self.computed {
            let ahead = i64::from((further + *ahead) % *versions);
            let sum = arithmetic.add(at, round, FoldedInt::Constant(ahead));
            *number = arithmetic.and(at, sum, i64::from(*versions) - 1);
        }
    }

    /// Says which round comes next.
    pub fn set_round(&mut self, round: i64) {
        for ((versions, ahead), number) in &mut self.counters {
            *number = FoldedInt::Constant((round + i64::from(*ahead)) % i64::from(*versions));
        }
    }

    /// The slot after `number`.
    fn after(&self, at: InsertionPoint<'c>, number: FoldedInt<'c>, versions: u32) -> FoldedInt<'c> {
        let arithmetic = self.arithmetic;
        if let FoldedInt::Constant(number) = number {
            return FoldedInt::Constant((number + 1) % i64::from(versions));
        }
        let next = arithmetic.add(at, number, FoldedInt::Constant(1));
        if versions.is_power_of_two() {
            return arithmetic.and(at, next, i64::from(versions) - 1);
        }
        let operands = [next, FoldedInt::Constant(versions.into())].map(|int| arithmetic.value(int));
        let wraps = compare(arithmetic.location, Predicate::Equal, operands[0], operands[1]);
        let wraps = FoldedBool::If(at.make(wraps).result(0));
        arithmetic.select(at, wraps, FoldedInt::Constant(0), next)
    }

    /// The version of `memory`, a buffer or a view of one, that an access of this lag has.
    pub fn version(&mut self, at: InsertionPoint<'c>, memory: Value<'c>, lag: u32) -> Value<'c> {
        // From the buffer on, what is a view of what.
        let mut chain = vec![memory];
        while let Some(op) = chain
            .last()
            .filter(|view| !self.buffers.contains_key(*view))
            .and_then(|view| view.defining_op())
            .filter(|op| view_source(*op).is_some())
        {
            chain.push(op.operand(0));
        }
        let mut latest = None;
        while let Some(next) = chain.pop() {
            let known = self.views.get(&(next, lag));
            let view = known.unwrap_or_else(|| match latest {
                Some(source) => self.view_of(at, next, source, lag),
                None => self.version_of_buffer(at, next, lag),
            });
            self.views.insert((next, lag), view);
            latest = Some(view);
        }
        latest.unwrap_or(memory)
    }

    /// A view like `view`, of another version of what that is a view of.
    fn view_of(&mut self, at: InsertionPoint<'c>, view: Value<'c>, source: Value<'c>, lag: u32) -> Value<'c> {
        let Definition::Result(of, number) = view.definition() else {
            return view;
        };
        let mut mapping = Mapping::new();
        mapping.map(of.operand(0), source);
        let copy = of.clone_mapped(&mut mapping);
        at.put(copy);
        let round = self.round;
        self.copies.push((copy, Copied { of, round, lag }));
        copy.result(number)
    }

    fn version_of_buffer(&mut self, at: InsertionPoint<'c>, buffer: Value<'c>, lag: u32) -> Value<'c> {
        let Versioned {
            versions,
            stride,
            storage,
            ty,
        } = self.buffers[&buffer];
        let slot = self.numbers[&(versions, ahead(versions, lag))];
        let offset = self.arithmetic.mul(at, slot, FoldedInt::Constant(stride));
        let view = version(at, self.arithmetic, (storage, ty), offset);
        self.made.push(view);
        view.result(0)
    }
}

/// The lower bits of `number`, which has at least as many.
fn in_32_bits<'c>(
    at: InsertionPoint<'c>,
    arithmetic: Arithmetic<'_, 'c>,
    number: FoldedInt<'c>,
) -> FoldedInt<'c> {
    let FoldedInt::Value(value) = number else {
        return number;
    };
    if value.ty() == arithmetic.ty {
        return number;
    }
    let name = if value.ty().is_index() {
        arith::INDEX_CAST
    } else {
        arith::TRUNCI
    };
    let cast = OpBuilder::new(name, arithmetic.location).operands(&[value]);
    FoldedInt::Value(at.make(cast.results(&[arithmetic.ty])).result(0))
}

/// The part of `storage` that begins at byte `offset`, as a buffer of type `ty`.
pub(super) fn version<'c>(
    at: InsertionPoint<'c>,
    arithmetic: Arithmetic<'_, 'c>,
    (storage, ty): (Value<'c>, Type<'c>),
    offset: FoldedInt<'c>,
) -> Op<'c> {
    let index = Type::index(storage.context());
    let offset = match offset {
        FoldedInt::Constant(_) => Arithmetic {
            ty: index,
            ..arithmetic
        }
        .value(offset),
        FoldedInt::Value(offset) => {
            let cast = OpBuilder::new(arith::INDEX_CASTUI, arithmetic.location);
            at.make(cast.operands(&[offset]).results(&[index])).result(0)
        }
    };
    let view = OpBuilder::new(memref::VIEW, arithmetic.location);
    at.make(view.operands(&[storage, offset]).results(&[ty]))
}

/// How far what has this lag is ahead of the number of the round, modulo `versions`.
fn ahead(versions: u32, lag: u32) -> u32 {
    (versions - lag % versions) % versions
}
