//! Emits a transfer as copies of 4, 8 or 16 bytes by the thread that executes it.

use super::Options;
use super::reason::Reason;
use super::sides::{Bound, Side, Source};
use super::use_def_chain::Guard;
use crate::analysis::addresses::{Address, Addresses, element_bytes};
use crate::analysis::divisibility::{MAX_LOG2, log2_of};
use crate::utils::builders::{compare, constant};
use async_dialects::names::{gpux, gpux_attr};
use async_dialects::types::token;
use async_mlir::arith::Predicate;
use async_mlir::ir::{Mapping, Op, OpBuilder, Value, int_attr};
use async_mlir::melior::ir::{Attribute, Type};
use async_mlir::names::{arith, memref};
use async_mlir::types::{memref_layout, memref_shape};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// What `cp.async` can copy at once, in bytes.
const WIDTHS: [i64; 3] = [16, 8, 4];
/// More copies than these are not made of one transfer.
const MAX_COPIES: i64 = 64;

/// A transfer as copies of equal size.
#[derive(Clone, Debug)]
pub(super) struct Copies<'c> {
    source: Source<'c>,
    destination: Side<'c>,
    /// How many elements there are in all, and in a copy.
    total: i64,
    elements: i64,
    bypass_l1: bool,
}

impl<'c> Copies<'c> {
    /// Splits a transfer; returns an error if the hardware has no copies for it.
    pub fn new(
        source: Source<'c>,
        destination: Side<'c>,
        addresses: &mut Addresses<'c>,
        options: &Options,
    ) -> Result<Self, Reason<'c>> {
        let (from, to) = (source.side.memory, destination.memory);
        let [ours, theirs] = [from, to].map(|memory| memref_shape(memory.ty()).map(|shape| shape.element));
        if let (Some(ours), Some(theirs)) = (ours, theirs)
            && ours != theirs
        {
            let message =
                format!("reads elements of type {ours} and writes {theirs}, but a copy does not convert");
            return Err(Reason::new(message).help("view one of the buffers as the type of the other"));
        }
        let (Some(bytes), Some(total)) = (element_bytes(from), source.side.elements()) else {
            return Err(Reason::new("has elements that are no numbers of whole bytes"));
        };
        let sides = [(&source.side, "source"), (&destination, "destination")];
        let mut limits = Vec::new();
        for (side, name) in sides {
            let address = addresses.of(side.memory, &side.indices);
            let Some(address) = address else {
                return Err(Reason::new(format!("has a {name} without strides")));
            };
            limits.push(Limits::of(side, &address, bytes));
        }
        let fits = |width: i64| {
            let elements = width / bytes;
            total > 0
                && width % bytes == 0
                && total % elements == 0
                && limits
                    .iter()
                    .all(|limits| limits.run % elements == 0 && limits.log2 >= log2_of(width))
        };
        let Some(width) = WIDTHS.into_iter().find(|width| fits(*width)) else {
            return Err(no_width(total.saturating_mul(bytes), &limits));
        };
        let elements = width / bytes;
        if total / elements > MAX_COPIES {
            let message = format!(
                "would be {} copies of {width} bytes in each thread, more than {MAX_COPIES}",
                total / elements
            );
            return Err(Reason::new(message).help("give each thread a smaller part"));
        }
        Ok(Self {
            source,
            destination,
            total,
            elements,
            bypass_l1: options.bypass_l1 && width == 16,
        })
    }

    /// Has nothing be read unless a condition is as the guard says.
    pub fn guard(&mut self, guard: Guard<'c>) {
        self.source.guards.push(guard);
    }

    /// What is written.
    pub fn written(&self) -> Side<'c> {
        self.destination.clone()
    }

    /// The values that say what is copied where.
    pub fn values(&self) -> Vec<Value<'c>> {
        let mut all = self.source.values();
        all.extend(self.destination.values());
        all
    }

    /// How many bytes are written.
    pub fn bytes(&self) -> i64 {
        let element = element_bytes(self.destination.memory).unwrap_or(0);
        self.total.saturating_mul(element)
    }

    /// The address that is written first.
    pub fn destination(&self, addresses: &mut Addresses<'c>) -> Option<Address<'c>> {
        addresses.of(self.destination.memory, &self.destination.indices)
    }

    /// Returns true if what is written is all there is from its first byte to its last.
    pub fn is_contiguous(&self) -> bool {
        is_contiguous(&self.destination)
    }

    /// Makes the copies before `place`, each of which awaits `dependencies`. Returns their tokens.
    pub fn emit(&self, place: Op<'c>, mapping: &Mapping<'c>, dependencies: &[Value<'c>]) -> Vec<Value<'c>> {
        let mut emitter = Emitter {
            place,
            mapping,
            numbers: RefCell::default(),
            bounds: Vec::new(),
        };
        emitter.bounds = self
            .source
            .bounds
            .iter()
            .map(|bounds| emitter.least(&self.source, bounds))
            .collect();
        let copies = (0..self.total / self.elements).map(|number| {
            let flat = number * self.elements;
            let count = emitter.count(self, flat);
            let [from, from_indices] = emitter.access(&self.source.side, flat);
            let [to, to_indices] = emitter.access(&self.destination, flat);
            let count: Vec<Value> = count.into_iter().collect();
            let mut copy = OpBuilder::new(gpux::COPY, place.location())
                .operand_groups(&[dependencies, &from, &from_indices, &to, &to_indices, &count])
                .results(&[token(place.context())])
                .attr(gpux_attr::ELEMENTS, int_attr(place.context(), 64, self.elements));
            if self.bypass_l1 {
                copy = copy.attr(gpux_attr::BYPASS_L1, Attribute::unit(place.context()));
            }
            copy.before(place).result(0)
        });
        copies.collect()
    }
}

/// What the size of copies depends on, of one side.
struct Limits<'c> {
    /// How many elements lie next to each other, at least.
    run: i64,
    /// The exponent of what all rows are aligned to.
    log2: u32,
    memory: Value<'c>,
}

impl<'c> Limits<'c> {
    fn of(side: &Side<'c>, address: &Address<'c>, bytes: i64) -> Self {
        let strides = memref_layout(side.memory.ty()).map_or_else(Vec::new, |layout| layout.strides);
        let is_dense = strides.last().is_none_or(|stride| *stride == Some(1));
        let inner = side.sizes.last().copied().unwrap_or(1);
        let outer = side.sizes.len().saturating_sub(1);
        let rows = side.sizes.iter().take(outer).enumerate();
        let rows = rows.filter(|(_, size)| **size > 1).map(|(i, _)| {
            let stride = strides[side.dimension(i)].unwrap_or(1);
            log2_of(stride.wrapping_mul(bytes))
        });
        let rows = rows.min().unwrap_or(MAX_LOG2);
        Self {
            run: if is_dense { inner } else { 1 },
            log2: address.log2.max(side.said_log2).min(rows),
            memory: side.memory,
        }
    }
}

/// Why copies of no size do.
fn no_width<'c>(bytes: i64, limits: &[Limits<'c>]) -> Reason<'c> {
    if bytes < WIDTHS[2] {
        let message = format!("is of {bytes} bytes, but cp.async copies 4, 8 or 16");
        return Reason::new(message).help(
            "let each thread transfer adjacent elements as one vector: single ones are not merged here",
        );
    }
    for (limits, name) in limits.iter().zip(["source", "destination"]) {
        if limits.log2 < log2_of(WIDTHS[2]) {
            let known = 1 << limits.log2;
            let message = format!(
                "has a {name} that is only known to be aligned to {known} bytes, and cp.async needs 4"
            );
            let strides = memref_layout(limits.memory.ty()).map_or_else(Vec::new, |layout| layout.strides);
            let help = if strides.contains(&None) {
                "its strides are not static: say what a view of it is aligned to by memref.assume_alignment"
            } else {
                "say what it is aligned to by memref.assume_alignment"
            };
            return Reason::new(message).help(help);
        }
    }
    Reason::new(format!(
        "is of {bytes} bytes that can't be split into equal copies of 4, 8 or 16 adjacent ones"
    ))
}

/// Returns true if the box `side` has no gaps.
pub(super) fn is_contiguous(side: &Side<'_>) -> bool {
    let Some(layout) = memref_layout(side.memory.ty()) else {
        return false;
    };
    let mut expected = 1_i64;
    for (i, size) in side.sizes.iter().enumerate().rev() {
        if *size != 1 && layout.strides[side.dimension(i)] != Some(expected) {
            return false;
        }
        expected = expected.saturating_mul(*size);
    }
    true
}

/// Makes operations before a place.
struct Emitter<'a, 'c> {
    place: Op<'c>,
    mapping: &'a Mapping<'c>,
    /// The constants that there are.
    numbers: RefCell<FxHashMap<i64, Value<'c>>>,
    /// How many elements are read, for each size of the source; `None` if all are.
    bounds: Vec<Option<Limit<'c>>>,
}

/// A number of elements, which may be less than 0.
#[derive(Clone, Copy)]
enum Limit<'c> {
    Constant(i64),
    Value(Value<'c>),
}

impl<'c> Emitter<'_, 'c> {
    fn index(&self) -> Type<'c> {
        Type::index(self.place.context())
    }

    fn number(&self, number: i64) -> Value<'c> {
        let make = || {
            let made = constant(self.place.location(), self.index(), number);
            made.before(self.place).result(0)
        };
        *self.numbers.borrow_mut().entry(number).or_insert_with(make)
    }

    fn binary(&self, name: &str, left: Value<'c>, right: Value<'c>) -> Value<'c> {
        OpBuilder::new(name, self.place.location())
            .operands(&[left, right])
            .results(&[left.ty()])
            .before(self.place)
            .result(0)
    }

    /// The memref, and the indices of element number `flat` of the box.
    fn access(&self, side: &Side<'c>, flat: i64) -> [Vec<Value<'c>>; 2] {
        let offsets = side.offsets(flat);
        let indices = side.indices.iter().zip(offsets);
        let indices = indices.map(
            |(index, offset)| match index.map(|index| self.mapping.lookup(index)) {
                None => self.number(offset),
                Some(index) if offset == 0 => index,
                Some(index) => self.binary(arith::ADDI, index, self.number(offset)),
            },
        );
        [vec![self.mapping.lookup(side.memory)], indices.collect()]
    }

    fn least(&self, source: &Source<'c>, bounds: &[Bound<'c>]) -> Option<Limit<'c>> {
        let limits = bounds.iter().map(|bound| match *bound {
            Bound::Constant(constant) => Limit::Constant(constant),
            Bound::Value(value) => Limit::Value(self.mapping.lookup(value)),
            Bound::Rest(dimension) => self.rest(&source.side, dimension),
        });
        limits.reduce(|a, b| match (a, b) {
            (Limit::Constant(a), Limit::Constant(b)) => Limit::Constant(a.min(b)),
            (a, b) => Limit::Value(self.binary(arith::MINSI, self.value(a), self.value(b))),
        })
    }

    fn value(&self, limit: Limit<'c>) -> Value<'c> {
        match limit {
            Limit::Constant(constant) => self.number(constant),
            Limit::Value(value) => value,
        }
    }

    /// How many elements there are in a dimension from the index on.
    fn rest(&self, side: &Side<'c>, dimension: usize) -> Limit<'c> {
        let memory = self.mapping.lookup(side.memory);
        let size = memref_shape(memory.ty()).and_then(|shape| shape.sizes[dimension]);
        let index = side.indices[dimension].map(|index| self.mapping.lookup(index));
        let constant = index.map_or(Some(0), Value::as_constant_int);
        if let (Some(size), Some(constant)) = (size, constant) {
            return Limit::Constant(size.saturating_sub(constant));
        }
        let size = size.map_or_else(
            || {
                let dimension = i64::try_from(dimension).expect("a memref has few dimensions");
                OpBuilder::new(memref::DIM, self.place.location())
                    .operands(&[memory, self.number(dimension)])
                    .results(&[self.index()])
                    .before(self.place)
                    .result(0)
            },
            |size| self.number(size),
        );
        Limit::Value(match index {
            Some(index) => self.binary(arith::SUBI, size, index),
            None => size,
        })
    }

    /// How many elements the copy from element number `flat` on reads; `None` if all.
    fn count(&self, copies: &Copies<'c>, flat: i64) -> Option<Value<'c>> {
        let side = &copies.source.side;
        let offsets = side.offsets(flat);
        let starts: Vec<i64> = (0..side.sizes.len())
            .map(|i| offsets[side.dimension(i)])
            .collect();
        let mut count = Limit::Constant(copies.elements);
        if let Some((last, outer)) = self.bounds.split_last() {
            count = self.count_in_row(*last, starts[outer.len()], copies.elements);
        }
        for (limit, start) in self.bounds.iter().rev().skip(1).rev().zip(&starts) {
            count = match limit {
                None => count,
                Some(Limit::Constant(limit)) if start < limit => count,
                Some(Limit::Constant(_)) => Limit::Constant(0),
                Some(Limit::Value(limit)) => {
                    let location = self.place.location();
                    let is_read = compare(location, Predicate::SignedLess, self.number(*start), *limit);
                    let is_read = is_read.before(self.place).result(0);
                    self.choose(is_read, [self.value(count), self.number(0)])
                }
            };
        }
        for (condition, when) in &copies.source.guards {
            let [read, nothing] = [self.value(count), self.number(0)];
            let condition = self.mapping.lookup(*condition);
            count = self.choose(condition, if *when { [read, nothing] } else { [nothing, read] });
        }
        match count {
            Limit::Constant(count) if count == copies.elements => None,
            count => Some(self.value(count)),
        }
    }

    fn choose(&self, condition: Value<'c>, [then, other]: [Value<'c>; 2]) -> Limit<'c> {
        let selected = OpBuilder::new(arith::SELECT, self.place.location())
            .operands(&[condition, then, other])
            .results(&[self.index()]);
        Limit::Value(selected.before(self.place).result(0))
    }

    /// How many of `elements` elements from number `start` of a row on are read.
    fn count_in_row(&self, limit: Option<Limit<'c>>, start: i64, elements: i64) -> Limit<'c> {
        match limit {
            None => Limit::Constant(elements),
            Some(Limit::Constant(limit)) => Limit::Constant(limit.saturating_sub(start).clamp(0, elements)),
            Some(Limit::Value(limit)) => {
                let rest = if start == 0 {
                    limit
                } else {
                    self.binary(arith::SUBI, limit, self.number(start))
                };
                let positive = self.binary(arith::MAXSI, rest, self.number(0));
                Limit::Value(self.binary(arith::MINSI, positive, self.number(elements)))
            }
        }
    }
}
