//! What affine expressions compute: quotients are rounded toward negative infinity, and remainders are not negative.

use super::arithmetic::exact_quotient;
use super::{ThreadValue, ThreadValues, rotation};
use async_mlir::affine::{Expr, Operator, only_result};
use async_mlir::ir::Op;
use async_mlir::names::attr;

impl<'c> ThreadValues<'c> {
    /// The result of an `affine.apply`.
    pub(super) fn apply(&mut self, op: Op<'c>) -> Option<ThreadValue> {
        let expr = only_result(op.attr(attr::MAP)?)?;
        self.expression(op, &expr)
    }

    /// An expression of the operands of `op`.
    fn expression(&mut self, op: Op<'c>, expr: &Expr) -> Option<ThreadValue> {
        let (operator, sides) = match expr {
            Expr::Constant(constant) => return Some(ThreadValue::constant(*constant)),
            Expr::Operand(index) => return self.of(op.operand(*index)),
            Expr::Binary(operator, sides) => (operator, sides),
        };
        let (a, b) = (self.expression(op, &sides[0])?, self.expression(op, &sides[1])?);
        if *operator == Operator::Add {
            return self.plus(&a, &b);
        }
        // MLIR keeps constants on the right, and divides by nothing else.
        let constant = b.as_constant()?;
        if *operator == Operator::Mul {
            return self.scaled(&a, constant);
        }
        if constant <= 0 {
            return None;
        }
        let (known, function): (_, fn(i64, i64) -> i64) = match operator {
            Operator::Mod => (rotation::remainder(&a, constant), i64::rem_euclid),
            Operator::CeilDiv => (exact_quotient(&a, constant), |a, b| {
                -(a.saturating_neg()).div_euclid(b)
            }),
            _ => (exact_quotient(&a, constant), i64::div_euclid),
        };
        known.or_else(|| self.combine(&[a], |values| Some(function(values[0], constant))))
    }
}
