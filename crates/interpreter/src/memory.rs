//! Memory that knows, of every byte, who touched it last and which copies in flight may still touch it.
//!
//! A copy is **in flight** from its issue until its thread has observed its completion. In between it may read its
//! source and write its destination at any time, so whoever else touches these bytes has a race, whatever happens to be
//! there. Without that, what is there is settled by the [`Adversary`]: it is asked only when somebody looks, which makes
//! every legal time of landing reachable without a clock.
//!
//! Threads are ordered by barriers alone, see [`Order::unordered`]: two accesses to a byte by different threads with no
//! barrier between are a race if one of them writes.

mod accesses;
mod cells;
mod clock;
mod copies;
mod fork;
mod history;
mod mbarriers;
mod order;
mod program;
mod races;
mod shadow;
mod threads;
mod window;

use self::accesses::{AccessId, Accesses};
use self::cells::Shadow;
use self::copies::Copy;
pub use self::copies::{Piece, Transfer};
pub use self::order::{Clock, Moment, Order, join};
pub use self::program::{Owner, Touched};
pub use self::shadow::{Actor, Array, Buffer, Contents, Kind, Space};
use self::window::Window;
use crate::adversary::Adversary;
use crate::report::{Hazard, PhaseOf, Reports, Spot};
use crate::value::{BufferId, CopyId, Pointer};
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::Arc;

/// More than a kernel that is worth interpreting has, and less than a machine does.
const MAX_BYTES: usize = 1 << 30;

/// An access that can't be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An index is negative, or not below the size of its dimension.
    Index {
        /// The buffer.
        buffer: BufferId,
        /// The index of the first element that is not there.
        index: i64,
        /// Its dimension.
        dim: usize,
        /// The size of that.
        size: i64,
    },
    /// The buffer was deallocated.
    Freed {
        /// The buffer.
        buffer: BufferId,
    },
    /// The buffer is the device's and the host accesses it, or the other way round.
    Elsewhere {
        /// The buffer.
        buffer: BufferId,
    },
    /// Some of the bytes are not the buffer's.
    OutOfBounds {
        /// The buffer.
        buffer: BufferId,
        /// The first byte accessed.
        offset: i64,
        /// How many bytes.
        bytes: usize,
    },
    /// The address is not a multiple of what the access needs.
    Misaligned {
        /// The buffer.
        buffer: BufferId,
        /// The first byte accessed.
        offset: i64,
        /// What it has to be a multiple of.
        align: usize,
    },
    /// There were more accesses than can be told apart.
    Accesses,
}

/// All buffers, and the copies between them.
pub struct Memory {
    buffers: Vec<Buffer>,
    /// The copies of the block that runs.
    copies: Vec<Copy>,
    /// The number of the first of them.
    first_copy: u32,
    /// What copies of earlier blocks wrote, where that may be asked for.
    done_copies: Vec<(Spot, Arc<[Piece]>)>,
    /// Phases that copies complete on.
    phases: Vec<PhaseOf>,
    /// How many bytes the buffers have.
    bytes: usize,
    /// The number of the access that is being made.
    access: u64,
    adversary: Adversary,
    /// The adversary before it was asked anything.
    first_adversary: Adversary,
    /// True if the adversary had a say: other schedules may go another way.
    pub schedule_matters: bool,
    order: Order,
    accesses: Accesses,
    /// What was found.
    pub reports: Reports,
    /// The copies whose destination was read, where that is watched; each only once in a row.
    pub seen: Vec<CopyId>,
    watched: bool,
    /// For each thread, a hash of all that it has read so far, atomic accesses aside, if that is asked for.
    pub read_hashes: Option<Vec<u64>>,
    /// What forks have touched that this memory has adopted, if that is asked for.
    touched_by_forks: Option<Vec<Touched>>,
    strict_proxies: bool,
    window: Window,
    /// Who has it, in a program with a device.
    side: Owner,
    /// The bytes that nobody has written.
    unwritten: u8,
    /// The thread that an access is not ordered before, of the warpgroup that makes the access of this number: many bytes
    /// have the same one.
    verdict: Option<(u64, AccessId, Option<u32>)>,
}

impl Fault {
    /// The same where each buffer is another one.
    #[must_use]
    pub(crate) fn in_buffers(mut self, of: impl Fn(BufferId) -> BufferId) -> Self {
        match &mut self {
            Self::Index { buffer, .. }
            | Self::Freed { buffer }
            | Self::Elsewhere { buffer }
            | Self::OutOfBounds { buffer, .. }
            | Self::Misaligned { buffer, .. } => *buffer = of(*buffer),
            Self::Accesses => {}
        }
        self
    }
}

impl Memory {
    /// Makes an empty memory.
    #[must_use]
    pub fn new(adversary: Adversary, threads_per_block: u32) -> Self {
        Self {
            buffers: Vec::new(),
            copies: Vec::new(),
            first_copy: 0,
            done_copies: Vec::new(),
            phases: Vec::new(),
            bytes: 0,
            access: 0,
            first_adversary: adversary.clone(),
            adversary,
            schedule_matters: false,
            order: Order::new(threads_per_block),
            accesses: Accesses::new(threads_per_block),
            reports: Reports::default(),
            seen: Vec::new(),
            watched: false,
            read_hashes: None,
            touched_by_forks: None,
            strict_proxies: false,
            window: Window::default(),
            side: Owner::default(),
            // A NaN in every floating-point type, and an odd number.
            unwritten: 0xFF,
            verdict: None,
        }
    }

    /// Says whether [`Memory::seen`] is wanted.
    pub fn watch(&mut self, watched: bool) {
        self.watched = watched;
    }

    /// Adds a buffer.
    pub fn add(
        &mut self,
        name: String,
        space: Space,
        align: u32,
        contents: Contents,
        array: Option<Array>,
    ) -> BufferId {
        let id = BufferId(u32::try_from(self.buffers.len()).unwrap_or(u32::MAX));
        self.bytes += contents.bytes();
        if space == Space::Workgroup {
            self.window.add(id, contents.bytes(), align);
        }
        let mut buffer = Buffer::new(name, space, align, contents, array);
        if !buffer.unwritten.is_empty() {
            buffer.data.fill(self.unwritten);
        }
        (buffer.owner, buffer.origin) = (self.side, self.side);
        self.buffers.push(buffer);
        id
    }

    /// All buffers, by their numbers.
    pub(crate) fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The bytes of a buffer, to be changed by somebody whom nothing is known of.
    pub(crate) fn bytes_of(&mut self, id: BufferId) -> &mut Vec<u8> {
        &mut self.buffers[id.0 as usize].data
    }

    /// Returns true if a buffer of so many bytes can be added.
    #[must_use]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= MAX_BYTES
    }

    /// A buffer.
    #[must_use]
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }

    /// Frees a buffer: nobody can access it any more.
    pub fn free(&mut self, id: BufferId) {
        self.note_never_written(id);
        let buffer = &mut self.buffers[id.0 as usize];
        if buffer.freed {
            return;
        }
        self.bytes -= buffer.data.len();
        buffer.freed = true;
        buffer.data = Vec::new();
        buffer.shadow = Shadow::default();
        buffer.unwritten = Vec::new();
    }

    /// Frees a buffer where the thread of `actor` does; returns an access by another one that nothing orders before that.
    pub fn free_by(&mut self, id: BufferId, actor: Actor) -> Option<Spot> {
        let buffer = &mut self.buffers[id.0 as usize];
        let (order, accesses) = (&self.order, &self.accesses);
        let (mut last, mut found) = (None, None);
        buffer.shadow.each_access(&mut |id| {
            if found.is_none() && last.replace(*id) != Some(*id) {
                let access = accesses.actor(*id);
                found = order.unordered(access, actor).then_some(access.spot);
            }
        });
        buffer.freed_at = Some(actor.spot);
        self.free(id);
        found
    }

    /// A buffer was to be made, and that has failed.
    pub(crate) fn make_absent(&mut self, id: BufferId) {
        self.free(id);
    }

    /// Returns true if there is no such buffer, since what was to make it has failed.
    pub(crate) fn is_absent(&self, id: BufferId) -> bool {
        let buffer = self.buffer(id);
        buffer.freed && buffer.freed_at.is_none()
    }

    /// Returns true if a buffer was freed.
    #[must_use]
    pub fn is_freed(&self, id: BufferId) -> bool {
        self.buffer(id).freed
    }

    /// Gives the numbers of accesses that no byte remembers to later ones, if it is time to.
    pub fn tidy(&mut self) {
        if self.accesses.is_full() {
            self.accesses.end_of_block();
            self.forget_accesses();
        }
    }

    /// Checks that `bytes` bytes at `at` are there, and aligned.
    ///
    /// # Errors
    ///
    /// If they are not.
    pub fn check(&self, at: Pointer, bytes: usize, align: usize) -> Result<usize, Fault> {
        let buffer = self.buffer(at.buffer);
        if buffer.freed {
            return Err(Fault::Freed { buffer: at.buffer });
        }
        if bytes > 0 && self.is_elsewhere(at, bytes) {
            return Err(Fault::Elsewhere { buffer: at.buffer });
        }
        let out = Fault::OutOfBounds {
            buffer: at.buffer,
            offset: at.offset,
            bytes,
        };
        let start = usize::try_from(at.offset).map_err(|_| out.clone())?;
        if start.checked_add(bytes).is_none_or(|end| end > buffer.data.len()) {
            return Err(out);
        }
        if start % align != 0 || align > buffer.align as usize {
            return Err(Fault::Misaligned {
                buffer: at.buffer,
                offset: at.offset,
                align,
            });
        }
        Ok(start)
    }

    /// Reads bytes.
    ///
    /// # Errors
    ///
    /// If they are not there.
    pub fn read(&mut self, actor: Actor, at: Pointer, bytes: usize, align: usize) -> Result<&[u8], Fault> {
        self.read_by(actor, at, (bytes, align), true)
    }

    /// Reads bytes that another thread reads at the same time, whose read alone writes that come later may race with.
    ///
    /// # Errors
    ///
    /// If they are not there.
    pub fn read_along(
        &mut self,
        actor: Actor,
        at: Pointer,
        bytes: usize,
        align: usize,
    ) -> Result<&[u8], Fault> {
        self.read_by(actor, at, (bytes, align), false)
    }

    fn read_by(
        &mut self,
        actor: Actor,
        at: Pointer,
        (bytes, align): (usize, usize),
        is_kept: bool,
    ) -> Result<&[u8], Fault> {
        let start = self.check(at, bytes, align)?;
        self.access += 1;
        self.reports.rely(actor.spot);
        self.note_unwritten(actor, at.buffer, start..start + bytes);
        self.note_mbarriers(actor, at.buffer, &(start..start + bytes));
        if !self.is_private(at.buffer) {
            let id = self.number(actor)?;
            self.note_read((actor, id), at.buffer, start, bytes, is_kept);
        }
        let data = &self.buffers[at.buffer.0 as usize].data[start..start + bytes];
        if let Some(hashes) = &mut self.read_hashes
            && !actor.is_atomic()
        {
            add_to_hash(hashes, actor.spot.thread as usize, data);
        }
        Ok(data)
    }

    /// Writes bytes.
    ///
    /// # Errors
    ///
    /// If they are not there.
    pub fn write(&mut self, actor: Actor, at: Pointer, data: &[u8], align: usize) -> Result<(), Fault> {
        let start = self.check(at, data.len(), align)?;
        self.access += 1;
        self.note_mbarriers(actor, at.buffer, &(start..start + data.len()));
        self.reports.rely(actor.spot);
        if !self.is_private(at.buffer) {
            let id = self.number(actor)?;
            let mut rest = start..start + data.len();
            self.shadow(at.buffer).fit(&rest);
            while let Some(granule) = self.shadow(at.buffer).next(&mut rest) {
                let mut cell = self.take(at.buffer, &granule);
                self.disturb(actor, &cell, at.buffer, &granule, Hazard::WriteInFlight);
                self.note_write((actor, id), &mut cell, at.buffer, &granule);
                self.shadow(at.buffer).put(&granule, cell);
            }
        }
        let buffer = &mut self.buffers[at.buffer.0 as usize];
        buffer.note_written(start..start + data.len());
        buffer.data[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }

    /// The number of an access.
    fn number(&mut self, actor: Actor) -> Result<AccessId, Fault> {
        self.accesses.number(actor).ok_or(Fault::Accesses)
    }

    /// Gives the numbers of accesses that no byte remembers to later ones.
    fn forget_accesses(&mut self) {
        let mut renumbering = self.accesses.renumber();
        for buffer in &mut self.buffers {
            buffer.shadow.each_access(&mut |id| renumbering.keep(id));
        }
        self.accesses = renumbering.finish();
    }

    /// From now on, reads through the generic proxy need a fence before an asynchronous write, too.
    pub fn use_strict_proxies(&mut self) {
        self.strict_proxies = true;
    }

    /// A block has ended: nobody asks any more what its threads have passed and waited for.
    pub fn forget_barriers(&mut self) {
        self.order.forget();
        self.window = Window::default();
        if self.accesses.end_of_block() {
            self.forget_accesses();
        }
        self.note_behind();
        self.forget_copies();
        self.reports.forget_waits();
    }

    /// Hands the adversary back, with what it has decided.
    #[must_use]
    pub fn into_parts(mut self) -> (Vec<Buffer>, Adversary, Reports) {
        for id in 0..self.buffers.len() {
            self.note_never_written(BufferId(u32::try_from(id).unwrap_or(u32::MAX)));
        }
        (self.buffers, self.adversary, self.reports)
    }

    /// Asks the adversary whether what may have happened has.
    pub fn may_already(&mut self) -> bool {
        self.schedule_matters = true;
        self.adversary.already()
    }
}

/// Adds bytes to the hash of a thread.
fn add_to_hash(hashes: &mut Vec<u64>, thread: usize, bytes: &[u8]) {
    if hashes.len() <= thread {
        hashes.resize(thread + 1, 0);
    }
    let mut hasher = FxHasher::default();
    hasher.write_u64(hashes[thread]);
    hasher.write(bytes);
    hashes[thread] = hasher.finish();
}
