//! Numbers what engines do, and finds which of it conflicts.
//!
//! Each operation has facts of its own: which of two was executed, and which of two an engine knows, differs from path to path.
//!
//! An access at a computed index and a value are facts at several *levels*: of this iteration of all loops around, or of an earlier one of the
//! loop at a depth, and of the same one of those around that.

use super::super::code::FactId;
use super::neighbors::Neighbors;
use async_locations::places::Place;
use async_mlir::ir::Op;
use rustc_hash::FxHashMap;

/// What an engine does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum What<'c> {
    /// An operation accesses a place, which it may write, and which an index may tell apart that is computed.
    Access(Op<'c>, usize, bool, bool),
    /// It makes the results of this operation.
    Value(Op<'c>),
    /// It executes an operation that accesses nothing, but that a fence orders.
    Other(Op<'c>),
    /// It executes this fence.
    Fence(Op<'c>),
    /// The last wait for a flag in a block is over.
    Wait(usize, usize),
}

/// What something has to know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Need<'c> {
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

/// Numbers of facts, by what they are.
#[derive(Default)]
struct Index<'c> {
    /// By place.
    accesses: Vec<Vec<usize>>,
    values: FxHashMap<Op<'c>, usize>,
    fences: Vec<usize>,
    /// All that fences order, without themselves.
    others: Vec<usize>,
    /// By flag.
    waits: FxHashMap<usize, Vec<usize>>,
}

/// The levels of a fact, whose numbers follow each other.
struct Levels<'c> {
    engine: usize,
    what: What<'c>,
    around: Option<usize>,
    first: FactId,
    number: usize,
    /// The operation that does it; of a flag, the first one.
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
    all: Vec<Levels<'c>>,
    numbers: FxHashMap<(usize, What<'c>, Option<usize>), usize>,
    count: usize,
    needs: Vec<Need<'c>>,
    need_numbers: FxHashMap<Need<'c>, usize>,
    loops: Vec<LoopInfo>,
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

    /// The number of what `engine` does now, in a loop.
    pub fn of(&mut self, engine: usize, what: What<'c>, around: Option<usize>, op: Op<'c>) -> FactId {
        let has_levels = matches!(what, What::Access(_, _, _, true) | What::Value(_));
        let around = around.filter(|_| has_levels);
        let next = self.all.len();
        let levels = *self.numbers.entry((engine, what, around)).or_insert(next);
        if levels == next {
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
        }
        let levels = &self.all[levels];
        levels.first + levels.number - 1
    }

    /// The number of a list of facts.
    pub fn need(&mut self, need: Need<'c>) -> usize {
        let next = self.needs.len();
        let number = *self.need_numbers.entry(need).or_insert(next);
        if number == next {
            self.needs.push(need);
        }
        number
    }

    /// The engine of each fact.
    pub fn engines(&self) -> Vec<usize> {
        let engines = self.all.iter();
        engines
            .flat_map(|levels| std::iter::repeat_n(levels.engine, levels.number))
            .collect()
    }

    /// The operation that does `fact`.
    pub fn op(&self, fact: FactId) -> Op<'c> {
        let after = self.all.partition_point(|levels| levels.first <= fact);
        self.all[after - 1].op
    }

    /// The facts of each list.
    pub fn needs(&self, places: &[Place<'c>], loops: &FxHashMap<Op<'c>, usize>) -> Vec<Vec<FactId>> {
        let index = self.index(places.len());
        let overlaps = Neighbors::of(places);
        let lists = self.needs.iter().map(|need| match *need {
            Need::Access(place, writes, around) => {
                let others = overlaps.of_place(place).into_iter();
                let accesses = others.flat_map(|other| &index.accesses[other]);
                let needed = accesses.flat_map(|number| {
                    let levels = &self.all[*number];
                    self.needed_accesses((places[place], writes, around), levels, places)
                });
                needed.collect()
            }
            Need::Value(op, carried) => {
                let levels = index.values.get(&op).map(|number| &self.all[*number]);
                let carried = carried.and_then(|carried| loops.get(&carried)).copied();
                let needed = levels.map(|levels| self.needed_values(carried, levels));
                needed.into_iter().flatten().collect()
            }
            Need::Fences => self.all_levels(&index.fences).collect(),
            Need::All => {
                let accesses = index.accesses.iter().flat_map(|numbers| self.all_levels(numbers));
                let others = self
                    .all_levels(&index.fences)
                    .chain(self.all_levels(&index.others));
                others.chain(accesses).collect()
            }
            Need::Waits(flag) => {
                let waits = index.waits.get(&flag).map_or(&[][..], Vec::as_slice);
                self.all_levels(waits).collect()
            }
        });
        lists.collect()
    }

    fn index(&self, places: usize) -> Index<'c> {
        let mut index = Index {
            accesses: vec![Vec::new(); places],
            ..Index::default()
        };
        for (number, levels) in self.all.iter().enumerate() {
            match levels.what {
                What::Access(_, place, ..) => index.accesses[place].push(number),
                What::Value(op) => {
                    index.values.insert(op, number);
                }
                What::Other(_) => index.others.push(number),
                What::Fence(_) => index.fences.push(number),
                What::Wait(flag, _) => index.waits.entry(flag).or_default().push(number),
            }
        }
        index
    }

    fn all_levels(&self, numbers: &[usize]) -> impl Iterator<Item = FactId> {
        let levels = numbers.iter().map(|number| &self.all[*number]);
        levels.flat_map(|levels| levels.first..levels.first + levels.number)
    }

    /// Those levels of an access that one in a loop conflicts with.
    fn needed_accesses(
        &self,
        (place, writes, around): (Place<'c>, bool, Option<usize>),
        levels: &Levels<'c>,
        places: &[Place<'c>],
    ) -> std::ops::Range<FactId> {
        let number = match levels.what {
            // Those of an earlier iteration of a loop around both are at any index.
            What::Access(_, other, other_writes, _) if writes || other_writes => {
                if places[other].may_overlap(place, true) {
                    levels.number
                } else if places[other].may_overlap(place, false) {
                    self.common_depth(around, levels.around).min(levels.number)
                } else {
                    0
                }
            }
            _ => 0,
        };
        levels.first..levels.first + number
    }

    /// Those levels of a value that are of an earlier iteration of a loop `carried`, if that is around it.
    fn needed_values(&self, carried: Option<usize>, levels: &Levels<'c>) -> std::ops::Range<FactId> {
        let carried = carried.filter(|carried| self.is_in(levels.around, *carried));
        let number = carried.map_or(levels.number, |carried| self.loops[carried].depth);
        levels.first..levels.first + number
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
        for levels in &self.all {
            for number in self.chain(levels.around) {
                let depth = self.loops[number].depth;
                let old = levels.first + depth - 1;
                let newer = old + 1..levels.first + levels.number;
                aged[number].extend(newer.map(|new| (new, old)));
            }
        }
        aged
    }
}
