//! Step 3: finds conflicts that no barrier separates, each with a path from the one access to the other. A
//! forward dataflow analysis of the accesses that have ended and that no barrier came after yet: those are
//! *exposed*.

mod awaited;
mod batch;

use self::awaited::{Awaited, AwaitedId};
use self::batch::{Batch, Passage};
use super::conflict_relation::ConflictRelation;
use super::graph::{AccessId, Action, BufferId, EdgeKind, Kernel, RegionId, Step, StepId};
use super::in_flight::{InFlight, follow_edge, meet};
use super::last_conflicts::LastConflicts;
use crate::ids::IndexVec;
use async_overlap::{Conflict, Distance};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A conflict, and a path from the one access to the other on which no barrier stands.
#[derive(Clone, Debug)]
pub(super) struct UnseparatedConflict {
    /// The step where the first access ends.
    pub from: (StepId, AccessId),
    /// The step where the second one begins.
    pub to: (StepId, AccessId),
    /// The steps on the path before which a barrier may stand, in order of their numbers.
    pub places: Vec<StepId>,
}

/// What is looked for in each round.
pub(super) struct Exposure<'k> {
    kernel: &'k Kernel,
    relation: &'k ConflictRelation<'k>,
    in_flight: &'k InFlight,
    last_conflicts: LastConflicts,
    /// True if some warps have barriers of their own.
    barriers_of_warps: bool,
    /// True if some warps may know that an access has ended, and others not.
    some_know: bool,
    num_predecessors: IndexVec<StepId, u32>,
    /// The step before each, where there is but one.
    predecessor: IndexVec<StepId, Option<StepId>>,
}

/// An access that has ended and that no barrier came after yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Exposed {
    /// Accesses of one class are taken for one.
    class: u32,
    buffer: BufferId,
    distance: Distance,
    /// The warps that it is not ordered with, as bits: those that don't know that it has ended.
    warps: u32,
    /// The step where it began, where that matters: if some do, or could come to.
    issue: Option<StepId>,
    /// What tells others that it has ended, if some know.
    awaited: Option<AwaitedId>,
    /// The step that it comes from, where warps meet.
    via: Option<StepId>,
    /// The divergent region that it has ended in, until that is left. No barrier can come after it there, and so it does not stand for
    /// one that has ended before the region.
    region: Option<RegionId>,
    /// The one barrier that it has passed, where that is asked for.
    passed: Option<StepId>,
}

/// Where an exposed access has come by: where it ended, or where paths met.
#[derive(Clone, Copy)]
struct Trail {
    step: StepId,
    access: AccessId,
    /// When it ended: what ended later has a larger number.
    origin: usize,
    /// Where it was before, and the last step on the path here.
    before: Option<(usize, StepId)>,
}

/// The state of one round.
#[derive(Default)]
struct Round<'b> {
    barriers: Option<&'b FxHashSet<StepId>>,
    /// True if accesses are followed past one barrier, to find out what it is for.
    passing: bool,
    /// For each barrier that was passed, a conflict that was found after it.
    reasons: FxHashMap<StepId, UnseparatedConflict>,
    pending: BTreeMap<StepId, Batch>,
    seen: FxHashMap<StepId, FxHashSet<Exposed>>,
    trails: Vec<Trail>,
    /// Steps where a conflict was found; for the rest of the round it is as if a barrier stood before them.
    found: FxHashSet<StepId>,
    /// What was in such a conflict, by its first trail; for the rest of the round it is followed no further.
    done: FxHashSet<usize>,
    generated: FxHashSet<StepId>,
    violations: Vec<UnseparatedConflict>,
    awaited: Awaited,
}

impl Round<'_> {
    /// Returns true if nothing more is asked of what is exposed.
    fn is_done(&self, exposed: &Exposed, trail: usize) -> bool {
        let is_explained = |barrier: StepId| self.reasons.contains_key(&barrier);
        exposed.passed.is_some_and(is_explained) || self.done.contains(&self.trails[trail].origin)
    }
}

impl<'k> Exposure<'k> {
    pub fn new(kernel: &'k Kernel, relation: &'k ConflictRelation<'k>, in_flight: &'k InFlight) -> Self {
        let (predecessor, num_predecessors) = kernel.predecessors();
        let is_of_warps = |step: &Step| matches!(step.action, Action::BarrierOf(_));
        Self {
            kernel,
            relation,
            in_flight,
            barriers_of_warps: kernel.steps.iter().any(is_of_warps),
            some_know: in_flight
                .ends
                .iter()
                .flatten()
                .any(|flight| flight.warps != u32::MAX),
            last_conflicts: LastConflicts::new(kernel, relation),
            num_predecessors,
            predecessor,
        }
    }

    /// Conflicts that are left with `barriers`, one at most for each step; none if there are none at all.
    pub fn violations(&self, barriers: &FxHashSet<StepId>) -> Vec<UnseparatedConflict> {
        let round = Round {
            barriers: Some(barriers),
            ..Round::default()
        };
        self.run(round).violations
    }

    /// For each of `barriers`, which leave no conflict, one that there is without it.
    pub fn reasons(&self, barriers: &FxHashSet<StepId>) -> FxHashMap<StepId, UnseparatedConflict> {
        let round = Round {
            barriers: Some(barriers),
            passing: true,
            ..Round::default()
        };
        self.run(round).reasons
    }

    fn run<'b>(&self, mut round: Round<'b>) -> Round<'b> {
        for (id, step) in self.kernel.steps.with_ids() {
            if matches!(step.action, Action::Access(_)) || !self.in_flight.ends[id].is_empty() {
                round.pending.entry(id).or_default();
            }
        }
        while let Some((at, batch)) = round.pending.pop_first() {
            let batch = self.arrive(&mut round, at, batch);
            let batch = self.check(&mut round, at, batch);
            self.leave(&mut round, at, batch);
        }
        round
    }

    /// What is exposed in step `at` of what comes to it.
    fn arrive(&self, round: &mut Round, at: StepId, mut batch: Batch) -> Batch {
        if round.found.contains(&at) {
            batch.clear();
        }
        if round.barriers.is_some_and(|barriers| barriers.contains(&at)) {
            let passing = batch
                .into_iter()
                .filter(|(exposed, _)| round.passing && exposed.passed.is_none_or(|barrier| barrier == at));
            batch = passing
                .map(|(exposed, trail)| {
                    (
                        Exposed {
                            passed: Some(at),
                            ..exposed
                        },
                        trail,
                    )
                })
                .collect();
        }
        if self.kernel.steps[at].warps_meet {
            batch = reconverge(batch);
        }
        batch = self.leave_region(at, batch);
        if self.num_predecessors[at] > 1 {
            batch.retain(|exposed, (trail, _)| !round.is_done(exposed, *trail));
            let seen = round.seen.entry(at).or_default();
            batch.retain(|exposed, _| seen.insert(*exposed));
            for (trail, via) in batch.values_mut() {
                let before = via.map(|via| (*trail, via));
                let Trail { access, origin, .. } = round.trails[*trail];
                round.trails.push(Trail {
                    step: at,
                    access,
                    origin,
                    before,
                });
                *trail = round.trails.len() - 1;
            }
        }
        batch
    }

    /// Notes what conflicts with what begins in step `at`, and returns the rest.
    fn check(&self, round: &mut Round, at: StepId, mut batch: Batch) -> Batch {
        let here = self.kernel.steps[at].warps.may;
        for access in self.kernel.steps[at].action.starts() {
            // What no barrier could come between here may be separated from what comes later.
            let mut inseparable: FxHashSet<Exposed> = FxHashSet::default();
            let buffer = self.kernel.accesses[access].footprint.buffer;
            loop {
                let conflicts = |exposed: &Exposed, trail: usize| {
                    let first = round.trails[trail].access;
                    exposed.warps & here != 0
                        && !round.is_done(exposed, trail)
                        && !inseparable.contains(exposed)
                        && self.relation.conflict(first, access, exposed.distance) != Conflict::None
                };
                let found = batch
                    .of(buffer)
                    .filter(|(exposed, (trail, _))| conflicts(exposed, *trail));
                // The one that was exposed last is separated by the fewest places.
                let latest = |(_, (trail, _)): &(_, &(usize, _))| (round.trails[*trail].origin, *trail);
                let Some((&exposed, &(trail, _))) = found.max_by_key(latest) else {
                    break;
                };
                let places = self.places(&round.trails, trail, at);
                if places.is_empty() {
                    inseparable.insert(exposed);
                    continue;
                }
                batch.remove(&exposed);
                let others = batch
                    .of(buffer)
                    .filter(|(exposed, (trail, _))| conflicts(exposed, *trail));
                let is_found = exposed.passed.is_none() && self.kernel.steps[at].divergent.is_none();
                let others: Vec<usize> = others
                    .take_while(|_| is_found)
                    .map(|(_, (trail, _))| round.trails[*trail].origin)
                    .collect();
                let origin = origin(&round.trails, trail);
                let violation = UnseparatedConflict {
                    from: (origin.step, origin.access),
                    to: (at, access),
                    places,
                };
                if let Some(barrier) = exposed.passed {
                    round.reasons.entry(barrier).or_insert(violation);
                    continue;
                }
                round.violations.push(violation);
                if is_found {
                    round.done.extend(others);
                    round.done.insert(round.trails[trail].origin);
                    round.found.insert(at);
                    batch.clear();
                }
            }
        }
        batch
    }

    /// Applies step `at` to what is exposed, and hands on what is left.
    fn leave(&self, round: &mut Round, at: StepId, mut batch: Batch) {
        let step = &self.kernel.steps[at];
        if matches!(step.action, Action::Barrier) {
            batch.clear();
        }
        if self.some_know && self.kernel.steps[at].action.changes_tokens() {
            batch = self.learn(&mut round.awaited, at, batch);
        }
        if let Action::BarrierOf(warps) = step.action {
            batch = self.order(&round.trails, warps, batch);
        }
        if round.generated.insert(at) {
            let here = Distance::none(self.kernel.depth(at));
            let over = match &step.action {
                Action::Access(accesses) => accesses.as_slice(),
                _ => &[],
            };
            let ended = self.in_flight.ends[at].iter().map(|flight| {
                (
                    flight.access,
                    flight.distance,
                    flight.warps,
                    flight.issue,
                    Some(flight),
                )
            });
            let over = over.iter().map(|access| (*access, here, u32::MAX, at, None));
            for (access, distance, warps, issue, flight) in over.chain(ended) {
                let class = self.relation.class(access);
                let some_know = flight.filter(|_| warps != u32::MAX);
                round.trails.push(Trail {
                    step: at,
                    access,
                    origin: round.trails.len(),
                    before: None,
                });
                let exposed = Exposed {
                    class,
                    buffer: self.kernel.accesses[access].footprint.buffer,
                    distance,
                    warps,
                    issue: (some_know.is_some() || self.barriers_of_warps).then_some(issue),
                    awaited: some_know.map(|flight| round.awaited.id(flight.awaited_by())),
                    via: None,
                    region: step.divergent,
                    passed: None,
                };
                batch.insert(exposed, (round.trails.len() - 1, None));
            }
        }
        if let Some(next) = self.goes_on(at) {
            let pending = round.pending.entry(next).or_default();
            if pending.is_empty() {
                *pending = batch;
            } else {
                batch
                    .into_iter()
                    .for_each(|(exposed, passage)| pending.add(exposed, passage, later(&round.trails)));
            }
            return;
        }
        for edge in &step.edges {
            if batch.is_empty() {
                break;
            }
            let next = round.pending.entry(edge.to).or_default();
            let matters = |exposed: &Exposed| self.last_conflicts.matters(exposed.class, edge.to);
            let via = self.kernel.steps[edge.to].warps_meet.then_some(at);
            for (exposed, (trail, _)) in batch.iter().filter(|(exposed, _)| matters(exposed)) {
                let Some(distance) = follow_edge(self.kernel, exposed.distance, edge.kind) else {
                    continue;
                };
                let exposed = Exposed {
                    distance,
                    awaited: exposed
                        .awaited
                        .map(|awaited| round.awaited.after_edge(awaited, &edge.bindings)),
                    via,
                    ..*exposed
                };
                next.add(exposed, (*trail, Some(at)), later(&round.trails));
            }
        }
    }

    /// What is exposed in step `at`, which may be outside of the region that it has ended in.
    fn leave_region(&self, at: StepId, batch: Batch) -> Batch {
        let here = self.kernel.steps[at].divergent;
        let stays = |before: StepId| self.kernel.steps[before].divergent == here;
        let only = self.predecessor[at].filter(|_| self.num_predecessors[at] == 1);
        if only.is_some_and(stays) {
            return batch;
        }
        let mut left = Batch::default();
        for (exposed, trail) in batch {
            let region = exposed.region.filter(|region| Some(*region) == here);
            left.add_latest(Exposed { region, ..exposed }, trail);
        }
        left
    }

    /// What is exposed after step `at`, whose warps know what they await there.
    fn learn(&self, awaited: &mut Awaited, at: StepId, batch: Batch) -> Batch {
        let mut left = Batch::default();
        for (mut exposed, trail) in batch {
            if let Some(id) = exposed.awaited {
                let (next, is_told) = awaited.after_step(self.kernel, at, id);
                exposed.awaited = Some(next);
                // Even if none are left: other warps pass by this step, and come together with those that learn.
                if is_told {
                    exposed.warps &= !self.kernel.steps[at].warps.may;
                }
            }
            left.add_latest(exposed, trail);
        }
        left
    }

    /// What is exposed after a barrier of `warps`: what they have accessed themselves is ordered with what they will.
    fn order(&self, trails: &[Trail], warps: u32, batch: Batch) -> Batch {
        let mut left = Batch::default();
        for (exposed, trail) in batch {
            let by = self.kernel.steps[origin(trails, trail.0).step].warps.may;
            let ordered = if by & !warps == 0 { warps } else { 0 };
            // Even if nothing is left: other warps pass by.
            let warps = exposed.warps & !ordered;
            left.add_latest(Exposed { warps, ..exposed }, trail);
        }
        left
    }

    /// The one step after `at`, if all that is exposed goes on there as it is.
    fn goes_on(&self, at: StepId) -> Option<StepId> {
        let [edge] = self.kernel.steps[at].edges.as_slice() else {
            return None;
        };
        let is_plain = edge.kind == EdgeKind::Plain && edge.bindings.is_empty();
        (is_plain && self.num_predecessors[edge.to] == 1 && !self.kernel.steps[edge.to].warps_meet)
            .then_some(edge.to)
    }

    /// The places for barriers on the path to the start of step `to`.
    fn places(&self, trails: &[Trail], mut trail: usize, to: StepId) -> Vec<StepId> {
        let mut places = Vec::new();
        let mut at = to;
        loop {
            let Trail { step, before, .. } = trails[trail];
            while at != step {
                places.push(at);
                let Some(previous) = self.predecessor[at] else {
                    break;
                };
                at = previous;
            }
            let Some((previous, via)) = before else { break };
            places.push(step);
            (trail, at) = (previous, via);
        }
        places.retain(|place| self.kernel.steps[*place].divergent.is_none());
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// What is exposed where warps meet that took different paths: to those that have not learned on any of these that it has ended.
fn reconverge(batch: Batch) -> Batch {
    type Versions = (Vec<(Option<StepId>, u32)>, Passage);
    let mut merged: FxHashMap<Exposed, Versions> = FxHashMap::default();
    for (exposed, trail) in batch {
        let key = Exposed {
            warps: 0,
            via: None,
            ..exposed
        };
        let (versions, latest) = merged.entry(key).or_insert((Vec::new(), trail));
        versions.push((exposed.via, exposed.warps));
        *latest = trail.max(*latest);
    }
    let left = merged.into_iter().flat_map(|(exposed, (versions, trail))| {
        let warps = meet(&versions).into_iter().filter(|warps| *warps != 0);
        warps.map(move |warps| (Exposed { warps, ..exposed }, trail))
    });
    left.collect()
}

/// Returns true if the first of two has ended later, or has come by later.
fn later(trails: &[Trail]) -> impl Fn(Passage, Passage) -> bool {
    let latest = |(trail, _): Passage| (trails[trail].origin, trail);
    move |new, known| latest(known) < latest(new)
}

/// Where an exposed access ended.
fn origin(trails: &[Trail], mut trail: usize) -> Trail {
    while let Some((previous, _)) = trails[trail].before {
        trail = previous;
    }
    trails[trail]
}
