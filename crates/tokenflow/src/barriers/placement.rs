//! Step 5: places the cheapest barriers, by implicit hitting set: steps 3 and 4 in turn until no conflict is
//! left.

use super::conflict_relation::ConflictRelation;
use super::divergent_regions::add_races_in_divergent_regions;
use super::exposure::{Exposure, UnseparatedConflict};
use super::graph::{AccessId, AccessKind, Action, Kernel, StepId};
use super::hitting_set::{Cost, hitting_set};
use super::in_flight::{Race, track};
use rustc_hash::FxHashSet;

/// Where barriers are needed.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// The steps that a barrier is needed before, in order, and what for.
    pub barriers: Vec<(StepId, Reason)>,
    /// The races that no barrier could order, in order.
    pub races: Vec<Race>,
}

/// A conflict that a barrier is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The step where the first access is over: of an asynchronous one, an await.
    pub first: (StepId, AccessId),
    /// The step where the second one begins.
    pub second: (StepId, AccessId),
}

/// So many rounds look for the best set of barriers; after that, one is enough that works.
const ROUNDS: usize = 200;

/// A round goes on with paths that have so many places together for each step. What is left out is found again in the next one,
/// unless what is chosen has a place of it.
const PLACES: usize = 2;

/// Places barriers.
#[must_use]
pub fn place(kernel: &Kernel) -> Placement {
    let relation = ConflictRelation::new(kernel);
    let in_flight = track(kernel, &relation, false);
    let mut races = if in_flight.races.iter().any(|race| race.certain) {
        with_conditions(&track(kernel, &relation, true).races)
    } else {
        in_flight.races.clone()
    };
    add_races_in_divergent_regions(kernel, &relation, &mut races);
    let exposure = Exposure::new(kernel, &relation, &in_flight);
    let barriers = choose(kernel, &exposure);
    let mut races: Vec<Race> = races.into_iter().collect();
    races.sort_unstable();
    Placement {
        barriers: with_reasons(&exposure, &barriers),
        races,
    }
}

/// Each of `races` once: that it takes conditions to come to it is true only if it is so on all paths.
fn with_conditions(races: &FxHashSet<Race>) -> FxHashSet<Race> {
    let unconditional = |race: &Race| Race {
        conditional: false,
        ..*race
    };
    let known = races
        .iter()
        .filter(|race| !(race.conditional && races.contains(&unconditional(race))));
    known.copied().collect()
}

/// The cheapest set of places.
fn choose(kernel: &Kernel, exposure: &Exposure) -> FxHashSet<StepId> {
    let mut barriers: FxHashSet<StepId> = FxHashSet::default();
    let mut paths: Vec<Vec<usize>> = Vec::new();
    let (predecessor, _) = kernel.predecessors();
    let awaits = |step: StepId| kernel.steps[step].action.awaits();
    let cost = |place: usize| {
        let place = StepId(place);
        cost(kernel, place, predecessor[place].is_some_and(awaits))
    };
    for _ in 0..ROUNDS {
        let violations = exposure.violations(&barriers);
        if violations.is_empty() {
            return barriers;
        }
        let new = with_few_places(violations, PLACES * kernel.steps.len());
        paths.extend(new.map(|places| places.into_iter().map(|place| place.0).collect()));
        barriers = hitting_set(&paths, cost).into_iter().map(StepId).collect();
    }
    complete(exposure, barriers)
}

/// The places of some of `violations`, one at least: those that share none with another one that ends earlier, and of the others
/// those with the fewest, up to so many together.
fn with_few_places(
    mut violations: Vec<UnseparatedConflict>,
    most: usize,
) -> impl Iterator<Item = Vec<StepId>> {
    violations.sort_by_key(|violation| violation.places.last().copied());
    let mut taken: FxHashSet<StepId> = FxHashSet::default();
    let (apart, mut others): (Vec<UnseparatedConflict>, Vec<UnseparatedConflict>) =
        violations.into_iter().partition(|violation| {
            let is_apart = !violation.places.iter().any(|place| taken.contains(place));
            if is_apart {
                taken.extend(&violation.places);
            }
            is_apart
        });
    others.sort_by_key(|violation| violation.places.len());
    let mut sum = 0;
    let few = others.into_iter().take_while(move |violation| {
        sum += violation.places.len();
        sum <= most
    });
    apart.into_iter().chain(few).map(|violation| violation.places)
}

/// Adds barriers until no conflict is left, and drops those that are not needed.
fn complete(exposure: &Exposure, mut barriers: FxHashSet<StepId>) -> FxHashSet<StepId> {
    loop {
        let violations = exposure.violations(&barriers);
        if violations.is_empty() {
            break;
        }
        barriers.extend(violations.iter().filter_map(|violation| violation.places.last()));
    }
    let mut all: Vec<StepId> = barriers.iter().copied().collect();
    all.sort_unstable();
    for barrier in all {
        barriers.remove(&barrier);
        if !exposure.violations(&barriers).is_empty() {
            barriers.insert(barrier);
        }
    }
    barriers
}

/// What a barrier before `place` costs: 1 for how deep it is in loops, deeper ones first; then 1 if it is not right before what
/// needs one anyway when it is issued; then 1 if it is not right after an await.
fn cost(kernel: &Kernel, place: StepId, after_await: bool) -> Cost {
    let mut cost = Cost::default();
    let deepest = cost.0.len() - 3;
    cost.0[deepest - kernel.depth(place).min(deepest)] = 1;
    cost.0[deepest + 1] = u32::from(!issues_store(kernel, place));
    cost.0[deepest + 2] = u32::from(!after_await);
    cost
}

/// Returns true if all threads issue together what reads the workgroup's memory: before that, what they wrote is made known by a
/// barrier.
fn issues_store(kernel: &Kernel, step: StepId) -> bool {
    let Action::Issue(issues) = &kernel.steps[step].action else {
        return false;
    };
    let mut reads = issues
        .iter()
        .map(|issue| kernel.accesses[issue.access].kind == AccessKind::Read);
    issues.iter().all(|issue| issue.block_wide) && reads.any(|reads| reads)
}

/// The barriers in order, each with a conflict that is left without it.
fn with_reasons(exposure: &Exposure, barriers: &FxHashSet<StepId>) -> Vec<(StepId, Reason)> {
    let reasons = exposure.reasons(barriers).into_iter().map(|(place, violation)| {
        let reason = Reason {
            first: violation.from,
            second: violation.to,
        };
        (place, reason)
    });
    let mut reasons: Vec<(StepId, Reason)> = reasons.collect();
    reasons.sort_unstable_by_key(|(place, _)| *place);
    debug_assert_eq!(reasons.len(), barriers.len(), "a barrier that no conflict needs");
    reasons
}
