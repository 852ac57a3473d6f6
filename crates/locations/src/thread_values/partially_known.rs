//! Splits an integer into a known part and a rest of known range: `(i mod 3) * 64 + j`, where `j` is less
//! than 8.

use super::{ThreadValue, ThreadValues};
use crate::integers::is_wide;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{arith, index};

/// A number of each thread: the sum of what is known and of what may be any number of a range.
pub struct PartiallyKnown {
    /// What is known.
    pub known: ThreadValue,
    /// How many numbers each of the others may be, from 0 on, and what it is multiplied by.
    pub any_of: Vec<(i64, i64)>,
}

/// So many computations are looked at for one number.
const BUDGET: usize = 32;

impl<'c> ThreadValues<'c> {
    /// What is known of `value`, whose parts are taken as they are where `is_known` says so; `None` if part of it may be anything.
    pub fn partially_known(
        &mut self,
        value: Value<'c>,
        is_known: &dyn Fn(&ThreadValue) -> bool,
    ) -> Option<PartiallyKnown> {
        let mut all = PartiallyKnown {
            known: ThreadValue::constant(0),
            any_of: Vec::new(),
        };
        let mut work = vec![(value, 1_i64)];
        let mut seen = 0;
        while let Some((value, factor)) = work.pop() {
            seen += 1;
            if seen > BUDGET {
                return None;
            }
            if let Some(known) = self.of(value).filter(|known| is_known(known)) {
                let known = self.scaled(&known, factor)?;
                all.known = self.plus(&all.known, &known)?;
                continue;
            }
            let op = value.defining_op()?;
            if let Some(count) = count_of(op) {
                all.any_of.push((count, factor));
                continue;
            }
            // Sums of wide integers fit.
            if !is_wide(value.ty()) {
                return None;
            }
            match op.name() {
                arith::ADDI | index::ADD => work.extend(op.operands().map(|operand| (operand, factor))),
                arith::MULI | index::MUL => {
                    let (number, by) = with_constant(op)?;
                    work.push((number, factor.checked_mul(by)?));
                }
                arith::SHLI | index::SHL => {
                    let by = op
                        .operand(1)
                        .as_constant_int()
                        .filter(|by| (0..31).contains(by))?;
                    work.push((op.operand(0), factor.checked_mul(1 << by)?));
                }
                arith::INDEX_CAST | arith::EXTSI | index::CASTS => work.push((op.operand(0), factor)),
                _ => return None,
            }
        }
        Some(all)
    }
}

/// How many numbers `op` may compute, from 0 on.
pub(super) fn count_of(op: Op<'_>) -> Option<i64> {
    let by = |i: usize| op.operand(i).as_constant_int().filter(|by| *by > 0);
    match op.name() {
        arith::REMUI | index::REMU => by(1),
        arith::ANDI | arith::MINUI => by(1)?.checked_add(1),
        _ => None,
    }
}

/// A number and the constant that `op` multiplies it by.
fn with_constant(op: Op<'_>) -> Option<(Value<'_>, i64)> {
    let constant = |i: usize| op.operand(i).as_constant_int();
    constant(1)
        .map(|by| (op.operand(0), by))
        .or_else(|| Some((op.operand(1), constant(0)?)))
}
