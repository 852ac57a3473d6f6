//! Accesses of memory, each as a number of 32 bits.
//!
//! What threads of one block do by the same instruction in the same iterations, between the same barriers, is one *event*.
//! An access is an event and the thread in its block, which is all that is kept for a byte.

use super::order::{Moment, Shared, WARP};
use super::shadow::{Actor, Kind};
use crate::report::Spot;
use rustc_hash::FxHashMap;
use std::num::NonZeroU32;

/// An access, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AccessId(NonZeroU32);

impl AccessId {
    /// No access has this number, nor a larger one.
    const END: u32 = u32::MAX;

    /// A number that no access has, and that stands for something else.
    pub(super) const RESERVED: Self = Self(NonZeroU32::MAX);

    /// The place of a cell, where a granule has one.
    pub(super) fn from_index(index: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index))
    }

    /// What [`AccessId::from_index`] was given.
    pub(super) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// What threads of a block do together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Event {
    instr: u32,
    iterations: u32,
    block: u32,
    moment: Moment,
    kind: Kind,
    shared: Option<Shared>,
}

/// All accesses that some byte may remember.
pub(super) struct Accesses {
    events: Vec<Event>,
    /// The events of the block that runs.
    numbers: FxHashMap<Event, u32>,
    /// For each instruction, the event that was looked up last: threads that run one after the other do the same.
    last: Vec<Option<(Event, u32)>>,
    threads_per_block: u32,
    /// How many low bits of an access are its thread.
    thread_bits: u32,
    /// True if there were more events than have numbers.
    exhausted: bool,
    /// With so many events, those that no byte remembers are looked for when a block ends.
    renumber_at: usize,
}

impl Accesses {
    pub fn new(threads_per_block: u32) -> Self {
        let thread_bits = u32::BITS - threads_per_block.saturating_sub(1).leading_zeros();
        Self {
            events: Vec::new(),
            numbers: FxHashMap::default(),
            last: Vec::new(),
            threads_per_block,
            thread_bits,
            exhausted: false,
            // Tests have few, and are to see it done.
            renumber_at: if cfg!(debug_assertions) {
                1
            } else {
                Self::end(thread_bits) as usize / 4
            },
        }
    }

    /// The number of an access; `None` from when there is none left.
    pub fn number(&mut self, actor: Actor) -> Option<AccessId> {
        if self.exhausted {
            return None;
        }
        let (block, inside) = (
            actor.spot.thread / self.threads_per_block,
            actor.spot.thread % self.threads_per_block,
        );
        let event = Event {
            instr: actor.spot.instr,
            iterations: actor.spot.iterations,
            block,
            moment: actor.moment,
            kind: actor.kind,
            shared: actor.shared,
        };
        let number = match self.last.get(event.instr as usize) {
            Some(Some((last, number))) if *last == event => *number,
            _ => self.event(event)?,
        };
        NonZeroU32::new(number << self.thread_bits | inside).map(AccessId)
    }

    fn event(&mut self, event: Event) -> Option<u32> {
        let number = match self.numbers.get(&event) {
            Some(number) => *number,
            None => {
                // From 1 on, so that no access is 0.
                let number = u32::try_from(self.events.len() + 1).ok()?;
                if number >= Self::end(self.thread_bits) {
                    self.exhausted = true;
                    return None;
                }
                self.events.push(event);
                self.numbers.insert(event, number);
                number
            }
        };
        let instr = event.instr as usize;
        if self.last.len() <= instr {
            self.last.resize(instr + 1, None);
        }
        self.last[instr] = Some((event, number));
        Some(number)
    }

    /// The first number that no event has.
    fn end(thread_bits: u32) -> u32 {
        AccessId::END.checked_shr(thread_bits).unwrap_or(0)
    }

    /// Returns true if an access was first made after another one.
    pub fn is_later(&self, access: AccessId, other: AccessId) -> bool {
        access.0.get() >> self.thread_bits > other.0.get() >> self.thread_bits
    }

    /// What a number stands for.
    pub fn actor(&self, id: AccessId) -> Actor {
        let number = id.0.get() >> self.thread_bits;
        let event = &self.events[number as usize - 1];
        Actor {
            spot: Spot {
                instr: event.instr,
                thread: event.block * self.threads_per_block + self.inside(id),
                iterations: event.iterations,
            },
            moment: event.moment,
            kind: event.kind,
            shared: event.shared,
        }
    }

    /// The thread in its block.
    fn inside(&self, id: AccessId) -> u32 {
        id.0.get() & ((1 << self.thread_bits) - 1)
    }

    /// Returns true if two accesses of one block are by threads of one warp.
    pub fn same_warp(&self, a: AccessId, b: AccessId) -> bool {
        self.inside(a) / WARP == self.inside(b) / WARP
    }

    /// How many events are remembered, and how many can be.
    pub fn room(&self) -> (usize, usize) {
        (self.events.len(), Self::end(self.thread_bits) as usize)
    }

    /// A block has ended: its events do not come again. Returns true if it is time to look for those that no byte remembers.
    pub fn end_of_block(&mut self) -> bool {
        self.numbers.clear();
        self.last.clear();
        self.is_full()
    }

    /// Returns true if it is time to look for events that no byte remembers.
    pub fn is_full(&self) -> bool {
        self.events.len() >= self.renumber_at
    }

    /// Gives new numbers to the accesses that are kept; between blocks.
    pub fn renumber(&mut self) -> Renumbering {
        Renumbering {
            events: std::mem::take(&mut self.events),
            numbers: FxHashMap::default(),
            new: Self {
                exhausted: self.exhausted,
                ..Self::new(self.threads_per_block)
            },
        }
    }
}

/// New numbers for accesses.
pub(super) struct Renumbering {
    /// All events so far.
    events: Vec<Event>,
    /// Of those that are kept, the old and the new numbers.
    numbers: FxHashMap<u32, u32>,
    new: Accesses,
}

impl Renumbering {
    /// Keeps an access, and changes its number.
    pub fn keep(&mut self, id: &mut AccessId) {
        let bits = self.new.thread_bits;
        let old = id.0.get() >> bits;
        let events = &mut self.new.events;
        let new = *self.numbers.entry(old).or_insert_with(|| {
            events.push(self.events[old as usize - 1]);
            u32::try_from(events.len()).unwrap_or(u32::MAX)
        });
        if let Some(number) = NonZeroU32::new(new << bits | self.new.inside(*id)) {
            *id = AccessId(number);
        }
    }

    /// The accesses that were kept.
    pub fn finish(self) -> Accesses {
        let mut new = self.new;
        // Where most are kept, looking for others more often does not help.
        new.renumber_at = new.renumber_at.max(2 * new.events.len());
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(thread: u32, iterations: u32) -> Actor {
        Actor::plain(
            Spot {
                instr: 3,
                thread,
                iterations,
            },
            Moment::of(NonZeroU32::MIN, 0),
        )
    }

    #[test]
    fn a_number_stands_for_its_access() {
        let mut accesses = Accesses::new(33);
        let all: Vec<Actor> = (0..2)
            .flat_map(|i| [0, 1, 32, 33, 70].map(|t| access(t, i)))
            .collect();
        let ids: Vec<AccessId> = all.iter().map(|a| accesses.number(*a).expect("a few")).collect();
        for (actor, id) in all.iter().zip(&ids) {
            assert_eq!(accesses.actor(*id).spot, actor.spot);
            assert_eq!(accesses.number(*actor), Some(*id), "the same number again");
        }
        // Three blocks, two iterations each.
        assert_eq!(accesses.events.len(), 6);
        assert!(accesses.same_warp(ids[0], ids[1]) && !accesses.same_warp(ids[1], ids[2]));
    }

    #[test]
    fn there_are_none_left_from_then_on() {
        // 20 bits for the thread leave 12 for the event.
        let mut accesses = Accesses::new(1 << 20);
        let left = (0..u32::MAX)
            .take_while(|i| accesses.number(access(0, *i)).is_some())
            .count();
        assert_eq!(left, (1 << 12) - 2, "neither 0 nor what is reserved");
        assert!(
            accesses.number(access(0, 0)).is_none(),
            "also for one that is known"
        );
    }
}
