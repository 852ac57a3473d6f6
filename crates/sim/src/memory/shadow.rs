//! Buffers, and what is known of each of their bytes.

use crate::report::Spot;
use crate::value::CopyId;
use std::collections::HashMap;
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
    /// How many barriers of the thread's warp, whichever of its threads they were of.
    pub warp: u32,
}

/// What orders threads: they are counted over all blocks.
#[derive(Clone, Debug)]
pub struct Order {
    /// How many threads a block has.
    pub threads_per_block: u32,
    /// The threads that each barrier of a warp was of, as bits, in the order of time.
    pub(super) masks: HashMap<Warp, Vec<u32>>,
}

/// A block, and a warp of it.
pub(super) type Warp = (u32, u32);

impl Order {
    /// The warp of a thread, and its lane.
    pub(super) fn warp(&self, thread: u32) -> (Warp, u32) {
        let (block, inside) = (thread / self.threads_per_block, thread % self.threads_per_block);
        ((block, inside / WARP), inside % WARP)
    }

    /// Returns true if nothing orders an access before what `actor` does: they are of different threads, and no block
    /// barrier lies between, nor any barriers of their warp that lead from the one to the other. Nothing orders blocks.
    #[must_use]
    pub fn unordered(&self, access: Actor, actor: Actor) -> bool {
        let (before, now) = (access.spot.thread, actor.spot.thread);
        if before == now {
            return false;
        }
        let same_block = before / self.threads_per_block == now / self.threads_per_block;
        !same_block || (access.moment.era == actor.moment.era && !self.in_warp(access, actor))
    }

    /// Returns true if barriers of a warp order an access before another one of the same era.
    fn in_warp(&self, access: Actor, actor: Actor) -> bool {
        if access.moment.warp >= actor.moment.warp {
            return false;
        }
        let ((warp, from), (other, to)) = (self.warp(access.spot.thread), self.warp(actor.spot.thread));
        let between = access.moment.warp as usize..actor.moment.warp as usize;
        let masks = self.masks.get(&warp).and_then(|masks| masks.get(between));
        let mut reached = 1_u32 << from;
        warp == other
            && masks.unwrap_or_default().iter().any(|mask| {
                if mask & reached != 0 {
                    reached |= mask;
                }
                reached >> to & 1 == 1
            })
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

    pub(super) fn add(&mut self, access: Actor, order: &Order) {
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
