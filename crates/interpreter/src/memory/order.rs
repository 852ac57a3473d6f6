//! What orders the accesses of threads: barriers, mbarriers, and the completion of copies that many threads wait for.

pub use super::clock::{Clock, join};

use super::clock::Clocks;
use super::shadow::{Actor, Kind};
use crate::value::CopyId;
use crate::wgmma::THREADS;
use rustc_hash::FxHashMap;
use std::num::NonZeroU32;

/// The threads of a warp.
pub(super) const WARP: u32 = 32;

/// When something happens, between which barriers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Moment {
    /// How many block barriers lie before it, those of earlier blocks included; and one more.
    pub era: NonZeroU32,
    /// How many barriers of the thread's warp, whichever of its threads they were of.
    pub warp: u32,
    /// How often the thread has arrived on an mbarrier.
    pub releases: u32,
    /// How many proxy fences the thread has executed.
    pub fences: u32,
}

impl Moment {
    /// The start of an era, for threads that use barriers alone.
    #[must_use]
    pub fn of(era: NonZeroU32, warp: u32) -> Self {
        Self {
            era,
            warp,
            releases: 0,
            fences: 0,
        }
    }
}

/// What a copy that many threads wait for is done with: only reading, or all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shared(NonZeroU32);

impl Shared {
    /// That copy `id` has read its source, or is complete.
    pub(super) fn new(id: CopyId, source: bool) -> Self {
        let number = id.0.saturating_mul(2).saturating_add(u32::from(source));
        Self(NonZeroU32::MIN.saturating_add(number))
    }
}

/// What orders threads: they are counted over all blocks.
#[derive(Clone, Debug)]
pub struct Order {
    /// How many threads a block has.
    pub threads_per_block: u32,
    /// The threads that each barrier of a warp was of, as bits, in the order of time.
    masks: FxHashMap<Warp, Vec<u32>>,
    /// True if barriers of a warp may be of some of its threads.
    partial_barriers: bool,
    /// What threads know of each other's arrivals, if they arrive anywhere.
    clocks: Option<Clocks>,
    /// Which threads have observed since the last block barrier that a copy is done, and when they did first. It is kept over
    /// barriers where copies through the generic proxy are waited for by many threads: any of these may execute a proxy fence.
    observers: FxHashMap<Shared, Vec<Option<Moment>>>,
    shares_copies: bool,
    /// The proxy fences of each thread.
    fences: FxHashMap<u32, Vec<Moment>>,
}

/// A block, and a warp of it.
pub(super) type Warp = (u32, u32);

impl Order {
    pub(super) fn new(threads_per_block: u32) -> Self {
        Self {
            threads_per_block,
            masks: FxHashMap::default(),
            partial_barriers: false,
            clocks: None,
            observers: FxHashMap::default(),
            shares_copies: false,
            fences: FxHashMap::default(),
        }
    }

    /// From now on, arrivals on mbarriers order threads, too.
    pub(super) fn use_clocks(&mut self) {
        self.clocks.get_or_insert_default();
    }

    /// From now on, other threads may wait for copies that a thread has issued for itself.
    pub(super) fn share_copies(&mut self) {
        self.shares_copies = true;
    }

    /// Returns true if they may.
    pub(super) fn shares_copies(&self) -> bool {
        self.shares_copies
    }

    /// From now on, a barrier of a warp may be of some of its threads.
    pub(super) fn use_partial_barriers(&mut self) {
        self.partial_barriers = true;
    }

    /// Returns true if what orders threads are block barriers and barriers of whole warps alone.
    pub(super) fn is_coarse(&self) -> bool {
        !self.partial_barriers && self.clocks.is_none()
    }

    /// The warp of a thread, and its lane.
    pub(super) fn warp(&self, thread: u32) -> (Warp, u32) {
        let (block, inside) = (thread / self.threads_per_block, thread % self.threads_per_block);
        ((block, inside / WARP), inside % WARP)
    }

    /// Now, for a thread.
    pub(super) fn moment(&self, thread: u32, era: NonZeroU32) -> Moment {
        let clocks = self.clocks.as_ref();
        Moment {
            era,
            warp: self.warp_barriers(thread),
            releases: clocks.map_or(0, |clocks| clocks.releases(self.inside(thread))),
            fences: self.fences.get(&thread).map_or(0, |fences| count(fences)),
        }
    }

    /// How many barriers the warp of `thread` has passed.
    pub(super) fn warp_barriers(&self, thread: u32) -> u32 {
        let (warp, _) = self.warp(thread);
        self.masks.get(&warp).map_or(0, |masks| count(masks))
    }

    /// Threads of the warp of `thread` pass a barrier; `mask` has a bit for each.
    pub(super) fn warp_barrier(&mut self, thread: u32, mask: u32) {
        let (warp, lane) = self.warp(thread);
        self.masks.entry(warp).or_default().push(mask);
        if self.clocks.is_none() {
            return;
        }
        // What one of them knows, all do: also what it has learnt from threads of other warps.
        let lanes = || (0..WARP).filter(|lane| mask >> lane & 1 == 1);
        let mut all = Clock::new();
        for other in lanes() {
            join(&mut all, &self.release(thread - lane + other));
        }
        for other in lanes() {
            self.acquire(thread - lane + other, &all);
        }
    }

    /// A thread arrives: returns what whoever learns of that knows.
    pub(super) fn release(&mut self, thread: u32) -> Clock {
        let (inside, passes) = (self.inside(thread), self.shares_copies);
        let clocks = self.clocks.as_mut();
        clocks.map_or_else(Clock::new, |clocks| clocks.release(thread, inside, passes))
    }

    /// What a thread has issued arrives later on: whoever learns of that knows how far the thread was, and not that what it did
    /// in memory is done.
    pub(super) fn pass(&mut self, thread: u32) -> Clock {
        self.release(thread).without_memory()
    }

    /// Returns true if thread `by` knows of so many arrivals of thread `of`, and that all before them is done.
    pub(super) fn knows_release(&self, by: u32, of: u32, count: u32) -> bool {
        let clocks = self.clocks.as_ref();
        clocks.is_some_and(|clocks| clocks.done(by, self.inside(of)) >= count)
    }

    /// A thread learns of arrivals.
    pub(super) fn acquire(&mut self, thread: u32, clock: &Clock) {
        if let Some(clocks) = &mut self.clocks {
            clocks.acquire(thread, clock);
        }
    }

    /// The number of a thread in its block.
    fn inside(&self, thread: u32) -> usize {
        (thread % self.threads_per_block) as usize
    }

    /// A thread executes a proxy fence.
    pub(super) fn fence(&mut self, thread: u32, moment: Moment) {
        self.fences.entry(thread).or_default().push(moment);
    }

    /// A thread observes that a copy is done; only its first observation counts.
    pub(super) fn observe(&mut self, done: Shared, by: Actor) {
        let inside = (by.spot.thread % self.threads_per_block) as usize;
        let observers = self.observers.entry(done).or_default();
        if observers.len() <= inside {
            observers.resize(inside + 1, None);
        }
        observers[inside].get_or_insert(by.moment);
    }

    /// A block barrier is passed: whoever has observed something, all know now.
    pub(super) fn next_era(&mut self) {
        if !self.shares_copies {
            self.observers.clear();
        }
    }

    /// A block has ended: nobody asks what its threads have passed any more.
    pub(super) fn forget(&mut self) {
        self.masks.clear();
        self.observers.clear();
        self.fences.clear();
        if let Some(clocks) = &mut self.clocks {
            *clocks = Clocks::default();
        }
    }

    /// Returns true if nothing orders an access before what `actor` does: they are of different threads, and no block
    /// barrier lies between, nor any barriers of their warp or mbarriers that lead from the one to the other. Nothing
    /// orders blocks.
    #[must_use]
    pub fn unordered(&self, access: Actor, actor: Actor) -> bool {
        let (before, now) = (access.spot.thread, actor.spot.thread);
        if before / self.threads_per_block != now / self.threads_per_block {
            return true;
        }
        // What all threads issue together is after what any of them did before.
        if actor.kind == Kind::Block || access.moment.era != actor.moment.era {
            return false;
        }
        if actor.is_of_warpgroup() {
            return self.unordered_with(access, actor).is_some();
        }
        if let Some(done) = access.shared {
            return !self.knows(done, access, actor);
        }
        if access.is_of_warpgroup() && same_warpgroup(before, now, self.threads_per_block) {
            return false;
        }
        before != now
            && access.kind != Kind::Block
            && !self.in_warp(access, actor)
            && !self.in_clock(access, actor)
    }

    /// A thread of a warpgroup that nothing orders after an access: any of them may be the one that reads.
    pub(super) fn unordered_with(&self, access: Actor, actor: Actor) -> Option<u32> {
        let count = u32::try_from(THREADS).unwrap_or(0);
        let mut threads = actor.spot.thread..actor.spot.thread + count;
        threads.find(|&thread| {
            let mut one = Actor {
                moment: self.moment(thread, actor.moment.era),
                kind: Kind::Bulk,
                ..actor
            };
            one.spot.thread = thread;
            self.unordered(access, one)
        })
    }

    /// Returns true if a thread, or one that is ordered before it, has observed that a copy is done.
    fn knows(&self, done: Shared, access: Actor, actor: Actor) -> bool {
        let Some(observers) = self.observers.get(&done) else {
            return false;
        };
        let inside = (actor.spot.thread % self.threads_per_block) as usize;
        if observers.get(inside).is_some_and(Option::is_some) {
            return true;
        }
        let first = actor.spot.thread - actor.spot.thread % self.threads_per_block;
        (first..).zip(observers).any(|(thread, moment)| {
            let Some(moment) = *moment else { return false };
            let mut observed = Actor {
                moment,
                shared: None,
                ..access
            };
            observed.spot.thread = thread;
            !self.unordered(observed, actor)
        })
    }

    /// Returns true if a thread must still execute a proxy fence after an access, before what `actor` does.
    pub(super) fn unfenced(&self, access: Actor, actor: Actor) -> bool {
        if !actor.needs_fence() || !matches!(access.kind, Kind::Plain | Kind::Atomic) {
            return false;
        }
        if let Some(done) = access.shared {
            return !self.fenced_since(done, access, actor);
        }
        let fences = self.fences.get(&access.spot.thread);
        // The first one after the access is known first.
        match fences.and_then(|fences| fences.get(access.moment.fences as usize)) {
            Some(&moment) => self.unordered(Actor { moment, ..access }, actor),
            None => true,
        }
    }

    /// Returns true if some thread has executed a proxy fence after it knew that a copy is done, before what `actor` does.
    fn fenced_since(&self, done: Shared, access: Actor, actor: Actor) -> bool {
        let block = access.spot.thread / self.threads_per_block;
        let observers = self.observers.get(&done);
        let fences = self.fences.iter().flat_map(|(&thread, fences)| {
            fences
                .iter()
                .enumerate()
                .map(move |(i, &moment)| (thread, i, moment))
        });
        let mut fences = fences.filter(|(thread, ..)| thread / self.threads_per_block == block);
        fences.any(|(thread, i, moment)| {
            let mut fence = Actor {
                moment,
                shared: None,
                ..access
            };
            fence.spot.thread = thread;
            let observed =
                observers.and_then(|observers| *observers.get((thread % self.threads_per_block) as usize)?);
            let knows = match observed {
                Some(observed) => observed.fences as usize <= i,
                None => self.knows(done, access, fence),
            };
            let after = moment.era > access.moment.era || (moment.era == access.moment.era && knows);
            after && !self.unordered(fence, actor)
        })
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

    /// Returns true if the thread of `actor` knows of an arrival after an access.
    fn in_clock(&self, access: Actor, actor: Actor) -> bool {
        let knows = |clocks: &Clocks| {
            clocks.done(actor.spot.thread, self.inside(access.spot.thread)) > access.moment.releases
        };
        self.clocks.as_ref().is_some_and(knows)
    }

    /// Returns true if nothing says that a thread came to `access` before `actor` comes to what it does, be that in memory or not.
    pub(super) fn may_come_later(&self, access: Actor, actor: Actor) -> bool {
        let passed = |clocks: &Clocks| {
            clocks.passed(actor.spot.thread, self.inside(access.spot.thread)) > access.moment.releases
        };
        self.unordered(access, actor) && !self.clocks.as_ref().is_some_and(passed)
    }
}

/// Returns true if two threads of a block are of the same warpgroup.
fn same_warpgroup(one: u32, other: u32, threads_per_block: u32) -> bool {
    let group = |thread: u32| (thread % threads_per_block) as usize / THREADS;
    group(one) == group(other)
}

fn count<T>(all: &[T]) -> u32 {
    u32::try_from(all.len()).unwrap_or(u32::MAX)
}
