//! When work runs.
//!
//! Work is ready if it is the first of its stream, and, for a wait, if the record is done. While the host waits for a work, the late
//! schedule runs what comes before it and nothing else. A kernel that doesn't end is an exception: it may wait for another
//! one, so after a while everything that is ready runs beside it, in turns.

use crate::adversary::Adversary;
use crate::clock::{Clock, Epoch};
use crate::device::Device;
use crate::findings::{Call, Kind};
use crate::handles::Handle;
use crate::history::{Deed, Past};
use crate::kernel::{Access, Accesses, Kernel};
use crate::memory::Memory;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::task::Poll;

/// A work, by its place in the order of all that was issued.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ItemId(pub u64);

/// What a stream has to do.
pub enum Work {
    Copy {
        to: u64,
        from: u64,
        bytes: u64,
    },
    Fill {
        to: u64,
        element: Vec<u8>,
        count: u64,
    },
    Kernel(Box<dyn Kernel>),
    Host(Box<dyn FnOnce() + Send>),
    Record,
    Wait(ItemId),
    Alloc(Range<u64>),
    Free(Range<u64>),
    /// A kernel that there isn't.
    Nothing,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copy { .. } => "copy",
            Self::Fill { .. } => "fill",
            Self::Kernel(_) => "kernel",
            Self::Host(_) => "host function",
            Self::Record => "record",
            Self::Wait(_) => "wait",
            Self::Alloc(_) => "alloc",
            Self::Free(_) => "free",
            Self::Nothing => "nothing",
        })
    }
}

/// A work that is pending.
#[derive(Debug)]
pub struct Item {
    pub call: Call,
    pub stream: Handle,
    pub epoch: Epoch,
    pub clock: Clock,
    work: Work,
}

impl<M: Memory> Device<M> {
    /// Returns true if nothing is pending.
    pub fn is_idle(&self) -> bool {
        self.items.is_empty()
    }

    /// Puts a work into a stream; returns what whoever comes after it knows.
    pub(crate) fn issue(&mut self, handle: Handle, work: Work) -> (ItemId, Clock) {
        self.issued += 1;
        let id = ItemId(self.issued);
        let Some(stream) = self.streams.all.get_mut(&handle) else {
            return (id, self.host.clone());
        };
        stream.issued += 1;
        let epoch = Epoch {
            timeline: stream.timeline,
            number: stream.issued,
        };
        stream.clock.join(&self.host);
        stream.clock.learn(epoch);
        stream.queue.push_back(id);
        if !matches!(work, Work::Record | Work::Wait(_)) {
            stream.last = Some((self.call, id));
        }
        let clock = stream.clock.clone();
        let item = Item {
            call: self.call,
            stream: handle,
            epoch,
            clock: clock.clone(),
            work,
        };
        self.items.insert(id, item);
        self.busy.insert(handle);
        (id, clock)
    }

    /// Runs a work, and what it takes.
    pub(crate) fn force(&mut self, target: ItemId) {
        let needed = self.needed(target);
        let mut stalled = 0;
        while self.items.contains_key(&target) {
            let is_late = self.options.schedule == Adversary::Late && stalled < self.options.patience;
            let ready = self.ready(is_late.then_some(&needed));
            if ready.is_empty() {
                return;
            }
            let chosen = ready[self.adversary.choose(ready.len())];
            stalled = if self.step(chosen) { 0 } else { stalled + 1 };
            if stalled > self.options.max_steps {
                self.abandon();
                stalled = 0;
            }
        }
    }

    /// Where nothing has to run, the adversary may run something.
    pub(crate) fn volunteers(&mut self) {
        let mut stalled = 0;
        while stalled <= self.options.patience {
            let ready = self.ready(None);
            if ready.is_empty() {
                break;
            }
            let Some(chosen) = self.adversary.volunteer(ready.len()) else {
                break;
            };
            stalled = if self.step(ready[chosen]) { 0 } else { stalled + 1 };
        }
        self.give_back();
    }

    /// What is pending and has to end before `target` has ended, and `target`.
    fn needed(&self, target: ItemId) -> BTreeSet<ItemId> {
        let mut needed = BTreeSet::new();
        let mut work = vec![target];
        while let Some(id) = work.pop() {
            let Some(item) = self.items.get(&id) else { continue };
            if !needed.insert(id) {
                continue;
            }
            if let Work::Wait(record) = item.work {
                work.push(record);
            }
            let queue = self.streams.all.get(&item.stream).map(|stream| &stream.queue);
            let index = queue.and_then(|queue| queue.binary_search(&id).ok());
            if let (Some(queue), Some(index)) = (queue, index)
                && index > 0
            {
                work.push(queue[index - 1]);
            }
        }
        needed
    }

    /// The streams whose first work is ready, in the order of these; only what is in `among`, if given. Kernels that have had their turn
    /// come after all others have had theirs.
    fn ready(&mut self, among: Option<&BTreeSet<ItemId>>) -> Vec<Handle> {
        let mut ready: Vec<(ItemId, Handle)> = Vec::new();
        for &handle in &self.busy {
            let queue = self.streams.all.get(&handle).map(|stream| &stream.queue);
            let Some(&first) = queue.and_then(|queue| queue.front()) else {
                continue;
            };
            let blocked = match self.items.get(&first).map(|item| &item.work) {
                Some(Work::Wait(record)) => self.items.contains_key(record),
                Some(_) => false,
                None => true,
            };
            if !blocked && among.is_none_or(|among| among.contains(&first)) {
                ready.push((first, handle));
            }
        }
        ready.sort_unstable();
        if ready.iter().all(|(_, handle)| self.yielded.contains(handle)) {
            self.yielded.clear();
        }
        let turn = ready.iter().filter(|(_, handle)| !self.yielded.contains(handle));
        turn.map(|(_, handle)| *handle).collect()
    }

    /// Runs the first work of a stream, or a step of it. Returns true if it has ended.
    fn step(&mut self, handle: Handle) -> bool {
        let queue = self.streams.all.get_mut(&handle).map(|stream| &mut stream.queue);
        let Some(id) = queue.and_then(|queue| queue.front().copied()) else {
            return true;
        };
        let Some(mut item) = self.items.remove(&id) else {
            return true;
        };
        if let Work::Kernel(kernel) = &mut item.work {
            let mut accesses = Accesses::default();
            let state = kernel.step(&mut self.memory, &mut accesses);
            for (access, bytes) in accesses.0 {
                let deed = match access {
                    Access::Read => Deed::Read,
                    Access::Write => Deed::Write,
                    Access::Atomic => Deed::Atomic,
                };
                self.check_kernel(item.call, &bytes);
                self.access_by(&item, deed, bytes);
            }
            match state {
                Poll::Pending => {
                    self.items.insert(id, item);
                    self.yielded.insert(handle);
                    return false;
                }
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(message)) => self.findings.add(Kind::KernelFailed, item.call, None, message),
            }
        } else {
            self.note_accesses(&item);
            self.perform(item.work);
        }
        self.end(handle);
        true
    }

    /// The first work of a stream has ended.
    fn end(&mut self, handle: Handle) {
        // Somebody else has had a turn.
        self.yielded.clear();
        if let Some(stream) = self.streams.all.get_mut(&handle) {
            stream.queue.pop_front();
            if stream.queue.is_empty() {
                self.busy.remove(&handle);
            }
        }
        self.streams.retire(handle);
    }

    /// Gives up all kernels that run.
    fn abandon(&mut self) {
        let message = format!("runs and does not end, in {} steps", self.options.max_steps);
        for handle in self.ready(None) {
            let stream = self.streams.all.get(&handle);
            let Some(&id) = stream.and_then(|stream| stream.queue.front()) else {
                continue;
            };
            if let Some(item) = self.items.remove(&id) {
                self.findings.add(Kind::NoEnd, item.call, None, message.clone());
                self.end(handle);
            }
        }
    }

    /// Does what is to be done, but for kernels.
    fn perform(&mut self, work: Work) {
        match work {
            Work::Copy { to, from, bytes } => self.memory.copy(to, from, bytes),
            Work::Fill { to, element, count } => self.fill_with(to, &element, count),
            Work::Host(function) => function(),
            Work::Free(bytes) => self.poison(bytes),
            Work::Kernel(_) | Work::Record | Work::Wait(_) | Work::Alloc(_) | Work::Nothing => {}
        }
    }

    /// Notes what a work accesses that is no kernel.
    pub(crate) fn note_accesses(&mut self, item: &Item) {
        match &item.work {
            Work::Copy { to, from, bytes } => {
                self.access_by(item, Deed::Read, *from..from + bytes);
                self.access_by(item, Deed::Write, *to..to + bytes);
            }
            Work::Fill { to, element, count } => {
                self.access_by(item, Deed::Write, *to..to + count * element.len() as u64);
            }
            Work::Alloc(bytes) => self.access_by(item, Deed::Write, bytes.clone()),
            Work::Free(bytes) => self.access_by(item, Deed::Free, bytes.clone()),
            Work::Kernel(_) | Work::Host(_) | Work::Record | Work::Wait(_) | Work::Nothing => {}
        }
    }

    fn access_by(&mut self, item: &Item, deed: Deed, bytes: Range<u64>) {
        let counts = self.options.host_memory || !self.allocations.is_host(&bytes);
        if counts && !bytes.is_empty() {
            let past = Past {
                deed,
                epoch: item.epoch,
                call: item.call,
            };
            self.access(bytes, past, &item.clock);
        }
    }
}
