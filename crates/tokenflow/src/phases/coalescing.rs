//! Step 5.5: which rings are never live together, and become one.
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
