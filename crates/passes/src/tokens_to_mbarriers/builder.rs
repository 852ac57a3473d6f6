//! Writes single operations: constants are made once, and what one thread executes is put together.

use crate::block_wide;
use async_dialects::ir::{Block, Op, OpBuilder, Value, int_attr};
use async_dialects::melior::Context;
use async_dialects::melior::ir::attribute::IntegerAttribute;
use async_dialects::melior::ir::r#type::IntegerType;
use async_dialects::melior::ir::{Attribute, Type};
use async_dialects::types::{known_attribute, known_type};
use std::collections::HashMap;

/// Predicates of `arith.cmpi`.
#[derive(Clone, Copy)]
pub(super) enum Compare {
    Eq = 0,
    Ne = 1,
    Slt = 2,
    Sge = 5,
}

/// Writes operations into a function.
pub(super) struct Builder<'c> {
    pub context: &'c Context,
    pub function: Op<'c>,
    pub index: Type<'c>,
    pub i32: Type<'c>,
    i1: Type<'c>,
    entry: Block<'c>,
    constants: HashMap<(i64, bool), Value<'c>>,
    leader: Option<Value<'c>>,
}

impl<'c> Builder<'c> {
    /// A builder for `function`, whose entry block is `entry`.
    pub fn new(function: Op<'c>, entry: Block<'c>) -> Self {
        let context = function.context();
        Self {
            context,
            function,
            index: Type::index(context),
            i32: IntegerType::new(context, 32).into(),
            i1: IntegerType::new(context, 1).into(),
            entry,
            constants: HashMap::new(),
            leader: None,
        }
    }

    pub fn parse(&self, text: &str) -> Type<'c> {
        known_type(self.context, text)
    }

    pub fn attribute(&self, text: &str) -> Attribute<'c> {
        known_attribute(self.context, text)
    }

    fn constant(&mut self, value: i64, is_index: bool) -> Value<'c> {
        let (entry, location) = (self.entry, self.function.location());
        let ty = if is_index { self.index } else { self.i32 };
        *self.constants.entry((value, is_index)).or_insert_with(|| {
            OpBuilder::new("arith.constant", location)
                .results(&[ty])
                .attr("value", IntegerAttribute::new(ty, value).into())
                .at_start(entry)
                .result(0)
        })
    }

    /// A constant of type `index`.
    pub fn const_index(&mut self, value: u64) -> Value<'c> {
        self.constant(i64::try_from(value).unwrap_or(i64::MAX), true)
    }

    /// A constant of type `i32`.
    pub fn const_i32(&mut self, value: i64) -> Value<'c> {
        self.constant(value, false)
    }

    /// A depth, or what is counted modulo one, as a constant of type `i32`.
    pub fn const_count(&mut self, value: u64) -> Value<'c> {
        self.const_i32(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// True in the thread that issues.
    pub fn leader(&mut self) -> Value<'c> {
        let function = self.function;
        *self.leader.get_or_insert_with(|| block_wide::leader(function))
    }

    pub fn compare(&self, predicate: Compare, a: Value<'c>, b: Value<'c>, before: Op<'c>) -> Value<'c> {
        OpBuilder::new("arith.cmpi", before.location())
            .operands(&[a, b])
            .results(&[self.i1])
            .attr("predicate", int_attr(self.context, 64, predicate as i64))
            .before(before)
            .result(0)
    }

    pub fn as_index(&self, number: Value<'c>, before: Op<'c>) -> Value<'c> {
        if number.ty() == self.index {
            return number;
        }
        value("arith.index_cast", &[number], self.index, before)
    }

    /// The terminator of a block that only the thread that issues executes, right before `before`.
    pub fn as_leader(&mut self, before: Op<'c>) -> Op<'c> {
        let leader = self.leader();
        if let Some(last) = before.prev()
            && last.is("scf.if")
            && last.operand(0) == leader
            && last.num_results() == 0
            && let Some(end) = last.region(0).first().and_then(Block::terminator)
        {
            return end;
        }
        block_wide::only_if(leader, before)
    }
}

/// Writes an operation before `before`.
pub(super) fn write<'c>(name: &str, operands: &[Value<'c>], results: &[Type<'c>], before: Op<'c>) -> Op<'c> {
    OpBuilder::new(name, before.location())
        .operands(operands)
        .results(results)
        .before(before)
}

/// Writes an operation of one result before `before`.
pub(super) fn value<'c>(name: &str, operands: &[Value<'c>], ty: Type<'c>, before: Op<'c>) -> Value<'c> {
    write(name, operands, &[ty], before).result(0)
}
