//! Rings of mbarriers, and the numbers of their phases.
//!
//! The slot of a phase is its number modulo the depth of the ring, its parity that of the quotient. Numbers in closed form
//! are expressions of induction variables and trip counts. Others are counted modulo twice the depth, so that slot and
//! parity take a comparison and nothing overflows.

use super::emit::{Emitter, compare, value, write};
use async_dialects::arith::Predicate;
use async_dialects::ir::{Op, Value};
use async_dialects::names::{arith, nvgpu};
use async_dialects::nvgpu::mbarrier_group;
use tokenflow::phases::{Linear, Unknown};

/// What a wait suspends a thread for at most before it looks again, as upstream's lowerings have it.
const TICKS: i64 = 10_000_000;

/// A ring of mbarriers.
#[derive(Clone, Copy)]
pub(super) struct Mbarriers<'c> {
    pub group: Value<'c>,
    /// How many.
    pub depth: u64,
}

/// The number of a phase.
#[derive(Clone)]
pub(super) enum Number<'c> {
    /// In closed form.
    Known(Linear),
    /// Counted modulo twice the depth.
    Counted(Value<'c>),
}

impl<'c> Emitter<'_, 'c> {
    /// Makes a ring before `before`.
    pub(super) fn create(&self, depth: u64, before: Op<'c>) -> Mbarriers<'c> {
        let ty = mbarrier_group(self.types.context, depth);
        let group = value(nvgpu::MBARRIER_CREATE, &[], ty, before);
        Mbarriers { group, depth }
    }

    pub(super) fn slot(&mut self, ring: Mbarriers<'c>, number: &Number<'c>, before: Op<'c>) -> Value<'c> {
        match number {
            _ if ring.depth == 1 => self.index(0),
            Number::Known(number) if number.factors.is_empty() => self.index(number.constant % ring.depth),
            Number::Known(number) => {
                let (number, depth) = (self.number(number, before), self.index(ring.depth));
                value(arith::REMUI, &[number, depth], self.types.index, before)
            }
            Number::Counted(number) => {
                let (depth, i32) = (self.small(ring.depth), self.types.i32);
                let odd = compare(Predicate::SignedGreaterOrEqual, *number, depth, before);
                let less = value(arith::SUBI, &[*number, depth], i32, before);
                let slot = value(arith::SELECT, &[odd, less, *number], i32, before);
                self.as_index(slot, before)
            }
        }
    }

    /// The parity of a phase, or of the one before it on its slot.
    pub(super) fn parity(
        &mut self,
        ring: Mbarriers<'c>,
        number: &Number<'c>,
        of_last: bool,
        before: Op<'c>,
    ) -> Value<'c> {
        let round = match number {
            Number::Counted(number) => {
                let depth = self.small(ring.depth);
                return compare(
                    if of_last {
                        Predicate::SignedLess
                    } else {
                        Predicate::SignedGreaterOrEqual
                    },
                    *number,
                    depth,
                    before,
                );
            }
            Number::Known(number) if number.factors.is_empty() => {
                self.index(number.constant / ring.depth % 2)
            }
            Number::Known(number) => {
                let mut round = self.number(number, before);
                if ring.depth > 1 {
                    let depth = self.index(ring.depth);
                    round = value(arith::DIVUI, &[round, depth], self.types.index, before);
                }
                let two = self.index(2);
                value(arith::REMUI, &[round, two], self.types.index, before)
            }
        };
        let zero = self.index(0);
        compare(
            if of_last {
                Predicate::Equal
            } else {
                Predicate::NotEqual
            },
            round,
            zero,
            before,
        )
    }

    /// The count after `number`.
    pub(super) fn next(&mut self, ring: Mbarriers<'c>, number: Value<'c>, before: Op<'c>) -> Value<'c> {
        let (zero, one, modulus) = (self.small(0), self.small(1), self.small(2 * ring.depth));
        let next = value(arith::ADDI, &[number, one], self.types.i32, before);
        let around = compare(Predicate::Equal, next, modulus, before);
        value(arith::SELECT, &[around, zero, next], self.types.i32, before)
    }

    /// The count that is `shift` after `number`, or before it.
    pub(super) fn shifted(
        &mut self,
        ring: Mbarriers<'c>,
        number: Value<'c>,
        shift: i64,
        before: Op<'c>,
    ) -> Value<'c> {
        if shift == 0 {
            return number;
        }
        let modulus = 2 * i64::try_from(ring.depth).unwrap_or(i64::MAX / 2);
        let i32 = self.types.i32;
        let (shift, modulus) = (
            self.constant(shift.rem_euclid(modulus), false),
            self.constant(modulus, false),
        );
        let sum = value(arith::ADDI, &[number, shift], i32, before);
        let around = compare(Predicate::SignedGreaterOrEqual, sum, modulus, before);
        let less = value(arith::SUBI, &[sum, modulus], i32, before);
        value(arith::SELECT, &[around, less, sum], i32, before)
    }

    pub(super) fn wait(&mut self, ring: Mbarriers<'c>, slot: Value<'c>, parity: Value<'c>, before: Op<'c>) {
        let ticks = self.constant(TICKS, true);
        let operands = [ring.group, parity, ticks, slot];
        write(nvgpu::MBARRIER_TRY_WAIT_PARITY, &operands, &[], before);
    }

    /// Waits for the phase before this one on its slot; a slot that was never armed is passed at once.
    pub(super) fn wait_for_last(
        &mut self,
        ring: Mbarriers<'c>,
        slot: Value<'c>,
        number: &Number<'c>,
        before: Op<'c>,
    ) {
        let parity = self.parity(ring, number, true, before);
        self.wait(ring, slot, parity, before);
    }

    /// A number in closed form.
    fn number(&mut self, number: &Linear, before: Op<'c>) -> Value<'c> {
        let mut sum = None;
        for (&unknown, &factor) in &number.factors {
            let mut term = self.unknown(unknown, before);
            if factor != 1 {
                let factor = self.index(factor);
                term = value(arith::MULI, &[term, factor], self.types.index, before);
            }
            sum = Some(sum.map_or(term, |sum| {
                value(arith::ADDI, &[sum, term], self.types.index, before)
            }));
        }
        match sum {
            None => self.index(number.constant),
            Some(sum) if number.constant == 0 => sum,
            Some(sum) => {
                let constant = self.index(number.constant);
                value(arith::ADDI, &[sum, constant], self.types.index, before)
            }
        }
    }

    /// The iteration of a loop, or how often it runs.
    fn unknown(&mut self, unknown: Unknown, before: Op<'c>) -> Value<'c> {
        let (Unknown::Iteration(region) | Unknown::Trips(region)) = unknown;
        let op = self.read.regions[region];
        let [lower, upper, step] = [0, 1, 2].map(|i| op.operand(i));
        let zero = self.index(0);
        match unknown {
            Unknown::Iteration(_) => {
                let variable = self.read.blocks[self.read.tree.regions[region].blocks[0]].arg(0);
                let distance = self.distance(variable, lower, before);
                if step.as_constant_int() == Some(1) {
                    return distance;
                }
                let step = self.as_index(step, before);
                value(arith::DIVUI, &[distance, step], self.types.index, before)
            }
            Unknown::Trips(_) => {
                let distance = self.distance(upper, lower, before);
                let none = value(arith::MAXSI, &[distance, zero], self.types.index, before);
                if step.as_constant_int() == Some(1) {
                    return none;
                }
                let step = self.as_index(step, before);
                value(arith::CEILDIVUI, &[none, step], self.types.index, before)
            }
        }
    }

    fn distance(&mut self, to: Value<'c>, from: Value<'c>, before: Op<'c>) -> Value<'c> {
        let to = self.as_index(to, before);
        if from.as_constant_int() == Some(0) {
            return to;
        }
        let from = self.as_index(from, before);
        value(arith::SUBI, &[to, from], self.types.index, before)
    }

    pub(super) fn as_index(&self, number: Value<'c>, before: Op<'c>) -> Value<'c> {
        if number.ty() == self.types.index {
            return number;
        }
        value(arith::INDEX_CAST, &[number], self.types.index, before)
    }
}
