//! Strided value sets, and sums of numbers that are known in part.

use rustc_hash::FxHashSet;

/// What a number may be: one of `values`, plus a multiple of `stride` in `range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueSet {
    pub values: Vec<i64>,
    pub stride: u64,
    /// The smallest and the largest multiple; the extremes of the type mean that there is none.
    pub range: (i64, i64),
    /// True if it hinges on a value of which nothing is known.
    pub unknown: bool,
}

/// So many multiples are told apart.
const MAX_LISTED: i64 = 8;

/// So many alternatives are told apart.
const MAX_VALUES: usize = 64;

/// Builds the value set of a sum, term by term.
pub(crate) struct Sum(ValueSet);

impl Sum {
    /// A constant.
    pub fn new(constant: i64) -> Self {
        Self(ValueSet {
            values: vec![constant],
            stride: 0,
            range: (0, 0),
            unknown: false,
        })
    }

    /// Adds one of `alternatives`.
    pub fn add(&mut self, alternatives: &[i64]) {
        let known = self.0.values.iter();
        let all: FxHashSet<i64> = known
            .flat_map(|value| alternatives.iter().map(|more| value.wrapping_add(*more)))
            .collect();
        self.0.values = all.into_iter().collect();
    }

    /// Adds `coefficient` times a number from `first` to `last`; the extremes of the type mean that there is no end.
    pub fn add_multiples(&mut self, coefficient: i64, first: i64, last: i64) {
        if last.checked_sub(first).is_some_and(|more| more < MAX_LISTED) {
            let all: Vec<i64> = (first..=last)
                .map(|number| coefficient.wrapping_mul(number))
                .collect();
            return self.add(&all);
        }
        let times = |number: i64| match number {
            i64::MIN | i64::MAX if coefficient == 0 => 0,
            i64::MIN | i64::MAX if (number > 0) == (coefficient > 0) => i64::MAX,
            i64::MIN | i64::MAX => i64::MIN,
            _ => coefficient.saturating_mul(number),
        };
        let (a, b) = (times(first), times(last));
        let (low, high) = self.0.range;
        self.0.stride = gcd(self.0.stride, coefficient.unsigned_abs());
        self.0.range = (low.saturating_add(a.min(b)), high.saturating_add(a.max(b)));
    }

    /// Adds `coefficient` times a number of `range`.
    pub fn add_range(&mut self, coefficient: i64, range: std::ops::Range<i64>) {
        let numbers = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        if self.0.values.len().saturating_mul(numbers) > MAX_VALUES {
            return self.add_multiples(coefficient, range.start, range.end - 1);
        }
        let all: Vec<i64> = range.map(|n| coefficient.wrapping_mul(n)).collect();
        self.add(&all);
    }

    /// Notes that the sum hinges on a value of which nothing is known.
    pub fn hinge_on_unknown(&mut self) {
        self.0.unknown = true;
    }

    /// The sum.
    pub fn finish(mut self) -> ValueSet {
        self.0.values.sort_unstable();
        self.0
    }
}

/// The greatest common divisor.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
