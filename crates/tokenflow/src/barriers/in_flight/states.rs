//! The states of accesses in flight at a step: keeps a set of those seen, forgets tokens where there are too
//! many, and merges the states of warps that reconverge.

use super::super::graph::{AccessId, StepId};
use super::InFlightAccess;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

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
    let mut merged: FxHashMap<InFlightAccess, Vec<(Option<StepId>, u32)>> = FxHashMap::default();
    for flight in flights {
        let version = (flight.via, flight.warps);
        let key = InFlightAccess {
            warps: 0,
            via: None,
            ..flight
        };
        merged.entry(key).or_default().push(version);
    }
    let flights = merged.into_iter().flat_map(|(flight, versions)| {
        let warps = if flight.block_wide {
            meet(&versions)
        } else {
            vec![versions.iter().fold(0, |all, (_, warps)| all | warps)]
        };
        warps.into_iter().map(move |warps| InFlightAccess {
            warps,
            ..flight.clone()
        })
    });
    flights.filter(|flight| flight.warps != 0).collect()
}

/// So many sets of warps are combined.
const MAX_VERSIONS: usize = 16;

/// The warps that don't know of something, where paths meet: those that don't on any. On each path, several things may be alike but for who
/// knows of them, and it is not known which of one path is which of another: they are combined in all ways.
pub(in super::super) fn meet(versions: &[(Option<StepId>, u32)]) -> Vec<u32> {
    let mut paths: BTreeMap<Option<StepId>, BTreeSet<u32>> = BTreeMap::new();
    for (via, warps) in versions {
        paths.entry(*via).or_default().insert(*warps);
    }
    let together = paths.into_values().reduce(|all, path| {
        if all.len() * path.len() > MAX_VERSIONS {
            // Who does not know on one path does not know, as far as that is concerned.
            return &all | &path;
        }
        let pairs = all.iter().flat_map(|a| path.iter().map(move |b| a & b));
        pairs.collect()
    });
    together.into_iter().flatten().collect()
}
