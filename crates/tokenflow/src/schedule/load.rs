//! How many events are live, operation by operation.

use super::events::{EventTable, Slot};

/// The load of each pair after a prefix of an order. It depends on which operations are in the prefix, not on their order.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// Events of each pair.
    pub live: Vec<u64>,
    /// Of each slot (see [`EventTable::slots`]), how many live events its operation would be the first consumer of.
    frees: Vec<u64>,
    /// By event, whether it waits for its first consumer.
    is_waiting: Vec<bool>,
}

impl Load {
    /// Before the first operation.
    pub fn new(table: &EventTable) -> Self {
        let mut load = Self {
            live: table.base.clone(),
            frees: vec![0; table.slots.items().len()],
            is_waiting: vec![false; table.events.len()],
        };
        for (event, details) in table.events.iter().enumerate() {
            if details.is_carried {
                load.live[details.pair] += 1;
                load.wait(table, event, true);
            }
        }
        load
    }

    /// What `op`, which comes next, does to the pairs that it does something to: what it does, and what it frees.
    pub fn effects<'a>(&'a self, table: &'a EventTable, op: usize) -> impl Iterator<Item = (&'a Slot, u64)> {
        let range = table.slots.range(op);
        table.slots.of(op).iter().zip(self.frees[range].iter().copied())
    }

    /// How many events `op` would free.
    pub fn freed_by(&self, table: &EventTable, op: usize) -> u64 {
        self.frees[table.slots.range(op)].iter().sum()
    }

    /// Puts `op` next, and adds the events that it frees to `freed`. Raises peaks.
    pub fn push(&mut self, table: &EventTable, op: usize, peaks: &mut [u64], freed: &mut Vec<usize>) {
        for &event in table.consumed.of(op) {
            if self.is_waiting[event] {
                self.wait(table, event, false);
                self.live[table.events[event].pair] -= 1;
                freed.push(event);
            }
        }
        for slot in table.slots.of(op) {
            let load = &mut self.live[slot.pair];
            let inside = *load + slot.inner;
            *load += slot.produced;
            peaks[slot.pair] = peaks[slot.pair].max(inside).max(*load);
        }
        for &event in table.produced.of(op) {
            if !table.events[event].is_carried {
                self.wait(table, event, true);
            }
        }
    }

    /// Takes back that `op` was put last, and freed `freed`.
    pub fn pop(&mut self, table: &EventTable, op: usize, freed: &[usize]) {
        for &event in table.produced.of(op) {
            if !table.events[event].is_carried {
                self.wait(table, event, false);
            }
        }
        for slot in table.slots.of(op) {
            self.live[slot.pair] -= slot.produced;
        }
        for &event in freed {
            self.live[table.events[event].pair] += 1;
            self.wait(table, event, true);
        }
    }

    /// Notes whether `event` waits for its first consumer.
    fn wait(&mut self, table: &EventTable, event: usize, waits: bool) {
        self.is_waiting[event] = waits;
        for &slot in &table.consumer_slots[table.consumers.range(event)] {
            if waits {
                self.frees[slot] += 1;
            } else {
                self.frees[slot] -= 1;
            }
        }
    }

    /// Returns true if `event` waits for its first consumer.
    pub fn is_waiting(&self, event: usize) -> bool {
        self.is_waiting[event]
    }
}
