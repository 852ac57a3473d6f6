//! Reads the two sides of a transfer: which elements its load reads, and which its store writes.

use super::reason::Reason;
use super::use_def_chain::Guard;
use crate::analysis::divisibility::log2_of;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::names::{arith, attr, memref, ub, vector};
use async_mlir::types::{
    MapResult, booleans, constant_numbers, dense_numbers, map_results, memref_shape, vector_shape,
};

/// Part of a memref: a box of elements from the indices on.
#[derive(Clone, Debug)]
pub(super) struct Side<'c> {
    pub memory: Value<'c>,
    /// Where it starts; 0 where there is no value.
    pub indices: Vec<Option<Value<'c>>>,
    /// How many elements it has in each of the last dimensions.
    pub sizes: Vec<i64>,
    /// The exponent of the alignment that the operation states.
    pub said_log2: u32,
}

/// What is read.
#[derive(Clone, Debug)]
pub(super) struct Source<'c> {
    pub side: Side<'c>,
    /// What limits the elements that are read, for each of the sizes: those from the least bound on are zeros instead.
    pub bounds: Vec<Vec<Bound<'c>>>,
    /// Conditions without which nothing is read, and all are zeros.
    pub guards: Vec<Guard<'c>>,
}

impl<'c> Source<'c> {
    /// The values that say what is read.
    pub fn values(&self) -> Vec<Value<'c>> {
        let bounds = self.bounds.iter().flatten().filter_map(|bound| match bound {
            Bound::Value(value) => Some(*value),
            _ => None,
        });
        let guards = self.guards.iter().map(|(condition, _)| *condition);
        self.side.values().chain(bounds).chain(guards).collect()
    }
}

/// Why a choice, or a load that leaves something out, is no copy.
pub(super) const FILL: &str =
    "fills what it does not read with something else than zeros, but a copy writes zeros there";

/// A number of elements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound<'c> {
    Constant(i64),
    Value(Value<'c>),
    /// As many as the memref has, in a dimension, from the index on.
    Rest(usize),
}

impl<'c> Side<'c> {
    /// What a load or store of a vector accesses, whose indices come right after `memory`, its operand `position`.
    fn of_vector(op: Op<'c>, position: usize, vector: Value<'c>) -> Result<Self, Reason<'c>> {
        let memory = op.operand(position);
        let no_memref = || Reason::new("is no access of a memref");
        let shape = memref_shape(memory.ty()).ok_or_else(no_memref)?;
        let (sizes, element) = match vector_shape(vector.ty()) {
            Some(vector) => (vector.sizes, vector.element),
            None => (Vec::new(), vector.ty()),
        };
        let sizes = sizes.into_iter().collect::<Option<Vec<i64>>>();
        let sizes = sizes.ok_or_else(|| Reason::new("has a vector whose length the hardware chooses"))?;
        if element != shape.element {
            let message = format!(
                "accesses elements of type {} as {element}, but a copy is of numbers",
                shape.element
            );
            return Err(Reason::new(message).help("view the buffer as a memref of numbers"));
        }
        let rank = shape.sizes.len();
        if sizes.len() > rank {
            return Err(Reason::new("has a vector of more dimensions than its memref"));
        }
        let indices = (0..rank).map(|i| Some(op.operand(position + 1 + i)));
        Ok(Self {
            memory,
            indices: indices.collect(),
            sizes,
            said_log2: op.int_attr(attr::ALIGNMENT).map_or(0, log2_of),
        })
    }

    /// All of a memref of static shape.
    pub fn whole(memory: Value<'c>) -> Result<Self, Reason<'c>> {
        let sizes = memref_shape(memory.ty())
            .map(|shape| shape.sizes)
            .unwrap_or_default();
        let rank = sizes.len();
        let sizes = sizes.into_iter().collect::<Option<Vec<i64>>>();
        Ok(Self {
            memory,
            indices: vec![None; rank],
            sizes: sizes.ok_or_else(|| Reason::new("has a size that is not static"))?,
            said_log2: 0,
        })
    }

    /// The values that say where it is.
    pub fn values(&self) -> impl Iterator<Item = Value<'c>> {
        std::iter::once(self.memory).chain(self.indices.iter().copied().flatten())
    }

    /// How many elements there are.
    pub fn elements(&self) -> Option<i64> {
        self.sizes
            .iter()
            .try_fold(1_i64, |all, size| all.checked_mul(*size))
    }

    /// How far element number `flat` of the box is from its start, in each dimension of the memref.
    pub fn offsets(&self, mut flat: i64) -> Vec<i64> {
        let mut offsets = vec![0; self.indices.len()];
        for (offset, size) in offsets.iter_mut().rev().zip(self.sizes.iter().rev()) {
            *offset = flat % size;
            flat /= size;
        }
        offsets
    }

    /// The dimension of the memref that the size number `i` is of.
    pub fn dimension(&self, i: usize) -> usize {
        self.indices.len() - self.sizes.len() + i
    }

    /// Returns true if the box is known to be in bounds in the dimension of size number `i`.
    fn is_in_bounds(&self, i: usize) -> bool {
        let dimension = self.dimension(i);
        let shape = memref_shape(self.memory.ty());
        let size = shape.and_then(|shape| shape.sizes[dimension]);
        let start = self.indices[dimension].map_or(Some(0), Value::as_constant_int);
        match (start, size) {
            (Some(start), Some(size)) => start >= 0 && start.checked_add(self.sizes[i]) <= Some(size),
            _ => false,
        }
    }
}

/// What `op` reads; `None` if it is no load of memory that is known here.
pub(super) fn source<'c>(op: Op<'c>) -> Option<Result<Source<'c>, Reason<'c>>> {
    Some(match op.name() {
        memref::LOAD | vector::LOAD => Side::of_vector(op, 0, op.result(0)).map(|side| {
            let bounds = vec![Vec::new(); side.sizes.len()];
            let guards = Vec::new();
            Source { side, bounds, guards }
        }),
        vector::TRANSFER_READ => transfer_read(op, None),
        vector::MASKEDLOAD => masked_load(op),
        vector::MASK => {
            let inner = masked_op(op).filter(|inner| inner.is(vector::TRANSFER_READ))?;
            if op.num_operands() > 1 {
                Err(Reason::new(
                    "keeps other numbers where its mask is off, but a copy writes zeros there",
                ))
            } else {
                transfer_read(inner, Some(op.operand(0)))
            }
        }
        _ => return None,
    })
}

/// The memref that a load reads, also one that can't be a transfer.
pub(super) fn loaded_memory<'c>(op: Op<'c>) -> Option<Value<'c>> {
    match op.name() {
        memref::LOAD | vector::LOAD | vector::TRANSFER_READ | vector::MASKEDLOAD => Some(op.operand(0)),
        vector::MASK => masked_op(op).and_then(loaded_memory),
        _ => None,
    }
}

/// The operation that a `vector.mask` is around.
pub(super) fn masked_op(op: Op<'_>) -> Option<Op<'_>> {
    op.region(0).first().and_then(Block::first)
}

/// What `op` stores, and where to; `None` if it is no store. One that does not store all elements is an error.
pub(super) fn stored<'c>(op: Op<'c>) -> Option<(Value<'c>, Value<'c>)> {
    match op.name() {
        memref::STORE | vector::STORE | vector::TRANSFER_WRITE => Some((op.operand(0), op.operand(1))),
        vector::MASKEDSTORE => Some((op.operand(op.num_operands() - 1), op.operand(0))),
        vector::MASK => masked_op(op)
            .filter(|inner| inner.is(vector::TRANSFER_WRITE))
            .and_then(stored),
        _ => None,
    }
}

/// What `op`, a store, writes.
pub(super) fn destination<'c>(op: Op<'c>) -> Result<Side<'c>, Reason<'c>> {
    let side = match op.name() {
        memref::STORE | vector::STORE => return Side::of_vector(op, 1, op.operand(0)),
        vector::TRANSFER_WRITE if !has_mask(op) => Side::of_vector(op, 1, op.operand(0))?,
        _ => {
            let message = "writes the elements of its mask alone, but a copy writes all, with zeros for those it does not read";
            return Err(Reason::new(message).help("mask the load instead of the store"));
        }
    };
    check_map(op, &side)?;
    let in_bounds = op.attr(attr::IN_BOUNDS).map(booleans).unwrap_or_default();
    let all = (0..side.sizes.len()).all(|i| in_bounds.get(i) == Some(&true) || side.is_in_bounds(i));
    if !all {
        let message = "may write out of bounds, where it writes nothing, but a copy writes all elements";
        return Err(Reason::new(message).help("say in_bounds where that is so"));
    }
    Ok(side)
}

fn has_mask(op: Op<'_>) -> bool {
    let segments = op.attr(attr::OPERAND_SEGMENT_SIZES).and_then(segments);
    segments.is_some_and(|segments| segments.last() == Some(&1))
}

fn segments(attribute: async_mlir::melior::ir::Attribute<'_>) -> Option<Vec<i32>> {
    let array = async_mlir::melior::ir::attribute::DenseI32ArrayAttribute::try_from(attribute).ok()?;
    (0..array.len()).map(|i| array.element(i).ok()).collect()
}

/// Returns an error unless the vector of a transfer spans the last dimensions of its memref, in order.
fn check_map<'c>(op: Op<'c>, side: &Side<'c>) -> Result<(), Reason<'c>> {
    let results = op.attr(attr::PERMUTATION_MAP).and_then(map_results);
    let (rank, sizes) = (side.indices.len(), side.sizes.len());
    let is_minor_identity = results.is_some_and(|results| {
        sizes <= rank && results.len() == sizes && {
            let mut results = results.into_iter().enumerate();
            results.all(|(i, result)| result == MapResult::Dim(rank - sizes + i))
        }
    });
    if is_minor_identity {
        Ok(())
    } else {
        Err(Reason::new(
            "permutes or repeats elements, but a copy keeps their order",
        ))
    }
}

fn transfer_read<'c>(op: Op<'c>, outer_mask: Option<Value<'c>>) -> Result<Source<'c>, Reason<'c>> {
    let side = Side::of_vector(op, 0, op.result(0))?;
    check_map(op, &side)?;
    let in_bounds = op.attr(attr::IN_BOUNDS).map(booleans).unwrap_or_default();
    let own_mask = has_mask(op).then(|| op.operand(op.num_operands() - 1));
    let mut bounds = vec![Vec::new(); side.sizes.len()];
    for mask in own_mask.into_iter().chain(outer_mask) {
        add_mask(&mut bounds, mask)?;
    }
    for (i, bounds) in bounds.iter_mut().enumerate() {
        if in_bounds.get(i) != Some(&true) && !side.is_in_bounds(i) {
            bounds.push(Bound::Rest(side.dimension(i)));
        }
    }
    let padding = op.operand(1 + side.indices.len());
    check_fill(&bounds, padding)?;
    let guards = Vec::new();
    Ok(Source { side, bounds, guards })
}

fn masked_load<'c>(op: Op<'c>) -> Result<Source<'c>, Reason<'c>> {
    let side = Side::of_vector(op, 0, op.result(0))?;
    let [mask, fill] = [2, 1].map(|i| op.operand(op.num_operands() - i));
    let mut bounds = vec![Vec::new(); side.sizes.len()];
    add_mask(&mut bounds, mask)?;
    check_fill(&bounds, fill)?;
    let guards = Vec::new();
    Ok(Source { side, bounds, guards })
}

/// Adds the bounds that `mask` is made of.
pub(super) fn add_mask<'c>(bounds: &mut [Vec<Bound<'c>>], mask: Value<'c>) -> Result<(), Reason<'c>> {
    let maker = mask.defining_op();
    let made: Option<Vec<Bound>> = maker.and_then(|maker| match maker.name() {
        vector::CREATE_MASK => Some(maker.operands().map(Bound::Value).collect()),
        vector::CONSTANT_MASK => {
            let sizes = maker.attr(attr::MASK_DIM_SIZES).and_then(dense_numbers)?;
            Some(sizes.into_iter().map(Bound::Constant).collect())
        }
        _ => None,
    });
    let Some(made) = made.filter(|made| made.len() == bounds.len()) else {
        let message =
            "has a mask that need not be a number of first elements, which is all that a copy can leave out";
        return Err(Reason::new(message).help("make the mask by vector.create_mask"));
    };
    for (bounds, bound) in bounds.iter_mut().zip(made) {
        bounds.push(match bound {
            Bound::Value(value) => value.as_constant_int().map_or(bound, Bound::Constant),
            bound => bound,
        });
    }
    Ok(())
}

/// Returns an error if elements may be left out and `fill` may be something else than zeros.
fn check_fill<'c>(bounds: &[Vec<Bound<'c>>], fill: Value<'c>) -> Result<(), Reason<'c>> {
    if bounds.iter().all(Vec::is_empty) || is_zero(fill) {
        return Ok(());
    }
    let reason = Reason::new(FILL);
    Err(match fill.defining_op() {
        Some(op) => reason.note(op, "with this"),
        None => reason,
    })
}

/// Returns true if all bits of `value` are known to be 0, or may be anything.
pub(super) fn is_zero(value: Value<'_>) -> bool {
    let Some(op) = value.defining_op() else {
        return false;
    };
    match op.name() {
        ub::POISON => true,
        vector::BROADCAST => is_zero(op.operand(0)),
        arith::CONSTANT => {
            let numbers = op.attr(attr::VALUE).and_then(constant_numbers);
            numbers.is_some_and(|numbers| numbers.into_iter().all(|bits| bits == 0))
        }
        _ => false,
    }
}
