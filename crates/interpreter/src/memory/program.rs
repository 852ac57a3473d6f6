//! Memory of a whole program: who may access a buffer, what a kernel sees of it, and transfers.

use super::cells::Touch;
use super::{Actor, Buffer, Fault, Hazard, Kind, Memory};
use crate::adversary::Adversary;
use crate::value::{BufferId, Pointer};
use std::ops::Range;

/// Who may access a buffer of a whole program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Owner {
    /// The host alone: pageable memory.
    Host,
    /// Both: the host's memory that is page-locked.
    #[default]
    Both,
    /// The device alone.
    Device,
}

/// What a kernel has done to the buffers that it shares with the host.
pub struct Touched(Vec<(BufferId, Range<usize>, Touch, Kind)>);

impl Touched {
    /// The bytes of each buffer, whether they were written, and whether all accesses to them were atomic.
    pub fn each(&self) -> impl Iterator<Item = (BufferId, Range<usize>, bool, bool)> {
        let each = self.0.iter();
        each.map(|(buffer, range, touch, kind)| {
            (
                *buffer,
                range.clone(),
                *touch == Touch::Write,
                *kind == Kind::Atomic,
            )
        })
    }
}

impl Memory {
    /// From now on this is what the host has of a program with a device.
    pub fn use_owners(&mut self) {
        self.side = Owner::Host;
        if matches!(self.adversary, Adversary::Early) {
            // As memory mostly is, before anybody has had it.
            self.unwritten = 0;
        }
    }

    /// Says who may access a buffer.
    pub fn set_owner(&mut self, id: BufferId, owner: Owner) {
        self.buffers[id.0 as usize].owner = owner;
    }

    /// Who may access a buffer.
    #[must_use]
    pub fn owner(&self, id: BufferId) -> Owner {
        self.buffer(id).owner
    }

    /// Says who has allocated a buffer, which is who may access it.
    pub fn set_origin(&mut self, id: BufferId, origin: Owner) {
        self.buffers[id.0 as usize].origin = origin;
        self.set_owner(id, origin);
    }

    /// Who has allocated a buffer: the host, the device, or for both.
    #[must_use]
    pub fn origin(&self, id: BufferId) -> Owner {
        self.buffer(id).origin
    }

    /// Page-locks some bytes of a buffer that the host has allocated, and no others: the device may access these.
    pub fn lock(&mut self, id: BufferId, bytes: Range<usize>) {
        self.buffers[id.0 as usize].locked = bytes;
    }

    /// The bytes of a buffer that are page-locked, if it is the host's.
    #[must_use]
    pub fn locked(&self, id: BufferId) -> Range<usize> {
        self.buffer(id).locked.clone()
    }

    /// Returns true if bytes are not for those who have this memory.
    pub(super) fn is_elsewhere(&self, at: Pointer, bytes: usize) -> bool {
        let Buffer { owner, locked, .. } = self.buffer(at.buffer);
        let is_locked = || {
            let start = usize::try_from(at.offset).unwrap_or(usize::MAX);
            locked.start <= start && start.saturating_add(bytes) <= locked.end
        };
        let is_own = *owner == Owner::Both || self.side == Owner::Both || *owner == self.side;
        !(is_own || *owner == Owner::Host && is_locked())
    }

    /// Notes that a buffer is there from now on: accesses that are not ordered after that race with it.
    ///
    /// # Errors
    ///
    /// If there were more accesses than can be told apart.
    pub fn claim(&mut self, actor: Actor, id: BufferId) -> Result<(), Fault> {
        let bytes = self.buffer(id).data.len();
        self.access_all(actor, id, 0..bytes, Touch::Write)
    }

    /// Copies bytes, also what nobody has written.
    ///
    /// # Errors
    ///
    /// If they are not there.
    pub fn copy_bytes(
        &mut self,
        actor: Actor,
        from: Pointer,
        to: Pointer,
        bytes: usize,
    ) -> Result<(), Fault> {
        let side = std::mem::replace(&mut self.side, Owner::Both);
        let starts = self
            .check(from, bytes, 1)
            .and_then(|from| Ok((from, self.check(to, bytes, 1)?)));
        self.side = side;
        let (source, target) = starts?;
        self.access_all(actor, from.buffer, source..source + bytes, Touch::Read)?;
        self.access_all(actor, to.buffer, target..target + bytes, Touch::Write)?;
        let source = source..source + bytes;
        let unwritten: Vec<usize> = self
            .buffer(from.buffer)
            .unwritten(source.clone())
            .map_or(Vec::new(), |all| all.map(|byte| byte - source.start).collect());
        let data = self.buffers[from.buffer.0 as usize].data[source].to_vec();
        let buffer = &mut self.buffers[to.buffer.0 as usize];
        buffer.data[target..target + bytes].copy_from_slice(&data);
        buffer.note_written(target..target + bytes);
        buffer.note_unwritten(unwritten.into_iter().map(|byte| target + byte));
        Ok(())
    }

    /// Writes bytes, whoever may access them.
    ///
    /// # Errors
    ///
    /// If they are not there.
    pub fn write_anywhere(&mut self, actor: Actor, at: Pointer, data: &[u8]) -> Result<(), Fault> {
        let side = std::mem::replace(&mut self.side, Owner::Both);
        let written = self.write(actor, at, data, 1);
        self.side = side;
        written
    }

    /// Notes that all of some bytes are accessed, without a look at what is there.
    fn access_all(
        &mut self,
        actor: Actor,
        buffer: BufferId,
        range: Range<usize>,
        touch: Touch,
    ) -> Result<(), Fault> {
        self.access += 1;
        self.reports.rely(actor.spot);
        let id = self.number(actor)?;
        if touch == Touch::Read {
            self.note_read((actor, id), buffer, range.start, range.len(), true);
            return Ok(());
        }
        let mut rest = range;
        self.shadow(buffer).fit(&rest);
        while let Some(granule) = self.shadow(buffer).next(&mut rest) {
            let mut cell = self.take(buffer, &granule);
            self.disturb(actor, &cell, buffer, &granule, Hazard::WriteInFlight);
            self.note_write((actor, id), &mut cell, buffer, &granule);
            self.shadow(buffer).put(&granule, cell);
        }
        Ok(())
    }

    /// The same memory as a kernel has it, whose blocks have so many threads.
    #[must_use]
    pub fn for_kernel(&self, threads_per_block: u32) -> Self {
        // No fork, which knows what all tasks know.
        let mut kernel = Self::new(self.adversary.clone(), threads_per_block);
        kernel.buffers = self.buffers.iter().map(super::Buffer::fork).collect();
        (kernel.bytes, kernel.unwritten) = (self.bytes, self.unwritten);
        (kernel.strict_proxies, kernel.side) = (self.strict_proxies, Owner::Device);
        for buffer in &mut kernel.buffers {
            // A place in host code, which is none here.
            buffer.freed_at = None;
        }
        kernel
    }

    /// A kernel goes on, which has the first `common` buffers: it sees what others have written, and asks the adversary.
    pub fn lend_to(&mut self, kernel: &mut Self, common: usize) {
        for (ours, theirs) in self.buffers.iter().zip(&mut kernel.buffers[..common]) {
            theirs.owner = ours.owner;
            theirs.locked = ours.locked.clone();
            if ours.freed {
                theirs.freed = true;
                theirs.data = Vec::new();
            } else {
                theirs.data.clone_from(&ours.data);
                theirs.unwritten.clone_from(&ours.unwritten);
            }
        }
        self.lend_adversary(kernel);
    }

    /// A kernel stops for a while, or for good: others see what it has written.
    pub fn take_back(&mut self, kernel: &mut Self, common: usize) {
        for (ours, theirs) in self.buffers.iter_mut().zip(&kernel.buffers[..common]) {
            if !ours.freed {
                ours.data.clone_from(&theirs.data);
                ours.unwritten.clone_from(&theirs.unwritten);
            }
        }
        self.schedule_matters |= kernel.schedule_matters;
        self.lend_adversary(kernel);
    }

    /// The answers of an exhaustive search are for all of a program.
    fn lend_adversary(&mut self, kernel: &mut Self) {
        if matches!(self.adversary, Adversary::Exhaustive { .. }) {
            std::mem::swap(&mut self.adversary, &mut kernel.adversary);
        }
    }

    /// From now on [`Memory::touched`] knows also what workers do that run some blocks each.
    pub fn keep_touched(&mut self) {
        self.touched_by_forks = Some(Vec::new());
    }

    /// What has been done to the first `common` buffers.
    #[must_use]
    pub fn touched(&self, common: usize) -> Touched {
        let mut all: Vec<(BufferId, Range<usize>, Touch, Kind)> = Vec::new();
        for Touched(by_fork) in self.touched_by_forks.iter().flatten() {
            all.extend_from_slice(by_fork);
        }
        for (id, buffer) in (0..).map(BufferId).zip(&self.buffers[..common]) {
            for (granule, touch, is_atomic) in buffer.shadow.accessed() {
                let kind = if is_atomic { Kind::Atomic } else { Kind::Plain };
                let granule = granule.start..granule.end.min(buffer.data.len());
                match all.last_mut() {
                    Some((last, range, last_touch, last_kind))
                        if *last == id
                            && range.end == granule.start
                            && (*last_touch, *last_kind) == (touch, kind) =>
                    {
                        range.end = granule.end;
                    }
                    _ => all.push((id, granule, touch, kind)),
                }
            }
        }
        Touched(all)
    }

    /// Notes what a kernel has done to the buffers, as an access by whoever has launched it.
    ///
    /// # Errors
    ///
    /// If one of the buffers was freed meanwhile.
    pub fn note_kernel(&mut self, actor: Actor, touched: &Touched) -> Result<(), Fault> {
        for (buffer, range, touch, kind) in &touched.0 {
            if self.is_freed(*buffer) {
                return Err(Fault::Freed { buffer: *buffer });
            }
            let actor = Actor { kind: *kind, ..actor };
            self.access_all(actor, *buffer, range.clone(), *touch)?;
        }
        Ok(())
    }
}
