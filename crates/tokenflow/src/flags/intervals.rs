//! Ids for the events of a pair of engines that are all in one block that is executed once, in O(n log n).
//!
//! **Binary flags**: an event takes an id from its setting until the setting engine knows of the wait. These are intervals, in the order of
//! the walk, since what is known of a wait stays known. First fit takes the fewest ids: when it takes a new one, all others are taken.
//!
//! **Counting flags**: those that share an id are waited for in the order in which they are set. The fewest increasing subsequences of
//! a sequence of waits are found by putting each on the first that it continues (patience sorting); one that continues none of k of them is the
//! end of a decreasing sequence of k + 1, of which each two conflict.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::machine::Machine;
use super::{EngineId, EventId, Kind};

/// The events of a pair of engines, as they are set and waited for.
#[derive(Default)]
pub(super) struct Intervals {
    /// The events in the order in which they are set.
    pub(super) events: Vec<EventId>,
    /// With binary flags, the id of each.
    ids: Vec<usize>,
    /// The number of each in `events`.
    numbers: FxHashMap<EventId, usize>,
    /// Ids that were taken, and are free again.
    free: BinaryHeap<Reverse<usize>>,
    /// The event that took each id last.
    owners: Vec<EventId>,
    /// So many of the waits are known to the setting engine.
    known: usize,
    /// More events than the limit, of which each two conflict.
    clique: Option<Vec<EventId>>,
    /// By number, how many were waited for before.
    waits: FxHashMap<usize, usize>,
}

impl Intervals {
    /// `event`, from one of the engines to the other, is set. There are `limit` flags.
    pub(super) fn set(
        &mut self,
        event: EventId,
        (from, to): (EngineId, EngineId),
        machine: &Machine,
        limit: usize,
    ) {
        let past = machine.past(from, to);
        while let Some(wait) = past.get(self.known)
            && machine.knows_of(from, to, wait)
        {
            let id = self.ids[self.numbers[&wait.event]];
            self.free.push(Reverse(id));
            self.known += 1;
        }
        let id = match self.free.pop() {
            Some(Reverse(id)) => id,
            None => self.owners.len(),
        };
        if id == self.owners.len() {
            self.owners.push(event);
        }
        self.owners[id] = event;
        if id == limit && self.clique.is_none() {
            self.clique = Some(self.owners.clone());
        }
        self.numbers.insert(event, self.events.len());
        self.events.push(event);
        self.ids.push(id);
    }

    /// `event` is waited for.
    pub(super) fn wait(&mut self, event: EventId) {
        let earlier = self.waits.len();
        self.waits.insert(self.numbers[&event], earlier);
    }

    /// The ids of the events, as few as can be; or one more event than the limit, of which each two conflict.
    pub(super) fn ids(&self, kind: Kind, limit: usize) -> Result<Vec<usize>, Vec<EventId>> {
        match kind {
            Kind::Binary => self.clique.clone().map_or_else(|| Ok(self.ids.clone()), Err),
            Kind::Counting => self.increasing(limit),
        }
    }

    fn increasing(&self, limit: usize) -> Result<Vec<usize>, Vec<EventId>> {
        // The last event of each id, by number; the later the id, the earlier it is waited for.
        let mut last: Vec<usize> = Vec::new();
        let mut ids = Vec::with_capacity(self.events.len());
        // Of each, one that is set before it, waited for after it, and has the id before.
        let mut before: Vec<Option<usize>> = Vec::with_capacity(self.events.len());
        for number in 0..self.events.len() {
            let id = last.partition_point(|other| self.waits[other] > self.waits[&number]);
            before.push(id.checked_sub(1).map(|id| last[id]));
            if id == limit {
                let chain = std::iter::successors(Some(number), |&number| before[number]);
                let mut clique: Vec<EventId> = chain.map(|number| self.events[number]).collect();
                clique.reverse();
                return Err(clique);
            }
            if id == last.len() {
                last.push(number);
            }
            last[id] = number;
            ids.push(id);
        }
        Ok(ids)
    }
}
