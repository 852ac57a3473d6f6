//! Evaluates affine maps on the values of threads.

use super::arithmetic::{Function, exact_quotient, product};
use super::{ThreadValue, ThreadValues, periodic};
use async_mlir::affine::{Expr, Operator, results};
use async_mlir::ir::Op;
use async_mlir::names::{affine, attr};

impl<'c> ThreadValues<'c> {
    /// The result of an `affine.apply`, `affine.min` or `affine.max`.
    pub(super) fn affine(&mut self, op: Op<'c>) -> Option<ThreadValue> {
        let results = results(op.attr(attr::MAP)?)?;
        let values = results.iter().map(|expr| self.affine_expr(op, 0, expr));
        let values = values.collect::<Option<Vec<ThreadValue>>>()?;
        match (op.name(), values.as_slice()) {
            (_, [only]) => Some(only.clone()),
            (affine::MIN, several) => self.combine(several, |numbers| numbers.iter().copied().min()),
            (affine::MAX, several) => self.combine(several, |numbers| numbers.iter().copied().max()),
            _ => None,
        }
    }

    /// The only result of a map that `op` has under a name, of its operands.
    pub(super) fn of_map(&mut self, op: Op<'c>, map: &'static str) -> Option<ThreadValue> {
        let results = results(op.attr(map)?)?;
        let [only] = results.as_slice() else { return None };
        self.affine_expr(op, 0, only)
    }

    /// Index `number` of `op`, an access at a map of its operands from `first` on.
    pub fn mapped_index(&mut self, op: Op<'c>, first: usize, number: usize) -> Option<ThreadValue> {
        let results = results(op.attr(attr::MAP)?)?;
        self.affine_expr(op, first, results.get(number)?)
    }

    /// An affine expression of the operands of `op` from `first` on.
    fn affine_expr(&mut self, op: Op<'c>, first: usize, expr: &Expr) -> Option<ThreadValue> {
        let (operator, sides) = match expr {
            Expr::Constant(constant) => return Some(ThreadValue::constant(*constant)),
            Expr::Operand(number) => return self.of(op.operand(first + *number)),
            Expr::Binary(operator, sides) => (operator, sides),
        };
        let (a, b) = (
            self.affine_expr(op, first, &sides[0])?,
            self.affine_expr(op, first, &sides[1])?,
        );
        let by = b.as_constant();
        let (known, function): (_, Function) = match operator {
            Operator::Add => return self.plus(&a, &b),
            Operator::Mul => (product(self, &a, &b), i64::checked_mul),
            Operator::Mod => (by.and_then(|by| periodic::floored_remainder(&a, by)), |a, b| {
                (b > 0).then(|| a.rem_euclid(b))
            }),
            Operator::FloorDiv => (by.and_then(|by| exact_quotient(&a, by)), |a, b| {
                (b > 0).then(|| a.div_euclid(b))
            }),
            Operator::CeilDiv => (by.and_then(|by| exact_quotient(&a, by)), |a, b| {
                (b > 0).then(|| a.div_euclid(b) + i64::from(a.rem_euclid(b) > 0))
            }),
        };
        known.or_else(|| self.combine(&[a, b], |numbers| function(numbers[0], numbers[1])))
    }
}
