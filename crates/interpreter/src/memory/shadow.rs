//! Buffers, and who accesses them.

use super::Owner;
use super::cells::Shadow;
use super::order::{Moment, Shared};
use crate::report::Spot;
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// By a thread, or a copy of its own.
    Plain,
    /// The same, and it does not race with others that are atomic.
    Atomic,
    /// Through the asynchronous proxy: by a bulk copy that a thread has issued.
    Bulk,
    /// By a bulk copy of all threads of a block together.
    Block,
    /// Through the asynchronous proxy, by a multiplication of a warpgroup; its thread is the first one.
    Warpgroup {
        /// True if what threads have written before needs no fence: in token form, where passes put the fences.
        fenced: bool,
    },
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

    /// Returns true if it goes through the asynchronous proxy, and a fence has to come before it.
    pub(super) fn needs_fence(&self) -> bool {
        matches!(self.kind, Kind::Bulk | Kind::Warpgroup { fenced: false })
    }

    /// Returns true if a warpgroup multiplies.
    pub(super) fn is_of_warpgroup(&self) -> bool {
        matches!(self.kind, Kind::Warpgroup { .. })
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
    /// Where it was, if a task of the host did.
    pub(crate) freed_at: Option<Spot>,
    /// Who may access it, in a program with a device.
    pub(super) owner: Owner,
    /// Who has allocated it.
    pub(super) origin: Owner,
    /// The bytes that are page-locked, though the host alone has allocated it.
    pub(super) locked: Range<usize>,
    /// A bit for each byte that nobody has written; nothing if there are none.
    pub(super) unwritten: Vec<u64>,
    /// Where mbarriers begin, and who has initialized them.
    pub(super) mbarriers: Vec<(usize, Spot)>,
    /// What is known of its bytes.
    pub(super) shadow: Shadow,
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

impl Buffer {
    /// Returns true if host code has allocated it for the device, or for both, and nobody has freed it.
    #[must_use]
    pub fn is_left(&self) -> bool {
        self.origin != Owner::Host && !self.freed
    }

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
            Contents::Unwritten(bytes) => (vec![0; bytes], vec![u64::MAX; bytes.div_ceil(64)]),
        };
        let shadow = Shadow::new(data.len());
        Self {
            name,
            space,
            align,
            data,
            array,
            copied: false,
            freed: false,
            freed_at: None,
            owner: Owner::default(),
            origin: Owner::default(),
            locked: 0..0,
            unwritten,
            mbarriers: Vec::new(),
            shadow,
        }
    }

    /// The same buffer with nothing known of it, as it is before anybody accesses it.
    pub(super) fn fork(&self) -> Self {
        Self {
            name: self.name.clone(),
            space: self.space,
            align: self.align,
            data: self.data.clone(),
            array: self.array.clone(),
            copied: self.copied,
            freed: self.freed,
            freed_at: self.freed_at,
            owner: self.owner,
            origin: self.origin,
            locked: self.locked.clone(),
            unwritten: self.unwritten.clone(),
            mbarriers: Vec::new(),
            shadow: Shadow::new(self.data.len()),
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

    /// Notes that nobody has written these bytes, after all.
    pub(super) fn note_unwritten(&mut self, bytes: impl Iterator<Item = usize>) {
        let words = self.data.len().div_ceil(64);
        for byte in bytes {
            self.unwritten.resize(words, 0);
            self.unwritten[byte / 64] |= 1 << (byte % 64);
        }
    }

    /// Notes that the bytes of `range` are written.
    pub(super) fn note_written(&mut self, range: Range<usize>) {
        if !self.unwritten.is_empty() {
            for byte in range {
                self.unwritten[byte / 64] &= !(1 << (byte % 64));
            }
        }
    }
}
