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

/// The last event of each timeline that is known to come before, by timeline; of most there is none.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Clock(Vec<Epoch>);

impl Clock {
    /// A clock that knows nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
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

    fn place(&self, timeline: Timeline) -> Result<usize, usize> {
        self.0.binary_search_by_key(&timeline, |epoch| epoch.timeline)
    }

    pub(crate) fn get(&self, timeline: Timeline) -> u64 {
        self.place(timeline).map_or(0, |place| self.0[place].number)
    }

    /// The last event that is known of each timeline.
    pub(crate) fn epochs(&self) -> impl Iterator<Item = Epoch> {
        self.0.iter().copied()
    }

    /// Adds one event and all before it on its timeline.
    pub(crate) fn learn(&mut self, epoch: Epoch) {
        match self.place(epoch.timeline) {
            Ok(place) => self.0[place].number = self.0[place].number.max(epoch.number),
            Err(place) => self.0.insert(place, epoch),
        }
    }

    /// Adds what another clock knows.
    pub fn join(&mut self, other: &Self) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        // Mostly one of the two has a few events that are new to the other.
        if other.0.len() * 8 < self.0.len() {
            other.epochs().for_each(|epoch| self.learn(epoch));
            return;
        }
        let mine = std::mem::take(&mut self.0);
        self.0.reserve(mine.len().max(other.0.len()));
        let (mut mine, mut theirs) = (mine.into_iter().peekable(), other.epochs().peekable());
        while let (Some(a), Some(b)) = (mine.peek().copied(), theirs.peek().copied()) {
            if a.timeline <= b.timeline {
                mine.next();
            }
            if b.timeline <= a.timeline {
                theirs.next();
            }
            let is_mine = a.timeline < b.timeline || a.timeline == b.timeline && a.number > b.number;
            self.0.push(if is_mine { a } else { b });
        }
        self.0.extend(mine.chain(theirs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Known = BTreeMap<u32, u64>;

    fn clock(known: &Known) -> Clock {
        let mut clock = Clock::new();
        for (&timeline, &number) in known.iter().rev() {
            let timeline = Timeline(timeline);
            clock.learn(Epoch { timeline, number });
        }
        clock
    }

    fn known() -> impl Strategy<Value = Known> {
        prop::collection::btree_map(0..40u32, 1..9u64, 0..30)
    }

    proptest! {
        #[test]
        fn a_join_knows_what_either_knows_and_no_more(a in known(), b in known()) {
            let mut joined = clock(&a);
            joined.join(&clock(&b));
            let mut both = a;
            for (timeline, number) in b {
                let known = both.entry(timeline).or_default();
                *known = number.max(*known);
            }
            prop_assert_eq!(joined, clock(&both));
        }
    }
}
