//! Keeps what engines did, so that what another access conflicts with is found among few.
//!
//! Each access is in a few lists, from the earliest to the latest: that of its row of its buffer, of all of its buffer, and of more buffers. Each
//! engine has its own. An access looks at those lists that may have anything it conflicts with, from the end to the first thing that is certain
//! to have been executed.
//!
//! Cost: for each access and engine, the buffers that callers hand over (of many, all are one list), up to [`MOST_POSSIBLE`] accesses that may not have been
//! executed, and those that are passed, which are of other places in the same buffer: of each, what came since it was last certain.

use super::effects::Access;
use crate::analysis::alias::{Origin, Root};
use crate::analysis::places::Place;
use async_mlir::ir::Op;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use tokenflow::schedule::EngineId;

/// So many things that may not have been executed are told apart.
const MOST_POSSIBLE: usize = 32;

/// More buffers than these that callers hand over are not told apart.
const MOST_SHARED: usize = 128;

/// The engine that does something; nothing for what runs on none.
pub(crate) type Executor = Option<EngineId>;

/// An operation of the block, by its position, and what does the access in it.
pub(crate) type Position<'c> = (usize, Op<'c>);

/// Something that an engine did.
#[derive(Clone, Copy)]
pub(crate) struct Past<'c> {
    pub at: Position<'c>,
    /// It was executed.
    pub is_certain: bool,
    pub what: What<'c>,
}

/// What an engine did.
#[derive(Clone, Copy)]
pub(crate) enum What<'c> {
    Access(Access<'c>),
    Event(Kind),
}

/// The kind of what an engine did.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Read,
    Write,
    /// Nothing is known of it.
    Fence,
    /// It may not pass a fence.
    Ordered,
}

/// What a list is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Of<'c> {
    /// A row of a buffer; nothing for what is not known to be in one.
    Row(Root<'c>, Option<i64>),
    Buffer(Root<'c>),
    /// Buffers that callers hand over.
    Shared,
    /// Buffers that may be any.
    Unknown,
    All,
}

/// From the earliest to the latest. Some are forgotten.
#[derive(Default)]
struct List {
    past: Vec<usize>,
    forgotten: usize,
}

/// Accesses to places that are the same but for slots.
#[derive(Default)]
struct Class {
    /// Those that are not forgotten, from the earliest to the latest.
    kept: Vec<usize>,
    lists: Vec<usize>,
}

/// What engines did up to a place.
pub(crate) struct History<'c> {
    past: Vec<Past<'c>>,
    is_forgotten: Vec<bool>,
    lists: Vec<List>,
    numbers: FxHashMap<(Of<'c>, Executor, Kind), usize>,
    classes: FxHashMap<(Option<Place<'c>>, Executor, Kind), Class>,
    executors: BTreeSet<Executor>,
    /// By buffer that a caller hands over, which others it may be; nothing if there are too many.
    shared: Option<FxHashMap<Root<'c>, Vec<Root<'c>>>>,
}

impl<'c> What<'c> {
    fn kind(self) -> Kind {
        match self {
            Self::Access(access) if access.writes => Kind::Write,
            Self::Access(_) => Kind::Read,
            Self::Event(kind) => kind,
        }
    }

    fn place(self) -> Option<Place<'c>> {
        match self {
            Self::Access(access) => Some(access.place),
            Self::Event(_) => None,
        }
    }

    fn has_slot(self) -> bool {
        self.place().is_some_and(Place::has_slot)
    }
}

impl<'c> History<'c> {
    /// The history before anything of `accesses` has happened.
    pub fn new<'a>(accesses: impl Iterator<Item = &'a Access<'c>>) -> Self
    where
        'c: 'a,
    {
        Self {
            past: Vec::new(),
            is_forgotten: Vec::new(),
            lists: Vec::new(),
            numbers: FxHashMap::default(),
            classes: FxHashMap::default(),
            executors: BTreeSet::new(),
            shared: shared(accesses.map(|access| access.place.root)),
        }
    }

    /// Adds what comes last.
    pub fn add(&mut self, executor: Executor, past: Past<'c>) {
        self.executors.insert(executor);
        let kind = past.what.kind();
        let class = past.what.place().map(Place::in_any_iteration);
        if !past.what.has_slot() {
            self.forget((class, executor, kind), &past);
            if kind == Kind::Write {
                self.forget((class, executor, Kind::Read), &past);
            }
        }
        let number = self.past.len();
        self.past.push(past);
        self.is_forgotten.push(false);
        if !self.classes.contains_key(&(class, executor, kind)) {
            let lists = lists_with(class).into_iter();
            let lists = lists.map(|of| self.number(of, executor, kind)).collect();
            let new = Class {
                kept: Vec::new(),
                lists,
            };
            self.classes.insert((class, executor, kind), new);
        }
        let class = self.classes.entry((class, executor, kind)).or_default();
        class.kept.push(number);
        for list in &class.lists {
            self.lists[*list].past.push(number);
        }
    }

    /// Forgets what `new`, which comes later, stands for: whatever conflicts with that conflicts with `new`, too.
    fn forget(&mut self, (place, executor, kind): (Option<Place<'c>>, Executor, Kind), new: &Past<'c>) {
        let Some(class) = self.classes.get_mut(&(place, executor, kind)) else {
            return;
        };
        let past = &self.past;
        let is_hidden = |number: &usize| new.is_certain || past[*number].at.0 == new.at.0;
        let is_alike = |number: &usize| !past[*number].is_certain && !past[*number].what.has_slot();
        // One more than are told apart, which `new` is perhaps, says that there are more.
        let alike = class.kept.iter().filter(|number| is_alike(number)).count();
        let is_one_of_them = new.what.kind() == kind;
        let mut surplus = (alike + usize::from(is_one_of_them)).saturating_sub(MOST_POSSIBLE + 1);
        let mut forgotten = Vec::new();
        class.kept.retain(|number| {
            let is_surplus = surplus > 0 && is_alike(number);
            surplus -= usize::from(is_surplus);
            let is_kept = !is_hidden(number) && !is_surplus;
            if !is_kept {
                forgotten.push(*number);
            }
            is_kept
        });
        for number in &forgotten {
            self.is_forgotten[*number] = true;
        }
        for list in &class.lists {
            let list = &mut self.lists[*list];
            list.forgotten += forgotten.len();
            if 2 * list.forgotten > list.past.len() {
                list.past.retain(|number| !self.is_forgotten[*number]);
                list.forgotten = 0;
            }
        }
    }

    fn number(&mut self, of: Of<'c>, executor: Executor, kind: Kind) -> usize {
        let next = self.lists.len();
        let number = *self.numbers.entry((of, executor, kind)).or_insert(next);
        if number == next {
            self.lists.push(List::default());
        }
        number
    }

    /// Lists that have all that an access to `place` may conflict with.
    fn lists_near(&self, place: Place<'c>) -> Vec<Of<'c>> {
        let root = place.root;
        let others = match root.origin {
            Origin::Unknown(_) => return vec![Of::All],
            Origin::Own(_) => &[][..],
            _ => match &self.shared {
                Some(shared) => shared.get(&root).map_or(&[][..], Vec::as_slice),
                None => return vec![Of::Shared, Of::Unknown],
            },
        };
        let own = match place.row() {
            None => vec![Of::Buffer(root)],
            row => vec![Of::Row(root, row), Of::Row(root, None)],
        };
        let others = others.iter().map(|other| Of::Buffer(*other));
        own.into_iter().chain(others).chain([Of::Unknown]).collect()
    }

    /// What `access` has to come after, if it conflicts with all for which `conflicts` is true, and whether that stands for all that its engine
    /// did up to it.
    pub fn before(
        &self,
        access: &Access<'c>,
        conflicts: impl Fn(usize, &Access<'c>) -> bool,
    ) -> Vec<(Position<'c>, bool)> {
        let kinds = if access.writes {
            &[Kind::Read, Kind::Write][..]
        } else {
            &[Kind::Write]
        };
        self.last(&self.lists_near(access.place), kinds, |past| match &past.what {
            What::Access(other) => conflicts(past.at.0, other),
            What::Event(_) => false,
        })
    }

    /// What comes after everything of a kind has to come after.
    pub fn all(&self, kind: Kind) -> Vec<(Position<'c>, bool)> {
        self.last(&[Of::All], &[kind], |_| true)
    }

    /// What `matters` in some lists, of each engine.
    fn last(
        &self,
        lists: &[Of<'c>],
        kinds: &[Kind],
        matters: impl Fn(&Past<'c>) -> bool,
    ) -> Vec<(Position<'c>, bool)> {
        let mut all = Vec::new();
        for executor in &self.executors {
            let (mut found, mut from) = (Vec::new(), 0);
            for (of, kind) in lists
                .iter()
                .flat_map(|of| kinds.iter().map(move |kind| (of, kind)))
            {
                if let Some(list) = self.numbers.get(&(*of, *executor, *kind)) {
                    from = from.max(self.last_in(&self.lists[*list], &matters, &mut found));
                }
            }
            // The engine keeps its order.
            all.extend(found.into_iter().filter(|(at, _)| at.0 >= from));
        }
        all
    }

    /// Finds what `matters` in a list. Returns the position before which nothing else does, since the engine keeps its order.
    fn last_in(
        &self,
        list: &List,
        matters: impl Fn(&Past<'c>) -> bool,
        found: &mut Vec<(Position<'c>, bool)>,
    ) -> usize {
        let mut possible = 0;
        let kept = list
            .past
            .iter()
            .rev()
            .filter(|number| !self.is_forgotten[**number]);
        for past in kept
            .map(|number| &self.past[*number])
            .filter(|past| matters(past))
        {
            possible += usize::from(!past.is_certain);
            let is_of_all = possible > MOST_POSSIBLE;
            found.push((past.at, is_of_all));
            if past.is_certain || is_of_all {
                return past.at.0;
            }
        }
        0
    }
}

/// The lists that an access to `place` is in.
fn lists_with(place: Option<Place<'_>>) -> Vec<Of<'_>> {
    let Some(place) = place else {
        return vec![Of::All];
    };
    let root = place.root;
    let row = Of::Row(root, place.row());
    match root.origin {
        Origin::Unknown(_) => vec![Of::Unknown, Of::All],
        Origin::Own(_) => vec![row, Of::Buffer(root), Of::All],
        _ => vec![row, Of::Buffer(root), Of::Shared, Of::All],
    }
}

/// By buffer of `roots` that a caller hands over, which others it may be; nothing if there are too many.
fn shared<'c>(roots: impl Iterator<Item = Root<'c>>) -> Option<FxHashMap<Root<'c>, Vec<Root<'c>>>> {
    let is_shared = |root: &Root| !matches!(root.origin, Origin::Own(_) | Origin::Unknown(_));
    let mut seen = FxHashSet::default();
    let shared: Vec<Root> = roots
        .filter(|root| is_shared(root) && seen.insert(*root))
        .collect();
    (shared.len() <= MOST_SHARED).then(|| {
        let others = |root: Root<'c>| {
            let others = shared.iter().copied().filter(move |other| *other != root);
            others.filter(move |other| other.may_alias(root)).collect()
        };
        shared.iter().map(|root| (*root, others(*root))).collect()
    })
}
