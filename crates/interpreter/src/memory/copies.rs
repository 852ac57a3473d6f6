//! Copies in flight: what they still touch, when they land, and who knows.

use super::accesses::Accesses;
use super::cells::Cell;
use super::order::{Order, Shared};
use super::{Actor, Fault, Kind, Memory, Moment, Space};
use crate::report::{Hazard, NthWait, Spot};
use crate::value::{BufferId, CopyId, Pending, Pointer};
use std::sync::Arc;

/// Bytes that a copy moves, which lie in a row on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Where from; the fill if it is `None`.
    pub source: Option<Pointer>,
    /// Where to; nowhere if it is `None`.
    pub destination: Option<Pointer>,
    /// How many.
    pub bytes: usize,
}

/// What a copy does.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// All its bytes.
    pub pieces: Arc<[Piece]>,
    /// What stands for bytes that have no source, over and over.
    pub fill: Arc<[u8]>,
    /// True if other threads than the one that issues it wait for it, too.
    pub shared: bool,
}

/// An asynchronous copy.
#[allow(clippy::struct_excessive_bools)] // Facts that do not exclude each other.
pub(super) struct Copy {
    pub(super) actor: Actor,
    pub(super) what: Transfer,
    /// What was read, where that was before the source changed.
    taken: Option<Vec<u8>>,
    landed: bool,
    /// It is known that the source was read.
    source_free: bool,
    pub(super) complete: bool,
    /// The number of its group among those of its queue and thread, once it is committed.
    pub(super) group: Option<u32>,
    /// The phase that it completes on, a number of the memory's list.
    pub(super) phase: Option<u32>,
    /// Who had written what it overwrites, if nobody had read that.
    pub(super) over: Option<Spot>,
    /// True if somebody who came after its issue has read what it writes before it was complete.
    pub(super) read_early: bool,
    /// The waits by which its thread has seen it complete, and that it has read its source.
    pub(super) seen_by: [Option<NthWait>; 2],
    /// The last access for which the adversary was asked whether it has landed, or read its source: once for all bytes.
    decided: [u64; 2],
}

impl Copy {
    /// Returns true if it writes anything; else it does not matter when it reads, since whoever issues it does so at once.
    fn writes(&self) -> bool {
        destinations(&self.what.pieces).next().is_some()
    }

    fn reads(&self, buffer: BufferId, byte: usize) -> bool {
        let mut sources = self.what.pieces.iter().filter_map(|piece| {
            let start = usize::try_from(piece.source?.offset).unwrap_or(0);
            Some((piece.source?.buffer, start..start + piece.bytes))
        });
        !self.source_free && sources.any(|(from, bytes)| from == buffer && bytes.contains(&byte))
    }
}

impl Memory {
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
        // Also that there is room for what is written, whatever is read.
        self.check(destination, written, align)?;
        if read > 0 {
            self.check(source, read, align)?;
        }
        let rest = i64::try_from(read).unwrap_or(i64::MAX);
        let copied = Piece {
            source: Some(source),
            destination: Some(destination),
            bytes: read,
        };
        let filled = Piece {
            source: None,
            destination: Some(Pointer {
                offset: destination.offset.saturating_add(rest),
                ..destination
            }),
            bytes: written - read,
        };
        let pieces = [copied, filled];
        let pieces = pieces.into_iter().filter(|piece| piece.bytes > 0).collect();
        let what = Transfer {
            pieces,
            fill: Arc::new([0]),
            shared: self.order.shares_copies(),
        };
        for end in [source, destination] {
            self.buffers[end.buffer.0 as usize].copied = true;
        }
        self.transfer(actor, what)
    }

    /// Issues an asynchronous copy.
    ///
    /// # Errors
    ///
    /// If bytes are not there.
    pub fn transfer(&mut self, actor: Actor, what: Transfer) -> Result<CopyId, Fault> {
        self.access += 1;
        self.reports.rely(actor.spot);
        let id = self.next_copy();
        let pieces = Arc::clone(&what.pieces);
        for piece in &*pieces {
            for end in [piece.source, piece.destination].into_iter().flatten() {
                let first = self.check(end, piece.bytes, 1)?;
                self.note_mbarriers(actor, end.buffer, &(first..first + piece.bytes));
                self.buffers[end.buffer.0 as usize].copied = true;
            }
        }
        for (at, bytes) in sources(&pieces) {
            self.note_unwritten(actor, at.buffer, start(at)..start(at) + bytes);
            let actor = self.at(actor, at);
            let access = (actor, self.number(actor)?);
            // What many wait for is read until they know.
            self.note_read(access, at.buffer, start(at), bytes, !what.shared);
        }
        let (mut over, mut is_read) = (None, false);
        for (at, bytes) in destinations(&pieces) {
            let actor = self.at(actor, at);
            let access = (actor, self.number(actor)?);
            let mut rest = start(at)..start(at) + bytes;
            self.shadow(at.buffer).fit(&rest);
            while let Some(granule) = self.shadow(at.buffer).next(&mut rest) {
                let mut cell = self.take(at.buffer, &granule);
                if !is_read && let Some((last, unread)) = self.last_write(&cell) {
                    is_read = !unread;
                    over = over.or(Some(last));
                }
                self.disturb(actor, &cell, at.buffer, &granule, Hazard::CopyOverCopy);
                self.note_write(access, &mut cell, at.buffer, &granule);
                cell.landing = Some(id);
                self.shadow(at.buffer).put(&granule, cell);
            }
            self.buffers[at.buffer.0 as usize].note_written(start(at)..start(at) + bytes);
        }
        // Last, since a copy does not race with itself.
        for (at, bytes) in sources(&pieces) {
            self.each_cell(at, bytes, |cell, _| {
                let count = cell.reading.map_or(0, |(_, count)| count);
                cell.reading = Some((id, count + 1));
            });
        }
        self.copies.push(Copy {
            actor,
            what,
            taken: None,
            landed: false,
            source_free: false,
            complete: false,
            group: None,
            phase: None,
            over: over.filter(|_| !is_read),
            read_early: false,
            seen_by: [None; 2],
            decided: [0; 2],
        });
        Ok(id)
    }

    /// The number that the next copy gets.
    pub(crate) fn next_copy(&self) -> CopyId {
        let count = u32::try_from(self.copies.len()).unwrap_or(u32::MAX);
        CopyId(self.first_copy.saturating_add(count))
    }

    /// Who a copy is by where it touches memory. What all threads issue together is after what they did before in memory
    /// of the workgroup alone; elsewhere it is like what one of them issues.
    fn at(&self, actor: Actor, at: Pointer) -> Actor {
        let kind = match actor.kind {
            Kind::Block if self.buffer(at.buffer).space != Space::Workgroup => Kind::Bulk,
            kind => kind,
        };
        Actor { kind, ..actor }
    }

    /// Completes a copy, as its thread observes it at `moment`.
    pub fn complete(&mut self, id: CopyId, moment: Moment) {
        let by = Actor {
            moment,
            ..self.copy(id).actor
        };
        self.observe(
            Pending {
                copy: id,
                source: false,
            },
            by,
        );
    }

    /// The thread of a copy observes at `moment` that its source was read, and may change.
    pub fn free_source(&mut self, id: CopyId, moment: Moment) {
        let by = Actor {
            moment,
            ..self.copy(id).actor
        };
        self.observe(
            Pending {
                copy: id,
                source: true,
            },
            by,
        );
    }

    /// A thread observes that a copy is complete, or that its source was read. Where all that issue one wait for their
    /// own, it is the one that has issued it.
    pub fn observe(&mut self, pending: Pending, by: Actor) {
        let Pending { copy: id, source } = pending;
        if self.copy(id).seen_by[usize::from(source)].is_none() {
            self.note_seen(pending, by.spot);
        }
        if self.copy(id).what.shared {
            self.order.observe(Shared::new(id, true), by);
            if !source {
                self.order.observe(Shared::new(id, false), by);
            }
        }
        if source {
            self.source_is_read(id, by.moment);
        } else {
            self.has_landed(id, by.moment);
        }
    }

    /// Notes the wait by which the thread of a copy has seen it complete, or that its source was read.
    fn note_seen(&mut self, pending: Pending, at: Spot) {
        let times = self.reports.times_waited(at.thread, at.instr);
        let wait = (times > 0).then_some(NthWait {
            instr: at.instr,
            times,
        });
        let [completed, read] = &mut self.copy_mut(pending.copy).seen_by;
        *read = read.or(wait);
        if !pending.source {
            *completed = completed.or(wait);
        }
    }

    /// What a copy was done by, as those who come later see it.
    fn done(&self, id: CopyId, source: bool, moment: Moment) -> Actor {
        let Copy { actor, what, .. } = self.copy(id);
        if !what.shared {
            return Actor { moment, ..*actor };
        }
        Actor {
            moment,
            kind: match actor.kind {
                Kind::Block => Kind::Bulk,
                kind => kind,
            },
            shared: Some(Shared::new(id, source)),
            ..*actor
        }
    }

    fn has_landed(&mut self, id: CopyId, moment: Moment) {
        if self.copy(id).complete {
            return;
        }
        self.land(id);
        self.source_is_read(id, moment);
        let copy = self.copy_mut(id);
        copy.complete = true;
        copy.taken = None;
        let pieces = Arc::clone(&copy.what.pieces);
        let Ok(access) = self.number(self.done(id, false, moment)) else {
            return;
        };
        let watched = self.watched;
        for (at, bytes) in destinations(&pieces) {
            self.each_cell(at, bytes, |cell, _| {
                if cell.landing == Some(id) {
                    cell.landing = None;
                }
                cell.write = Some(access);
                cell.copied = watched.then_some(id);
            });
        }
    }

    fn source_is_read(&mut self, id: CopyId, moment: Moment) {
        if std::mem::replace(&mut self.copy_mut(id).source_free, true) {
            return;
        }
        let copy = self.copy(id);
        let pieces = Arc::clone(&copy.what.pieces);
        if !copy.landed && copy.taken.is_none() {
            let bytes = self.source_bytes(id);
            self.copy_mut(id).taken = Some(bytes);
        }
        let access = self.done(id, true, moment);
        let Ok(number) = self.number(access) else {
            return;
        };
        for (at, bytes) in sources(&pieces) {
            self.each_cell(at, bytes, |cell, (order, accesses)| {
                cell.reading = match cell.reading {
                    Some((last, count)) if count > 1 => Some((last, count - 1)),
                    _ => None,
                };
                if access.shared.is_some() {
                    cell.drain((access, number), order, accesses);
                } else {
                    cell.reads.add((access, number), order, accesses);
                }
            });
        }
    }

    /// Returns true if a copy is known to be complete, or to have read its source.
    #[must_use]
    pub fn is_done(&self, pending: Pending) -> bool {
        let copy = self.copy(pending.copy);
        copy.complete || (pending.source && copy.source_free)
    }

    /// Who issued a copy.
    #[must_use]
    pub fn issuer(&self, id: CopyId) -> Spot {
        self.copy(id).actor.spot
    }

    fn ask(&mut self, id: CopyId, question: usize) -> bool {
        let access = self.access;
        let last = &mut self.copy_mut(id).decided[question];
        if std::mem::replace(last, access) == access {
            return false;
        }
        self.may_already()
    }

    pub(super) fn may_have_landed(&mut self, id: CopyId) {
        if !self.copy(id).landed && self.ask(id, 0) {
            self.land(id);
        }
    }

    /// Who issued a copy in flight that reads a byte: `last`, or an earlier one where that is done.
    pub(super) fn reader(&self, last: CopyId, buffer: BufferId, byte: usize) -> Actor {
        let before = &self.copies[..=self.place(last)];
        let reader = before.iter().rev().find(|copy| copy.reads(buffer, byte));
        reader.unwrap_or(self.copy(last)).actor
    }

    /// Notes that copies are committed, as the group of this number of their queue and thread.
    pub fn commit(&mut self, copies: &[CopyId], group: u32) {
        for &id in copies {
            self.copy_mut(id).group = Some(group);
        }
    }

    /// Returns true if a copy is in a group.
    #[must_use]
    pub fn is_committed(&self, id: CopyId) -> bool {
        self.copy(id).group.is_some()
    }

    /// A write is about to change the source of a copy: what it reads may be settled already.
    pub(super) fn may_have_read(&mut self, id: CopyId) {
        let copy = self.copy(id);
        if !copy.landed && copy.taken.is_none() && copy.writes() && self.ask(id, 1) {
            let bytes = self.source_bytes(id);
            self.copy_mut(id).taken = Some(bytes);
        }
    }

    /// What all pieces bring, one after the other.
    fn source_bytes(&self, id: CopyId) -> Vec<u8> {
        let Transfer { pieces, fill, .. } = &self.copy(id).what;
        let mut all = Vec::new();
        for piece in &**pieces {
            let end = all.len() + piece.bytes;
            if let Some(at) = piece.source {
                let data = &self.buffer(at.buffer).data;
                let bytes = data.get(start(at)..start(at) + piece.bytes);
                all.extend_from_slice(bytes.unwrap_or_default());
                all.resize(end, 0);
            } else {
                all.extend(fill.iter().cycle().take(piece.bytes));
            }
        }
        all
    }

    /// Changes what is known of bytes; what was freed meanwhile nobody can look at.
    fn each_cell(
        &mut self,
        at: Pointer,
        bytes: usize,
        mut change: impl FnMut(&mut Cell, (&Order, &Accesses)),
    ) {
        let buffer = &mut self.buffers[at.buffer.0 as usize];
        if buffer.freed {
            return;
        }
        let mut rest = start(at)..start(at) + bytes;
        buffer.shadow.fit(&rest);
        while let Some(granule) = buffer.shadow.next(&mut rest) {
            let mut cell = buffer.shadow.take(&granule, &self.accesses);
            change(&mut cell, (&self.order, &self.accesses));
            buffer.shadow.put(&granule, cell);
        }
    }

    fn place(&self, id: CopyId) -> usize {
        (id.0 - self.first_copy) as usize
    }

    pub(super) fn copy(&self, id: CopyId) -> &Copy {
        &self.copies[self.place(id)]
    }

    pub(super) fn copy_mut(&mut self, id: CopyId) -> &mut Copy {
        let place = self.place(id);
        &mut self.copies[place]
    }

    fn land(&mut self, id: CopyId) {
        if std::mem::replace(&mut self.copy_mut(id).landed, true) || !self.copy(id).writes() {
            return;
        }
        let bytes = match self.copy_mut(id).taken.take() {
            Some(taken) => taken,
            None => self.source_bytes(id),
        };
        let pieces = Arc::clone(&self.copy(id).what.pieces);
        let mut rest = bytes.as_slice();
        for piece in &*pieces {
            let (bytes, after) = rest.split_at(piece.bytes);
            rest = after;
            let Some(at) = piece.destination else { continue };
            let data = &mut self.buffers[at.buffer.0 as usize].data;
            if let Some(data) = data.get_mut(start(at)..start(at) + bytes.len()) {
                data.copy_from_slice(bytes);
            }
        }
    }
}

/// The byte that a checked address begins at.
pub(super) fn start(at: Pointer) -> usize {
    usize::try_from(at.offset).unwrap_or(0)
}

fn sources(pieces: &[Piece]) -> impl Iterator<Item = (Pointer, usize)> {
    pieces
        .iter()
        .filter_map(|piece| Some((piece.source?, piece.bytes)))
}

pub(super) fn destinations(pieces: &[Piece]) -> impl Iterator<Item = (Pointer, usize)> {
    pieces
        .iter()
        .filter_map(|piece| Some((piece.destination?, piece.bytes)))
}
