//! Writes integers as linear expressions: a constant plus multiples of other values.
//!
//! Sums are exact modulo 2^64, as addresses are. What is computed of constants alone is exact in each type
//! ([`integers`](super::integers)). A sum of values in an integer of fewer than 32 bits is a symbol, since it may wrap around. So is one in a
//! wider type whose constant leaves no room for the values. Others are looked through, as if they did not wrap around: where they do, indices
//! are off by a multiple of 2^32, and no two of them that are in bounds differ by that.
//!
//! A value that is not a sum is a **symbol**. Two sums with the same symbols differ by a constant, so accesses at them share
//! no byte if it is large enough. And the largest power of two that divides all parts of a sum divides the sum.

use super::integers::{Computation, bits_of, has_headroom, is_wide};
use async_mlir::affine::{Expr, Operator, only_result};
use async_mlir::ir::{Op, Value};
use async_mlir::names::{affine, arith, attr, index};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A constant plus multiples of values, none of them twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinearExpr<'c> {
    /// What is added.
    pub constant: i64,
    /// Factors of values, in the order in which those were met first.
    terms: Vec<(u32, i64, Value<'c>)>,
}

/// How many values a sum has at most; longer ones are symbols.
const MAX_TERMS: usize = 16;
/// How long a chain of computations may be.
const MAX_DEPTH: usize = 64;

impl<'c> LinearExpr<'c> {
    /// A constant.
    #[must_use]
    pub fn constant(constant: i64) -> Self {
        Self {
            constant,
            terms: Vec::new(),
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The factors of values.
    pub fn terms(&self) -> impl Iterator<Item = (i64, Value<'c>)> {
        self.terms.iter().map(|&(_, factor, value)| (factor, value))
    }

    /// What is not constant: sums that have it in common differ by a constant.
    #[must_use]
    pub fn symbolic_part(&self) -> Vec<(i64, Value<'c>)> {
        self.terms().collect()
    }

    /// The sum with another one.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        while let (Some(&&a), Some(&&b)) = (left.peek(), right.peek()) {
            if a.0 <= b.0 {
                left.next();
            }
            if b.0 <= a.0 {
                right.next();
            }
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => terms.push(a),
                std::cmp::Ordering::Greater => terms.push(b),
                std::cmp::Ordering::Equal => terms.push((a.0, a.1.wrapping_add(b.1), a.2)),
            }
        }
        terms.extend(left.chain(right));
        terms.retain(|(_, factor, _)| *factor != 0);
        Self {
            constant: self.constant.wrapping_add(other.constant),
            terms,
        }
    }

    /// A multiple.
    #[must_use]
    pub fn times(&self, factor: i64) -> Self {
        let scaled = self.terms.iter();
        let scaled = scaled.map(|&(number, own, value)| (number, own.wrapping_mul(factor), value));
        Self {
            constant: self.constant.wrapping_mul(factor),
            terms: scaled.filter(|(_, own, _)| *own != 0).collect(),
        }
    }
}

/// Finds out which sums values are. It remembers what it has met.
#[derive(Default)]
pub struct LinearExprs<'c> {
    known: FxHashMap<Value<'c>, Rc<LinearExpr<'c>>>,
    numbers: FxHashMap<Value<'c>, u32>,
    depth: usize,
}

impl<'c> LinearExprs<'c> {
    /// What `value` is the sum of.
    pub fn of(&mut self, value: Value<'c>) -> Rc<LinearExpr<'c>> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        self.depth += 1;
        let computed = if self.depth > MAX_DEPTH {
            None
        } else {
            self.compute(value)
        };
        self.depth -= 1;
        let computed = computed.filter(|sum| sum.terms.len() <= MAX_TERMS);
        let sum = Rc::new(computed.unwrap_or_else(|| self.symbol(value)));
        self.known.insert(value, sum.clone());
        sum
    }

    fn symbol(&mut self, value: Value<'c>) -> LinearExpr<'c> {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(value).or_insert(next);
        LinearExpr {
            constant: 0,
            terms: vec![(number, 1, value)],
        }
    }

    fn compute(&mut self, value: Value<'c>) -> Option<LinearExpr<'c>> {
        if let Some(constant) = value.as_constant_int() {
            return Some(LinearExpr::constant(constant));
        }
        let op = value.defining_op()?;
        if let Some(constant) = self.folded(op) {
            return Some(LinearExpr::constant(constant));
        }
        let sum = self.sum(op).filter(|_| is_wide(value.ty()))?;
        has_headroom(sum.constant, bits_of(value.ty())?).then_some(sum)
    }

    /// The number that `op` computes of numbers.
    fn folded(&mut self, op: Op<'c>) -> Option<i64> {
        let computation = Computation::of(op)?;
        let operands = op.operands().map(|operand| self.of(operand).as_constant());
        computation.result(&operands.collect::<Option<Vec<i64>>>()?)
    }

    /// What `op` computes, as if it did not wrap around.
    fn sum(&mut self, op: Op<'c>) -> Option<LinearExpr<'c>> {
        match op.name() {
            arith::ADDI | index::ADD => Some(self.operand(op, 0).plus(&self.operand(op, 1))),
            arith::SUBI | index::SUB => Some(self.operand(op, 0).plus(&self.operand(op, 1).times(-1))),
            arith::MULI | index::MUL => {
                let (a, b) = (self.operand(op, 0), self.operand(op, 1));
                product(&a, &b)
            }
            arith::SHLI | index::SHL => {
                let shift = self.operand(op, 1).as_constant()?;
                (0..=31)
                    .contains(&shift)
                    .then(|| self.operand(op, 0).times(1 << shift))
            }
            arith::INDEX_CAST
            | arith::INDEX_CASTUI
            | arith::EXTSI
            | arith::EXTUI
            | arith::TRUNCI
            | index::CASTS
            | index::CASTU
                if is_wide(op.operand(0).ty()) =>
            {
                Some((*self.of(op.operand(0))).clone())
            }
            affine::APPLY => {
                let expr = only_result(op.attr(attr::MAP)?)?;
                self.affine(op, &expr)
            }
            _ => None,
        }
    }

    fn operand(&mut self, op: Op<'c>, index: usize) -> Rc<LinearExpr<'c>> {
        self.of(op.operand(index))
    }

    /// An affine expression of the operands of `op`.
    fn affine(&mut self, op: Op<'c>, expr: &Expr) -> Option<LinearExpr<'c>> {
        match expr {
            Expr::Constant(constant) => Some(LinearExpr::constant(*constant)),
            Expr::Operand(index) => Some((*self.of(op.operand(*index))).clone()),
            Expr::Binary(operator, sides) => {
                let (a, b) = (self.affine(op, &sides[0])?, self.affine(op, &sides[1])?);
                match operator {
                    Operator::Add => Some(a.plus(&b)),
                    Operator::Mul => product(&a, &b),
                    Operator::Mod | Operator::FloorDiv | Operator::CeilDiv => None,
                }
            }
        }
    }
}

fn product<'c>(a: &LinearExpr<'c>, b: &LinearExpr<'c>) -> Option<LinearExpr<'c>> {
    match (a.as_constant(), b.as_constant()) {
        (_, Some(factor)) => Some(a.times(factor)),
        (Some(factor), _) => Some(b.times(factor)),
        _ => None,
    }
}
