//! Computes numbers in closed form: affine expressions of induction variables and trip counts.

use super::builder::{Builder, value};
use crate::analysis::phase_skeleton::PhaseSkeleton;
use async_mlir::ir::{Op, Value};
use async_mlir::names::arith;
use tokenflow::phases::{AffineExpr, RegionOpId, Symbol};

/// Computes `expr` before `before`.
pub(super) fn compute<'c>(
    builder: &mut Builder<'c>,
    read: &PhaseSkeleton<'c>,
    expr: &AffineExpr,
    before: Op<'c>,
) -> Value<'c> {
    let mut sum = None;
    for (&symbol, &coefficient) in &expr.coefficients {
        let mut term = match symbol {
            Symbol::Iteration(op) => iteration(builder, read, op, before),
            Symbol::TripCount(op) => trip_count(builder, read, op, before),
        };
        if coefficient != 1 {
            let coefficient = builder.const_index(coefficient);
            term = value(arith::MULI, &[term, coefficient], builder.index, before);
        }
        sum = Some(sum.map_or(term, |sum| {
            value(arith::ADDI, &[sum, term], builder.index, before)
        }));
    }
    match sum {
        None => builder.const_index(expr.constant),
        Some(sum) if expr.constant == 0 => sum,
        Some(sum) => {
            let constant = builder.const_index(expr.constant);
            value(arith::ADDI, &[sum, constant], builder.index, before)
        }
    }
}

/// Which iteration of a loop it is, from 0.
fn iteration<'c>(
    builder: &mut Builder<'c>,
    read: &PhaseSkeleton<'c>,
    op: RegionOpId,
    before: Op<'c>,
) -> Value<'c> {
    let variable = read.blocks[read.tree.region_ops[op].blocks[0]].arg(0);
    let [lower, step] = [0, 2].map(|i| read.region_ops[op].operand(i));
    // Constants stand in the order in which they are first asked for.
    builder.const_index(0);
    let distance = distance(builder, variable, lower, before);
    if step.as_constant_int() == Some(1) {
        return distance;
    }
    let step = builder.as_index(step, before);
    value(arith::DIVUI, &[distance, step], builder.index, before)
}

/// How often a loop runs.
fn trip_count<'c>(
    builder: &mut Builder<'c>,
    read: &PhaseSkeleton<'c>,
    op: RegionOpId,
    before: Op<'c>,
) -> Value<'c> {
    let [lower, upper, step] = [0, 1, 2].map(|i| read.region_ops[op].operand(i));
    let zero = builder.const_index(0);
    let distance = distance(builder, upper, lower, before);
    let not_negative = value(arith::MAXSI, &[distance, zero], builder.index, before);
    if step.as_constant_int() == Some(1) {
        return not_negative;
    }
    let step = builder.as_index(step, before);
    value(arith::CEILDIVUI, &[not_negative, step], builder.index, before)
}

fn distance<'c>(builder: &Builder<'c>, to: Value<'c>, from: Value<'c>, before: Op<'c>) -> Value<'c> {
    let to = builder.as_index(to, before);
    if from.as_constant_int() == Some(0) {
        return to;
    }
    let from = builder.as_index(from, before);
    value(arith::SUBI, &[to, from], builder.index, before)
}
