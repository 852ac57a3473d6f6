//! Equivalence classes of values (union-find).

use async_mlir::ir::Value;
use rustc_hash::FxHashMap;

/// Values, each in one class.
#[derive(Default)]
pub(crate) struct EquivalenceClasses<'c> {
    numbers: FxHashMap<Value<'c>, usize>,
    values: Vec<Value<'c>>,
    /// For each value, one of its class that stands for it, by way of others.
    parents: Vec<usize>,
}

impl<'c> EquivalenceClasses<'c> {
    /// All values that were asked for.
    pub(crate) fn values(&self) -> Vec<Value<'c>> {
        self.values.clone()
    }

    /// The number of the class of `value`, one of its own if it is new.
    pub(crate) fn class(&mut self, value: Value<'c>) -> usize {
        let next = self.values.len();
        let mut number = *self.numbers.entry(value).or_insert(next);
        if number == next {
            self.values.push(value);
            self.parents.push(next);
        }
        while self.parents[number] != number {
            self.parents[number] = self.parents[self.parents[number]];
            number = self.parents[number];
        }
        number
    }

    /// Makes one class of those of `a` and `b`.
    pub(crate) fn unite(&mut self, a: Value<'c>, b: Value<'c>) {
        let (a, b) = (self.class(a), self.class(b));
        self.parents[a] = b;
    }
}
