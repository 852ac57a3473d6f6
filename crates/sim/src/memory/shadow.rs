//! Buffers, and what is known of each of their bytes.

use crate::report::Spot;
use crate::value::CopyId;
use std::num::NonZeroU32;

/// The threads of a warp.
const WARP: u32 = 32;

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
    /// True if it does not race with others that are atomic.
    pub atomic: bool,
}

/// When something happens, between which barriers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// How many block barriers lie before it, those of earlier blocks included; and one more.
    pub era: NonZeroU32,
    /// How many barriers of the thread's warp.
    pub warp: u32,
}

/// Which threads belong together.
#[derive(Clone, Copy, Debug)]
pub struct Groups {
    /// Threads are counted over all blocks.
    pub threads_per_block: u32,
}

impl Groups {
    fn block(self, actor: &Actor) -> u32 {
        actor.spot.thread / self.threads_per_block
    }

    fn same_warp(self, a: &Actor, b: &Actor) -> bool {
        let lane = |actor: &Actor| actor.spot.thread % self.threads_per_block / WARP;
        self.block(a) == self.block(b) && lane(a) == lane(b)
    }

    /// Returns true if nothing orders an access before what `actor` does: they are of different threads, no block
    /// barrier lies between, nor one of the warp that they share. Nothing orders blocks.
    #[must_use]
    pub fn unordered(self, access: Actor, actor: Actor) -> bool {
        if access.spot.thread == actor.spot.thread {
            return false;
        }
        if self.block(&access) != self.block(&actor) {
            return true;
        }
        let (before, now) = (access.moment, actor.moment);
        before.era == now.era && !(self.same_warp(&access, &actor) && before.warp < now.warp)
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
    /// True if it was deallocated.
    pub(super) freed: bool,
    /// What is known of each byte, page by page; of bytes that nobody has touched there is none.
    pub(super) shadow: Vec<Option<Box<[Cell]>>>,
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
}

static UNTOUCHED: Cell = Cell {
    write: None,
    reads: Recent::NONE,
    atomics: None,
    landing: None,
    reading: None,
    copied: None,
};

impl Cell {
    /// The accesses that a write may race with; an atomic one does not with those that are.
    pub(super) fn before_write(&self, atomic: bool) -> impl Iterator<Item = Actor> {
        let reads = self.reads.all();
        reads.chain(self.before_read(atomic))
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
}

impl Recent {
    pub(super) const NONE: Self = Self {
        own: [None; 2],
        others: [None; 2],
    };

    fn all(&self) -> impl Iterator<Item = Actor> {
        let ([a, b], [c, d]) = (self.own, self.others);
        [a, b, c, d].into_iter().flatten()
    }

    pub(super) fn add(&mut self, access: Actor, groups: Groups) {
        let [first, second] = &mut self.own;
        let [warp, block] = &mut self.others;
        let Some(last) = *first else {
            *first = Some(access);
            return;
        };
        if groups.block(&last) != groups.block(&access) {
            *block = Some(last);
            (*first, *second, *warp) = (Some(access), None, None);
        } else if last.moment.era != access.moment.era {
            (*first, *second, *warp) = (Some(access), None, None);
        } else if !groups.same_warp(&last, &access) {
            (*first, *second, *warp) = (Some(access), None, Some(last));
        } else if last.moment.warp != access.moment.warp {
            (*first, *second) = (Some(access), None);
        } else if last.spot.thread != access.spot.thread {
            *second = Some(access);
        } else {
            *first = Some(access);
        }
    }
}
