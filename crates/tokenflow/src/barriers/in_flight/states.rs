//! The states of accesses in flight at a step: keeps a set of those seen, forgets tokens where there are too
//! many, and merges the states of warps that reconverge.

use super::super::graph::AccessId;
use super::InFlightAccess;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many states of an access are told apart at a step; of further ones, the tokens are forgotten.
const MAX_STATES: u32 = 256;

/// What was in flight at a step.
#[derive(Default)]
pub(super) struct Seen {
    flights: FxHashSet<InFlightAccess>,
    /// How many states there are of each access.
    states: FxHashMap<AccessId, u32>,
}

impl Seen {
    /// Notes `flight`, and returns it if it is new; as one of which nothing is known if there are too many of its access.
    pub fn note(&mut self, flight: InFlightAccess) -> Option<InFlightAccess> {
        if self.flights.contains(&flight) {
            return None;
        }
        let states = self.states.entry(flight.access).or_default();
        *states += 1;
        let flight = if *states <= MAX_STATES {
            flight
        } else {
            InFlightAccess {
                tokens: Vec::new(),
                lost: true,
                ..flight
            }
        };
        self.flights.insert(flight.clone()).then_some(flight)
    }
}

/// What is in flight where warps meet that took different paths: of what all began, what is left are those warps that have not awaited it
/// on any of these paths.
pub(super) fn reconverge(flights: FxHashSet<InFlightAccess>) -> FxHashSet<InFlightAccess> {
    let mut merged: FxHashMap<InFlightAccess, u32> = FxHashMap::default();
    for flight in flights {
        let (warps, block_wide) = (flight.warps, flight.block_wide);
        let known = merged
            .entry(InFlightAccess { warps: 0, ..flight })
            .or_insert(warps);
        *known = if block_wide {
            *known & warps
        } else {
            *known | warps
        };
    }
    let flights = merged
        .into_iter()
        .map(|(flight, warps)| InFlightAccess { warps, ..flight });
    flights.filter(|flight| flight.warps != 0).collect()
}
