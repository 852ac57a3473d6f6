//! Step 8: the lattice of [`super::hazards`]: what may be pending at a point, that is accesses to buffers and
//! waits for rings, by threads of each role.

use super::ids::RingId;
use super::rings::MAX_DEPTH;
use super::roles::RoleSet;
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
    /// Buffers, by role; `None` is any of them.
    buffers: BTreeMap<(Option<usize>, u32), u64>,
    /// Rings of mbarriers, by role: one more than the most arms since a phase that was waited for.
    rings: BTreeMap<(RingId, u32), u64>,
}

impl HazardState {
    pub fn at_start(tree: &Tree) -> Self {
        let mut state = Self::default();
        if tree.called {
            state.record(Buffer::Any, READ | WRITTEN | UNFENCED, tree.all_roles());
        }
        state
    }

    pub fn record(&mut self, buffer: Buffer, pending: u64, roles: RoleSet) {
        for role in roles.iter() {
            *self.buffers.entry((number(buffer), role)).or_default() |= pending;
        }
    }

    pub fn record_wait(&mut self, ring: RingId, arms: u64, roles: RoleSet) {
        for role in roles.iter() {
            self.record_wait_of(ring, arms, role);
        }
    }

    fn record_wait_of(&mut self, ring: RingId, arms: u64, role: u32) {
        let known = self.rings.entry((ring, role)).or_default();
        *known = arms.max(*known);
    }

    pub fn join(&mut self, other: &Self) {
        for (&buffer, &pending) in &other.buffers {
            *self.buffers.entry(buffer).or_default() |= pending;
        }
        for (&(ring, role), &arms) in &other.rings {
            self.record_wait_of(ring, arms, role);
        }
    }

    pub fn widen(&mut self) {
        self.rings.values_mut().for_each(|arms| *arms = NO_DEPTH);
    }

    /// Threads of `roles` have met at a barrier.
    pub fn synchronize(&mut self, roles: RoleSet) {
        self.buffers.retain(|(_, role), pending| {
            if roles.has(*role) {
                *pending &= !(READ | WRITTEN | FENCED | LANDED);
            }
            *pending != 0
        });
        self.rings.retain(|(_, role), _| !roles.has(*role));
    }

    /// Threads of `roles` pass on what they wrote.
    pub fn fence(&mut self, roles: RoleSet) {
        let of_roles = self.buffers.iter_mut().filter(|((_, role), _)| roles.has(*role));
        for (_, pending) in of_roles.filter(|(_, pending)| **pending & UNFENCED != 0) {
            *pending = *pending & !UNFENCED | FENCED;
        }
    }

    /// Threads of `roles` wait for copies of their own, for all or for some: others may still write, so what is [`COPIED`] stays so,
    /// and each later wait may be the one for them. That costs a fence too many after a wait for the last of them, and never
    /// lacks one.
    pub fn complete_copies(&mut self, roles: RoleSet) {
        let of_roles = self.buffers.iter_mut().filter(|((_, role), _)| roles.has(*role));
        for (_, pending) in of_roles.filter(|(_, pending)| **pending & COPIED != 0) {
            *pending |= WRITTEN | UNFENCED;
        }
    }

    /// What is pending for `buffer`, by role.
    fn pending_by_role(&self, buffer: Buffer) -> impl Iterator<Item = (u32, u64)> {
        let is_it = move |of: Option<usize>| match buffer {
            Buffer::Known(_) => of.is_none() || of == number(buffer),
            Buffer::Any => true,
        };
        let all = self.buffers.iter().filter(move |((of, _), _)| is_it(*of));
        all.map(|(&(_, role), &pending)| (role, pending))
    }

    /// What is pending for `buffer`.
    pub fn pending(&self, buffer: Buffer) -> u64 {
        self.pending_by_role(buffer)
            .fold(0, |pending, (_, more)| pending | more)
    }

    /// The roles of which any of `what` is pending for `buffer`.
    pub fn roles(&self, buffer: Buffer, what: u64) -> RoleSet {
        let roles = self.pending_by_role(buffer);
        roles
            .filter(|(_, pending)| pending & what != 0)
            .fold(RoleSet::default(), |roles, (role, _)| roles.or(RoleSet::of(role)))
    }

    /// The arms since a ring was waited for, by role.
    pub fn waits(&self, ring: RingId) -> impl Iterator<Item = (u32, u64)> {
        let of_ring = self.rings.range((ring, 0)..=(ring, u32::MAX));
        of_ring.map(|(&(_, role), &arms)| (role, arms))
    }

    /// A ring is armed. Returns one more than the most arms since it was waited for.
    pub fn arm(&mut self, ring: RingId) -> u64 {
        let of_ring = self.rings.range_mut((ring, 0)..=(ring, u32::MAX));
        let armed = of_ring.map(|(_, arms)| {
            *arms = (*arms + 1).min(NO_DEPTH);
            *arms
        });
        armed.max().unwrap_or(1)
    }

    /// A ring is armed no more.
    pub fn forget(&mut self, ring: RingId) {
        self.rings.retain(|(of, _), _| *of != ring);
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
    const ALL: RoleSet = RoleSet(1);

    fn with(buffer: Buffer, pending: u64) -> HazardState {
        let mut state = HazardState::default();
        state.record(buffer, pending, ALL);
        state
    }

    #[test]
    fn a_write_is_over_after_a_fence_and_a_later_barrier() {
        let mut state = with(A, WRITTEN | UNFENCED);
        state.synchronize(ALL);
        assert_eq!(state.pending(A), UNFENCED);
        state.fence(ALL);
        assert_eq!(state.pending(A), FENCED);
        state.synchronize(ALL);
        assert_eq!(state, HazardState::default());
    }

    #[test]
    fn any_buffer_is_each_of_them_and_each_is_any() {
        assert_eq!(with(Buffer::Any, READ).pending(A), READ);
        let mut state = with(A, READ);
        state.record(B, WRITTEN, ALL);
        assert_eq!(
            (state.pending(A), state.pending(Buffer::Any)),
            (READ, READ | WRITTEN)
        );
    }

    #[test]
    fn copies_write_until_threads_wait_for_them() {
        let mut state = with(A, WRITTEN | UNFENCED | COPIED);
        state.fence(ALL);
        state.synchronize(ALL);
        assert_eq!(state.pending(A), COPIED);
        state.complete_copies(ALL);
        assert_eq!(state.pending(A) & (WRITTEN | UNFENCED), WRITTEN | UNFENCED);
        // That may have been the wait for another copy.
        state.fence(ALL);
        state.synchronize(ALL);
        state.complete_copies(ALL);
        assert_eq!(state.pending(A) & (WRITTEN | UNFENCED), WRITTEN | UNFENCED);
    }

    #[test]
    fn a_join_has_what_is_pending_on_either_path() {
        let (ring, other) = (RingId(0), RingId(1));
        let mut state = with(A, READ);
        state.record_wait(ring, 1, ALL);
        let mut path = with(A, WRITTEN);
        path.record(B, LANDED, ALL);
        path.record_wait(ring, 3, ALL);
        path.record_wait(other, 2, ALL);
        state.join(&path);
        assert_eq!((state.pending(A), state.pending(B)), (READ | WRITTEN, LANDED));
        assert_eq!(state.rings, BTreeMap::from([((ring, 0), 3), ((other, 0), 2)]));
    }

    #[test]
    fn who_does_not_meet_is_not_known_to_have_come() {
        let (one, other) = (RoleSet::of(1), RoleSet::of(2));
        let mut state = HazardState::default();
        state.record(A, READ, one.or(other));
        state.record_wait(RingId(0), 1, one.or(other));
        assert_eq!(state.roles(A, READ), one.or(other));
        state.synchronize(one);
        assert_eq!(state.roles(A, READ), other);
        assert_eq!(state.waits(RingId(0)).collect::<Vec<_>>(), [(2, 1)]);
    }
}
