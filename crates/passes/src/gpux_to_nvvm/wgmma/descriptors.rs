//! Computes descriptors of matrices as 64 bits, so that little is left to compute in a loop.
//!
//! The lower half of a descriptor has the address, in units of 16 bytes, the upper half is constant. Where a matrix is a view of a
//! buffer, the descriptor is that of the start of the buffer plus what the view is further on: what a loop around the multiplication
//! does not change is added before the loop, and in the loop nothing but the slot. All of it is in 32 bits: there is nothing to carry,
//! since an address in workgroup memory has 18 bits.
//!
//! All threads of a warp have to have the same descriptor (PTX ISA, "Matrix descriptor"), but the hardware takes it from registers that
//! the warp shares. `ptxas` moves what depends on the thread's number there for each instruction anew; what comes out of a shuffle it
//! keeps there.
//!
//! **Condition.** Each part of the address is known to be a multiple of 16 bytes, and the buffer begins where it says. Other descriptors stay as upstream makes them.

use super::cast;
use crate::analysis::addresses::{Addresses, element_bytes};
use crate::analysis::memory::described;
use crate::analysis::uniformity::is_uniform;
use crate::analysis::views::base;
use crate::utils::builders::{constant, of_first_lane};
use async_mlir::ir::{Definition, Mapping, Op, OpBuilder, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::attribute::DenseI64ArrayAttribute;
use async_mlir::melior::ir::r#type::{IntegerType, MemRefType};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{arith, attr, memref};
use async_mlir::types::{memory_space, memref_layout, memref_shape};

/// What a descriptor counts addresses in, in bytes.
pub(super) const UNIT: i64 = 16;
/// The bits of half a descriptor.
const HALF: u32 = 32;

/// A descriptor, to be used by an operation.
#[derive(Clone, Copy)]
pub(super) enum Descriptor<'c> {
    /// 64 bits.
    Whole(Value<'c>),
    /// 32 bits with the address, and 64 bits with the rest.
    Halves { low: Value<'c>, high: Value<'c> },
}

/// Makes descriptors.
pub(super) struct Descriptors<'c> {
    addresses: Addresses<'c>,
    i32: Type<'c>,
    i64: Type<'c>,
    index: Type<'c>,
}

/// A part of an address that differs from thread to thread or from iteration to iteration: so many units for each of a value.
type Term<'c> = (i64, Value<'c>);

impl<'c> Descriptors<'c> {
    pub fn new(context: &'c Context) -> Self {
        Self {
            addresses: Addresses::new(UNIT),
            i32: IntegerType::new(context, 32).into(),
            i64: IntegerType::new(context, 64).into(),
            index: Type::index(context),
        }
    }

    /// The descriptor `matrix`, for `op`.
    pub fn of(&mut self, op: Op<'c>, matrix: Value<'c>) -> Descriptor<'c> {
        let halves = self.halves(op, matrix);
        halves.unwrap_or_else(|| Descriptor::Whole(self.bits(matrix, op)))
    }

    fn bits(&self, matrix: Value<'c>, before: Op<'c>) -> Value<'c> {
        cast(matrix, self.i64, before.location()).before(before).result(0)
    }

    fn halves(&mut self, op: Op<'c>, matrix: Value<'c>) -> Option<Descriptor<'c>> {
        let view = Some(described(matrix)).filter(|view| *view != matrix)?;
        let offset = self.addresses.of(view, &[])?.offset?;
        let units = |bytes: i64| (bytes % UNIT == 0).then_some(bytes / UNIT);
        let further = units(offset.constant)?;
        let terms = offset
            .terms()
            .map(|(factor, value)| Some((units(factor)?, value)));
        let terms = terms.collect::<Option<Vec<Term>>>()?;
        let generate = matrix.defining_op()?;
        let buffer = base(view);
        // Where the whole warpgroup comes by, since it comes to the multiplication.
        let mut outer = op;
        for around in op.ancestors().take_while(|around| !around.is_function()) {
            outer = around;
        }
        if !is_defined_outside(outer, buffer) || !is_defined_outside(outer, generate.operand(1)) {
            return None;
        }
        let (fixed, moving): (Vec<Term>, Vec<Term>) = terms
            .into_iter()
            .partition(|(_, value)| is_defined_outside(outer, *value));
        let start = start_of(buffer, view, outer)?;
        let mut mapping = Mapping::new();
        mapping.map(generate.operand(0), start);
        let first = generate.clone_mapped(&mut mapping);
        first.move_before(outer);
        let bits = self.bits(first.result(0), outer);
        let low = make(arith::TRUNCI, outer, &[bits], self.i32);
        let mask = constant(op.location(), self.i64, -1 << HALF)
            .before(outer)
            .result(0);
        let high = make(arith::ANDI, outer, &[bits, mask], self.i64);
        let low = self.plus_constant(outer, low, further);
        let mut low = self.plus(outer, low, &fixed);
        if !fixed.iter().all(|(_, value)| is_uniform(*value)) {
            low = of_first_lane(low, outer);
        }
        let low = self.plus(op, low, &moving);
        Some(Descriptor::Halves { low, high })
    }

    /// The descriptor of what lies so many units further on.
    pub fn advanced(&self, op: Op<'c>, descriptor: Descriptor<'c>, units: i64) -> Value<'c> {
        match descriptor {
            Descriptor::Whole(bits) if units == 0 => bits,
            Descriptor::Whole(bits) => {
                let units = constant(op.location(), self.i64, units).before(op).result(0);
                make(arith::ADDI, op, &[bits, units], self.i64)
            }
            Descriptor::Halves { low, high } => {
                let low = self.plus_constant(op, low, units);
                let low = make(arith::EXTUI, op, &[low], self.i64);
                make(arith::ORI, op, &[low, high], self.i64)
            }
        }
    }

    fn plus(&self, before: Op<'c>, sum: Value<'c>, terms: &[Term<'c>]) -> Value<'c> {
        terms.iter().fold(sum, |sum, &(units, value)| {
            let value = self.in_32_bits(before, value);
            let factor = constant(before.location(), self.i32, units)
                .before(before)
                .result(0);
            let term = make(arith::MULI, before, &[value, factor], self.i32);
            make(arith::ADDI, before, &[sum, term], self.i32)
        })
    }

    fn plus_constant(&self, before: Op<'c>, sum: Value<'c>, units: i64) -> Value<'c> {
        if units == 0 {
            return sum;
        }
        let units = constant(before.location(), self.i32, units)
            .before(before)
            .result(0);
        make(arith::ADDI, before, &[sum, units], self.i32)
    }

    fn in_32_bits(&self, before: Op<'c>, value: Value<'c>) -> Value<'c> {
        if value.ty() == self.index {
            return make(arith::INDEX_CAST, before, &[value], self.i32);
        }
        if value.ty() == self.i32 {
            return value;
        }
        // What a sum is made of has 32 bits or more.
        make(arith::TRUNCI, before, &[value], self.i32)
    }
}

fn make<'c>(name: &str, before: Op<'c>, operands: &[Value<'c>], ty: Type<'c>) -> Value<'c> {
    OpBuilder::new(name, before.location())
        .operands(operands)
        .results(&[ty])
        .before(before)
        .result(0)
}

/// Returns true if `value` is there before `op`, an operation of the body of a function, or one in there.
fn is_defined_outside<'c>(op: Op<'c>, value: Value<'c>) -> bool {
    match value.definition() {
        Definition::Result(by, _) if by.block() == op.block() => by.is_before_in_block(op),
        Definition::Result(by, _) => op.ancestors().any(|around| by.block() == around.block()),
        Definition::Argument(block, _) => {
            op.block() == Some(block) || op.ancestors().any(|around| around.block() == Some(block))
        }
    }
}

/// A matrix like `view` at the start of `buffer`, made before `op`.
fn start_of<'c>(buffer: Value<'c>, view: Value<'c>, op: Op<'c>) -> Option<Value<'c>> {
    let (shape, whole) = (memref_shape(view.ty())?, memref_shape(buffer.ty())?);
    // What comes before the buffer is in its descriptor, and nowhere else.
    memref_layout(buffer.ty()).filter(|layout| layout.offset == Some(0))?;
    let sizes = shape.sizes.iter().copied().collect::<Option<Vec<i64>>>()?;
    let location: Location = op.location();
    let ty = MemRefType::new(shape.element, &sizes, None, memory_space(buffer.ty()));
    if element_bytes(buffer) == Some(1) && whole.sizes.len() == 1 {
        let start = constant(location, Type::index(op.context()), 0)
            .before(op)
            .result(0);
        let start = OpBuilder::new(memref::VIEW, location)
            .operands(&[buffer, start])
            .results(&[ty.into()]);
        return Some(start.before(op).result(0));
    }
    if whole.element != shape.element {
        return None;
    }
    let strides: Vec<i64> = (0..sizes.len())
        .map(|i| sizes[i + 1..].iter().product())
        .collect();
    let array = |values: &[i64]| DenseI64ArrayAttribute::new(op.context(), values).into();
    let start = OpBuilder::new(memref::REINTERPRET_CAST, location)
        .operand_groups(&[&[buffer], &[], &[], &[]])
        .results(&[ty.into()])
        .attr(attr::STATIC_OFFSETS, array(&[0]))
        .attr(attr::STATIC_SIZES, array(&sizes))
        .attr(attr::STATIC_STRIDES, array(&strides));
    Some(start.before(op).result(0))
}
