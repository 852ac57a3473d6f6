//! States of accesses in flight where ways meet: which are new, and which are one.

use super::super::graph::AccessId;
use super::Flight;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many states of an access are told apart at a step; of further ones, the tokens are forgotten.
const MAX_STATES: u32 = 256;

/// What was in flight at a step.
#[derive(Default)]
pub(super) struct Seen {
    flights: FxHashSet<Flight>,
    /// How many states there are of each access.
    states: FxHashMap<AccessId, u32>,
}

impl Seen {
    /// Notes `flight`, and returns it if it is new; as one of which nothing is known if there are too many of its access.
    pub fn note(&mut self, flight: Flight) -> Option<Flight> {
        if self.flights.contains(&flight) {
            return None;
        }
        let states = self.states.entry(flight.access).or_default();
        *states += 1;
        let flight = if *states <= MAX_STATES {
            flight
        } else {
            Flight {
                tokens: Vec::new(),
                lost: true,
                ..flight
            }
        };
        self.flights.insert(flight.clone()).then_some(flight)
    }
}

/// What is in flight where warps meet that took different ways: of what all began, what is left are those warps that have not awaited it
/// on any of these ways.
pub(super) fn together(flights: FxHashSet<Flight>) -> FxHashSet<Flight> {
    let mut merged: FxHashMap<Flight, u32> = FxHashMap::default();
    for flight in flights {
        let (warps, block_wide) = (flight.warps, flight.block_wide);
        let known = merged.entry(Flight { warps: 0, ..flight }).or_insert(warps);
        *known = if block_wide {
            *known & warps
        } else {
            *known | warps
        };
    }
    let flights = merged
        .into_iter()
        .map(|(flight, warps)| Flight { warps, ..flight });
    flights.filter(|flight| flight.warps != 0).collect()
}
