//! What engines may not know at a place, and which flags are set there.

use super::code::{Code, Fact, FactId};
use super::fact_set::FactSet;
use std::collections::VecDeque;

/// What holds at a place. Of facts that happen again and again, the last time counts: who knows that knows all before it, since an engine
/// keeps its order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State {
    /// By engine, the facts of others that it may not know.
    pub unknown: Vec<FactSet>,
    /// By engine, what it does not know, and has to know before it does anything.
    pub due: Vec<FactSet>,
    /// By flag, each time that it is set.
    pub set: Vec<VecDeque<Setting>>,
    /// By band, what happened since control flow came here, as a range.
    recent: Vec<(FactId, FactId)>,
}

/// A flag that is set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Setting {
    /// What it does not tell: what the engine did not know, and what happened since.
    untold: FactSet,
    /// By band, where [`State::recent`] ended when it was set: what came after that happened since, too.
    since: Vec<FactId>,
}

impl Setting {
    fn settle(&mut self, recent: &[(FactId, FactId)]) {
        for (band, (start, end)) in recent.iter().enumerate() {
            let since = self.since.get(band).copied().unwrap_or(0);
            self.untold.insert((*start).max(since), *end);
        }
        self.since.clear();
    }
}

impl State {
    pub fn new(code: &Code) -> Self {
        let bands = code.facts.iter().map(|fact| fact.band + 1).max().unwrap_or(0);
        Self {
            unknown: vec![FactSet::default(); code.engines],
            due: vec![FactSet::default(); code.engines],
            set: vec![VecDeque::new(); code.flags.len()],
            recent: vec![(0, 0); bands],
        }
    }

    /// Control flow comes here: what happened before is added to what flags do not tell.
    pub fn settle(&mut self) {
        for setting in self.set.iter_mut().flatten() {
            setting.settle(&self.recent);
        }
        self.recent.fill((0, 0));
    }

    /// An engine does the fact of this number.
    pub fn happen(&mut self, number: FactId, fact: Fact) {
        for (other, unknown) in self.unknown.iter_mut().enumerate() {
            if other != fact.engine {
                unknown.insert(number, number + 1);
            }
        }
        let recent = &mut self.recent[fact.band];
        if recent.0 == recent.1 {
            recent.0 = number;
        }
        recent.1 = number + 1;
    }

    /// A flag of `engine` is set.
    pub fn set(&mut self, flag: usize, engine: usize) {
        let setting = Setting {
            untold: self.unknown[engine].clone(),
            since: self.recent.iter().map(|recent| recent.1).collect(),
        };
        self.set[flag].push_back(setting);
    }

    /// `engine` waits for a flag, and gets to know all that it tells. Returns false if it is not set.
    #[must_use]
    pub fn wait(&mut self, flag: usize, engine: usize) -> bool {
        let Some(mut setting) = self.set[flag].pop_front() else {
            return false;
        };
        setting.settle(&self.recent);
        self.unknown[engine].retain(&setting.untold);
        self.due[engine].retain(&setting.untold);
        true
    }

    /// `engine` has to know `fact` before it does anything.
    pub fn expect(&mut self, engine: usize, fact: FactId) {
        if self.unknown[engine].has(fact) {
            self.due[engine].insert(fact, fact + 1);
        }
    }

    /// An iteration ends.
    pub fn age(&mut self, aged: &[(FactId, FactId)]) {
        self.settle();
        let known = self.unknown.iter_mut().chain(&mut self.due);
        let untold = self.set.iter_mut().flatten().map(|setting| &mut setting.untold);
        known.chain(untold).for_each(|facts| facts.age(aged));
    }

    /// Adds what holds on another path to the same place. Returns whether anything was new.
    ///
    /// # Errors
    ///
    /// A flag that is set a different number of times.
    pub fn join(&mut self, mut other: Self) -> Result<bool, usize> {
        self.settle();
        other.settle();
        let differs = |flag: &usize| self.set[*flag].len() != other.set[*flag].len();
        if let Some(flag) = (0..self.set.len()).find(differs) {
            return Err(flag);
        }
        let mut is_new = false;
        let known = self.unknown.iter_mut().chain(&mut self.due);
        let others = other.unknown.iter().chain(&other.due);
        let set = self.set.iter_mut().flatten().map(|setting| &mut setting.untold);
        let others_set = other.set.iter().flatten().map(|setting| &setting.untold);
        for (own, other) in known.chain(set).zip(others.chain(others_set)) {
            is_new |= own.unite(other);
        }
        Ok(is_new)
    }
}
