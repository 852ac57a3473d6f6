//! Step 8: what may be pending at a point: accesses to buffers, and waits for rings. The lattice of [`super::hazards`].

use super::ids::RingId;
use super::rings::MAX_DEPTH;
use super::tree::{Buffer, Tree};
use std::collections::BTreeMap;

/// More than any ring is deep.
pub(super) const NO_DEPTH: u64 = MAX_DEPTH + 1;

/// Read since the last barrier.
pub(super) const READ: u64 = 1;
/// Written since the last barrier.
pub(super) const WRITTEN: u64 = 2;
/// Accessed through the generic proxy without a fence.
pub(super) const UNFENCED: u64 = 4;
/// Fenced, without a barrier.
pub(super) const FENCED: u64 = 8;
/// Copies of the threads may write it; that is never known to be over.
pub(super) const COPIED: u64 = 16;
/// Loaded since the last barrier or before, which some threads may not know yet.
pub(super) const LANDED: u64 = 32;

/// What is pending; there is no entry for what is not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct HazardState {
    /// Buffers; `None` is any of them.
    buffers: BTreeMap<Option<usize>, u64>,
    /// Rings of mbarriers: one more than the most arms since a phase that was waited for.
    pub rings: BTreeMap<RingId, u64>,
}

impl HazardState {
    pub fn at_start(tree: &Tree) -> Self {
        let mut state = Self::default();
        if tree.called {
            state.record(Buffer::Any, READ | WRITTEN | UNFENCED);
        }
        state
    }

    pub fn record(&mut self, buffer: Buffer, pending: u64) {
        *self.buffers.entry(number(buffer)).or_default() |= pending;
    }

    pub fn record_wait(&mut self, ring: RingId, arms: u64) {
        let known = self.rings.entry(ring).or_default();
        *known = arms.max(*known);
    }

    pub fn join(&mut self, other: &Self) {
        for (&buffer, &pending) in &other.buffers {
            *self.buffers.entry(buffer).or_default() |= pending;
        }
        other
            .rings
            .iter()
            .for_each(|(&ring, &arms)| self.record_wait(ring, arms));
    }

    pub fn widen(&mut self) {
        self.rings.values_mut().for_each(|arms| *arms = NO_DEPTH);
    }

    pub fn barrier(&mut self) {
        self.buffers.retain(|_, pending| {
            *pending &= !(READ | WRITTEN | FENCED | LANDED);
            *pending != 0
        });
        self.rings.clear();
    }

    pub fn fence(&mut self) {
        for pending in self
            .buffers
            .values_mut()
            .filter(|pending| **pending & UNFENCED != 0)
        {
            *pending = *pending & !UNFENCED | FENCED;
        }
    }

    /// Threads wait for copies of their own, for all or for some: others may still write, so what is [`COPIED`] stays so, and each
    /// later wait may be the one for them. That costs a fence too many after a wait for the last of them, and never lacks one.
    pub fn complete_copies(&mut self) {
        for pending in self
            .buffers
            .values_mut()
            .filter(|pending| **pending & COPIED != 0)
        {
            *pending |= WRITTEN | UNFENCED;
        }
    }

    /// What is pending for `buffer`.
    pub fn pending(&self, buffer: Buffer) -> u64 {
        let of = |buffer: Option<usize>| self.buffers.get(&buffer).copied().unwrap_or(0);
        match buffer {
            Buffer::Known(_) => of(number(buffer)) | of(None),
            Buffer::Any => self.buffers.values().fold(0, |pending, more| pending | more),
        }
    }
}

fn number(buffer: Buffer) -> Option<usize> {
    match buffer {
        Buffer::Known(buffer) => Some(buffer),
        Buffer::Any => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Buffer = Buffer::Known(0);
    const B: Buffer = Buffer::Known(1);

    fn with(buffer: Buffer, pending: u64) -> HazardState {
        let mut state = HazardState::default();
        state.record(buffer, pending);
        state
    }

    #[test]
    fn a_write_is_over_after_a_fence_and_a_later_barrier() {
        let mut state = with(A, WRITTEN | UNFENCED);
        state.barrier();
        assert_eq!(state.pending(A), UNFENCED);
        state.fence();
        assert_eq!(state.pending(A), FENCED);
        state.barrier();
        assert_eq!(state, HazardState::default());
    }

    #[test]
    fn any_buffer_is_each_of_them_and_each_is_any() {
        assert_eq!(with(Buffer::Any, READ).pending(A), READ);
        let mut state = with(A, READ);
        state.record(B, WRITTEN);
        assert_eq!(
            (state.pending(A), state.pending(Buffer::Any)),
            (READ, READ | WRITTEN)
        );
    }

    #[test]
    fn copies_write_until_threads_wait_for_them() {
        let mut state = with(A, WRITTEN | UNFENCED | COPIED);
        state.fence();
        state.barrier();
        assert_eq!(state.pending(A), COPIED);
        state.complete_copies();
        assert_eq!(state.pending(A) & (WRITTEN | UNFENCED), WRITTEN | UNFENCED);
        // That may have been the wait for another copy.
        state.fence();
        state.barrier();
        state.complete_copies();
        assert_eq!(state.pending(A) & (WRITTEN | UNFENCED), WRITTEN | UNFENCED);
    }

    #[test]
    fn a_join_has_what_is_pending_on_either_path() {
        let (ring, other) = (RingId(0), RingId(1));
        let mut state = with(A, READ);
        state.record_wait(ring, 1);
        let mut path = with(A, WRITTEN);
        path.record(B, LANDED);
        path.record_wait(ring, 3);
        path.record_wait(other, 2);
        state.join(&path);
        assert_eq!((state.pending(A), state.pending(B)), (READ | WRITTEN, LANDED));
        assert_eq!(state.rings, BTreeMap::from([(ring, 3), (other, 2)]));
    }
}
