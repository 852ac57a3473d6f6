//! Memory that knows, of every byte, who touched it last and which copies in flight may still touch it.
//!
//! A copy is **in flight** from its issue until its thread has observed its completion. In between it may read its
//! source and write its destination at any time, so whoever else touches these bytes has a race, whatever happens to be
//! there. Without that, what is there is settled by the [`Adversary`]: it is asked only when somebody looks, which makes
//! every legal time of landing reachable without a clock.
//!
//! Threads are ordered by barriers alone, see [`Order::unordered`]: two accesses to a byte by different threads with no
//! barrier between are a race if one of them writes.

mod shadow;

pub use self::shadow::{Actor, Array, Buffer, Moment, Order, Space};
use self::shadow::{Cell, PAGE, Recent};
use crate::adversary::Adversary;
use crate::report::{Hazard, Reports, Spot};
use crate::value::{BufferId, CopyId, Pointer};
use std::collections::HashMap;

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
}

/// An asynchronous copy.
struct Copy {
    actor: Actor,
    source: Pointer,
    destination: Pointer,
    /// How many bytes are read, and how many written; the rest is zero.
    read: usize,
    written: usize,
    /// What was read, where that was before the source changed.
    taken: Option<Vec<u8>>,
    landed: bool,
    /// The thread knows that the source was read.
    source_free: bool,
    complete: bool,
    /// The last access for which the adversary was asked whether it has landed, or read its source: once for all bytes.
    asked: [u64; 2],
}

/// All buffers, and the copies between them.
pub struct Memory {
    buffers: Vec<Buffer>,
    copies: Vec<Copy>,
    /// How many bytes the buffers have.
    bytes: usize,
    /// The number of the access that is being made.
    access: u64,
    adversary: Adversary,
    /// True if the adversary had a say: other schedules may go another way.
    pub asked: bool,
    order: Order,
    /// What was found.
    pub reports: Reports,
    /// The copies whose destination was read, where that is watched; each only once in a row.
    pub seen: Vec<CopyId>,
    watched: bool,
}

impl Memory {
    /// Makes an empty memory.
    #[must_use]
    pub fn new(adversary: Adversary, threads_per_block: u32) -> Self {
        Self {
            buffers: Vec::new(),
            copies: Vec::new(),
            bytes: 0,
            access: 0,
            adversary,
            asked: false,
            order: Order {
                threads_per_block,
                masks: HashMap::new(),
            },
            reports: Reports::default(),
            seen: Vec::new(),
            watched: false,
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
        data: Vec<u8>,
        array: Option<Array>,
    ) -> BufferId {
        let id = BufferId(u32::try_from(self.buffers.len()).unwrap_or(u32::MAX));
        let mut shadow = Vec::new();
        shadow.resize_with(data.len().div_ceil(PAGE), || None);
        self.bytes += data.len();
        self.buffers.push(Buffer {
            name,
            space,
            align,
            data,
            array,
            freed: false,
            copied: false,
            shadow,
        });
        id
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
        let buffer = &mut self.buffers[id.0 as usize];
        if buffer.freed {
            return;
        }
        self.bytes -= buffer.data.len();
        buffer.freed = true;
        buffer.data = Vec::new();
        buffer.shadow = Vec::new();
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
        let start = self.check(at, bytes, align)?;
        self.access += 1;
        self.note_read(actor, at.buffer, start, bytes);
        Ok(&self.buffer(at.buffer).data[start..start + bytes])
    }

    /// Writes bytes.
    ///
    /// # Errors
    ///
    /// If they are not there.
    pub fn write(&mut self, actor: Actor, at: Pointer, data: &[u8], align: usize) -> Result<(), Fault> {
        let start = self.check(at, data.len(), align)?;
        self.access += 1;
        let seen = if self.is_private(at.buffer) {
            start..start
        } else {
            start..start + data.len()
        };
        for i in seen {
            self.disturb(actor, at.buffer, i, Hazard::WriteInFlight);
            self.note_write(actor, at.buffer, i);
        }
        self.buffers[at.buffer.0 as usize].data[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }

    /// Issues an asynchronous copy of `written` bytes, of which `read` come from the source and the rest are zero.
    ///
    /// # Errors
    ///
    /// If the bytes are not there, or not aligned to `align`.
    pub fn issue(
        &mut self,
        actor: Actor,
        (source, destination): (Pointer, Pointer),
        (read, written): (usize, usize),
        align: usize,
    ) -> Result<CopyId, Fault> {
        let to = self.check(destination, written, align)?;
        self.access += 1;
        let id = CopyId(u32::try_from(self.copies.len()).unwrap_or(u32::MAX));
        for end in [source, destination] {
            self.buffers[end.buffer.0 as usize].copied = true;
        }
        if read > 0 {
            let from = self.check(source, read, align)?;
            self.note_read(actor, source.buffer, from, read);
        }
        for i in to..to + written {
            self.disturb(actor, destination.buffer, i, Hazard::CopyOverCopy);
            self.note_write(actor, destination.buffer, i);
            self.buffers[destination.buffer.0 as usize].cell_mut(i).landing = Some(id);
        }
        // Last, since a copy does not race with itself.
        each_cell(&mut self.buffers, source, read, |cell| {
            let count = cell.reading.map_or(0, |(_, count)| count);
            cell.reading = Some((id, count + 1));
        });
        self.copies.push(Copy {
            actor,
            source,
            destination,
            read,
            written,
            taken: None,
            landed: false,
            source_free: false,
            complete: false,
            asked: [0; 2],
        });
        Ok(id)
    }

    /// Threads of the warp of `thread` pass a barrier; `mask` has a bit for each.
    pub fn warp_barrier(&mut self, thread: u32, mask: u32) {
        let (warp, _) = self.order.warp(thread);
        self.order.masks.entry(warp).or_default().push(mask);
    }

    /// A block has ended: nobody asks what its warps have passed any more.
    pub fn forget_barriers(&mut self) {
        self.order.masks.clear();
    }

    /// How many barriers the warp of `thread` has passed.
    #[must_use]
    pub fn warp_barriers(&self, thread: u32) -> u32 {
        let (warp, _) = self.order.warp(thread);
        let passed = self.order.masks.get(&warp).map_or(0, Vec::len);
        u32::try_from(passed).unwrap_or(u32::MAX)
    }

    /// Completes a copy, as its thread observes it at `moment`.
    pub fn complete(&mut self, id: CopyId, moment: Moment) {
        if self.copies[id.0 as usize].complete {
            return;
        }
        self.land(id);
        self.free_source(id, moment);
        let copy = &mut self.copies[id.0 as usize];
        copy.complete = true;
        copy.taken = None;
        let access = Actor { moment, ..copy.actor };
        let (destination, written) = (copy.destination, copy.written);
        each_cell(&mut self.buffers, destination, written, |cell| {
            if cell.landing == Some(id) {
                cell.landing = None;
            }
            cell.write = Some(access);
            cell.copied = Some(id);
        });
    }

    /// The thread of a copy observes at `moment` that its source was read, and may change.
    pub fn free_source(&mut self, id: CopyId, moment: Moment) {
        if std::mem::replace(&mut self.copies[id.0 as usize].source_free, true) {
            return;
        }
        let copy = &self.copies[id.0 as usize];
        let access = Actor { moment, ..copy.actor };
        let (source, read) = (copy.source, copy.read);
        if !copy.landed && copy.taken.is_none() {
            self.copies[id.0 as usize].taken = Some(self.source_bytes(id));
        }
        let order = &self.order;
        each_cell(&mut self.buffers, source, read, |cell| {
            cell.reading = match cell.reading {
                Some((last, count)) if count > 1 => Some((last, count - 1)),
                _ => None,
            };
            cell.reads.add(access, order);
        });
    }

    /// Returns true if a copy is known to have read its source.
    #[must_use]
    pub fn is_source_free(&self, id: CopyId) -> bool {
        self.copies[id.0 as usize].source_free
    }

    /// Returns true if a copy's completion was observed.
    #[must_use]
    pub fn is_complete(&self, id: CopyId) -> bool {
        self.copies[id.0 as usize].complete
    }

    /// Who issued a copy.
    #[must_use]
    pub fn issuer(&self, id: CopyId) -> Spot {
        self.copies[id.0 as usize].actor.spot
    }

    /// Hands the adversary back, with what it has decided.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Buffer>, Adversary, Reports) {
        (self.buffers, self.adversary, self.reports)
    }

    fn ask(&mut self, id: CopyId, question: usize) -> bool {
        let last = &mut self.copies[id.0 as usize].asked[question];
        if std::mem::replace(last, self.access) == self.access {
            return false;
        }
        self.asked = true;
        self.adversary.already()
    }

    fn may_have_landed(&mut self, id: CopyId) {
        if !self.copies[id.0 as usize].landed && self.ask(id, 0) {
            self.land(id);
        }
    }

    /// Who issued a copy in flight that reads a byte: `last`, or an earlier one where that is done.
    fn reader(&self, last: CopyId, buffer: BufferId, byte: usize) -> Spot {
        let reads = |copy: &&Copy| {
            let start = usize::try_from(copy.source.offset).unwrap_or(0);
            !copy.source_free && copy.source.buffer == buffer && (start..start + copy.read).contains(&byte)
        };
        let before = &self.copies[..=last.0 as usize];
        before
            .iter()
            .rev()
            .find(reads)
            .unwrap_or(&before[last.0 as usize])
            .actor
            .spot
    }

    /// A write is about to change the source of a copy: what it reads may be settled already.
    fn may_have_read(&mut self, id: CopyId) {
        let copy = &self.copies[id.0 as usize];
        if !copy.landed && copy.taken.is_none() && self.ask(id, 1) {
            self.copies[id.0 as usize].taken = Some(self.source_bytes(id));
        }
    }

    fn source_bytes(&self, id: CopyId) -> Vec<u8> {
        let copy = &self.copies[id.0 as usize];
        let start = usize::try_from(copy.source.offset).unwrap_or(0);
        let source = &self.buffer(copy.source.buffer).data;
        let mut bytes = match copy.read {
            0 => Vec::new(),
            read => source.get(start..start + read).unwrap_or_default().to_vec(),
        };
        bytes.resize(copy.written, 0);
        bytes
    }

    fn land(&mut self, id: CopyId) {
        if std::mem::replace(&mut self.copies[id.0 as usize].landed, true) {
            return;
        }
        let bytes = match self.copies[id.0 as usize].taken.take() {
            Some(taken) => taken,
            None => self.source_bytes(id),
        };
        let at = self.copies[id.0 as usize].destination;
        let start = usize::try_from(at.offset).unwrap_or(0);
        let data = &mut self.buffers[at.buffer.0 as usize].data;
        if let Some(data) = data.get_mut(start..start + bytes.len()) {
            data.copy_from_slice(&bytes);
        }
    }

    /// Returns true if only one thread knows a buffer, so that nobody races for it.
    fn is_private(&self, id: BufferId) -> bool {
        let buffer = self.buffer(id);
        buffer.space == Space::Private && !buffer.copied
    }

    fn note_read(&mut self, actor: Actor, buffer: BufferId, start: usize, bytes: usize) {
        if self.is_private(buffer) {
            return;
        }
        for i in start..start + bytes {
            let cell = self.buffer(buffer).cell(i);
            if let Some(id) = cell.landing {
                let copy = self.copies[id.0 as usize].actor;
                let hazard = if self.order.unordered(copy, actor) {
                    Hazard::ReadBesideCopy
                } else {
                    Hazard::ReadInFlight
                };
                self.race(hazard, actor.spot, copy.spot, buffer, i);
                self.may_have_landed(id);
            } else if let Some(write) = cell.write
                && self.order.unordered(write, actor)
            {
                self.race(Hazard::ReadAfterWrite, actor.spot, write.spot, buffer, i);
            }
            let atomics = self.buffer(buffer).cell(i).before_read(actor.atomic);
            let racing: Vec<Actor> = atomics
                .filter(|access| self.order.unordered(*access, actor))
                .collect();
            for access in racing {
                self.race(Hazard::ReadAfterWrite, actor.spot, access.spot, buffer, i);
            }
            let cell = self.buffers[buffer.0 as usize].cell_mut(i);
            // What is read atomically is written, too.
            if !actor.atomic {
                cell.reads.add(actor, &self.order);
            }
            let copied = cell.copied.filter(|_| self.watched);
            if copied.is_some() && self.seen.last() != copied.as_ref() {
                self.seen.extend(copied);
            }
        }
    }

    /// Something is about to write a byte: reports the copies in flight that it comes too early for, `over` if one writes
    /// there.
    fn disturb(&mut self, actor: Actor, buffer: BufferId, i: usize, over: Hazard) {
        if let Some(id) = self.buffer(buffer).cell(i).landing {
            let before = self.copies[id.0 as usize].actor.spot;
            self.race(over, actor.spot, before, buffer, i);
            self.may_have_landed(id);
        }
        if let Some((id, _)) = self.buffer(buffer).cell(i).reading {
            let reader = self.reader(id, buffer, i);
            self.race(Hazard::SourceInFlight, actor.spot, reader, buffer, i);
            self.may_have_read(id);
        }
    }

    /// Notes a write, behind [`Memory::disturb`].
    fn note_write(&mut self, actor: Actor, buffer: BufferId, i: usize) {
        let cell = self.buffer(buffer).cell(i);
        let racing: Vec<Actor> = cell
            .before_write(actor.atomic)
            .filter(|access| self.order.unordered(*access, actor))
            .collect();
        if let Some(write) = cell.write
            && cell.landing.is_none()
            && self.order.unordered(write, actor)
        {
            self.race(Hazard::WriteAfterWrite, actor.spot, write.spot, buffer, i);
        }
        for access in racing {
            let hazard = if access.atomic {
                Hazard::WriteAfterWrite
            } else {
                Hazard::WriteAfterRead
            };
            self.race(hazard, actor.spot, access.spot, buffer, i);
        }
        let cell = self.buffers[buffer.0 as usize].cell_mut(i);
        cell.copied = None;
        if actor.atomic {
            let atomics = cell.atomics.get_or_insert_with(|| Box::new(Recent::NONE));
            atomics.add(actor, &self.order);
        } else {
            cell.write = Some(actor);
        }
    }

    fn race(&mut self, hazard: Hazard, now: Spot, before: Spot, buffer: BufferId, byte: usize) {
        self.reports.race(hazard, now, before, buffer, byte);
    }
}

fn each_cell(buffers: &mut [Buffer], at: Pointer, bytes: usize, mut change: impl FnMut(&mut Cell)) {
    let start = usize::try_from(at.offset).unwrap_or(0);
    let buffer = &mut buffers[at.buffer.0 as usize];
    // What was freed meanwhile nobody can look at.
    if !buffer.freed {
        (start..start + bytes).for_each(|byte| change(buffer.cell_mut(byte)));
    }
}
