//! Accesses of a byte: which of those before it one races with.

use super::shadow::Recent;
use super::{Actor, Kind, Memory, Space};
use crate::report::{Hazard, Spot};
use crate::value::BufferId;
use std::ops::Range;

impl Memory {
    /// Returns true if only one thread knows a buffer, so that nobody races for it.
    pub(super) fn is_private(&self, id: BufferId) -> bool {
        let buffer = self.buffer(id);
        buffer.space == Space::Private && !buffer.copied
    }

    /// Reports a read of what nobody has written.
    pub(super) fn note_unwritten(&mut self, actor: Actor, id: BufferId, range: Range<usize>) {
        let Some(mut unwritten) = self.buffer(id).unwritten(range) else {
            return;
        };
        let Some(first) = unwritten.next() else { return };
        let bytes: Vec<usize> = std::iter::once(first).chain(unwritten).collect();
        let nearest = match self.reports.unwritten(actor.spot) {
            Some(known) => known.before,
            None => self.nearest_copy(id, first),
        };
        for byte in bytes {
            self.reports
                .race(Hazard::Unwritten, actor.spot, nearest, id, byte);
        }
    }

    /// A buffer is not written any more: notes which reads of what nobody had written found what was written later.
    pub(super) fn note_never_written(&mut self, id: BufferId) {
        let buffer = &self.buffers[id.0 as usize];
        if buffer.unwritten.is_empty() {
            return;
        }
        for race in self.reports.unwritten_in(id) {
            let (first, last) = race.bytes;
            let mut left = buffer.unwritten(first..last + 1).into_iter().flatten();
            race.never_written = left.next().is_some();
        }
    }

    pub(super) fn note_read(&mut self, actor: Actor, buffer: BufferId, start: usize, bytes: usize) {
        self.copy_reads(actor, buffer, start, bytes, false);
    }

    /// The same, of a copy that is `shared` or not.
    pub(super) fn copy_reads(
        &mut self,
        actor: Actor,
        buffer: BufferId,
        start: usize,
        bytes: usize,
        shared: bool,
    ) {
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
            self.note_proxies(actor, buffer, i, false);
            let atomics = self.buffer(buffer).cell(i).before_read(actor.is_atomic());
            let racing: Vec<Actor> = atomics
                .filter(|access| self.order.unordered(*access, actor))
                .collect();
            for access in racing {
                self.race(Hazard::ReadAfterWrite, actor.spot, access.spot, buffer, i);
            }
            let cell = self.buffers[buffer.0 as usize].cell_mut(i);
            // What is read atomically is written, too. What a copy reads that many wait for is read until they know.
            if !actor.is_atomic() && !shared {
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
    pub(super) fn disturb(&mut self, actor: Actor, buffer: BufferId, i: usize, over: Hazard) {
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

    /// Notes a write, after [`Memory::disturb`].
    pub(super) fn note_write(&mut self, actor: Actor, buffer: BufferId, i: usize) {
        self.note_proxies(actor, buffer, i, true);
        let cell = self.buffer(buffer).cell(i);
        let racing: Vec<Actor> = cell
            .before_write(actor.is_atomic())
            .filter(|access| self.order.unordered(*access, actor))
            .collect();
        if let Some(write) = cell.write
            && cell.landing.is_none()
            && self.order.unordered(write, actor)
        {
            self.race(Hazard::WriteAfterWrite, actor.spot, write.spot, buffer, i);
        }
        for access in racing {
            let hazard = if access.is_atomic() {
                Hazard::WriteAfterWrite
            } else {
                Hazard::WriteAfterRead
            };
            self.race(hazard, actor.spot, access.spot, buffer, i);
        }
        let cell = self.buffers[buffer.0 as usize].cell_mut(i);
        cell.copied = None;
        // Whoever comes after the copy comes after all that the copy comes after.
        if matches!(actor.kind, Kind::Block | Kind::Bulk) {
            cell.forget();
        }
        if actor.is_atomic() {
            let atomics = cell.atomics.get_or_insert_with(|| Box::new(Recent::NONE));
            atomics.add(actor, &self.order);
        } else {
            cell.write = Some(actor);
        }
    }

    /// Reports what a copy through the asynchronous proxy comes to that the generic proxy has written, and no fence of the
    /// writing thread lies between. Where nothing orders the two, that is reported already.
    pub(super) fn note_proxies(&mut self, actor: Actor, buffer: BufferId, i: usize, writes: bool) {
        if actor.kind != Kind::Bulk || self.buffer(buffer).space != Space::Workgroup {
            return;
        }
        let missing =
            |access: &Actor| !self.order.unordered(*access, actor) && self.order.unfenced(*access, actor);
        let cell = self.buffer(buffer).cell(i);
        let atomics = cell.atomics.iter().flat_map(|atomics| atomics.all());
        let write = cell.write.into_iter().chain(atomics).find(missing);
        let reads = cell.reads.all().filter(|_| writes && self.strict_proxies);
        let read = reads.into_iter().find(|read| missing(read));
        if let Some(write) = write.filter(|_| cell.landing.is_none()) {
            self.race(Hazard::UnfencedWrite, actor.spot, write.spot, buffer, i);
        } else if let Some(read) = read {
            self.race(Hazard::UnfencedRead, actor.spot, read.spot, buffer, i);
        }
    }

    pub(super) fn race(&mut self, hazard: Hazard, now: Spot, before: Spot, buffer: BufferId, byte: usize) {
        if self.reports.race(hazard, now, Some(before), buffer, byte) {
            let waited = self.has_waited(now.thread, before);
            self.reports.note_waited(hazard, now, before, waited);
        }
    }
}
