//! Compares the slots that two accesses have: indices of a buffer's first dimension, such as `i mod 3` and
//! `(i + 2) mod 3`, which differ in every iteration.
//!
//! Both are taken in the same iteration, since an index has another value in the next one.

use crate::buffer_slices::{FirstIndex, base_and_first_index};
use crate::integers::{bits_of, has_headroom, is_wide};
use async_mlir::ir::{Definition, Op, Value};
use async_mlir::names::{arith, gpu, scf};

/// An index: a value plus a constant, perhaps modulo another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferSlot<'c> {
    value: Value<'c>,
    constant: i64,
    modulus: Option<i64>,
}

/// How many constants are added at most.
const MOST_ADDITIONS: usize = 16;

impl<'c> BufferSlot<'c> {
    /// The slot that the access of `op` to `memory`, an operand, is bound to.
    #[must_use]
    pub fn of_operand(op: Op<'c>, memory: Value<'c>) -> Option<Self> {
        match base_and_first_index(op, memory).1? {
            FirstIndex::Constant(_) => None,
            FirstIndex::Value(index) => Self::of_index(index),
        }
    }

    fn of_index(index: Value<'c>) -> Option<Self> {
        if index.as_constant_int().is_some() {
            return None;
        }
        let opaque = Self {
            value: index,
            constant: 0,
            modulus: None,
        };
        Some(match remainder(index) {
            None => Self::sum(index).unwrap_or(opaque),
            Some((dividend, modulus, is_signed)) => Self::sum(dividend)
                // An access with a negative remainder is out of bounds. An unsigned one is that of the sum modulo 2^64.
                .filter(|sum| is_signed || sum.is_non_negative() || modulus.count_ones() == 1)
                .map_or(opaque, |sum| Self {
                    modulus: Some(modulus),
                    ..sum
                }),
        })
    }

    /// `value` without the constants that are added to it.
    fn sum(value: Value<'c>) -> Option<Self> {
        let (mut value, mut constant, mut fits) = (value, 0_i64, true);
        for _ in 0..MOST_ADDITIONS {
            let Some(op) = value.defining_op().filter(|_| is_wide(value.ty())) else {
                break;
            };
            let bits = bits_of(value.ty())?;
            let added = || op.operand(1).as_constant_int();
            constant = match op.name() {
                arith::INDEX_CAST if is_wide(op.operand(0).ty()) => constant,
                arith::ADDI => match added() {
                    Some(added) => constant.checked_add(added)?,
                    None => break,
                },
                arith::SUBI => match added() {
                    Some(added) => constant.checked_sub(added)?,
                    None => break,
                },
                _ => break,
            };
            fits &= has_headroom(constant, bits);
            value = op.operand(0);
        }
        Some(Self {
            value,
            constant,
            modulus: None,
        })
        .filter(|_| fits)
    }

    fn is_non_negative(&self) -> bool {
        self.constant >= 0 && is_non_negative(self.value)
    }

    /// Returns true if this one differs from `other` as that was before `variable` grew by so much.
    #[must_use]
    pub fn differs_after(self, other: Self, variable: Value<'c>, growth: i64) -> bool {
        let constant = self.constant.checked_add(growth);
        self.value == variable && constant.is_some_and(|constant| Self { constant, ..self }.differs(other))
    }

    /// Returns true if the two are different at any one time.
    #[must_use]
    pub fn differs(self, other: Self) -> bool {
        let difference = i128::from(self.constant) - i128::from(other.constant);
        let is_zero = match self.modulus {
            Some(modulus) => difference % i128::from(modulus) == 0,
            None => difference == 0,
        };
        self.value == other.value && self.modulus == other.modulus && !is_zero
    }
}

/// Of a remainder by a positive constant, what is divided, the constant, and whether it is signed.
fn remainder(value: Value<'_>) -> Option<(Value<'_>, i64, bool)> {
    let op = value.defining_op().filter(|_| is_wide(value.ty()))?;
    let is_signed = op.is(arith::REMSI);
    if !is_signed && !op.is(arith::REMUI) {
        return None;
    }
    let modulus = op.operand(1).as_constant_int().filter(|modulus| *modulus > 0)?;
    Some((op.operand(0), modulus, is_signed))
}

/// Returns true for a loop's induction variable that starts at a constant, and numbers of threads and blocks.
fn is_non_negative(value: Value<'_>) -> bool {
    match value.definition() {
        Definition::Argument(block, 0) => block.parent_op().is_some_and(|around| {
            around.is(scf::FOR)
                && around
                    .operand(0)
                    .as_constant_int()
                    .is_some_and(|lower| lower >= 0)
        }),
        Definition::Argument(..) => false,
        Definition::Result(op, _) => [gpu::THREAD_ID, gpu::BLOCK_ID].contains(&op.name()),
    }
}
