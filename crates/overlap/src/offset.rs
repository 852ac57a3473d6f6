//! Symbolic byte offsets that change from iteration to iteration, and the difference of two of them
//! at an iteration distance.

use crate::distance::{Distance, MAX_DEPTH};
use crate::loops::{Loop, LoopId, Loops};
use crate::value_set::{Sum, ValueSet, gcd};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// A number of bytes: a constant, and multiples of what is not known before the kernel runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Offset {
    /// The constant.
    pub constant: i64,
    /// Coefficients and what they multiply.
    pub terms: Vec<(i64, Symbol)>,
}

/// A number that is the same for all threads of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// Which iteration of a loop it is, from 0.
    Iteration(LoopId),
    /// Numbers that come round: the iterations of a loop take them in turn, over and over.
    Periodic {
        /// The loop whose iterations are counted.
        of: LoopId,
        /// The numbers of the first iterations, up to where they begin again; no more than [`MAX_PERIOD`].
        values: Rc<[i64]>,
    },
    /// `(start + plus + step * iteration) mod modulus`, from 0 to the modulus.
    Rotation {
        /// The loop whose iterations are counted.
        of: LoopId,
        /// That loop, or one around it: each time that `of` is entered in there, the count goes on from where it was left.
        within: LoopId,
        /// The number of a value that is known when the loop `within` is entered.
        start: u32,
        /// What is added to it.
        plus: i64,
        /// By how much it changes from one iteration to the next.
        step: i64,
        /// What it is taken modulo.
        modulus: i64,
    },
    /// `(value + plus) mod modulus`, from 0 to the modulus.
    Remainder {
        /// The number of the value.
        value: u32,
        /// The loop that computes it once in each iteration, if any.
        of: Option<LoopId>,
        /// What is added to it, from 0 to the modulus.
        plus: i64,
        /// What it is taken modulo.
        modulus: i64,
    },
    /// `values[n mod values.len()]`, of a number `n` of which nothing else is known.
    Lookup {
        /// The number of `n`.
        value: u32,
        /// The loop that computes it once in each iteration, if any.
        of: Option<LoopId>,
        /// The numbers; no more than [`MAX_PERIOD`].
        values: Rc<[i64]>,
    },
    /// A value that is computed once in each iteration of a loop, or once.
    Value(u32, Option<LoopId>),
}

/// Numbers that come round later than this are not told apart.
pub const MAX_PERIOD: usize = 64;

/// How often a loop has been around.
enum Count {
    Exactly(i64),
    AtLeast(i64),
    Unknown,
}

/// Two offsets, and the iteration distance between them.
pub(crate) struct OffsetPair<'l> {
    pub loops: &'l Loops,
    pub distance: Distance,
}

impl OffsetPair<'_> {
    /// By how much `to`, at the second step, is larger than `from`, at the first. Conservative: what is not known may be
    /// anything.
    pub fn difference(&self, from: &Offset, to: &Offset) -> ValueSet {
        let mut sum = Sum::new(to.constant.wrapping_sub(from.constant));
        let mut from_terms = from.terms.clone();
        let mut to_terms = to.terms.clone();
        for of in loops(&from_terms, &to_terms, periodic_in) {
            if self.is_common(of) && self.add_periodic(&mut sum, of, &from_terms, &to_terms) {
                from_terms.retain(|(_, symbol)| periodic_in(symbol) != Some(of));
                to_terms.retain(|(_, symbol)| periodic_in(symbol) != Some(of));
            }
        }
        for of in loops(&from_terms, &to_terms, iterating_in) {
            if self.is_common(of) {
                self.add_iterations(&mut sum, of, &from_terms, &to_terms);
                from_terms.retain(|(_, symbol)| *symbol != Symbol::Iteration(of));
                to_terms.retain(|(_, symbol)| *symbol != Symbol::Iteration(of));
            }
        }
        for (coefficient, symbol) in to_terms {
            let partner = from_terms
                .iter()
                .position(|(other, from)| *other == coefficient && self.comparable(from, &symbol));
            match partner {
                Some(i) => self.advance(&mut sum, coefficient, &symbol, &from_terms.swap_remove(i).1),
                None => self.alone(&mut sum, coefficient, &symbol, true),
            }
        }
        for (coefficient, symbol) in from_terms {
            self.alone(&mut sum, -coefficient, &symbol, false);
        }
        sum.finish()
    }

    /// Adds what numbers that come round in one loop make together: there are only so many cases. Returns false if there are
    /// too many.
    fn add_periodic(&self, sum: &mut Sum, of: LoopId, from: &[(i64, Symbol)], to: &[(i64, Symbol)]) -> bool {
        let values = |terms: &[(i64, Symbol)]| -> Vec<(i64, Rc<[i64]>)> {
            let periodic = terms.iter().filter_map(|(coefficient, symbol)| match symbol {
                Symbol::Periodic { of: other, values } if *other == of => {
                    Some((*coefficient, values.clone()))
                }
                _ => None,
            });
            periodic.collect()
        };
        let (from, to) = (values(from), values(to));
        let period = from.iter().chain(&to).try_fold(1, |period: usize, (_, values)| {
            let common = gcd(period as u64, values.len() as u64);
            let both = period * (values.len() / usize::try_from(common).unwrap_or(1));
            (both <= MAX_PERIOD).then_some(both)
        });
        let Some(period) = period.and_then(|period| i64::try_from(period).ok()) else {
            return false;
        };
        let value = |terms: &[(i64, Rc<[i64]>)], iteration: i64| {
            terms.iter().fold(0_i64, |sum, (coefficient, values)| {
                sum.wrapping_add(coefficient.wrapping_mul(at(values, iteration)))
            })
        };
        let last = self.last_iteration(of);
        let (first, later): (_, Box<dyn Fn(i64) -> std::ops::Range<i64>>) = match self.count(of) {
            Count::Exactly(n) => (
                0..period.min(last.saturating_sub(n).saturating_add(1)),
                Box::new(move |k| k + n..k + n + 1),
            ),
            Count::AtLeast(_) | Count::Unknown => {
                let all = 0..period.min(last.saturating_add(1));
                (all.clone(), Box::new(move |_| all.clone()))
            }
        };
        let all = first.flat_map(|k| later(k).map(move |l| (k, l)));
        let all: FxHashSet<i64> = all
            .map(|(k, l)| value(&to, l).wrapping_sub(value(&from, k)))
            .collect();
        sum.add(&all.into_iter().collect::<Vec<i64>>());
        true
    }

    /// Adds what multiples of the iterations of one loop make: `b (k + d) - a k` is `b d + (b - a) k`.
    fn add_iterations(&self, sum: &mut Sum, of: LoopId, from: &[(i64, Symbol)], to: &[(i64, Symbol)]) {
        let coefficient = |terms: &[(i64, Symbol)]| {
            let of = terms
                .iter()
                .filter(|(_, symbol)| *symbol == Symbol::Iteration(of));
            of.fold(0_i64, |sum, (coefficient, _)| sum.wrapping_add(*coefficient))
        };
        let (a, b) = (coefficient(from), coefficient(to));
        let last = self.last_iteration(of);
        let ahead = match self.count(of) {
            Count::Exactly(n) => {
                sum.add(&[b.wrapping_mul(n)]);
                n
            }
            Count::AtLeast(n) => {
                sum.add_multiples(b, n, last);
                n
            }
            Count::Unknown => {
                sum.add_multiples(b, 0, last);
                0
            }
        };
        if a != b {
            sum.add_multiples(b.wrapping_sub(a), 0, last.saturating_sub(ahead));
        }
    }

    fn depth(&self, of: LoopId) -> usize {
        self.loops[of].depth
    }

    /// Returns true if `of` has not been left since the first step.
    fn is_common(&self, of: LoopId) -> bool {
        self.depth(of) < MAX_DEPTH && self.depth(of) < usize::from(self.distance.common)
    }

    fn count(&self, of: LoopId) -> Count {
        let depth = self.depth(of);
        match self.distance.counts.get(depth) {
            Some(&count) if count < self.loops[of].counted => Count::Exactly(count.into()),
            Some(&count) => Count::AtLeast(count.into()),
            None => Count::Unknown,
        }
    }

    /// How many iterations of `of` have ended since the first step, modulo `modulus`.
    fn running_count(&self, of: LoopId, modulus: i64) -> Count {
        let running_count = self.loops[of].running_count;
        let known = running_count.filter(|known| i64::from(known.modulus) % modulus == 0);
        let count = known
            .and_then(|running_count| self.distance.running_counts.get(usize::from(running_count.index)));
        count.map_or(Count::Unknown, |count| Count::Exactly(i64::from(*count)))
    }

    /// Returns true if nothing that `fixed_in` is in has gone on since the first step.
    fn same_iteration(&self, fixed_in: Option<LoopId>) -> bool {
        let mut next = fixed_in;
        while let Some(of) = next {
            if !self.is_common(of) || !matches!(self.count(of), Count::Exactly(0)) {
                return false;
            }
            next = self.loops[of].parent;
        }
        true
    }

    /// Returns true if the difference of two symbols is known better than each of them.
    fn comparable(&self, from: &Symbol, to: &Symbol) -> bool {
        match (from, to) {
            (Symbol::Value(a, fixed_in), Symbol::Value(b, _)) => a == b && self.same_iteration(*fixed_in),
            (
                Symbol::Rotation {
                    of,
                    within,
                    start,
                    step,
                    modulus,
                    ..
                },
                Symbol::Rotation {
                    of: other_of,
                    within: other_within,
                    start: other_start,
                    step: other_step,
                    modulus: other_modulus,
                    ..
                },
            ) => {
                (of, within, start, step, modulus)
                    == (other_of, other_within, other_start, other_step, other_modulus)
                    && self.is_common(*within)
            }
            (
                Symbol::Remainder {
                    value, modulus, of, ..
                },
                Symbol::Remainder {
                    value: other_value,
                    modulus: other_modulus,
                    ..
                },
            ) => (value, modulus) == (other_value, other_modulus) && self.same_iteration(*of),
            (
                Symbol::Lookup { value, of, values },
                Symbol::Lookup {
                    value: other_value,
                    values: others,
                    ..
                },
            ) => (value, values.len()) == (other_value, others.len()) && self.same_iteration(*of),
            _ => false,
        }
    }

    /// Adds how far `to` is from `from`, which it is comparable with.
    fn advance(&self, sum: &mut Sum, coefficient: i64, to: &Symbol, from: &Symbol) {
        let (ahead, modulus) = match (to, from) {
            (
                Symbol::Rotation {
                    of,
                    within,
                    plus: to,
                    step,
                    modulus,
                    ..
                },
                Symbol::Rotation { plus: from, .. },
            ) => {
                let count = if of == within {
                    self.count(*of)
                } else {
                    self.running_count(*of, *modulus)
                };
                match count {
                    Count::Exactly(n) => (to - from + step.wrapping_mul(n), *modulus),
                    Count::AtLeast(_) | Count::Unknown => {
                        return sum.add_range(coefficient, 1 - modulus..*modulus);
                    }
                }
            }
            (
                Symbol::Remainder {
                    plus: to, modulus, ..
                },
                Symbol::Remainder { plus: from, .. },
            ) => (to - from, *modulus),
            (Symbol::Lookup { values: to, .. }, Symbol::Lookup { values: from, .. }) => {
                let ahead = to
                    .iter()
                    .zip(from.iter())
                    .map(|(to, from)| to.wrapping_sub(*from));
                return sum.add(&multiples(coefficient, ahead));
            }
            _ => return,
        };
        let ahead = ahead.rem_euclid(modulus);
        // It may have wrapped around.
        let values: &[i64] = if ahead == 0 {
            &[0]
        } else {
            &[ahead, ahead - modulus]
        };
        let values: Vec<i64> = values.iter().map(|n| coefficient.wrapping_mul(*n)).collect();
        sum.add(&values);
    }

    /// Adds a symbol that is in one of the offsets alone: in that of the second step if `second`.
    fn alone(&self, sum: &mut Sum, coefficient: i64, symbol: &Symbol, second: bool) {
        // Of the second step it is known how often the loop has been around if it was entered on the path.
        let count = |of: LoopId| {
            if second && !self.is_common(of) {
                self.count(of)
            } else {
                Count::Unknown
            }
        };
        let iterations = |of: LoopId| match count(of) {
            Count::Exactly(n) => (n, n),
            Count::AtLeast(n) => (n, self.last_iteration(of)),
            Count::Unknown if second => (0, self.last_iteration(of)),
            Count::Unknown => self.first_iterations(of),
        };
        match symbol {
            Symbol::Iteration(of) => {
                let (first, last) = iterations(*of);
                sum.add_multiples(coefficient, first, last);
            }
            Symbol::Periodic { of, values } => {
                let (first, last) = iterations(*of);
                let period = i64::try_from(values.len()).unwrap_or(i64::MAX);
                let last = last.min(first.saturating_add(period - 1)).max(first);
                let known = (first..=last).map(|iteration| at(values, iteration));
                sum.add(&multiples(coefficient, known));
            }
            Symbol::Lookup { values, .. } => sum.add(&multiples(coefficient, values.iter().copied())),
            Symbol::Rotation { modulus, .. } | Symbol::Remainder { modulus, .. } => {
                sum.add_range(coefficient, 0..*modulus);
            }
            Symbol::Value(..) => {
                sum.add_multiples(coefficient, i64::MIN, i64::MAX);
                sum.hinge_on_unknown();
            }
        }
    }

    /// The numbers of the first and the last iteration of a loop that the first step may have been in.
    fn first_iterations(&self, of: LoopId) -> (i64, i64) {
        let Loop {
            depth,
            counted,
            min_trips,
            ..
        } = self.loops[of];
        let last = self.last_iteration(of);
        let Some(later) = self.distance.until_left(depth).filter(|_| !self.is_common(of)) else {
            return (0, last);
        };
        let is_exact = later < counted;
        let later = i64::from(later);
        let least = i64::try_from(min_trips).unwrap_or(i64::MAX).saturating_sub(1);
        let first = if is_exact { (least - later).max(0) } else { 0 };
        (first, last.saturating_sub(later).max(first))
    }

    /// The number of the last iteration of a loop, if it is known; else a very large one.
    fn last_iteration(&self, of: LoopId) -> i64 {
        let trips = self.loops[of].max_trips;
        trips.map_or(i64::MAX, |trips| {
            i64::try_from(trips.saturating_sub(1)).unwrap_or(i64::MAX)
        })
    }
}

/// Each of `numbers` times `coefficient`, once.
fn multiples(coefficient: i64, numbers: impl Iterator<Item = i64>) -> Vec<i64> {
    let all: FxHashSet<i64> = numbers.map(|number| coefficient.wrapping_mul(number)).collect();
    all.into_iter().collect()
}

/// The value of an iteration, of values that come round.
fn at(values: &[i64], iteration: i64) -> i64 {
    let period = i64::try_from(values.len()).unwrap_or(1).max(1);
    let place = usize::try_from(iteration.rem_euclid(period)).unwrap_or(0);
    values.get(place).copied().unwrap_or(0)
}

/// The loop in which a symbol comes round.
fn periodic_in(symbol: &Symbol) -> Option<LoopId> {
    match symbol {
        Symbol::Periodic { of, .. } => Some(*of),
        _ => None,
    }
}

/// The loop whose iteration a symbol is.
fn iterating_in(symbol: &Symbol) -> Option<LoopId> {
    match symbol {
        Symbol::Iteration(of) => Some(*of),
        _ => None,
    }
}

/// The loops that `of` finds in terms.
fn loops(from: &[(i64, Symbol)], to: &[(i64, Symbol)], of: fn(&Symbol) -> Option<LoopId>) -> Vec<LoopId> {
    let found = from.iter().chain(to).filter_map(|(_, symbol)| of(symbol));
    let mut loops: Vec<LoopId> = found.collect();
    loops.sort_unstable();
    loops.dedup();
    loops
}
