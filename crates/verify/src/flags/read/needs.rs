//! Lists facts by what may need them, so that each need is a few lists that others share: accesses by the *class* of their place, which is the
//! place without indices that are computed, and by their buffer.

use super::super::code::{FactId, Need};
use super::facts::{Facts, Needed, What};
use async_locations::alias::{Origin, Root};
use async_locations::places::Place;
use async_mlir::ir::Op;
use rustc_hash::{FxHashMap, FxHashSet};

/// More buffers than these that may be another one are not told apart in lists.
const MOST_SHARED: usize = 128;

/// The lists of facts, which are in order, with what each is of.
pub(super) struct Lists<'a, 'c> {
    facts: &'a Facts<'c>,
    places: &'a [Place<'c>],
    buffers: Buffers<'c>,
    numbers: FxHashMap<List<'c>, usize>,
    pub all: Vec<Vec<FactId>>,
    values: FxHashMap<Op<'c>, usize>,
}

/// What a list is of. Accesses are listed by whether they write.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum List<'c> {
    Fences,
    /// What a fence orders, and that accesses nothing.
    Others,
    Accesses(bool),
    /// Those of places that are alike but for computed indices.
    Class(Place<'c>, bool),
    /// Those of a buffer.
    Buffer(Root<'c>, bool),
    /// Those of all buffers that may be another one, if there are many.
    Shared(bool),
    /// Those of buffers that may be any.
    Unknown(bool),
    Waits(usize),
}

/// The buffers that are accessed.
#[derive(Default)]
struct Buffers<'c> {
    /// By buffer and row, if that is known, the classes in it.
    classes: FxHashMap<Root<'c>, FxHashMap<Option<i64>, Vec<Place<'c>>>>,
    /// Those that are neither of the function's own nor unknown: these may be another one.
    shared: Vec<Root<'c>>,
    has_unknown: bool,
}

impl<'a, 'c> Lists<'a, 'c> {
    pub fn of(facts: &'a Facts<'c>, places: &'a [Place<'c>]) -> Self {
        let mut lists = Self {
            facts,
            places,
            buffers: Buffers::of(places),
            numbers: FxHashMap::default(),
            all: Vec::new(),
            values: FxHashMap::default(),
        };
        for (fact, levels) in facts.all.iter().enumerate() {
            let of: Vec<List> = match levels.what {
                What::Access(place, writes, _) => {
                    let place = places[place];
                    let class = List::Class(place.in_any_iteration(), writes);
                    let buffer = match place.root.origin {
                        Origin::Unknown(_) => List::Unknown(writes),
                        _ => List::Buffer(place.root, writes),
                    };
                    let mut of = vec![List::Accesses(writes), class, buffer];
                    if lists.buffers.has_many_shared() && is_shared(place) {
                        of.push(List::Shared(writes));
                    }
                    of
                }
                What::Other => vec![List::Others],
                What::Fence => vec![List::Fences],
                What::Wait(flag) => vec![List::Waits(flag)],
                What::Value(op) => {
                    lists.values.insert(op, fact);
                    continue;
                }
            };
            for list in of {
                let number = lists.number(list);
                let numbers = (0..levels.number).map(|level| facts.at_level(fact, level));
                lists.all[number].extend(numbers);
            }
        }
        lists.all.iter_mut().for_each(|list| list.sort_unstable());
        lists
    }

    fn number(&mut self, list: List<'c>) -> usize {
        let next = self.all.len();
        let number = *self.numbers.entry(list).or_insert(next);
        if number == next {
            self.all.push(Vec::new());
        }
        number
    }

    /// What `need` is about.
    pub fn need(&mut self, need: Needed<'c>, loops: &FxHashMap<Op<'c>, usize>) -> Need {
        let lists = match need {
            Needed::Access(place, writes, _) => return self.access(self.places[place], writes),
            Needed::Value(op, carried) => {
                let carried = carried.and_then(|carried| loops.get(&carried)).copied();
                let facts = self.facts;
                let levels = self
                    .values
                    .get(&op)
                    .map_or(0..0, |fact| 0..facts.levels_of_value(carried, *fact));
                let numbers = levels.map(|level| facts.at_level(self.values[&op], level));
                let mut list: Vec<FactId> = numbers.collect();
                list.sort_unstable();
                self.all.push(list);
                vec![self.all.len() - 1]
            }
            Needed::Fences => self.known([List::Fences]),
            Needed::All => self.known([
                List::Fences,
                List::Others,
                List::Accesses(false),
                List::Accesses(true),
            ]),
            Needed::Waits(flag) => self.known([List::Waits(flag)]),
        };
        Need {
            lists,
            is_filtered: false,
        }
    }

    /// The numbers of those lists that there are.
    fn known(&self, lists: impl IntoIterator<Item = List<'c>>) -> Vec<usize> {
        let lists = lists.into_iter();
        lists
            .filter_map(|list| self.numbers.get(&list).copied())
            .collect()
    }

    /// What conflicts with an access to `place`, and perhaps more.
    fn access(&self, place: Place<'c>, writes: bool) -> Need {
        // A read conflicts with what writes alone.
        let kinds = if writes { &[true, false][..] } else { &[true] };
        let lists = self.buffers.near(place);
        let lists = kinds.iter().flat_map(|writes| {
            lists.iter().map(|list| match *list {
                List::Class(class, _) => List::Class(class, *writes),
                List::Buffer(root, _) => List::Buffer(root, *writes),
                List::Shared(_) => List::Shared(*writes),
                List::Unknown(_) => List::Unknown(*writes),
                _ => List::Accesses(*writes),
            })
        });
        Need {
            lists: self.known(lists),
            is_filtered: place.has_slot() || self.buffers.has_unknown || self.buffers.has_many_shared(),
        }
    }
}

impl<'c> Buffers<'c> {
    fn of(places: &[Place<'c>]) -> Self {
        let mut new = Self::default();
        let mut seen = FxHashSet::default();
        for place in places {
            let class = place.in_any_iteration();
            if !seen.insert(class) {
                continue;
            }
            let is_unknown = matches!(place.root.origin, Origin::Unknown(_));
            if is_shared(*place) && !new.classes.contains_key(&place.root) {
                new.shared.push(place.root);
            }
            new.has_unknown |= is_unknown;
            let rows = new.classes.entry(place.root).or_default();
            rows.entry(place.row()).or_default().push(class);
        }
        new
    }

    fn has_many_shared(&self) -> bool {
        self.shared.len() > MOST_SHARED
    }

    /// Lists of all accesses that may overlap with one to `place`, whether they write or not.
    fn near(&self, place: Place<'c>) -> Vec<List<'c>> {
        let any = false;
        if matches!(place.root.origin, Origin::Unknown(_)) {
            return vec![List::Accesses(any)];
        }
        if self.has_many_shared() && is_shared(place) {
            return vec![List::Shared(any), List::Unknown(any)];
        }
        let rows = self.classes.get(&place.root);
        let near: Vec<&Vec<Place>> = match (rows, place.row()) {
            (None, _) => Vec::new(),
            (Some(rows), None) => rows.values().collect(),
            (Some(rows), row) => [row, None].iter().filter_map(|row| rows.get(row)).collect(),
        };
        let near = near.into_iter().flatten();
        let near = near.filter(|class| class.may_overlap(place, false));
        let mut lists: Vec<List> = near.map(|class| List::Class(*class, any)).collect();
        let others = self.shared.iter().filter(|root| **root != place.root);
        let others = others.filter(|root| root.may_alias(place.root));
        lists.extend(others.map(|root| List::Buffer(*root, any)));
        lists.push(List::Unknown(any));
        lists
    }
}

/// Returns true if the buffer of `place` is neither the function's own nor unknown.
fn is_shared(place: Place<'_>) -> bool {
    !matches!(place.root.origin, Origin::Own(_) | Origin::Unknown(_))
}
