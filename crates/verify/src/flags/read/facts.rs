//! Numbers what engines do, and finds which of it conflicts.
//!
//! Each operation has facts of its own: which of two was executed, and which of two an engine knows, differs from path to path.
//!
//! An access at a computed index and a value are facts at several *levels*: of this iteration of all loops around, or of an earlier one of the
//! loop at a depth, and of the same one of those around that.
//!
//! In the end, facts are numbered by engine and level, so that what an engine did since some time is few ranges.

use super::super::code::{Fact, FactId, Need, NeedId};
use super::needs::Lists;
use async_locations::places::Place;
use async_mlir::ir::Op;
use rustc_hash::FxHashMap;

/// What an engine does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What<'c> {
    /// An operation accesses a place, which it may write, and which an index may tell apart that is computed.
    Access(usize, bool, bool),
    /// It makes the results of this operation.
    Value(Op<'c>),
    /// It executes an operation that accesses nothing, but that a fence orders.
    Other,
    /// It executes a fence.
    Fence,
    /// A wait for this flag is over.
    Wait(usize),
}

/// What something has to know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Needed<'c> {
    /// What conflicts with an access to a place, which may write, in a loop.
    Access(usize, bool, Option<usize>),
    /// What made the results of an operation, in an earlier iteration of a loop, if that is around it.
    Value(Op<'c>, Option<Op<'c>>),
    /// All fences.
    Fences,
    /// All that fences order.
    All,
    /// All waits for this flag.
    Waits(usize),
}

/// The levels of a fact, whose first numbers follow each other.
pub(super) struct Levels<'c> {
    engine: usize,
    pub what: What<'c>,
    pub around: Option<usize>,
    first: FactId,
    pub number: usize,
    /// The operation that does it.
    op: Op<'c>,
}

/// A loop: the one around it, and how many there are, with itself.
struct LoopInfo {
    around: Option<usize>,
    depth: usize,
}

/// All facts.
#[derive(Default)]
pub(super) struct Facts<'c> {
    pub all: Vec<Levels<'c>>,
    count: usize,
    pub needs: Vec<Needed<'c>>,
    need_numbers: FxHashMap<Needed<'c>, NeedId>,
    loops: Vec<LoopInfo>,
    /// By first number, the last one.
    numbers: Vec<FactId>,
    /// By last number, whose level of which facts it is.
    by_number: Vec<(usize, usize)>,
}

impl<'c> Facts<'c> {
    pub fn add_loop(&mut self, around: Option<usize>) -> usize {
        let depth = self.depth(around) + 1;
        self.loops.push(LoopInfo { around, depth });
        self.loops.len() - 1
    }

    pub fn num_loops(&self) -> usize {
        self.loops.len()
    }

    fn depth(&self, number: Option<usize>) -> usize {
        number.map_or(0, |number| self.loops[number].depth)
    }

    /// Adds what `engine` does at this place, in a loop. Returns its number.
    pub fn add(&mut self, engine: usize, what: What<'c>, around: Option<usize>, op: Op<'c>) -> FactId {
        let around = around.filter(|_| what.has_levels());
        let number = self.depth(around) + 1;
        self.all.push(Levels {
            engine,
            what,
            around,
            first: self.count,
            number,
            op,
        });
        self.count += number;
        self.count - 1
    }

    /// The number of what something needs to know.
    pub fn need(&mut self, need: Needed<'c>) -> NeedId {
        let next = self.needs.len();
        let number = *self.need_numbers.entry(need).or_insert(next);
        if number == next {
            self.needs.push(need);
        }
        number
    }

    /// Gives facts their last numbers: those of an engine and a level are in a row.
    pub fn number(&mut self) -> Vec<Fact> {
        let all = self.all.iter().enumerate();
        let levels = all.flat_map(|(fact, levels)| (0..levels.number).map(move |level| (fact, level)));
        let first: Vec<(usize, usize)> = levels.collect();
        let band = |(fact, level): (usize, usize)| {
            let levels = &self.all[fact];
            (levels.engine, levels.what.has_levels(), level)
        };
        let mut order: Vec<FactId> = (0..first.len()).collect();
        order.sort_by_key(|number| band(first[*number]));
        let mut facts: Vec<Fact> = Vec::with_capacity(order.len());
        self.numbers = vec![0; order.len()];
        self.by_number = order.iter().map(|number| first[*number]).collect();
        let mut bands = 0;
        for (last, number) in order.into_iter().enumerate() {
            self.numbers[number] = last;
            let is_other = last > 0 && band(self.by_number[last - 1]) != band(self.by_number[last]);
            bands += usize::from(is_other);
            facts.push(Fact {
                engine: band(self.by_number[last]).0,
                band: bands,
            });
        }
        facts
    }

    /// The last number of the fact that [`Self::add`] gave this one.
    pub fn last_number(&self, first: FactId) -> FactId {
        self.numbers[first]
    }

    /// The last number of a level of a fact.
    pub fn at_level(&self, fact: usize, level: usize) -> FactId {
        self.numbers[self.all[fact].first + level]
    }

    /// The operation that does what has this last number.
    pub fn op(&self, fact: FactId) -> Op<'c> {
        self.all[self.by_number[fact].0].op
    }

    /// Lists of facts, and what of them each need is about.
    pub fn needs(
        &self,
        places: &[Place<'c>],
        loops: &FxHashMap<Op<'c>, usize>,
    ) -> (Vec<Vec<FactId>>, Vec<Need>) {
        let mut lists = Lists::of(self, places);
        let needs = self.needs.iter().map(|need| lists.need(*need, loops)).collect();
        (lists.all, needs)
    }

    /// Returns true if a need, which is one of an access, is about a fact, an access to a place that may overlap in some iteration.
    pub fn is_needed(&self, need: NeedId, fact: FactId, places: &[Place<'c>]) -> bool {
        let (fact, level) = self.by_number[fact];
        let levels = &self.all[fact];
        let (Needed::Access(place, _, around), What::Access(other, ..)) = (self.needs[need], levels.what)
        else {
            return true;
        };
        let (place, other) = (places[place], places[other]);
        // Those of an earlier iteration of a loop around both are at any index.
        let is_older = || level < self.common_depth(around, levels.around);
        other.may_overlap(place, true) || is_older() && other.may_overlap(place, false)
    }

    /// How many levels of a value are of an earlier iteration of a loop `carried`, if that is around it.
    pub fn levels_of_value(&self, carried: Option<usize>, fact: usize) -> usize {
        let levels = &self.all[fact];
        let carried = carried.filter(|carried| self.is_in(levels.around, *carried));
        carried.map_or(levels.number, |carried| self.loops[carried].depth)
    }

    /// Returns true if `inner` is loop `around`, or in it.
    fn is_in(&self, inner: Option<usize>, around: usize) -> bool {
        self.chain(inner).any(|number| number == around)
    }

    /// `number` and the loops around it.
    fn chain(&self, number: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(number, |number| self.loops[*number].around)
    }

    /// How many loops are around both.
    fn common_depth(&self, a: Option<usize>, b: Option<usize>) -> usize {
        let common = self.chain(a).find(|number| self.is_in(b, *number));
        self.depth(common)
    }

    /// By loop, what facts become in its next iteration.
    pub fn aged(&self) -> Vec<Vec<(FactId, FactId)>> {
        let mut aged = vec![Vec::new(); self.loops.len()];
        for (fact, levels) in self.all.iter().enumerate() {
            for number in self.chain(levels.around) {
                let depth = self.loops[number].depth;
                let old = self.at_level(fact, depth - 1);
                let newer = (depth..levels.number).map(|level| (self.at_level(fact, level), old));
                aged[number].extend(newer);
            }
        }
        for pairs in &mut aged {
            pairs.sort_unstable();
        }
        aged
    }
}

impl What<'_> {
    fn has_levels(self) -> bool {
        matches!(self, Self::Access(_, _, true) | Self::Value(_))
    }
}
