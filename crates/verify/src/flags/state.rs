//! What engines may not know at a place, and which flags are set there.

use super::code::{Code, FactId};
use std::collections::VecDeque;

/// A set of facts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Facts(Vec<u64>);

impl Facts {
    fn none(number: usize) -> Self {
        Self(vec![0; number.div_ceil(64)])
    }

    pub fn has(&self, fact: FactId) -> bool {
        self.0[fact / 64] >> (fact % 64) & 1 == 1
    }

    pub fn insert(&mut self, fact: FactId) {
        self.0[fact / 64] |= 1 << (fact % 64);
    }

    fn remove(&mut self, fact: FactId) {
        self.0[fact / 64] &= !(1 << (fact % 64));
    }

    /// The first fact of the set.
    pub fn first(&self) -> Option<FactId> {
        let mut words = self.0.iter().enumerate();
        let (number, bits) = words.find(|(_, bits)| **bits != 0)?;
        Some(number * 64 + bits.trailing_zeros() as usize)
    }

    fn retain(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own &= other;
        }
    }

    /// Adds `other`. Returns true if anything was new.
    fn unite(&mut self, other: &Self) -> bool {
        let mut is_new = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            is_new |= other & !*own != 0;
            *own |= other;
        }
        is_new
    }

    /// The facts of one iteration in the next one.
    fn age(&mut self, aged: &[(FactId, FactId)]) {
        let old: Vec<FactId> = aged
            .iter()
            .filter(|(new, _)| self.has(*new))
            .map(|(_, old)| *old)
            .collect();
        for (new, _) in aged {
            self.remove(*new);
        }
        for old in old {
            self.insert(old);
        }
    }
}

/// What holds at a place. Of facts that happen again and again, the last time counts: who knows that knows all before it, since an engine
/// keeps its order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State {
    /// By engine, the facts of others that it may not know.
    pub unknown: Vec<Facts>,
    /// By engine, what it does not know, and has to know before it does anything.
    pub due: Vec<Facts>,
    /// By flag, for each time that it is set, what its setting does not tell: what the engine did not know, and what happened since.
    pub set: Vec<VecDeque<Facts>>,
}

impl State {
    pub fn new(code: &Code) -> Self {
        Self {
            unknown: vec![Facts::none(code.facts.len()); code.engines],
            due: vec![Facts::none(code.facts.len()); code.engines],
            set: vec![VecDeque::new(); code.flags.len()],
        }
    }

    /// `engine` does `fact`.
    pub fn happen(&mut self, engine: usize, fact: FactId) {
        for (other, unknown) in self.unknown.iter_mut().enumerate() {
            if other != engine {
                unknown.insert(fact);
            }
        }
        for untold in self.set.iter_mut().flatten() {
            untold.insert(fact);
        }
    }

    /// `engine` gets to know all but `untold`.
    pub fn learn(&mut self, engine: usize, untold: &Facts) {
        self.unknown[engine].retain(untold);
        self.due[engine].retain(untold);
    }

    /// `engine` has to know `fact` before it does anything.
    pub fn expect(&mut self, engine: usize, fact: FactId) {
        if self.unknown[engine].has(fact) {
            self.due[engine].insert(fact);
        }
    }

    pub fn age(&mut self, aged: &[(FactId, FactId)]) {
        if aged.is_empty() {
            return;
        }
        let known = self.unknown.iter_mut().chain(&mut self.due);
        for facts in known.chain(self.set.iter_mut().flatten()) {
            facts.age(aged);
        }
    }

    /// Adds what holds on another path to the same place. Returns whether anything was new.
    ///
    /// # Errors
    ///
    /// A flag that is set a different number of times.
    pub fn join(&mut self, other: &Self) -> Result<bool, usize> {
        let differs = |flag: &usize| self.set[*flag].len() != other.set[*flag].len();
        if let Some(flag) = (0..self.set.len()).find(differs) {
            return Err(flag);
        }
        let mut is_new = false;
        let known = self.unknown.iter_mut().chain(&mut self.due);
        let others = other.unknown.iter().chain(&other.due);
        let set = self.set.iter_mut().flatten();
        for (own, other) in known.chain(set).zip(others.chain(other.set.iter().flatten())) {
            is_new |= own.unite(other);
        }
        Ok(is_new)
    }
}
