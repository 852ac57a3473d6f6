//! Vector clocks: what the host and each stream know of the others.
//!
//! The host is timeline 0. Streams have timelines of their own, and one whose stream is gone may serve another once the host knows all
//! that was in it: its numbers go on, so everything of the new stream comes after it, as it does.

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

/// The last event of each timeline that is known to come before.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Clock(Vec<u64>);

impl Clock {
    /// Returns true if `epoch` comes before whoever has this clock, or is its own.
    pub fn knows(&self, epoch: Epoch) -> bool {
        self.get(epoch.timeline) >= epoch.number
    }

    pub fn get(&self, timeline: Timeline) -> u64 {
        self.0.get(timeline.0 as usize).copied().unwrap_or(0)
    }

    /// Adds one event and all before it on its timeline.
    pub fn learn(&mut self, epoch: Epoch) {
        let index = epoch.timeline.0 as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0[index] = self.0[index].max(epoch.number);
    }

    /// Adds what another clock knows.
    pub fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (known, other) in self.0.iter_mut().zip(&other.0) {
            *known = (*known).max(*other);
        }
    }
}
