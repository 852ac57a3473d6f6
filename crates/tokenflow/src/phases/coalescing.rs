//! Step 5.5: coalesces rings that are never live together, by a linear scan.
//!
//! **In:** live ranges and depths. **Out:** pairs of rings that become one.
//!
//! A linear scan: rings are taken in program order. Each joins an earlier one, or one that was coalesced of several, if they don't
//! interfere; see [`LiveRange`]. Among those that have expired by then it is the shallowest that is deep enough, else the deepest.
//!
//! **Cost.** Some lookups for each place where a ring is used: only [`TRIES`] others are looked at.

use super::ids::{IndexVec, RingId};
use super::liveness::LiveRange;
use std::collections::{BTreeMap, BTreeSet};

/// How many rings of each sort are tried.
const TRIES: usize = 8;

/// Pairs of a ring and an earlier one that it joins; `ranges` say when each is live, `depths` how deep it is.
pub(super) fn coalesce(mut ranges: Vec<LiveRange>, depths: &IndexVec<RingId, u64>) -> Vec<(RingId, RingId)> {
    ranges.sort_unstable_by_key(|range| (range.waited, range.ring));
    let mut candidates = Candidates::default();
    let mut joined = Vec::new();
    for range in ranges {
        let depth = depths[range.ring];
        let mut merged = if let Some(found) = candidates.take(&range, depth) {
            joined.push((found.first, range.ring));
            found
        } else {
            CoalescedRing {
                first: range.ring,
                ..CoalescedRing::default()
            }
        };
        merged.depth = merged.depth.max(depth);
        merged.waited.add(range.waited);
        range.busy.iter().for_each(|&interval| merged.busy.add(interval));
        merged.arms.extend(range.unsynced);
        candidates.put(merged);
    }
    joined
}

/// Rings that are one.
#[derive(Default)]
struct CoalescedRing {
    /// The first of them.
    first: RingId,
    depth: u64,
    waited: IntervalSet,
    busy: IntervalSet,
    /// Where they are armed without a barrier of their own.
    arms: BTreeSet<usize>,
}

impl CoalescedRing {
    /// Returns true if a ring may be one of them.
    fn can_join(&self, range: &LiveRange) -> bool {
        !self.waited.overlaps(range.waited)
            && range.unsynced.iter().all(|&arm| !self.busy.overlaps((arm, arm)))
            && range
                .busy
                .iter()
                .all(|&(first, last)| self.arms.range(first..=last).next().is_none())
    }
}

/// All groups so far.
#[derive(Default)]
struct Candidates {
    rings: BTreeMap<RingId, CoalescedRing>,
    /// Those that nothing waits for any more, by depth.
    expired: BTreeSet<(u64, RingId)>,
    /// The others, by where they are waited for last.
    active: BTreeSet<(usize, RingId)>,
}

impl Candidates {
    /// Takes out a ring that `range` fits in.
    fn take(&mut self, range: &LiveRange, depth: u64) -> Option<CoalescedRing> {
        while let Some(&(last, merged)) = self.active.first().filter(|(last, _)| *last < range.waited.0) {
            self.active.remove(&(last, merged));
            self.expired.insert((self.rings[&merged].depth, merged));
        }
        let enough = self.expired.range((depth, RingId(0))..).take(TRIES);
        let shallow = self.expired.range(..(depth, RingId(0))).rev().take(TRIES);
        let found = enough
            .chain(shallow)
            .find(|(_, merged)| self.rings[merged].can_join(range));
        let found = *found?;
        self.expired.remove(&found);
        self.rings.remove(&found.1)
    }

    fn put(&mut self, merged: CoalescedRing) {
        self.active.insert((merged.waited.last(), merged.first));
        self.rings.insert(merged.first, merged);
    }
}

/// Spans of positions that don't overlap: the last position of each, by its first.
#[derive(Default)]
struct IntervalSet(BTreeMap<usize, usize>);

impl IntervalSet {
    fn overlaps(&self, (first, last): (usize, usize)) -> bool {
        self.0
            .range(..=last)
            .next_back()
            .is_some_and(|(_, &end)| end >= first)
    }

    fn add(&mut self, (mut first, mut last): (usize, usize)) {
        while let Some((&start, &end)) = self
            .0
            .range(..=last)
            .next_back()
            .filter(|(_, end)| **end >= first)
        {
            self.0.remove(&start);
            (first, last) = (first.min(start), last.max(end));
        }
        self.0.insert(first, last);
    }

    fn last(&self) -> usize {
        self.0.last_key_value().map_or(0, |(_, &last)| last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::generate::config;
    use crate::phases::liveness::Interval;
    use proptest::prelude::*;

    /// A ring that is awaited and busy in these positions, and armed where it is live first.
    fn range(ring: usize, waited: Interval, busy_until: usize) -> LiveRange {
        LiveRange {
            ring: RingId(ring),
            waited,
            busy: vec![(waited.0, busy_until)],
            unsynced: vec![waited.0],
        }
    }

    fn pairs(ranges: Vec<LiveRange>, depths: &[u64]) -> Vec<(usize, usize)> {
        let pairs = coalesce(ranges, &depths.to_vec().into());
        pairs.into_iter().map(|(one, other)| (one.0, other.0)).collect()
    }

    #[test]
    fn rings_that_are_waited_for_at_a_time_stay_apart() {
        // 0 and 1 have position 4 in common; nothing is left of 0 where 2 begins.
        let ranges = vec![range(0, (1, 4), 4), range(1, (4, 8), 8), range(2, (5, 9), 9)];
        assert_eq!(pairs(ranges, &[1, 1, 1]), [(0, 2)]);
    }

    #[test]
    fn a_ring_is_armed_where_another_is_busy_only_with_a_barrier_before() {
        let busy = || range(0, (1, 4), 9);
        assert_eq!(pairs(vec![busy(), range(1, (6, 8), 8)], &[1, 1]), []);
        let synced = LiveRange {
            unsynced: Vec::new(),
            ..range(1, (6, 8), 8)
        };
        assert_eq!(pairs(vec![busy(), synced], &[1, 1]), [(0, 1)]);
        // The other way around, a loop makes the later ring busy where the earlier one is armed.
        let around = LiveRange {
            busy: vec![(0, 2), (6, 8)],
            unsynced: Vec::new(),
            ..range(1, (6, 8), 8)
        };
        assert_eq!(pairs(vec![range(0, (1, 4), 4), around], &[1, 1]), []);
    }

    #[test]
    fn the_shallowest_ring_that_is_deep_enough_comes_first_and_then_the_deepest() {
        // Rings 0 to 3 are live at a time, ring 4 after them.
        let ranges = || {
            let earlier = (0..4).map(|ring| range(ring, (ring, 4), 4));
            earlier.chain([range(4, (5, 6), 6)]).collect()
        };
        assert_eq!(pairs(ranges(), &[5, 1, 4, 2, 3]), [(2, 4)]);
        assert_eq!(pairs(ranges(), &[5, 1, 4, 2, 6]), [(0, 4)]);
    }

    fn any_interval() -> impl Strategy<Value = Interval> {
        (0..30_usize, 0..6_usize).prop_map(|(first, length)| (first, first + length))
    }

    /// Where a ring is waited for, where it is busy, and where it is armed without a barrier.
    type Parts = (Interval, Vec<Interval>, Vec<usize>);

    fn any_parts() -> impl Strategy<Value = Parts> {
        let busy = prop::collection::vec(any_interval(), 0..3);
        (any_interval(), busy, prop::collection::vec(0..36_usize, 0..2))
    }

    fn ranges(parts: &[Parts]) -> Vec<LiveRange> {
        let numbered = (0..).zip(parts.iter().cloned());
        numbered
            .map(|(ring, (waited, busy, unsynced))| LiveRange {
                ring: RingId(ring),
                waited,
                busy,
                unsynced,
            })
            .collect()
    }

    /// Whether two rings may be one, by the definition at [`LiveRange`].
    fn interfere(one: &LiveRange, other: &LiveRange) -> bool {
        let meet = |a: Interval, b: Interval| a.0 <= b.1 && b.0 <= a.1;
        let arms_in = |one: &LiveRange, other: &LiveRange| {
            let mut arms = one.unsynced.iter();
            arms.any(|&arm| other.busy.iter().any(|&busy| meet(busy, (arm, arm))))
        };
        meet(one.waited, other.waited) || arms_in(one, other) || arms_in(other, one)
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn no_two_rings_that_become_one_interfere(parts in prop::collection::vec(any_parts(), 0..8)) {
            let mut one_of: Vec<usize> = (0..parts.len()).collect();
            for (one, other) in pairs(ranges(&parts), &vec![1; parts.len()]) {
                one_of[other] = one;
            }
            let ranges = ranges(&parts);
            for a in 0..ranges.len() {
                for b in 0..a {
                    prop_assert!(one_of[a] != one_of[b] || !interfere(&ranges[a], &ranges[b]), "{a} and {b}");
                }
            }
        }
    }
}
