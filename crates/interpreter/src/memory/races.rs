//! Accesses of a granule: which of those before it one races with.

use super::accesses::AccessId;
use super::cells::{Cell, Shadow};
use super::copies::start;
use super::{Actor, Kind, Memory, Space};
use crate::report::{Hazard, Spot};
use crate::value::{BufferId, Pointer};
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
                .race(Hazard::Unwritten, actor.spot, nearest, id, &(byte..byte + 1));
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

    /// Notes a read, and keeps it for writes that come later if it `is_kept`.
    pub(super) fn note_read(
        &mut self,
        (actor, id): (Actor, AccessId),
        buffer: BufferId,
        start: usize,
        bytes: usize,
        is_kept: bool,
    ) {
        if self.is_private(buffer) {
            return;
        }
        let mut rest = start..start + bytes;
        self.shadow(buffer).fit(&rest);
        while let Some(granule) = self.shadow(buffer).next(&mut rest) {
            let mut cell = self.take(buffer, &granule);
            if let Some(id) = cell.landing {
                let copy = self.copy(id).actor;
                let hazard = if self.order.unordered(copy, actor) {
                    Hazard::ReadBesideCopy
                } else {
                    Hazard::ReadInFlight
                };
                self.race(hazard, actor, copy.spot, buffer, &granule);
                if hazard == Hazard::ReadInFlight {
                    self.copy_mut(id).read_early = true;
                }
                self.may_have_landed(id);
            } else if let Some(write) = cell.write {
                self.race_unless_ordered(Hazard::ReadAfterWrite, write, actor, buffer, &granule);
            }
            self.note_proxies(actor, &cell, buffer, &granule, false);
            for access in cell.before_read(actor.is_atomic()) {
                self.race_unless_ordered(Hazard::ReadAfterWrite, access, actor, buffer, &granule);
            }
            // What is read atomically is written, too.
            if !actor.is_atomic() && is_kept {
                cell.reads.add((actor, id), &self.order, &self.accesses);
            }
            let copied = cell.copied;
            if copied.is_some() && self.seen.last() != copied.as_ref() {
                self.seen.extend(copied);
            }
            self.shadow(buffer).put(&granule, cell);
        }
    }

    /// Something is about to write a granule: reports the copies in flight that it comes too early for, `over` if one writes
    /// there.
    pub(super) fn disturb(
        &mut self,
        actor: Actor,
        cell: &Cell,
        buffer: BufferId,
        granule: &Range<usize>,
        over: Hazard,
    ) {
        if let Some(id) = cell.landing {
            let before = self.copy(id).actor.spot;
            self.race(over, actor, before, buffer, granule);
            self.may_have_landed(id);
        }
        if let Some((id, _)) = cell.reading {
            let reader = self.reader(id, buffer, granule.start);
            let hazard = if self.order.unordered(reader, actor) {
                Hazard::SourceBesideCopy
            } else {
                Hazard::SourceInFlight
            };
            self.race(hazard, actor, reader.spot, buffer, granule);
            self.may_have_read(id);
        }
    }

    /// Reports that a thread has written bytes twice by one instruction, in no order.
    pub fn note_written_twice(&mut self, actor: Actor, at: Pointer, bytes: usize) {
        let first = start(at);
        let range = first..first + bytes;
        self.race(Hazard::WriteAfterWrite, actor, actor.spot, at.buffer, &range);
    }

    /// Notes a write, after [`Memory::disturb`].
    pub(super) fn note_write(
        &mut self,
        (actor, id): (Actor, AccessId),
        cell: &mut Cell,
        buffer: BufferId,
        granule: &Range<usize>,
    ) {
        self.note_proxies(actor, cell, buffer, granule, true);
        if let Some(write) = cell.write
            && cell.landing.is_none()
        {
            self.race_unless_ordered(Hazard::WriteAfterWrite, write, actor, buffer, granule);
        }
        for access in cell.before_write(actor.is_atomic()) {
            let hazard = if self.accesses.actor(access).is_atomic() {
                Hazard::WriteAfterWrite
            } else {
                Hazard::WriteAfterRead
            };
            self.race_unless_ordered(hazard, access, actor, buffer, granule);
        }
        cell.copied = None;
        // Whoever comes after the copy comes after all that the copy comes after.
        if matches!(actor.kind, Kind::Block | Kind::Bulk) {
            cell.forget();
        }
        if actor.is_atomic() {
            let atomics = cell.atomics.get_or_insert_default();
            atomics.add((actor, id), &self.order, &self.accesses);
        } else {
            cell.write = Some(id);
        }
    }

    /// Reports what a copy through the asynchronous proxy comes to that the generic proxy has written, and no fence of the
    /// writing thread lies between. Where nothing orders the two, that is reported already.
    fn note_proxies(
        &mut self,
        actor: Actor,
        cell: &Cell,
        buffer: BufferId,
        granule: &Range<usize>,
        writes: bool,
    ) {
        if !actor.needs_fence() || self.buffer(buffer).space != Space::Workgroup {
            return;
        }
        let missing =
            |access: &Actor| self.order.unfenced(*access, actor) && !self.order.unordered(*access, actor);
        let atomics = cell.atomics.iter().flat_map(|atomics| atomics.all());
        let writes_before = cell.write.into_iter().chain(atomics);
        let write = writes_before.map(|id| self.accesses.actor(id)).find(missing);
        let reads = cell.reads.all().filter(|_| writes && self.strict_proxies);
        let read = reads.map(|id| self.accesses.actor(id)).find(missing);
        if let Some(write) = write.filter(|_| cell.landing.is_none()) {
            self.race(Hazard::UnfencedWrite, actor, write.spot, buffer, granule);
        } else if let Some(read) = read {
            self.race(Hazard::UnfencedRead, actor, read.spot, buffer, granule);
        }
    }

    fn race_unless_ordered(
        &mut self,
        hazard: Hazard,
        before: AccessId,
        actor: Actor,
        buffer: BufferId,
        granule: &Range<usize>,
    ) {
        let now = self.unordered_spot(before, actor);
        let before = self.accesses.actor(before);
        if let Some(spot) = now {
            self.race(hazard, Actor { spot, ..actor }, before.spot, buffer, granule);
        }
    }

    /// Who `actor` is if nothing orders an access before what it does. Of a warpgroup, every thread is asked: once for all
    /// bytes that have one access before them.
    fn unordered_spot(&mut self, before: AccessId, actor: Actor) -> Option<Spot> {
        let access = self.accesses.actor(before);
        if !actor.is_of_warpgroup() {
            return self.order.unordered(access, actor).then_some(actor.spot);
        }
        let current = self.access;
        let thread = match self.verdict {
            Some((number, id, thread)) if (number, id) == (current, before) => thread,
            _ => self.order.unordered_with(access, actor),
        };
        self.verdict = Some((current, before, thread));
        thread.map(|thread| Spot { thread, ..actor.spot })
    }

    fn race(&mut self, hazard: Hazard, actor: Actor, before: Spot, buffer: BufferId, bytes: &Range<usize>) {
        let now = actor.spot;
        let block = |spot: Spot| spot.thread / self.order.threads_per_block;
        if !self.reports.race(hazard, now, Some(before), buffer, bytes) {
            return;
        }
        let waits = self.waits(hazard, actor, before);
        let same_block = block(now) == block(before);
        self.reports.note_waits(hazard, (now, before), waits, same_block);
        let fresh = self.buffer(buffer).unwritten(bytes.clone());
        if hazard == Hazard::WriteAfterRead && fresh.is_some_and(|mut fresh| fresh.next().is_some()) {
            self.reports.found_nothing(hazard, now, before);
        }
    }

    pub(super) fn shadow(&mut self, id: BufferId) -> &mut Shadow {
        &mut self.buffers[id.0 as usize].shadow
    }

    /// Takes what is known of a granule; [`Shadow::put`] gives it back.
    pub(super) fn take(&mut self, id: BufferId, granule: &Range<usize>) -> Cell {
        self.buffers[id.0 as usize].shadow.take(granule, &self.accesses)
    }
}
