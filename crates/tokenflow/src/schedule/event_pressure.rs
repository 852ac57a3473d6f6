//! Tracks the event pressure, operation by operation: how many events are live, as register pressure is of
//! registers.

use super::events::{EventTable, PairEffect};

/// The pressure of each pair after a prefix of an order. It depends on which operations are in the prefix, not on their order.
#[derive(Clone, Debug)]
pub(super) struct EventPressure {
    /// Events of each pair.
    pub live: Vec<u64>,
    /// Of each effect (see [`EventTable::effects`]), how many live events its operation would be the first consumer of.
    frees: Vec<u64>,
    /// By event, whether it waits for its first consumer.
    is_waiting: Vec<bool>,
}

impl EventPressure {
    /// Before the first operation.
    pub fn new(table: &EventTable) -> Self {
        let mut pressure = Self {
            live: table.base.clone(),
            frees: vec![0; table.effects.items().len()],
            is_waiting: vec![false; table.events.len()],
        };
        for (event, details) in table.events.iter().enumerate() {
            if details.is_carried {
                pressure.live[details.pair] += 1;
                pressure.wait(table, event, true);
            }
        }
        pressure
    }

    /// What `op`, which comes next, does to the pairs that it does something to: what it does, and what it frees.
    pub fn effects<'a>(
        &'a self,
        table: &'a EventTable,
        op: usize,
    ) -> impl Iterator<Item = (&'a PairEffect, u64)> {
        let range = table.effects.range(op);
        table.effects.of(op).iter().zip(self.frees[range].iter().copied())
    }

    /// How many events `op` would free.
    pub fn freed_by(&self, table: &EventTable, op: usize) -> u64 {
        self.frees[table.effects.range(op)].iter().sum()
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
        for effect in table.effects.of(op) {
            let pressure = &mut self.live[effect.pair];
            let inside = *pressure + effect.inner;
            *pressure += effect.produced;
            peaks[effect.pair] = peaks[effect.pair].max(inside).max(*pressure);
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
        for effect in table.effects.of(op) {
            self.live[effect.pair] -= effect.produced;
        }
        for &event in freed {
            self.live[table.events[event].pair] += 1;
            self.wait(table, event, true);
        }
    }

    /// Notes whether `event` waits for its first consumer.
    fn wait(&mut self, table: &EventTable, event: usize, waits: bool) {
        self.is_waiting[event] = waits;
        for &effect in &table.consumer_effects[table.consumers.range(event)] {
            if waits {
                self.frees[effect] += 1;
            } else {
                self.frees[effect] -= 1;
            }
        }
    }

    /// Returns true if `event` waits for its first consumer.
    pub fn is_waiting(&self, event: usize) -> bool {
        self.is_waiting[event]
    }
}
