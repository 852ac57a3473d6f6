//! Makes operations that many passes need.

use async_mlir::arith::Predicate;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::attribute::IntegerAttribute;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{affine, arith, attr, scf};

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
