//! Computes the trip count of a loop, and its induction variable in each iteration.

use super::folding::{Arithmetic, Constants, FoldedBool, FoldedInt, InsertionPoint};
use async_mlir::control_flow::constant_trip_count;
use async_mlir::ir::Op;
use async_mlir::names::attr;

/// The bounds of an `scf.for`.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'a, 'c> {
    pub arithmetic: Arithmetic<'a, 'c>,
    pub lower: FoldedInt<'c>,
    pub step: FoldedInt<'c>,
    /// How many iterations there are; a number without sign.
    pub trips: FoldedInt<'c>,
    /// A number of iterations that there are at least.
    pub at_least: u32,
}

impl<'a, 'c> Bounds<'a, 'c> {
    /// Works out the bounds of `around` before it.
    pub fn new(around: Op<'c>, constants: &'a Constants<'c>) -> Self {
        Self::at(around, InsertionPoint::Before(around), constants)
    }

    /// Works out the bounds of `around` at another place, where they are known, too.
    pub fn at(around: Op<'c>, at: InsertionPoint<'c>, constants: &'a Constants<'c>) -> Self {
        let [lower, upper, step] = [0, 1, 2].map(|i| FoldedInt::of(around.operand(i)));
        let arithmetic = Arithmetic {
            constants,
            location: around.location(),
            ty: around.operand(0).ty(),
            unsigned: around.has_attr(attr::UNSIGNED_CMP),
        };
        let known = constant_trip_count(around).and_then(|trips| i64::try_from(trips).ok());
        let trips = known.map_or_else(
            || trips(arithmetic, at, (lower, upper, step)),
            FoldedInt::Constant,
        );
        Self {
            arithmetic,
            lower,
            step,
            trips,
            at_least: 0,
        }
    }

    /// The loop's variable `iterations` after it is `from`.
    pub fn after(&self, at: InsertionPoint<'c>, from: FoldedInt<'c>, iterations: i64) -> FoldedInt<'c> {
        let ahead = self
            .arithmetic
            .mul(at, self.step, FoldedInt::Constant(iterations));
        self.arithmetic.add(at, from, ahead)
    }

    /// The loop's variable after all iterations but the last `fewer`; the first if there are no more than those.
    pub fn end(&self, at: InsertionPoint<'c>, fewer: u32) -> FoldedInt<'c> {
        let fewer = i64::from(fewer);
        if fewer == 0 {
            let ahead = self.arithmetic.mul(at, self.step, self.trips);
            return self.arithmetic.add(at, self.lower, ahead);
        }
        let more = if fewer <= i64::from(self.at_least) {
            FoldedBool::Known(true)
        } else {
            self.arithmetic.is_more(at, self.trips, fewer)
        };
        let rest = self.arithmetic.sub(at, self.trips, FoldedInt::Constant(fewer));
        let rest = self.arithmetic.select(at, more, rest, FoldedInt::Constant(0));
        let ahead = self.arithmetic.mul(at, self.step, rest);
        self.arithmetic.add(at, self.lower, ahead)
    }

    /// Whether there are more than `number` iterations.
    pub fn has_more_than(&self, at: InsertionPoint<'c>, number: u32) -> FoldedBool<'c> {
        if number < self.at_least {
            return FoldedBool::Known(true);
        }
        self.arithmetic.is_more(at, self.trips, number.into())
    }
}

/// `ceil((upper - lower) / step)`, or 0 if `upper` is not after `lower`. The difference is taken without sign, since it may be
/// larger than the largest number with one.
fn trips<'c>(
    arithmetic: Arithmetic<'_, 'c>,
    at: InsertionPoint<'c>,
    (lower, upper, step): (FoldedInt<'c>, FoldedInt<'c>, FoldedInt<'c>),
) -> FoldedInt<'c> {
    let runs = arithmetic.less(at, lower, upper);
    let difference = arithmetic.sub(at, upper, lower);
    let trips = if step == FoldedInt::Constant(1) {
        difference
    } else {
        let before_last = arithmetic.sub(at, difference, FoldedInt::Constant(1));
        let more = arithmetic.div(at, before_last, step);
        arithmetic.add(at, more, FoldedInt::Constant(1))
    };
    arithmetic.select(at, runs, trips, FoldedInt::Constant(0))
}
