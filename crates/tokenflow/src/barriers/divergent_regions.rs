//! Step 2c: finds races in divergent regions, whose steps threads may take in any order.

use super::conflict_relation::ConflictRelation;
use super::graph::{AccessId, Kernel, RegionId, StepId};
use super::in_flight::Race;
use crate::ids::IndexVec;
use async_overlap::{Conflict, Distance, MAX_DEPTH};
use rustc_hash::{FxHashMap, FxHashSet};

/// Adds the races within divergent regions to `out`.
pub(super) fn add_races_in_divergent_regions(
    kernel: &Kernel,
    relation: &ConflictRelation,
    out: &mut FxHashSet<Race>,
) {
    let mut regions: IndexVec<RegionId, Vec<(StepId, AccessId)>> =
        IndexVec::filled(Vec::new(), kernel.regions.len());
    for (id, step) in kernel.steps.with_ids() {
        let Some(region) = step.divergent else { continue };
        regions[region].extend(step.action.starts().map(|access| (id, access)));
    }
    for (region, accesses) in regions.with_ids() {
        let around = kernel.regions[region];
        let mut seen = FxHashMap::default();
        for (i, &first) in accesses.iter().enumerate() {
            // Alike accesses in alike places meet alike others.
            let key = (relation.class(first.1), kernel.steps[first.0].in_loop);
            if *seen.entry(key).or_insert(i) != i {
                continue;
            }
            for &second in &accesses[i..] {
                // A race within one execution of an operation is none of order.
                if first == second && kernel.depth(first.0) == around {
                    continue;
                }
                let distance = within_region(kernel, around, second.0);
                let conflict = relation.conflict(first.1, second.1, distance);
                // A condition may well keep apart what an unknown distance does not, as in reductions: `if t < n` before
                // `s[t] += s[t + n]`.
                if conflict > Conflict::Unknown {
                    out.insert(Race {
                        first,
                        second,
                        certain: conflict == Conflict::Certain && first != second,
                        conditional: false,
                    });
                }
            }
        }
    }
}

/// How far a step may be from another one of its divergent region: in the loops around it not at all, in those inside that is
/// not known.
fn within_region(kernel: &Kernel, around: usize, second: StepId) -> Distance {
    let mut distance = Distance::none(around);
    for (depth, inner) in kernel.loops_around(second).into_iter().enumerate().skip(around) {
        if depth < MAX_DEPTH {
            distance.counts[depth] = kernel.loops[inner].counted;
        }
    }
    distance
}
