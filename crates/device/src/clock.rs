//! Vector clocks: what the host and each stream know of the others.
//!
//! The host is timeline 0. Streams have timelines of their own, and one whose stream is gone may serve another once the host knows all
//! that was in it: its numbers go on, so everything of the new stream comes after it, as it does.

use std::collections::BTreeMap;

/// What is ordered: the host or a stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Timeline(pub u32);

/// The host.
pub const HOST: Timeline = Timeline(0);

/// An event on a timeline; numbers begin with 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epoch {
    pub timeline: Timeline,
    pub number: u64,
}

/// The last event of each timeline that is known to come before; of most there is none.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Clock(BTreeMap<Timeline, u64>);

impl Clock {
    /// A clock that knows nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Returns true if nothing comes before whoever has this clock.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if `epoch` comes before whoever has this clock, or is its own.
    pub(crate) fn knows(&self, epoch: Epoch) -> bool {
        self.get(epoch.timeline) >= epoch.number
    }

    pub(crate) fn get(&self, timeline: Timeline) -> u64 {
        self.0.get(&timeline).copied().unwrap_or(0)
    }

    /// The last event that is known of each timeline.
    pub(crate) fn epochs(&self) -> impl Iterator<Item = Epoch> {
        self.0
            .iter()
            .map(|(&timeline, &number)| Epoch { timeline, number })
    }

    /// Adds one event and all before it on its timeline.
    pub(crate) fn learn(&mut self, epoch: Epoch) {
        let known = self.0.entry(epoch.timeline).or_default();
        *known = (*known).max(epoch.number);
    }

    /// Adds what another clock knows.
    pub fn join(&mut self, other: &Self) {
        for epoch in other.epochs() {
            self.learn(epoch);
        }
    }
}
