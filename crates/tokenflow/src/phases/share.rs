//! Phase 5: which rings are never live together, and are one.
//!
//! Rings are taken in program order. Each joins an earlier one, or one that was put together of several, if they fit; see
//! [`Life`]. Among those that are over by then it is the shallowest that is deep enough, else the deepest.
//!
//! **Cost.** Some lookups for each place where a ring is used: only [`TRIES`] others are looked at.

use super::live::Life;
use super::rings::RingId;
use std::collections::{BTreeMap, BTreeSet};

/// How many rings of each sort are tried.
const TRIES: usize = 8;

/// Which earlier ring each of `lives`, with their depths, joins, if it does.
pub(super) fn share(mut lives: Vec<Life>, depths: &[u64]) -> Vec<(RingId, RingId)> {
    lives.sort_unstable_by_key(|life| (life.waited, life.ring));
    let mut pools = Pools::default();
    let mut joined = Vec::new();
    for life in lives {
        let depth = depths[life.ring];
        let mut group = if let Some(found) = pools.take(&life, depth) {
            joined.push((found.first, life.ring));
            found
        } else {
            Group {
                first: life.ring,
                ..Group::default()
            }
        };
        group.depth = group.depth.max(depth);
        group.waited.add(life.waited);
        life.busy.iter().for_each(|&span| group.busy.add(span));
        group.arms.extend(life.unguarded);
        pools.put(group);
    }
    joined
}

/// Rings that are one.
#[derive(Default)]
struct Group {
    /// The first of them.
    first: RingId,
    depth: u64,
    waited: Spans,
    busy: Spans,
    /// Where they are armed without a barrier of their own.
    arms: BTreeSet<usize>,
}

impl Group {
    /// Returns true if a ring may be one of them.
    fn fits(&self, life: &Life) -> bool {
        !self.waited.meets(life.waited)
            && life.unguarded.iter().all(|&arm| !self.busy.meets((arm, arm)))
            && life
                .busy
                .iter()
                .all(|&(first, last)| self.arms.range(first..=last).next().is_none())
    }
}

/// All groups so far.
#[derive(Default)]
struct Pools {
    groups: BTreeMap<RingId, Group>,
    /// Those that nobody waits for any more, by depth.
    over: BTreeSet<(u64, RingId)>,
    /// The others, by where they are waited for last.
    live: BTreeSet<(usize, RingId)>,
}

impl Pools {
    /// Takes out a group that `life` fits in.
    fn take(&mut self, life: &Life, depth: u64) -> Option<Group> {
        while let Some(&(last, group)) = self.live.first().filter(|(last, _)| *last < life.waited.0) {
            self.live.remove(&(last, group));
            self.over.insert((self.groups[&group].depth, group));
        }
        let enough = self.over.range((depth, 0)..).take(TRIES);
        let shallow = self.over.range(..(depth, 0)).rev().take(TRIES);
        let found = enough
            .chain(shallow)
            .find(|(_, group)| self.groups[group].fits(life));
        let found = *found?;
        self.over.remove(&found);
        self.groups.remove(&found.1)
    }

    fn put(&mut self, group: Group) {
        self.live.insert((group.waited.last(), group.first));
        self.groups.insert(group.first, group);
    }
}

/// Spans of positions that don't overlap: the last position of each, by its first.
#[derive(Default)]
struct Spans(BTreeMap<usize, usize>);

impl Spans {
    fn meets(&self, (first, last): (usize, usize)) -> bool {
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
