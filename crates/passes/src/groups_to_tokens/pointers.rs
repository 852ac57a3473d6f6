//! Rewrites copies between LLVM pointers as copies between memrefs.
//!
//! **Condition.** Both addresses are a memref's, plus numbers of its elements, as `--convert-nvgpu-to-nvvm` makes them: the
//! aligned pointer of its descriptor or of `memref.extract_aligned_pointer_as_index`, and `llvm.getelementptr`s.
//!
//! **Effect.** Each side is a `memref.reinterpret_cast` of the memref that begins at the address. The bytes that a copy reads of its
//! source, if it says so, become elements; they are known to be whole ones.

use super::convert::DetachedOps;
use crate::analysis::divisibility::{Divisibility, log2_of};
use crate::utils::builders::constant;
use async_dialects::names::{gpux, gpux_attr};
use async_dialects::types::token;
use async_mlir::ir::{Op, OpBuilder, Value, int_attr};
use async_mlir::melior::ir::attribute::{
    Attribute, DenseI32ArrayAttribute, DenseI64ArrayAttribute, StridedLayoutAttribute, TypeAttribute,
};
use async_mlir::melior::ir::r#type::MemRefType;
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::{arith, attr, builtin, llvm, memref};
use async_mlir::types::{DYNAMIC, bit_width, dense_numbers, keyword, memory_space, memref_shape};

/// The operations that do what `op`, a copy of `nvvm`, does; the last is the copy.
pub(super) fn from_nvvm(op: Op<'_>) -> Result<DetachedOps<'_>, String> {
    let dst = Address::of(op.operand(0))?;
    let src = Address::of(op.operand(1))?;
    let bytes = op.int_attr(attr::SIZE).unwrap_or_default();
    let element = bit_width(dst.element).map_or(0, |bits| i64::from(bits) / 8);
    if element == 0 || bytes % element != 0 {
        return Err("it copies no whole number of elements of its memref".to_owned());
    }
    let elements = bytes / element;
    let read = op.operands().nth(2);
    if read.is_some_and(|read| !are_whole(read, element)) {
        return Err(format!(
            "the bytes that it reads are not known to be whole elements: compute them as a multiple of {element}"
        ));
    }
    let mut detached = DetachedOps::default();
    let index = Type::index(op.context());
    let zero = detached.add(constant(op.location(), index, 0));
    let dst = dst.view(op, elements, &mut detached);
    let src = src.view(op, elements, &mut detached);
    let count = read.map(|read| count(read, element, op, &mut detached));
    let mut copy = OpBuilder::new(gpux::COPY, op.location())
        .operand_groups(&[&[], &[src], &[zero], &[dst], &[zero], count.as_slice()])
        .results(&[token(op.context())])
        .attr(gpux_attr::ELEMENTS, int_attr(op.context(), 64, elements));
    match op.attr(attr::MODIFIER).and_then(keyword) {
        Some("ca") => {}
        Some("cg") => copy = copy.attr(gpux_attr::BYPASS_L1, Attribute::unit(op.context())),
        _ => {
            detached.erase();
            return Err("its source is cached in another way".to_owned());
        }
    }
    detached.add(copy);
    detached.verified(op)
}

/// Returns true if `bytes` are known to be whole elements of so many bytes.
fn are_whole(bytes: Value<'_>, element: i64) -> bool {
    let is_power = u64::try_from(element).is_ok_and(u64::is_power_of_two);
    is_power && Divisibility::default().log2(bytes) >= log2_of(element)
}

/// How many elements `bytes` are, which are a multiple of `element`.
fn count<'c>(bytes: Value<'c>, element: i64, op: Op<'c>, detached: &mut DetachedOps<'c>) -> Value<'c> {
    let (location, index) = (op.location(), Type::index(op.context()));
    let computed = |name, operands: &[Value<'c>]| {
        OpBuilder::new(name, location)
            .operands(operands)
            .results(&[index])
    };
    let bytes = detached.add(computed(arith::INDEX_CASTUI, &[bytes]));
    if element == 1 {
        return bytes;
    }
    let shift = detached.add(constant(location, index, i64::from(log2_of(element))));
    detached.add(computed(arith::SHRUI, &[bytes, shift]))
}

/// An address: so many elements behind the start of a memref.
struct Address<'c> {
    memref: Value<'c>,
    element: Type<'c>,
    offsets: Vec<Offset<'c>>,
}

#[derive(Clone, Copy)]
enum Offset<'c> {
    Constant(i64),
    Value(Value<'c>),
}

impl<'c> Address<'c> {
    fn of(pointer: Value<'c>) -> Result<Self, String> {
        let mut offsets = Vec::new();
        let mut steps = Vec::new();
        let mut at = pointer;
        let memref = loop {
            let op = at.defining_op().ok_or_else(unknown)?;
            match op.name() {
                llvm::ADDRSPACECAST => at = op.operand(0),
                llvm::GETELEMENTPTR => {
                    let (element, offset) = step(op).ok_or_else(unknown)?;
                    steps.push(element);
                    offsets.push(offset);
                    at = op.operand(0);
                }
                _ => break start(op).ok_or_else(unknown)?,
            }
        };
        let element = memref_shape(memref.ty()).ok_or_else(unknown)?.element;
        if steps.iter().any(|step| *step != element) {
            return Err(
                "its address is not a whole number of elements from the start of its memref".to_owned(),
            );
        }
        Ok(Self {
            memref,
            element,
            offsets,
        })
    }

    /// A view of `elements` elements that begins here.
    fn view(&self, op: Op<'c>, elements: i64, detached: &mut DetachedOps<'c>) -> Value<'c> {
        let (context, location) = (op.context(), op.location());
        let index = Type::index(context);
        let mut sum = None;
        for &offset in &self.offsets {
            let offset = match offset {
                Offset::Constant(value) => detached.add(constant(location, index, value)),
                Offset::Value(value) => as_index(value, location, detached),
            };
            sum = Some(match sum {
                None => offset,
                Some(sum) => detached.add(
                    OpBuilder::new(arith::ADDI, location)
                        .operands(&[sum, offset])
                        .results(&[index]),
                ),
            });
        }
        let offset = if sum.is_some() { DYNAMIC } else { 0 };
        let layout = StridedLayoutAttribute::new(context, offset, &[1]);
        let space = memory_space(self.memref.ty());
        let view = MemRefType::new(self.element, &[elements], Some(layout.into()), space);
        let array = |value: i64| DenseI64ArrayAttribute::new(context, &[value]).into();
        detached.add(
            OpBuilder::new(memref::REINTERPRET_CAST, location)
                .operand_groups(&[&[self.memref], sum.as_slice(), &[], &[]])
                .results(&[view.into()])
                .attr(attr::STATIC_OFFSETS, array(offset))
                .attr(attr::STATIC_SIZES, array(elements))
                .attr(attr::STATIC_STRIDES, array(1)),
        )
    }
}

fn unknown() -> String {
    "its address is not computed from a memref".to_owned()
}

/// The number as an index.
fn as_index<'c>(
    value: Value<'c>,
    location: async_mlir::melior::ir::Location<'c>,
    detached: &mut DetachedOps<'c>,
) -> Value<'c> {
    let index = Type::index(value.context());
    let cast = value
        .defining_op()
        .filter(|op| op.is(builtin::UNREALIZED_CONVERSION_CAST) && op.num_operands() == 1);
    match cast.map(|op| op.operand(0)) {
        Some(source) if source.ty() == index => source,
        _ => detached.add(
            OpBuilder::new(arith::INDEX_CAST, location)
                .operands(&[value])
                .results(&[index]),
        ),
    }
}

/// What a `llvm.getelementptr` of one index adds, and of what elements.
fn step(op: Op<'_>) -> Option<(Type<'_>, Offset<'_>)> {
    let element = TypeAttribute::try_from(op.attr(attr::ELEM_TYPE)?).ok()?.value();
    let indices = DenseI32ArrayAttribute::try_from(op.attr(attr::RAW_CONSTANT_INDICES)?).ok()?;
    if indices.len() != 1 {
        return None;
    }
    let offset = if op.num_operands() > 1 {
        Offset::Value(op.operand(1))
    } else {
        Offset::Constant(i64::from(indices.element(0).ok()?))
    };
    Some((element, offset))
}

/// The memref whose aligned pointer `op` makes.
fn start(op: Op<'_>) -> Option<Value<'_>> {
    let (inner, memref) = match op.name() {
        llvm::EXTRACTVALUE if op.attr(attr::POSITION).and_then(dense_numbers)? == [1] => {
            let inner = op.operand(0).defining_op()?;
            (inner, inner.is(builtin::UNREALIZED_CONVERSION_CAST))
        }
        llvm::INTTOPTR => {
            let mut inner = op.operand(0).defining_op()?;
            if inner.is(arith::INDEX_CAST) || inner.is(builtin::UNREALIZED_CONVERSION_CAST) {
                inner = inner.operand(0).defining_op()?;
            }
            (inner, inner.is(memref::EXTRACT_ALIGNED_POINTER_AS_INDEX))
        }
        _ => return None,
    };
    let source = (memref && inner.num_operands() == 1).then(|| inner.operand(0))?;
    source.ty().is_mem_ref().then_some(source)
}
