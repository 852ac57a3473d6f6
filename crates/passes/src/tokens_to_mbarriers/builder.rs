//! Builds single operations: constants are created once, and what one thread executes is put together.

use crate::utils::warps::in_warps;
use crate::utils::{block_wide, builders};
use async_mlir::arith::Predicate;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::names::{arith, scf};
use rustc_hash::FxHashMap;

/// Writes operations into a function.
pub(super) struct Builder<'c> {
    pub context: &'c Context,
    pub function: Op<'c>,
    pub index: Type<'c>,
    pub i32: Type<'c>,
    entry: Block<'c>,
    constants: FxHashMap<(i64, bool), Value<'c>>,
    leader: Option<Value<'c>>,
    /// The warp that issues, if it is named.
    issuer: Option<u32>,
    /// What is true in the threads of some warps, by the warps as bits.
    in_warps: FxHashMap<u32, Value<'c>>,
}

impl<'c> Builder<'c> {
    /// A builder for `function`, whose entry block is `entry`.
    pub fn new(function: Op<'c>, entry: Block<'c>, issuer: Option<u32>) -> Self {
        let context = function.context();
        Self {
            context,
            function,
            index: Type::index(context),
            i32: IntegerType::new(context, 32).into(),
            entry,
            constants: FxHashMap::default(),
            leader: None,
            issuer,
            in_warps: FxHashMap::default(),
        }
    }

    fn constant(&mut self, value: i64, is_index: bool) -> Value<'c> {
        let (entry, location) = (self.entry, self.function.location());
        let ty = if is_index { self.index } else { self.i32 };
        *self
            .constants
            .entry((value, is_index))
            .or_insert_with(|| builders::constant(location, ty, value).at_start(entry).result(0))
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
        let (function, issuer) = (self.function, self.issuer);
        *self
            .leader
            .get_or_insert_with(|| block_wide::leader_of(function, issuer))
    }

    /// Makes what is true in the threads of `warps`, given as bits, before `before`.
    pub fn make_in_warps(&mut self, warps: u32, before: Op<'c>) {
        self.in_warps
            .entry(warps)
            .or_insert_with(|| in_warps(warps, before));
    }

    /// The terminator of a block that only threads of `warps` execute, right before `before`.
    pub fn as_warps(&mut self, warps: u32, before: Op<'c>) -> Op<'c> {
        let condition = self.in_warps.get(&warps).copied();
        only_if_again(condition.unwrap_or_else(|| in_warps(warps, before)), before)
    }

    pub fn as_index(&self, number: Value<'c>, before: Op<'c>) -> Value<'c> {
        if number.ty() == self.index {
            return number;
        }
        value(arith::INDEX_CAST, &[number], self.index, before)
    }

    /// The terminator of a block that only the thread that issues executes, right before `before`.
    pub fn as_leader(&mut self, before: Op<'c>) -> Op<'c> {
        let leader = self.leader();
        only_if_again(leader, before)
    }
}

/// The terminator of a block that is run on `condition`, right before `before`: of the one that is there, if there is one.
fn only_if_again<'c>(condition: Value<'c>, before: Op<'c>) -> Op<'c> {
    if let Some(last) = before.prev()
        && last.is(scf::IF)
        && last.operand(0) == condition
        && last.num_results() == 0
        && last.region(1).first().is_none()
        && let Some(end) = last.region(0).first().and_then(Block::terminator)
    {
        return end;
    }
    block_wide::only_if(condition, before)
}

/// Writes a comparison before `before`.
pub(super) fn compare<'c>(predicate: Predicate, a: Value<'c>, b: Value<'c>, before: Op<'c>) -> Value<'c> {
    builders::compare(before.location(), predicate, a, b)
        .before(before)
        .result(0)
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
