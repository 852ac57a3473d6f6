//! In which order phases take their numbers.
//!
//! A phase takes the next number of its ring when it is opened. A rotation that begins with tokens in another order than that of
//! their loads would wait for a phase when it is older than need be, and its ring would be deeper. So phases that are opened in a
//! **run**, one behind the other, with nothing in between that waits for the ring or opens it somewhere inside, take the
//! run's numbers in the order in which they are awaited: first by the step that does it, then by how often a loop there goes
//! around before. That is tried, and kept where it takes fewer mbarriers.

use super::bundles::{Bundles, Phase};
use super::homes::Homes;
use super::rings::{Places, RingId, Rings};
use super::tree::{BlockId, Step, Tree};
use std::collections::{HashMap, VecDeque};

/// Never, or not known.
const NEVER: u64 = u64::MAX;

/// When a phase is first awaited: at which step of the block that opens it, and behind how many rounds of a loop there.
type Due = (usize, u64);

/// For each bundle, how much greater its number is than if it were the next one.
pub(super) fn shifts(
    tree: &Tree,
    homes: &Homes,
    places: &Places,
    bundles: &Bundles,
    rings: &Rings,
) -> Vec<i64> {
    let mut shifts = vec![0; bundles.loads.len()];
    let runs = runs(tree, bundles, rings);
    if runs.is_empty() {
        return shifts;
    }
    let dues = dues(tree, homes, places, bundles);
    for run in runs {
        let mut sorted = run.clone();
        sorted.sort_by_key(|&bundle| dues[bundle]);
        for (place, &bundle) in run.iter().enumerate() {
            let number = sorted.iter().position(|other| *other == bundle);
            let number = number.unwrap_or(place);
            shifts[bundle] = number.cast_signed() as i64 - place.cast_signed() as i64;
        }
    }
    shifts
}

/// Bundles whose phases are opened one behind the other.
fn runs(tree: &Tree, bundles: &Bundles, rings: &Rings) -> Vec<Vec<usize>> {
    let mut runs = Vec::new();
    let mut blocks: Vec<BlockId> = rings.opened.keys().copied().collect();
    blocks.sort_unstable();
    for block in blocks {
        let steps = &tree.blocks[block].steps;
        let mut current: HashMap<RingId, (usize, Vec<usize>)> = HashMap::new();
        for &(step, ring, bundle) in &rings.opened[&block] {
            // Longer than any ring may be, a run is of no use.
            let (last, run) = current.entry(ring).or_insert((step, Vec::new()));
            let ends = !steps[*last..=step]
                .iter()
                .all(|step| is_quiet(bundles, rings, ring, step));
            if ends || run.len() as u64 >= super::rings::MAX_DEPTH {
                runs.push(std::mem::take(run));
            }
            *last = step;
            if matches!(steps[step], Step::Load { .. }) {
                run.push(bundle);
            }
        }
        runs.extend(current.into_values().map(|(_, run)| run));
    }
    runs.retain(|run| run.len() > 1);
    runs
}

/// Returns true if a step has nothing to do with a ring but to load on it.
fn is_quiet(bundles: &Bundles, rings: &Rings, ring: RingId, step: &Step) -> bool {
    match step {
        Step::Region(_) => false,
        Step::Await { id, .. } => {
            let mut phases = bundles.awaits[*id].iter();
            phases.all(|&phase| rings.of(phase) != ring)
        }
        _ => true,
    }
}

/// When each bundle is first awaited.
fn dues(tree: &Tree, homes: &Homes, places: &Places, bundles: &Bundles) -> Vec<Due> {
    let rounds = rounds(tree, bundles);
    let mut dues = vec![(usize::MAX, NEVER); bundles.loads.len()];
    let mut note = |phase: Phase, place: (BlockId, usize), rounds: u64| {
        if let Phase::Bundle(bundle) = phase {
            let home = homes.home[bundles.loads[bundle][0]];
            let step = places.step_in(tree, home, place).unwrap_or(usize::MAX);
            dues[bundle] = dues[bundle].min((step, rounds));
        }
    };
    for (id, phases) in bundles.awaits.iter().enumerate() {
        for &phase in phases {
            note(phase, places.awaits[id], 0);
        }
    }
    for (var, bound) in bundles.bound.iter().enumerate() {
        for &((region, edge), phase) in bound {
            let enters = tree.regions[region].edges[edge].to.is_some();
            if let Some(phase) = phase.filter(|_| enters) {
                note(
                    phase,
                    (tree.regions[region].parent, places.region[region]),
                    rounds[var],
                );
            }
        }
    }
    dues
}

/// How often a loop goes around before what it holds in a variable is awaited.
fn rounds(tree: &Tree, bundles: &Bundles) -> Vec<u64> {
    let mut rounds = vec![NEVER; bundles.vars.len()];
    let mut work = VecDeque::new();
    for phase in bundles.awaits.iter().flatten() {
        if let Phase::Var(var) = *phase
            && rounds[var] == NEVER
        {
            rounds[var] = 0;
            work.push_back(var);
        }
    }
    while let Some(var) = work.pop_front() {
        for &((region, edge), phase) in &bundles.bound[var] {
            let edge = &tree.regions[region].edges[edge];
            if let Some(Phase::Var(from)) = phase
                && edge.to.is_some()
                && rounds[from] == NEVER
            {
                rounds[from] = rounds[var] + 1;
                work.push_back(from);
            }
        }
    }
    rounds
}
