//! Sequences of rows: the index of a buffer's first dimension, by iteration of a loop.
//!
//! Such as `i mod 3`, `((i + 8) / 4) mod 4` where `i` grows by 4, or what the loop carries of these from iterations before.

use crate::analysis::integers;
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::arith;

/// A loop whose first iteration and step are constants.
#[derive(Clone, Copy)]
pub(super) struct Counted<'c> {
    /// An `scf.for`.
    pub around: Op<'c>,
    pub body: Block<'c>,
    pub lower: i64,
    pub step: i64,
}

/// The row in each iteration, from 0.
pub(super) struct Rows {
    /// The rows of the first iterations, which come from before the loop.
    first: Vec<i64>,
    /// Then a number that grows, of which the remainder is taken.
    start: i64,
    growth: i64,
    modulus: i64,
}

/// How many operations are looked through at most.
const MOST_OPERATIONS: usize = 16;

/// How large numbers in indices may be: none wraps around.
const MOST: i64 = 1 << 30;

impl Rows {
    /// The rows that `index` is, in the body of a loop; `None` if they are not known.
    pub fn of<'c>(mut index: Value<'c>, within: Counted<'c>) -> Option<Self> {
        let mut first = Vec::new();
        while let Definition::Argument(block, place @ 1..) = index.definition() {
            if block != within.body || first.len() == MOST_OPERATIONS {
                return None;
            }
            // Operands of the loop are its bounds and its step, then what it carries first.
            first.push(integers::constant(within.around.operand(place + 2))?);
            index = within.body.terminator()?.operand(place - 1);
        }
        let remainder = index.defining_op().filter(|op| op.is(arith::REMUI))?;
        let modulus = integers::constant(remainder.operand(1))?;
        let (growth, start) = linear(remainder.operand(0), within)?;
        let is_small = (1..=MOST).contains(&modulus);
        is_small.then_some(Self {
            first,
            start,
            growth,
            modulus,
        })
    }

    /// The row in an iteration.
    pub fn row(&self, iteration: u64) -> Option<i64> {
        let place = usize::try_from(iteration).ok()?;
        if let Some(row) = self.first.get(place) {
            return Some(*row);
        }
        let iteration = i64::try_from(place - self.first.len()).ok()?;
        let number = self.growth.checked_mul(iteration)?.checked_add(self.start)?;
        Some(number % self.modulus)
    }

    /// After so many iterations, rows are those of earlier ones again.
    pub fn period(&self) -> u64 {
        self.first.len() as u64 + self.modulus.unsigned_abs()
    }
}

/// How much `value` grows from iteration to iteration, and what it is in the first one; `None` unless it is not negative, and grows evenly.
fn linear<'c>(mut value: Value<'c>, within: Counted<'c>) -> Option<(i64, i64)> {
    let mut steps = Vec::new();
    while value != within.body.arg(0) {
        let op = value.defining_op().filter(|_| steps.len() < MOST_OPERATIONS)?;
        let constant = || {
            let constant = integers::constant(op.operand(1));
            constant.filter(|constant| (0..MOST).contains(constant))
        };
        steps.push((op.name(), constant()?));
        value = op.operand(0);
    }
    if !value.ty().is_index() || !(0..MOST).contains(&within.lower) || !(1..MOST).contains(&within.step) {
        return None;
    }
    let (mut growth, mut start) = (within.step, within.lower);
    for (name, constant) in steps.into_iter().rev() {
        match name {
            arith::ADDI => start += constant,
            arith::SUBI => start = start.checked_sub(constant).filter(|start| *start >= 0)?,
            // What is added in an iteration is divided evenly: so is the sum, but for the part that is there from the start.
            arith::DIVUI if constant > 0 && growth % constant == 0 => {
                (growth, start) = (growth / constant, start / constant);
            }
            _ => return None,
        }
    }
    Some((growth, start))
}
