//! What affine maps compute.

use super::arithmetic::exact_quotient;
use super::{ThreadValue, ThreadValues, rotation};
use async_mlir::affine::{Expr, Operator};
use async_mlir::ir::Op;

/// What `expr` is of the operands of `op`.
pub(super) fn apply<'c>(all: &mut ThreadValues<'c>, op: Op<'c>, expr: &Expr) -> Option<ThreadValue> {
    let (operator, sides) = match expr {
        Expr::Constant(constant) => return Some(ThreadValue::constant(*constant)),
        Expr::Operand(index) => return all.of(op.operand(*index)),
        Expr::Binary(operator, sides) => (*operator, sides),
    };
    let (a, b) = (apply(all, op, &sides[0])?, apply(all, op, &sides[1])?);
    match operator {
        Operator::Add => all.plus(&a, &b),
        Operator::Mul => match (a.as_constant(), b.as_constant()) {
            (_, Some(factor)) => all.scaled(&a, factor),
            (Some(factor), _) => all.scaled(&b, factor),
            _ => None,
        },
        Operator::Mod => {
            let known = b
                .as_constant()
                .and_then(|modulus| rotation::remainder(&a, modulus));
            known.or_else(|| all.combine(&[a, b], |values| of_positive(values, i64::rem_euclid)))
        }
        Operator::FloorDiv => {
            let known = b.as_constant().and_then(|divisor| exact_quotient(&a, divisor));
            known.or_else(|| all.combine(&[a, b], |values| of_positive(values, i64::div_euclid)))
        }
        Operator::CeilDiv => {
            let up = |a: i64, b| -(-a).div_euclid(b);
            all.combine(&[a, b], |values| of_positive(values, up))
        }
    }
}

/// A function that is defined where the second number is positive.
fn of_positive(values: &[i64], function: fn(i64, i64) -> i64) -> Option<i64> {
    (values[1] > 0).then(|| function(values[0], values[1]))
}
