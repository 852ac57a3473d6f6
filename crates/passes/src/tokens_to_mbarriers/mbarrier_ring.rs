//! Rings of mbarriers (multi-stage pipelines): computes the slot and parity of a phase from its number.
//!
//! The slot of a phase is its number modulo the depth of the ring, its parity that of the quotient. Numbers in closed form
//! are expressions ([`super::closed_form`]). Others are counted modulo twice the depth, so that slot and parity take a
//! comparison and nothing overflows.

use super::builder::{Builder, compare, value, write};
use super::closed_form::compute;
use crate::analysis::phase_skeleton::PhaseSkeleton;
use async_mlir::arith::Predicate;
use async_mlir::ir::{Op, Value};
use async_mlir::llvm::{AddressSpace, pointer};
use async_mlir::names::{arith, llvm, nvgpu};
use async_mlir::nvgpu::{mbarrier_group, mbarrier_token};
use tokenflow::phases::AffineExpr;

/// What a wait suspends a thread for at most before it looks again, as upstream's lowerings have it.
const TICKS: u64 = 10_000_000;

/// The number of a phase on its ring.
#[derive(Clone)]
pub(super) enum Number<'c> {
    /// In closed form.
    Known(AffineExpr),
    /// Counted modulo twice the depth.
    Counted(Value<'c>),
}

/// Which phase of a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WhichPhase {
    /// The one with the number.
    This,
    /// The one before it.
    Previous,
}

/// A ring of mbarriers.
#[derive(Clone, Copy)]
pub(super) struct MbarrierRing<'c> {
    pub group: Value<'c>,
    /// How many.
    pub depth: u64,
}

impl<'c> MbarrierRing<'c> {
    /// Makes a ring before `before`.
    pub fn create(builder: &Builder<'c>, depth: u64, before: Op<'c>) -> Self {
        let ty = mbarrier_group(builder.context, depth);
        let group = value(nvgpu::MBARRIER_CREATE, &[], ty, before);
        Self { group, depth }
    }

    /// The slot of a phase.
    pub fn slot(
        self,
        builder: &mut Builder<'c>,
        read: &PhaseSkeleton<'c>,
        number: &Number<'c>,
        before: Op<'c>,
    ) -> Value<'c> {
        match number {
            _ if self.depth == 1 => builder.const_index(0),
            Number::Known(number) if number.coefficients.is_empty() => {
                builder.const_index(number.constant % self.depth)
            }
            Number::Known(number) => {
                let number = compute(builder, read, number, before);
                let depth = builder.const_index(self.depth);
                value(arith::REMUI, &[number, depth], builder.index, before)
            }
            Number::Counted(number) => {
                let depth = builder.const_count(self.depth);
                let odd = compare(Predicate::SignedGreaterOrEqual, *number, depth, before);
                let less = value(arith::SUBI, &[*number, depth], builder.i32, before);
                let slot = value(arith::SELECT, &[odd, less, *number], builder.i32, before);
                builder.as_index(slot, before)
            }
        }
    }

    /// The parity of a phase, or of the one before it on its slot.
    pub fn parity(
        self,
        builder: &mut Builder<'c>,
        read: &PhaseSkeleton<'c>,
        number: &Number<'c>,
        of: WhichPhase,
        before: Op<'c>,
    ) -> Value<'c> {
        let round = match number {
            Number::Counted(number) => {
                let depth = builder.const_count(self.depth);
                let predicate = match of {
                    WhichPhase::This => Predicate::SignedGreaterOrEqual,
                    WhichPhase::Previous => Predicate::SignedLess,
                };
                return compare(predicate, *number, depth, before);
            }
            Number::Known(number) if number.coefficients.is_empty() => {
                builder.const_index(number.constant / self.depth % 2)
            }
            Number::Known(number) => {
                let mut round = compute(builder, read, number, before);
                if self.depth > 1 {
                    let depth = builder.const_index(self.depth);
                    round = value(arith::DIVUI, &[round, depth], builder.index, before);
                }
                let two = builder.const_index(2);
                value(arith::REMUI, &[round, two], builder.index, before)
            }
        };
        let zero = builder.const_index(0);
        let predicate = match of {
            WhichPhase::This => Predicate::NotEqual,
            WhichPhase::Previous => Predicate::Equal,
        };
        compare(predicate, round, zero, before)
    }

    /// The count after `number`.
    pub fn next(self, builder: &mut Builder<'c>, number: Value<'c>, before: Op<'c>) -> Value<'c> {
        let (zero, one) = (builder.const_count(0), builder.const_count(1));
        let modulus = builder.const_count(2 * self.depth);
        let next = value(arith::ADDI, &[number, one], builder.i32, before);
        let around = compare(Predicate::Equal, next, modulus, before);
        value(arith::SELECT, &[around, zero, next], builder.i32, before)
    }

    /// The count that is `shift` after `number`, or before it.
    pub fn shifted(
        self,
        builder: &mut Builder<'c>,
        number: Value<'c>,
        shift: i64,
        before: Op<'c>,
    ) -> Value<'c> {
        if shift == 0 {
            return number;
        }
        let modulus = 2 * i64::try_from(self.depth).unwrap_or(i64::MAX / 2);
        let shift = builder.const_i32(shift.rem_euclid(modulus));
        let modulus = builder.const_i32(modulus);
        let sum = value(arith::ADDI, &[number, shift], builder.i32, before);
        let around = compare(Predicate::SignedGreaterOrEqual, sum, modulus, before);
        let less = value(arith::SUBI, &[sum, modulus], builder.i32, before);
        value(arith::SELECT, &[around, less, sum], builder.i32, before)
    }

    /// Waits for the phase of a slot that has `parity`.
    pub fn wait(self, builder: &mut Builder<'c>, slot: Value<'c>, parity: Value<'c>, before: Op<'c>) {
        let ticks = builder.const_index(TICKS);
        let operands = [self.group, parity, ticks, slot];
        write(nvgpu::MBARRIER_TRY_WAIT_PARITY, &operands, &[], before);
    }

    /// Waits for the phase before this one on its slot; a slot that was never armed is passed at once.
    pub fn wait_for_previous(
        self,
        builder: &mut Builder<'c>,
        read: &PhaseSkeleton<'c>,
        phase: &OpenPhase<'c>,
        before: Op<'c>,
    ) {
        let parity = self.parity(builder, read, &phase.number, WhichPhase::Previous, before);
        self.wait(builder, phase.slot, parity, before);
    }

    /// Arrives at the phase of a slot.
    pub fn arrive(self, builder: &Builder<'c>, slot: Value<'c>, before: Op<'c>) {
        let token = mbarrier_token(builder.context);
        write(nvgpu::MBARRIER_ARRIVE, &[self.group, slot], &[token], before);
    }

    /// The address of a slot's mbarrier.
    pub fn address(self, builder: &Builder<'c>, slot: Value<'c>, before: Op<'c>) -> Value<'c> {
        let address = value(nvgpu::MBARRIER_GET, &[self.group, slot], builder.i32, before);
        let pointer = pointer(builder.context, AddressSpace::Shared);
        value(llvm::INTTOPTR, &[address], pointer, before)
    }
}

/// A phase that is open: its slot, and its number.
#[derive(Clone)]
pub(super) struct OpenPhase<'c> {
    pub slot: Value<'c>,
    pub number: Number<'c>,
}
