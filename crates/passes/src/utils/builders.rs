//! Builds operations that many passes need.

use crate::analysis::warps::WARP_THREADS;
use async_mlir::arith::Predicate;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::attribute::IntegerAttribute;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{affine, arith, attr, gpu, scf};
use async_mlir::types::known_attribute;

/// A constant of an integer type, or of `index`.
pub(crate) fn constant<'c>(location: Location<'c>, ty: Type<'c>, value: i64) -> OpBuilder<'c> {
    OpBuilder::new(arith::CONSTANT, location)
        .results(&[ty])
        .attr(attr::VALUE, IntegerAttribute::new(ty, value).into())
}

/// The block of a new `else` of a branch that has none, which yields `values`.
pub(crate) fn new_else<'c>(branch: Op<'c>, values: &[Value<'c>]) -> Block<'c> {
    let block = Block::new(&[]);
    branch.region(1).append(block);
    let end = if branch.is(affine::IF) {
        affine::YIELD
    } else {
        scf::YIELD
    };
    OpBuilder::new(end, branch.location())
        .operands(values)
        .at_end(block);
    block
}

/// A comparison of two integers.
pub(crate) fn compare<'c>(
    location: Location<'c>,
    predicate: Predicate,
    left: Value<'c>,
    right: Value<'c>,
) -> OpBuilder<'c> {
    let context = left.context();
    OpBuilder::new(arith::CMPI, location)
        .operands(&[left, right])
        .results(&[IntegerType::new(context, 1).into()])
        .attr(attr::PREDICATE, predicate.attribute(context))
}

/// What the first thread of the warp has of `value`, an `i32`, before `op`, to which the whole warp comes.
pub(crate) fn of_first_lane<'c>(value: Value<'c>, op: Op<'c>) -> Value<'c> {
    let number = |number| constant(op.location(), value.ty(), number).before(op).result(0);
    let [lane, width] = [0, i64::from(WARP_THREADS)].map(number);
    OpBuilder::new(gpu::SHUFFLE, op.location())
        .operands(&[value, lane, width])
        .results(&[value.ty(), IntegerType::new(op.context(), 1).into()])
        .attr(
            attr::MODE,
            known_attribute(op.context(), "#gpu<shuffle_mode idx>"),
        )
        .before(op)
        .result(0)
}
