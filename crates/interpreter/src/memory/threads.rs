//! What threads do that orders their accesses.

use super::{Actor, Clock, Memory, Moment};
use std::num::NonZeroU32;

impl Memory {
    /// From now on, other threads may wait for copies that a thread has issued for itself.
    pub fn share_copies(&mut self) {
        self.order.share_copies();
    }

    /// From now on, arrivals on mbarriers order threads, too.
    pub fn use_clocks(&mut self) {
        self.order.use_clocks();
    }

    /// From now on, a barrier of a warp may be of some of its threads.
    pub fn use_partial_barriers(&mut self) {
        self.order.use_partial_barriers();
    }

    /// Now, for a thread.
    #[must_use]
    pub fn moment(&self, thread: u32, era: NonZeroU32) -> Moment {
        self.order.moment(thread, era)
    }

    /// Threads of the warp of `thread` pass a barrier; `mask` has a bit for each.
    pub fn warp_barrier(&mut self, thread: u32, mask: u32) {
        self.order.warp_barrier(thread, mask);
    }

    /// The threads of a block pass a barrier.
    pub fn block_barrier(&mut self) {
        self.order.next_era();
        self.reports.block_barrier();
    }

    /// A thread arrives on an mbarrier: returns what those who learn of it know.
    pub fn release(&mut self, thread: u32) -> Clock {
        self.order.release(thread)
    }

    /// What a thread has issued arrives on an mbarrier later on: who learns of that knows how far the thread was, and nothing of memory.
    pub fn pass(&mut self, thread: u32) -> Clock {
        self.order.pass(thread)
    }

    /// Returns true if thread `by` knows of so many arrivals of thread `of`, and that all before them is done.
    #[must_use]
    pub fn knows_release(&self, by: u32, of: u32, count: u32) -> bool {
        self.order.knows_release(by, of, count)
    }

    /// A thread learns of arrivals on an mbarrier.
    pub fn acquire(&mut self, thread: u32, clock: &Clock) {
        self.order.acquire(thread, clock);
    }

    /// A thread executes a proxy fence.
    pub fn fence(&mut self, thread: u32, moment: Moment) {
        self.order.fence(thread, moment);
    }

    /// Returns true if nothing orders an access before what `actor` does, see [`super::Order::unordered`].
    #[must_use]
    pub fn unordered(&self, access: Actor, actor: Actor) -> bool {
        self.order.unordered(access, actor)
    }

    /// Returns true if nothing says that a thread came to `access` before `actor` comes to what it does.
    #[must_use]
    pub fn may_come_later(&self, access: Actor, actor: Actor) -> bool {
        self.order.may_come_later(access, actor)
    }

    /// How many barriers the warp of `thread` has passed.
    #[must_use]
    pub fn warp_barriers(&self, thread: u32) -> u32 {
        self.order.warp_barriers(thread)
    }
}
