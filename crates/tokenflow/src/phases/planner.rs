//! The entry point: runs all steps, and puts the plan together.

use super::allocation::{Allocation, Allocator};
use super::availability::without_available;
use super::hazards::{Allocated, Syncs, required_syncs};
use super::ids::{BlockId, IndexVec, LoadId, PhaseId, PhiId, RingId};
use super::mbarrier_lifetime::{extent, scope};
use super::numbering::{Numbering, deepen, number_phases};
use super::partition::{self, Partition, PhaseValue};
use super::placement::{Placement, place_phases};
use super::plan::{Incoming, Phase, Phi, Plan, Ring};
use super::rendezvous::plan_rendezvous;
use super::rings::{InstPositions, Rings};
use super::simplify::simplify;
use super::tree::Tree;

/// What a plan may do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Reads through the generic proxy are fenced from later asynchronous writes, too.
    pub fence_reads: bool,
    /// Rings have a power of two of mbarriers where that spares a counter, instead of as few as can be.
    pub round_rings: bool,
}

/// Plans the phases of all loads of a function, with as few mbarriers as can be.
#[must_use]
pub fn plan(tree: &Tree, fence_reads: bool) -> Plan {
    plan_with(
        tree,
        Options {
            fence_reads,
            round_rings: false,
        },
    )
}

/// Plans the phases of all loads of a function.
#[must_use]
pub fn plan_with(tree: &Tree, options: Options) -> Plan {
    let Options {
        fence_reads,
        round_rings,
    } = options;
    let tree = &simplify(tree);
    let sites = InstPositions::new(tree);
    let placement = place_phases(tree);
    let mut partition = partition::partition(tree, &placement);
    if !partition.unallocated.is_empty() {
        return unallocated(partition.unallocated);
    }
    partition.awaits = without_available(tree, &placement, &partition);
    let allocator = Allocator {
        tree,
        placement: &placement,
        sites: &sites,
        partition: &partition,
        fence_reads,
    };
    let Allocation {
        mut rings,
        always_awaited,
    } = match allocator.allocate() {
        Ok(allocation) => allocation,
        Err(loads) => return unallocated(loads),
    };
    let scope = scope(tree, &placement, &sites, &partition);
    let mut numbering = number_phases(tree, &placement, &partition, &rings, &always_awaited, scope);
    if round_rings {
        deepen(tree, &mut rings, &mut numbering);
    }
    let allocated = Allocated {
        partition: &partition,
        rings: &rings,
    };
    let mut syncs = required_syncs(tree, Some(allocated), fence_reads);

    let mut plan = Plan {
        scope,
        extent: extent(tree, &sites, &partition, scope),
        rings: rings_of(&rings, &numbering, &always_awaited),
        armed_rings: rings
            .counts
            .per_op
            .iter()
            .map(|rings| rings.keys().copied().collect())
            .collect(),
        awaits: partition.awaits.clone(),
        ..Plan::default()
    };
    plan.phases = phases_of(tree, &placement, &sites, &partition, &rings, &numbering);
    // All threads wait for the last phase of a slot before it is armed again, and meet: else one that has not could take
    // the phase before that for the next one, whose parity is the same.
    for (sync, phase) in syncs.phases.iter_mut().zip(&plan.phases) {
        sync.barrier |= !plan.rings[phase.ring].always_awaited && !plan.is_first(phase);
    }
    plan.phis = phis(&partition, &rings, &numbering);
    plan.syncs = syncs;
    plan_rendezvous(tree, &placement, &sites, &partition, &rings, &mut plan);
    debug_assert_eq!(plan.verify(tree), Ok(()));
    plan
}

fn rings_of(
    rings: &Rings,
    numbering: &Numbering,
    always_awaited: &IndexVec<RingId, bool>,
) -> IndexVec<RingId, Ring> {
    let ids = rings.depth.ids();
    ids.map(|ring| Ring {
        depth: rings.depth[ring],
        has_counter: numbering.unknown_numbers[ring] || numbering.expensive[ring],
        always_awaited: always_awaited[ring],
        end: numbering.end[ring]
            .clone()
            .filter(|_| !numbering.unknown_numbers[ring]),
    })
    .collect()
}

fn phases_of(
    tree: &Tree,
    placement: &Placement,
    sites: &InstPositions,
    partition: &Partition,
    rings: &Rings,
    numbering: &Numbering,
) -> IndexVec<PhaseId, Phase> {
    let mut out = IndexVec::default();
    for (b, loads) in partition.phases.with_ids() {
        let (open_block, first, last) = sites.span(tree, placement, loads);
        let ring = rings.phase[b];
        out.push(Phase {
            open_block,
            first,
            last,
            bytes: bytes(tree, open_block, loads, sites),
            loads: loads.clone(),
            ring,
            number: numbering.phase[b]
                .clone()
                .filter(|_| !numbering.unknown_numbers[ring]),
            shift: rings.shift[b],
        });
    }
    out
}

/// Finds what has to come before each store, whatever comes before loads.
#[must_use]
pub fn store_syncs(tree: &Tree, fence_reads: bool) -> Syncs {
    required_syncs(tree, None, fence_reads)
}

fn unallocated(unallocated: Vec<LoadId>) -> Plan {
    let mut unallocated = unallocated;
    unallocated.sort_unstable();
    unallocated.dedup();
    Plan {
        unallocated,
        ..Plan::default()
    }
}

fn phis(partition: &Partition, rings: &Rings, numbering: &Numbering) -> IndexVec<PhiId, Phi> {
    let mut complete: IndexVec<PhiId, bool> = partition
        .incoming
        .iter()
        .map(|incoming| incoming.iter().any(|(_, phase)| phase.is_none()))
        .collect();
    let mut next: IndexVec<PhiId, Vec<PhiId>> = IndexVec::filled(Vec::new(), complete.len());
    for (phi, incoming) in partition.incoming.with_ids() {
        for (_, phase) in incoming {
            if let Some(PhaseValue::Phi(from)) = phase {
                next[*from].push(phi);
            }
        }
    }
    let mut work: Vec<PhiId> = complete.ids().filter(|&phi| complete[phi]).collect();
    while let Some(phi) = work.pop() {
        for &to in &next[phi] {
            if !std::mem::replace(&mut complete[to], true) {
                work.push(to);
            }
        }
    }
    let phis = partition.phis.with_ids();
    phis.map(|(phi, tokens)| Phi {
        tokens: tokens.clone(),
        ring: rings.phi[phi],
        number: numbering.phi[phi]
            .clone()
            .filter(|_| !numbering.unknown_numbers[rings.phi[phi]]),
        may_be_complete: complete[phi],
        incoming: partition.incoming[phi]
            .iter()
            .map(|&((op, edge), phase)| Incoming { op, edge, phase })
            .collect(),
    })
    .collect()
}

/// The bytes of loads in a phase that is opened in `open_block`, if they are the same on every path.
fn bytes(tree: &Tree, open_block: BlockId, loads: &[LoadId], sites: &InstPositions) -> Option<u64> {
    let mut sum = 0_u64;
    for &load in loads {
        let (mut block, mut times) = (sites.load[load].0, 1_u64);
        while block != open_block {
            let op = tree.blocks[block].parent_op?;
            times = match tree.region_ops[op].trips {
                super::tree::Trips::Constant(trips) => times.saturating_mul(trips),
                _ => return None,
            };
            block = tree.region_ops[op].parent;
        }
        sum = sum.saturating_add(times.saturating_mul(tree.loads[load].bytes));
    }
    // More than an mbarrier counts is expected load by load. In flight at a time is less: no more than workgroup memory has, but
    // for loads that race with each other.
    (sum <= partition::MAX_PHASE_BYTES).then_some(sum)
}
