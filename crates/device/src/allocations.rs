//! Memory of the device, and memory of the host that is registered.

mod extent;

use crate::clock::{Clock, Epoch, HOST};
use crate::device::Device;
use crate::findings::{Call, Failure, Kind};
use crate::handles::{Handle, What};
use crate::history::{Deed, Past};
use crate::memory::Memory;
use crate::run::Work;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

#[derive(Clone, Debug)]
struct Allocation {
    bytes: u64,
    made: Call,
    freed: Option<Call>,
}

/// What is where. What is not here is the host's.
#[derive(Clone, Default, Debug)]
pub struct Allocations {
    by_start: BTreeMap<u64, Allocation>,
    /// Those that are freed, oldest first. Their room is kept for a while, so that uses of it are seen.
    freed: VecDeque<u64>,
    freed_bytes: u64,
    /// Those whose room was given back and is not the device's again: where they end, and who has freed them.
    gone: BTreeMap<u64, (u64, Call)>,
    /// Memory of the host that is registered: where it ends, and by whom.
    registered: BTreeMap<u64, (u64, Call)>,
}

/// Bytes around each allocation that nobody may touch.
const ZONE: u64 = 256;

/// How many bytes are kept after they were freed.
const KEPT: u64 = 64 << 20;

/// No memory is in the first page, so that addresses there are offsets from null.
const FIRST_PAGE: u64 = 4096;

/// What memory has in it that nobody has written, or that was freed.
const POISON: u8 = 0xA5;

/// Whose bytes these are.
enum Owner<'a> {
    Host,
    Allocation(u64, &'a Allocation),
}

impl Allocations {
    /// Whose bytes these are: of an allocation also where they are beside it.
    fn owner(&self, bytes: &Range<u64>) -> Owner<'_> {
        let near = self.by_start.range(..bytes.end.saturating_add(ZONE)).next_back();
        match near {
            Some((&start, allocation)) if bytes.start < start + allocation.bytes + ZONE => {
                Owner::Allocation(start, allocation)
            }
            _ => Owner::Host,
        }
    }

    /// Returns true if none of the bytes are the device's or managed.
    pub fn is_host(&self, bytes: &Range<u64>) -> bool {
        matches!(self.owner(bytes), Owner::Host)
    }

    /// Returns true if they are the host's, and not all of them are registered.
    pub fn is_pageable(&self, bytes: &Range<u64>) -> bool {
        let registered = self.registered.range(..=bytes.start).next_back();
        self.is_host(bytes) && registered.is_none_or(|(_, (end, _))| *end < bytes.end)
    }

    /// The bytes in words.
    pub fn describe(&self, bytes: &Range<u64>) -> String {
        match self.owner(bytes) {
            Owner::Host => format!("{} bytes of the host's memory", bytes.end - bytes.start),
            Owner::Allocation(start, allocation) => format!(
                "bytes {} to {} of the allocation of {}",
                bytes.start.wrapping_sub(start).cast_signed(),
                (bytes.end - 1).wrapping_sub(start).cast_signed(),
                allocation.made
            ),
        }
    }

    /// What is wrong with an access of the bytes by a kernel, but for what a free has to do with.
    fn check_kernel(&self, bytes: &Range<u64>) -> Option<(Kind, Option<Call>, String)> {
        if self.is_pageable(bytes) {
            let message = format!(
                "its kernel uses {}, which is not registered",
                self.describe(bytes)
            );
            return Some((Kind::UnknownPointer, None, message));
        }
        match self.check(bytes) {
            Err((Kind::OutOfBounds, made, message)) => {
                Some((Kind::OutOfBounds, Some(made), format!("its kernel {message}")))
            }
            _ => None,
        }
    }

    /// What is wrong with an access of the bytes by a call that comes after all before it.
    fn check(&self, bytes: &Range<u64>) -> Result<(), (Kind, Call, String)> {
        let Owner::Allocation(start, allocation) = self.owner(bytes) else {
            return Ok(());
        };
        let described = self.describe(bytes);
        if let Some(freed) = allocation.freed {
            let message = format!("uses {described}, which {freed} has freed");
            return Err((Kind::UseAfterFree, freed, message));
        }
        if bytes.start < start || bytes.end > start + allocation.bytes {
            let message = format!("uses {described}, which has {} bytes", allocation.bytes);
            return Err((Kind::OutOfBounds, allocation.made, message));
        }
        Ok(())
    }
}

impl<M: Memory> Device<M> {
    /// Allocates memory at once. Memory that the host accesses, too, is no different: what it does there can't be seen.
    ///
    /// # Errors
    ///
    /// If there is not so much.
    pub fn alloc(&mut self, bytes: u64) -> Result<u64, Failure> {
        let room = bytes.max(1).checked_next_multiple_of(ZONE);
        let room = room.and_then(|room| room.checked_add(2 * ZONE));
        let start = room.and_then(|room| self.memory.allocate(room));
        let Some(start) = start.map(|start| start + ZONE) else {
            return Err(Failure {
                message: format!("{}: the device has no {bytes} bytes left", self.call),
                against: None,
                is_finding: false,
            });
        };
        self.allocations
            .note_gone(start - ZONE..start + bytes.max(1) + ZONE, None);
        self.history.forget(start..start + bytes);
        self.poison(start..start + bytes);
        let allocation = Allocation {
            bytes,
            made: self.call,
            freed: None,
        };
        self.allocations.by_start.insert(start, allocation);
        self.census.allocations.add(1);
        self.census.bytes.add(bytes);
        Ok(start)
    }

    /// Allocates memory in the order of a stream: what comes before that may not use it.
    ///
    /// # Errors
    ///
    /// If there is not so much, or the stream is none.
    pub fn alloc_async(&mut self, bytes: u64, stream: Handle) -> Result<u64, Failure> {
        let stream = self.stream(stream)?;
        let start = self.alloc(bytes)?;
        self.issue(stream, Work::Alloc(start..start + bytes));
        self.volunteers();
        Ok(start)
    }

    /// Frees memory at once, and waits for nothing. Null is no mistake.
    ///
    /// # Errors
    ///
    /// If there is no such allocation.
    pub fn free(&mut self, address: u64) -> Result<(), Failure> {
        if address == 0 {
            return Ok(());
        }
        let bytes = self.mark_freed(address)?;
        let epoch = self.tick();
        let past = Past {
            deed: Deed::Free,
            epoch,
            call: self.call,
        };
        let clock = self.host.clone();
        self.access(bytes.clone(), past, &clock);
        self.poison(bytes);
        self.volunteers();
        Ok(())
    }

    /// Frees memory in the order of a stream.
    ///
    /// # Errors
    ///
    /// If there is no such allocation, or the stream is none.
    pub fn free_async(&mut self, address: u64, stream: Handle) -> Result<(), Failure> {
        let stream = self.stream(stream)?;
        if address == 0 {
            return Ok(());
        }
        let bytes = self.mark_freed(address)?;
        self.issue(stream, Work::Free(bytes));
        self.volunteers();
        Ok(())
    }

    /// Registers memory of the host, so that copies from and to it are asynchronous.
    ///
    /// # Errors
    ///
    /// If some of it is registered already, or the device's.
    pub fn register(&mut self, address: u64, bytes: u64) -> Result<(), Failure> {
        let range = self.bytes_at(address, bytes)?;
        if !self.allocations.is_host(&range) {
            let message = format!(
                "registers {}, which is the device's",
                self.allocations.describe(&range)
            );
            return Err(self.wrong(Kind::UnknownPointer, None, message));
        }
        let before = self.allocations.registered.range(..range.end).next_back();
        if let Some((_, &(end, by))) = before
            && end > address
        {
            let message = format!("registers memory of the host that {by} has registered");
            return Err(self.wrong(Kind::DoubleRegister, Some(by), message));
        }
        self.allocations
            .registered
            .insert(address, (range.end, self.call));
        Ok(())
    }

    /// Takes a registration back.
    ///
    /// # Errors
    ///
    /// If nothing was registered that begins there.
    pub fn unregister(&mut self, address: u64) -> Result<(), Failure> {
        if self.allocations.registered.remove(&address).is_none() {
            let message = "unregisters memory of the host that is not registered".to_owned();
            return Err(self.wrong(Kind::UnknownPointer, None, message));
        }
        Ok(())
    }

    /// The host reads or writes memory itself, which the device can't see unless it is told.
    pub fn host_access(&mut self, bytes: Range<u64>, writes: bool) {
        if bytes.is_empty() {
            return;
        }
        let epoch = self.tick();
        let deed = if writes { Deed::Write } else { Deed::Read };
        let call = self.call;
        let clock = self.host.clone();
        self.access(bytes, Past { deed, epoch, call }, &clock);
    }

    /// So many bytes from an address on.
    pub(crate) fn bytes_at(&mut self, address: u64, bytes: u64) -> Result<Range<u64>, Failure> {
        let Some(end) = address.checked_add(bytes) else {
            let message = format!("uses {bytes} bytes, which is more than there are addresses");
            return Err(self.wrong(Kind::OutOfBounds, None, message));
        };
        Ok(address..end)
    }

    /// Checks an access by a work that is about to be issued.
    pub(crate) fn check_bytes(&mut self, bytes: &Range<u64>) -> Result<(), Failure> {
        if bytes.start < FIRST_PAGE {
            let message = "uses memory at a null pointer".to_owned();
            return Err(self.wrong(Kind::UnknownPointer, None, message));
        }
        match self.allocations.check(bytes) {
            Ok(()) => Ok(()),
            Err((kind, against, message)) => Err(self.wrong(kind, Some(against), message)),
        }
    }

    /// Checks that bytes that the call uses were not freed.
    ///
    /// # Errors
    ///
    /// If they were.
    pub fn check_freed(&mut self, bytes: &Range<u64>) -> Result<(), Failure> {
        match self.allocations.check(bytes) {
            Err((Kind::UseAfterFree, against, message)) => {
                Err(self.wrong(Kind::UseAfterFree, Some(against), message))
            }
            _ => Ok(()),
        }
    }

    /// Reports what is wrong with an access by a kernel that `call` has launched.
    pub(crate) fn check_kernel(&mut self, call: Call, bytes: &Range<u64>) {
        if let Some((kind, against, message)) = self.allocations.check_kernel(bytes) {
            self.findings.add(kind, call, against, message);
        }
    }

    /// Takes the allocation at `address` for freed, and returns its bytes.
    fn mark_freed(&mut self, address: u64) -> Result<Range<u64>, Failure> {
        let by = self.call;
        let Some(allocation) = self.allocations.by_start.get_mut(&address) else {
            let range = address..address.saturating_add(1);
            let what = if self.allocations.is_host(&range) {
                "memory of the host".to_owned()
            } else {
                format!("a part of an allocation ({})", self.allocations.describe(&range))
            };
            let message = format!("frees {what}: no call has returned this address");
            return Err(self.wrong(Kind::UnknownPointer, None, message));
        };
        if let Some(freed) = allocation.freed {
            let message = format!(
                "frees the allocation of {}, which {freed} has freed",
                allocation.made
            );
            return Err(self.wrong(Kind::DoubleFree, Some(freed), message));
        }
        allocation.freed = Some(by);
        let bytes = allocation.bytes;
        self.census.allocations.remove(1);
        self.census.bytes.remove(bytes);
        self.allocations.freed.push_back(address);
        self.allocations.freed_bytes += bytes;
        Ok(address..address + bytes)
    }

    /// Gives the room of old allocations back, where nothing is pending that may use it.
    pub(crate) fn give_back(&mut self) {
        while self.allocations.freed_bytes > KEPT && self.is_idle() {
            let Some(start) = self.allocations.freed.pop_front() else {
                return;
            };
            if let Some(allocation) = self.allocations.by_start.remove(&start) {
                self.allocations.freed_bytes -= allocation.bytes;
                let room = allocation.bytes.max(1).next_multiple_of(ZONE);
                self.history.forget(start..start + room);
                self.allocations.note_gone(start..start + room, allocation.freed);
                self.memory.deallocate(start - ZONE, room + 2 * ZONE);
            }
        }
    }

    /// Overwrites what nobody may read.
    pub(crate) fn poison(&mut self, bytes: Range<u64>) {
        self.fill_with(bytes.start, &[POISON], bytes.end - bytes.start);
    }

    /// Writes `element`, so often.
    pub(crate) fn fill_with(&mut self, to: u64, element: &[u8], count: u64) {
        const CHUNK: u64 = 4096;
        let chunk = element.repeat(usize::try_from(count.min(CHUNK)).unwrap_or_default());
        let mut done = 0;
        while done < count {
            let size = usize::try_from((count - done).min(CHUNK)).unwrap_or_default();
            let at = to + done * element.len() as u64;
            self.memory.write(at, &chunk[..size * element.len()]);
            done += size as u64;
        }
    }

    /// Notes an access that happens now, and reports what it collides with.
    pub(crate) fn access(&mut self, bytes: Range<u64>, now: Past, clock: &Clock) {
        for collision in self.history.access(bytes, now, clock) {
            let before = collision.before;
            let described = self.allocations.describe(&collision.bytes);
            let who = |past: Past| match past.deed {
                Deed::Read => format!("{} reads", past.call),
                Deed::Write => format!("{} writes", past.call),
                Deed::Atomic => format!("{} accesses", past.call),
                Deed::Free => format!("{} frees", past.call),
            };
            let kind = match (before.deed, now.deed) {
                (Deed::Free, _) if collision.ordered => Kind::UseAfterFree,
                (Deed::Free, _) | (_, Deed::Free) => Kind::FreeInUse,
                (Deed::Read, _) => Kind::WriteAfterRead,
                (_, Deed::Read) => Kind::ReadAfterWrite,
                _ => Kind::WriteAfterWrite,
            };
            let message = if collision.ordered {
                format!("{} {described}, after {}", who(now), who(before))
            } else {
                format!(
                    "{} and {} {described}, and nothing orders the two",
                    who(before),
                    who(now)
                )
            };
            self.findings.add(kind, now.call, Some(before.call), message);
        }
    }

    /// The host does something that has a place in the order.
    pub(crate) fn tick(&mut self) -> Epoch {
        let epoch = Epoch {
            timeline: HOST,
            number: self.host.get(HOST) + 1,
        };
        self.host.learn(epoch);
        epoch
    }

    /// The calls that have made an allocation which nobody has freed.
    pub fn not_freed(&self) -> Vec<Call> {
        let left = self.allocations.by_start.values();
        let mut left: Vec<Call> = left
            .filter(|allocation| allocation.freed.is_none())
            .map(|allocation| allocation.made)
            .collect();
        left.sort_by_key(|call| call.number);
        left
    }

    /// Reports allocations that nobody has freed.
    pub(crate) fn report_leaked_memory(&mut self) {
        let left = self.not_freed();
        self.report_leak("an allocation", &left);
        for what in [What::Stream, What::Event, What::Module] {
            let left = self.handles.alive(what);
            self.report_leak(&what.to_string(), &left);
        }
    }

    fn report_leak(&mut self, what: &str, left: &[Call]) {
        for &call in left {
            let message = format!("makes {what} that nobody has freed when the program ended");
            self.findings.add(Kind::Leak, call, None, message);
        }
    }
}
