//! Colors interval graphs: ids of binary flags for the events of a pair of engines that are all in one block
//! that is executed once, in O(n log n).
//!
//! An event takes an id from its setting until the setting engine knows of the wait. These are intervals, in the order of the walk, since
//! what is known of a wait stays known. First fit takes the fewest ids: when it takes a new one, all others are taken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::happens_before::Walk;
use super::{EngineId, EventId};

/// The events of a pair of engines, as they are set.
#[derive(Default)]
pub(super) struct IntervalColoring {
    /// The events in the order in which they are set.
    pub(super) events: Vec<EventId>,
    /// The id of each.
    pub(super) ids: Vec<usize>,
    /// The number of each in `events`.
    numbers: FxHashMap<EventId, usize>,
    /// Ids that were taken, and are free again.
    free: BinaryHeap<Reverse<usize>>,
    /// The event that took each id last.
    owners: Vec<EventId>,
    /// So many of the waits are known to the setting engine.
    known: usize,
    /// One more event than the limit, of which each two conflict, if there are as many.
    pub(super) clique: Option<Vec<EventId>>,
}

impl IntervalColoring {
    /// `event`, from one of the engines to the other, is set. There are `limit` flags.
    pub(super) fn set(
        &mut self,
        event: EventId,
        (from, to): (EngineId, EngineId),
        walk: &Walk,
        limit: usize,
    ) {
        let past = walk.past(from, to);
        while let Some(wait) = past.get(self.known)
            && walk.knows_of(from, to, wait)
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
}
