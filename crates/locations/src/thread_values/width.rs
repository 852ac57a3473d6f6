//! Truncates and extends integers to the width of their types.
//!
//! Numbers are kept sign-extended, but those of a single bit as 0 or 1.

use super::arithmetic::reads_without_sign;
use super::{ThreadValue, ThreadValues, periodic};
use crate::integers::{self, INDEX_BITS, WIDE_BITS, bits_of, has_headroom};
use async_mlir::control_flow::constant_trip_count;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::attr;
use async_overlap::{MAX_PERIOD, Symbol};

impl<'c> ThreadValues<'c> {
    /// `value` as an integer of type `ty`; `None` if it is not known whether it fits.
    pub(super) fn in_type(&mut self, value: ThreadValue, ty: Type<'c>) -> Option<ThreadValue> {
        let bits = bits_of(ty)?;
        if bits >= INDEX_BITS {
            return Some(value);
        }
        if value.offset.terms.is_empty() {
            return Some(self.each(value, |number| cut(number, bits)));
        }
        if let Some(periodic) = periodic(&value, bits).filter(|_| bits < WIDE_BITS) {
            return Some(periodic);
        }
        // What counts and what a program computes once is taken to fit in its type, if that is no small one and has room for it.
        let fits = |number: i64| match bits {
            WIDE_BITS.. => has_headroom(number, bits),
            _ => cut(number, bits) == number,
        };
        let known = match &value.threads {
            Some(threads) => {
                let mut numbers = threads.iter().map(|own| own.wrapping_add(value.offset.constant));
                numbers.all(fits)
            }
            None => fits(value.offset.constant),
        };
        (known && (bits >= WIDE_BITS || is_periodic_within(&value, fits))).then_some(value)
    }

    /// A value whose sign is kept in a wider type.
    pub(super) fn sign_extended(&mut self, operand: Value<'c>) -> Option<ThreadValue> {
        let value = self.of(operand)?;
        match bits_of(operand.ty())? {
            1 => self.scaled(&value, -1),
            _ => Some(value),
        }
    }

    /// A value without a sign in a wider type.
    pub(super) fn zero_extended(&mut self, operand: Value<'c>) -> Option<ThreadValue> {
        let value = self.of(operand)?;
        let bits = bits_of(operand.ty())?;
        if bits >= INDEX_BITS {
            return Some(value);
        }
        let without_sign = |number: i64| number & ((1 << bits) - 1);
        if value.offset.terms.is_empty() {
            return Some(self.each(value, without_sign));
        }
        if value.threads.is_none()
            && let Some(known) = periodic::combine(std::slice::from_ref(&value), |numbers| {
                Some(without_sign(numbers[0]))
            })
        {
            return Some(known);
        }
        reads_without_sign(&value).then_some(value)
    }

    /// Applies a function to the number of each thread, which depends on nothing else.
    fn each(&mut self, value: ThreadValue, function: impl Fn(i64) -> i64) -> ThreadValue {
        let constant = value.offset.constant;
        let Some(threads) = &value.threads else {
            return ThreadValue::constant(function(constant));
        };
        let changes = |own: &i64| {
            let number = own.wrapping_add(constant);
            function(number) != number
        };
        if !threads.iter().any(changes) {
            return value;
        }
        let numbers = threads.iter().map(|own| function(own.wrapping_add(constant)));
        self.by_thread(numbers.collect())
    }
}

/// Returns true if the induction variable of the loop `around`, which begins with `first`, is of a narrow type, and known to stay in it, also
/// where the loop ends: that number is known, or each is one more than the one before, and at most the upper bound.
pub(super) fn stays_in_type(around: Op<'_>, first: &ThreadValue, step: i64, ty: Type<'_>) -> bool {
    let Some(bits @ 2..WIDE_BITS) = bits_of(ty) else {
        return false;
    };
    let end = || {
        let trips = i64::try_from(constant_trip_count(around)?).ok()?;
        first.as_constant()?.checked_add(step.checked_mul(trips)?)
    };
    let is_signed = !around.has_attr(attr::UNSIGNED_CMP);
    is_signed && step == 1 || end().is_some_and(|end| cut(end, bits) == end)
}

/// What is left of a number in so many bits.
fn cut(number: i64, bits: u32) -> i64 {
    match bits {
        1 => number & 1,
        _ => integers::cut(number, bits),
    }
}

/// What a loop counts, or what is periodic in it, in so many bits; `None` if its period is long, or it
/// differs between threads.
fn periodic(value: &ThreadValue, bits: u32) -> Option<ThreadValue> {
    if value.threads.is_some() {
        return None;
    }
    let [(step, Symbol::Iteration(of))] = value.offset.terms.as_slice() else {
        return periodic::combine(std::slice::from_ref(value), |numbers| Some(cut(numbers[0], bits)));
    };
    let mut numbers = Vec::new();
    let mut number = value.offset.constant;
    while numbers.first() != Some(&cut(number, bits)) {
        if numbers.len() == MAX_PERIOD {
            return None;
        }
        numbers.push(cut(number, bits));
        number = number.wrapping_add(*step);
    }
    periodic::periodic(*of, numbers)
}

/// Returns true if all that is added to each thread's number is periodic, and the sum fits at the least and
/// at the most.
fn is_periodic_within(value: &ThreadValue, fits: impl Fn(i64) -> bool) -> bool {
    let own = value.threads.iter().flat_map(|threads| threads.iter().copied());
    let (mut least, mut most) = own.fold((0, 0), |(least, most): (i64, i64), own| {
        (least.min(own), most.max(own))
    });
    for (coefficient, symbol) in &value.offset.terms {
        let Symbol::Periodic { values, .. } = symbol else {
            return false;
        };
        let times = || values.iter().map(|number| number.saturating_mul(*coefficient));
        least = least.saturating_add(times().min().unwrap_or(0));
        most = most.saturating_add(times().max().unwrap_or(0));
    }
    [least, most]
        .into_iter()
        .all(|number| fits(number.saturating_add(value.offset.constant)))
}
