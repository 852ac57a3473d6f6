//! Builds warp numbers, and conditions on the number of a thread's warp.

use super::builders::{compare, constant};
use crate::analysis::warps::WARP_THREADS;
use async_mlir::arith::Predicate;
use async_mlir::gpu::{Dimension, block_size};
use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::{arith, attr, gpu};

/// Makes a value before `before` that is true in the threads of `warps`, given as bits, of which there is at least one.
pub(crate) fn in_warps<'c>(warps: u32, before: Op<'c>) -> Value<'c> {
    let location = before.location();
    let index = Type::index(before.context());
    let number = |value: u32| {
        constant(location, index, i64::from(value))
            .before(before)
            .result(0)
    };
    let compute = |name: &str, operands: &[Value<'c>], ty: Type<'c>| {
        let op = OpBuilder::new(name, location).operands(operands).results(&[ty]);
        op.before(before).result(0)
    };
    let warp = warp_number(before);
    let in_run = |first: u32, run: u32| {
        let from_first = match first {
            0 => warp,
            first => compute(arith::SUBI, &[warp, number(first)], index),
        };
        let condition = compare(location, Predicate::UnsignedLess, from_first, number(run));
        condition.before(before).result(0)
    };
    let (mut any, mut first): (Option<Value>, u32) = (None, 0);
    while first < u32::BITS {
        let run = (warps >> first).trailing_ones();
        if run > 0 {
            let inside = in_run(first, run);
            any = Some(any.map_or(inside, |any| compute(arith::ORI, &[any, inside], any.ty())));
        }
        first += run.max(1);
    }
    any.unwrap_or_else(|| in_run(0, 0))
}

/// Makes the number of the thread's warp before `before`, in a block of one dimension.
pub(crate) fn warp_number<'c>(before: Op<'c>) -> Value<'c> {
    let (location, index) = (before.location(), Type::index(before.context()));
    let thread = OpBuilder::new(gpu::THREAD_ID, location)
        .results(&[index])
        .attr(attr::DIMENSION, Dimension::X.attribute(before.context()))
        .before(before);
    let threads = constant(location, index, i64::from(WARP_THREADS)).before(before);
    let warp = OpBuilder::new(arith::DIVUI, location)
        .operands(&[thread.result(0), threads.result(0)])
        .results(&[index]);
    warp.before(before).result(0)
}

/// Writes `op`, the number of a warp in its block, as what it is, since upstream does not lower it: threads are counted in x first, then in y
/// and in z.
pub(crate) fn expand_subgroup_id<'c>(op: Op<'c>) {
    let (location, context) = (op.location(), op.context());
    let index = Type::index(context);
    let id = |name, dimension: Dimension| {
        OpBuilder::new(name, location)
            .results(&[index])
            .attr(attr::DIMENSION, dimension.attribute(context))
            .before(op)
            .result(0)
    };
    let binary = |name, operands: [Value<'c>; 2]| {
        let builder = OpBuilder::new(name, location).operands(&operands);
        builder.results(&[index]).before(op).result(0)
    };
    let of_one_dimension = op
        .ancestors()
        .find(|outer| outer.is_function())
        .and_then(block_size)
        .is_some_and(|[_, y, z]| (y, z) == (1, 1));
    let number = if of_one_dimension {
        warp_number(op)
    } else {
        let mut thread = id(gpu::THREAD_ID, Dimension::Z);
        for dimension in [Dimension::Y, Dimension::X] {
            let threads = id(gpu::BLOCK_DIM, dimension);
            let row = binary(arith::MULI, [thread, threads]);
            thread = binary(arith::ADDI, [row, id(gpu::THREAD_ID, dimension)]);
        }
        let warp = constant(location, index, i64::from(WARP_THREADS)).before(op);
        binary(arith::DIVUI, [thread, warp.result(0)])
    };
    op.replace_with(&[number]);
}
