//! Step 7: affine expressions of iterations and trip counts.

use super::arm_counts::UNBOUNDED;
use super::ids::RegionOpId;
use super::tree::Tree;
use std::collections::BTreeMap;

/// A number that is made while the program runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Symbol {
    /// Which iteration of a loop it is, from 0.
    Iteration(RegionOpId),
    /// How often a loop runs.
    TripCount(RegionOpId),
}

impl Symbol {
    /// The loop.
    fn region_op(self) -> RegionOpId {
        match self {
            Self::Iteration(op) | Self::TripCount(op) => op,
        }
    }
}

/// A linear expression.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AffineExpr {
    /// The constant.
    pub constant: u64,
    /// The coefficients of what is not known.
    pub coefficients: BTreeMap<Symbol, u64>,
}

/// The most terms of a number: with more, counting costs less.
const TERMS: usize = 4;

impl AffineExpr {
    pub(super) fn is_short(&self) -> bool {
        self.coefficients.len() <= TERMS
    }

    /// Returns true if slot and parity of a ring take more than shifts and masks.
    pub(super) fn is_expensive(&self, tree: &Tree, depth: u64) -> bool {
        let mut coefficients = self.coefficients.iter();
        let is_expensive = |(symbol, factor): (&Symbol, &u64)| {
            !factor.is_power_of_two() || tree.region_ops[symbol.region_op()].divides
        };
        !self.coefficients.is_empty() && (!depth.is_power_of_two() || coefficients.any(is_expensive))
    }

    /// The sum, if numbers so large are computed with at all.
    pub(super) fn plus(&self, constant: u64) -> Option<Self> {
        Some(Self {
            constant: sum(self.constant, constant)?,
            coefficients: self.coefficients.clone(),
        })
    }

    /// The sum with what may be less than 0.
    pub(super) fn shifted(&self, shift: i64) -> Option<Self> {
        Some(Self {
            constant: self.constant.checked_add_signed(shift)?,
            coefficients: self.coefficients.clone(),
        })
    }

    pub(super) fn plus_times(&self, factor: u64, symbol: Symbol) -> Option<Self> {
        let mut all = self.clone();
        if factor > 0 {
            let known = all.coefficients.entry(symbol).or_default();
            *known = sum(*known, factor)?;
        }
        Some(all)
    }

    /// The same, where `symbol` is `value`.
    pub(super) fn at(&self, symbol: Symbol, value: u64) -> Option<Self> {
        let mut rest = self.clone();
        match rest.coefficients.remove(&symbol) {
            None => Some(rest),
            Some(factor) => rest.plus(factor.checked_mul(value)?),
        }
    }
}

fn sum(a: u64, b: u64) -> Option<u64> {
    a.checked_add(b).filter(|sum| *sum < UNBOUNDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    const I: Symbol = Symbol::Iteration(RegionOpId(0));
    const N: Symbol = Symbol::TripCount(RegionOpId(1));

    fn value(expr: &AffineExpr, (i, n): (u64, u64)) -> u64 {
        expr.coefficients
            .iter()
            .fold(expr.constant, |sum, (symbol, factor)| {
                sum + factor * if *symbol == I { i } else { n }
            })
    }

    #[test]
    fn operations_are_those_of_numbers() {
        for (a, b, c) in [(0, 0, 0), (1, 0, 3), (2, 5, 1), (7, 1, 0)] {
            let expr = AffineExpr::default()
                .plus(c)
                .and_then(|expr| expr.plus_times(a, I));
            let expr = expr
                .and_then(|expr| expr.plus_times(b, N))
                .and_then(|expr| expr.plus_times(a, I));
            let expr = expr.expect("small numbers");
            for at in [(0, 0), (1, 2), (5, 3)] {
                let expected = c + 2 * a * at.0 + b * at.1;
                assert_eq!(value(&expr, at), expected);
                let known = expr.at(I, at.0).expect("small numbers");
                assert_eq!(
                    (value(&known, at), known.coefficients.contains_key(&I)),
                    (expected, false)
                );
                assert_eq!(expr.shifted(2).map(|expr| value(&expr, at)), Some(expected + 2));
            }
            assert_eq!(expr.shifted(-4), None, "a number below 0");
        }
        assert_eq!(AffineExpr::default().plus(UNBOUNDED), None);
    }
}
