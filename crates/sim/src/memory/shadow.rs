//! Buffers, and what is known of each of their bytes.

use super::order::{Moment, Order, Shared};
use crate::report::Spot;
use crate::value::CopyId;
use std::ops::Range;

/// Where a buffer lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Seen by all blocks.
    Global,
    /// Seen by the threads of one block.
    Workgroup,
    /// Seen by one thread.
    Private,
}

/// Who accesses memory.
#[derive(Clone, Copy, Debug)]
pub struct Actor {
    /// The operation, the thread and the iterations.
    pub spot: Spot,
    /// When.
    pub moment: Moment,
    /// How.
    pub kind: Kind,
    /// If a copy has done it that many threads wait for: what they have to know.
    pub shared: Option<Shared>,
}

/// How memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// By a thread, or a copy of its own.
    Plain,
    /// The same, and it does not race with others that are atomic.
    Atomic,
    /// Through the asynchronous proxy: by a bulk copy that a thread has issued.
    Bulk,
    /// By a bulk copy of all threads of a block together.
    Block,
}

impl Actor {
    /// A thread that accesses memory itself.
    #[must_use]
    pub fn plain(spot: Spot, moment: Moment) -> Self {
        Self {
            spot,
            moment,
            kind: Kind::Plain,
            shared: None,
        }
    }

    /// Returns true if it does not race with others that are atomic.
    pub(super) fn is_atomic(&self) -> bool {
        self.kind == Kind::Atomic
    }
}

/// Bytes, and what is known of each.
pub struct Buffer {
    /// What to call it in a report.
    pub name: String,
    /// Where it lies.
    pub space: Space,
    /// What its first byte is aligned to.
    pub align: u32,
    /// The bytes.
    pub data: Vec<u8>,
    /// What it is an array of, if it is one without gaps.
    pub array: Option<Array>,
    /// True if a copy has read or written it.
    pub(super) copied: bool,
    /// True if it was deallocated.
    pub(super) freed: bool,
    /// A bit for each byte that nobody has written; nothing if there are none.
    pub(super) unwritten: Vec<u64>,
    /// What is known of each byte, page by page; of bytes that nobody has touched there is none.
    pub(super) shadow: Vec<Option<Box<[Cell]>>>,
}

/// What is in a buffer at first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Contents {
    /// These bytes.
    Bytes(Vec<u8>),
    /// So many bytes that nobody has written.
    Unwritten(usize),
}

impl Contents {
    /// How many bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Unwritten(bytes) => *bytes,
        }
    }
}

/// An array, row by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// The size of each dimension.
    pub sizes: Vec<i64>,
    /// The bytes of an element.
    pub element: usize,
}

/// Bytes of one page of shadow.
pub(super) const PAGE: usize = 1024;

impl Buffer {
    /// A buffer that nobody has accessed.
    pub(super) fn new(
        name: String,
        space: Space,
        align: u32,
        contents: Contents,
        array: Option<Array>,
    ) -> Self {
        let (data, unwritten) = match contents {
            Contents::Bytes(bytes) => (bytes, Vec::new()),
            // A NaN in every floating-point type, and an odd number.
            Contents::Unwritten(bytes) => (vec![0xFF; bytes], vec![u64::MAX; bytes.div_ceil(64)]),
        };
        let mut shadow = Vec::new();
        shadow.resize_with(data.len().div_ceil(PAGE), || None);
        Self {
            name,
            space,
            align,
            data,
            array,
            copied: false,
            freed: false,
            unwritten,
            shadow,
        }
    }

    /// What is in a buffer that nobody has accessed yet.
    pub(crate) fn contents(&self) -> Contents {
        if self.unwritten.is_empty() {
            Contents::Bytes(self.data.clone())
        } else {
            Contents::Unwritten(self.data.len())
        }
    }

    /// The bytes of `range` that nobody has written; `None` if all of the buffer was written from the start.
    pub(super) fn unwritten(&self, range: Range<usize>) -> Option<impl Iterator<Item = usize>> {
        let is_unwritten = |byte: &usize| self.unwritten[byte / 64] >> (byte % 64) & 1 == 1;
        (!self.unwritten.is_empty()).then(|| range.filter(is_unwritten))
    }

    /// Notes that the bytes of `range` are written.
    pub(super) fn note_written(&mut self, range: Range<usize>) {
        if !self.unwritten.is_empty() {
            for byte in range {
                self.unwritten[byte / 64] &= !(1 << (byte % 64));
            }
        }
    }

    pub(super) fn cell(&self, byte: usize) -> &Cell {
        match &self.shadow[byte / PAGE] {
            Some(page) => &page[byte % PAGE],
            None => &UNTOUCHED,
        }
    }

    pub(super) fn cell_mut(&mut self, byte: usize) -> &mut Cell {
        let page = &mut self.shadow[byte / PAGE];
        &mut page.get_or_insert_with(|| vec![UNTOUCHED.clone(); PAGE].into())[byte % PAGE]
    }
}

/// What is known of a byte.
#[derive(Clone)]
pub(super) struct Cell {
    /// The last write that is not atomic.
    pub(super) write: Option<Actor>,
    /// Reads that are not atomic.
    pub(super) reads: Recent,
    /// Atomic accesses, which few bytes have.
    pub(super) atomics: Option<Box<Recent>>,
    /// The copy in flight that writes here.
    pub(super) landing: Option<CopyId>,
    /// A copy in flight that reads here, and how many do.
    pub(super) reading: Option<(CopyId, u32)>,
    /// The copy that wrote last, if it was one.
    pub(super) copied: Option<CopyId>,
    /// Copies that many threads wait for and that have read here.
    pub(super) drained: Vec<Actor>,
}

static UNTOUCHED: Cell = Cell {
    write: None,
    reads: Recent::NONE,
    atomics: None,
    landing: None,
    reading: None,
    copied: None,
    drained: Vec::new(),
};

impl Cell {
    /// The accesses that a write may race with; an atomic one does not with those that are.
    pub(super) fn before_write(&self, atomic: bool) -> impl Iterator<Item = Actor> {
        let reads = self.reads.all();
        let drained = self.drained.iter().copied();
        reads.chain(drained).chain(self.before_read(atomic))
    }

    /// A copy that many threads wait for has read here. Those of earlier eras are after everybody.
    pub(super) fn drain(&mut self, access: Actor) {
        self.drained
            .retain(|before| before.moment.era == access.moment.era);
        self.drained.push(access);
    }

    /// Forgets all accesses: something else is ordered after them.
    pub(super) fn forget(&mut self) {
        self.reads = Recent::NONE;
        self.atomics = None;
        self.drained = Vec::new();
    }

    /// The atomic accesses that a read may race with.
    pub(super) fn before_read(&self, atomic: bool) -> impl Iterator<Item = Actor> {
        let atomics = self.atomics.as_deref().filter(|_| !atomic);
        atomics.into_iter().flat_map(Recent::all)
    }
}

/// Accesses of one kind that race not with each other: some of each group of threads, so that whoever comes with another
/// kind finds one that it is not ordered with, if there is any.
#[derive(Clone)]
pub(super) struct Recent {
    /// The last one, and one by another thread of its warp since the last barrier.
    own: [Option<Actor>; 2],
    /// One by another warp since the last block barrier, and one by a block that has ended.
    others: [Option<Actor>; 2],
    /// The last one of each thread since the last block barrier, by thread: where mbarriers order threads, a few do not
    /// stand for all.
    each: Vec<Actor>,
}

impl Recent {
    pub(super) const NONE: Self = Self {
        own: [None; 2],
        others: [None; 2],
        each: Vec::new(),
    };

    pub(super) fn all(&self) -> impl Iterator<Item = Actor> {
        let ([a, b], [c, d]) = (self.own, self.others);
        let each = self.each.iter().copied();
        [a, b, c, d].into_iter().flatten().chain(each)
    }

    /// Keeps an access in the place of the last one of its thread.
    fn keep(&mut self, access: Actor) {
        let each = &mut self.each;
        if each
            .first()
            .is_some_and(|first| first.moment.era != access.moment.era)
        {
            each.clear();
        }
        match each.binary_search_by_key(&access.spot.thread, |kept| kept.spot.thread) {
            Ok(place) => each[place] = access,
            Err(place) => each.insert(place, access),
        }
    }

    pub(super) fn add(&mut self, access: Actor, order: &Order) {
        if order.has_clocks() {
            self.keep(access);
        }
        let [first, second] = &mut self.own;
        let [warp, block] = &mut self.others;
        let Some(last) = *first else {
            *first = Some(access);
            return;
        };
        let same_era = last.moment.era == access.moment.era;
        if same_era && last.spot.thread == access.spot.thread {
            *first = Some(access);
            return;
        }
        let ((old, _), (new, _)) = (order.warp(last.spot.thread), order.warp(access.spot.thread));
        if old.0 != new.0 {
            *block = Some(last);
            (*first, *second, *warp) = (Some(access), None, None);
        } else if !same_era {
            (*first, *second, *warp) = (Some(access), None, None);
        } else if old != new {
            (*first, *second, *warp) = (Some(access), None, Some(last));
        } else if order.unordered(last, access) {
            *second = Some(access);
        } else {
            (*first, *second) = (Some(access), None);
        }
    }
}
