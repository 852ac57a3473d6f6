//! Makes operations that many passes need.

use async_dialects::arith::Predicate;
use async_dialects::ir::{OpBuilder, Value};
use async_dialects::melior::ir::attribute::IntegerAttribute;
use async_dialects::melior::ir::r#type::IntegerType;
use async_dialects::melior::ir::{Location, Type};
use async_dialects::names::{arith, attr};

/// A constant of an integer type, or of `index`.
pub(crate) fn constant<'c>(location: Location<'c>, ty: Type<'c>, value: i64) -> OpBuilder<'c> {
    OpBuilder::new(arith::CONSTANT, location)
        .results(&[ty])
        .attr(attr::VALUE, IntegerAttribute::new(ty, value).into())
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
