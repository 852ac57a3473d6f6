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

/// So many sets of warps are told apart.
const MAX_VERSIONS: usize = 16;

/// The warps that don't know of something, where paths meet: those that don't on any. On each path, several things may be alike but for who
/// knows of them, and it is not known which of one path is which of another: they are combined in all ways. Where these are too many, who does
/// not know on one path does not know, as far as that is concerned; and where that does not make them fewer, one set stands for all.
pub(in super::super) fn meet(versions: &[(Option<StepId>, u32)]) -> Vec<u32> {
    let mut paths: BTreeMap<Option<StepId>, BTreeSet<u32>> = BTreeMap::new();
    for (via, warps) in versions {
        paths.entry(*via).or_default().insert(*warps);
    }
    let together = paths.into_values().reduce(|all, path| {
        if all.len() * path.len() <= MAX_VERSIONS {
            let pairs = all.iter().flat_map(|a| path.iter().map(move |b| a & b));
            return pairs.collect();
        }
        let either = &all | &path;
        if either.len() <= MAX_VERSIONS {
            return either;
        }
        BTreeSet::from([either.iter().fold(0, |all, warps| all | warps)])
    });
    together.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::meet;
    use crate::barriers::StepId;

    /// What comes by each path, of so many things that only the warp of their number does not know of.
    fn met(things_by_path: &[std::ops::Range<u32>]) -> Vec<u32> {
        let paths = things_by_path.iter().enumerate();
        let versions = paths.flat_map(|(path, things)| {
            let via = Some(StepId(path));
            things.clone().map(move |warp| (via, 1 << warp))
        });
        meet(&versions.collect::<Vec<_>>())
    }

    #[test]
    fn who_knows_on_one_path_knows() {
        assert_eq!(met(&[0..1, 1..2]), [0]);
        assert_eq!(met(&[0..2, 1..3]), [0, 2]);
    }

    #[test]
    fn what_can_not_be_told_apart_is_one() {
        assert_eq!(met(&[0..5, 1..6]), [1, 2, 4, 8, 16, 32]);
        assert_eq!(met(&[0..12, 12..24]), [(1 << 24) - 1]);
    }
}
