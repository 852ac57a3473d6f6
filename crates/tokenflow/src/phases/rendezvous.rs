//! Step 9: numbers each rendezvous, where threads meet at mbarriers.
//!
//! **In:** the barriers that step 8 asks for. **Out:** their numbers, as if those of the same roles were the arms of a ring of
//! their own, and which of them need a wait before ([`super::skew`]).

use super::arm_counts::{ArmCounts, Point};
use super::ids::{Id, IndexVec, LoadId, PhaseId, RingId};
use super::numbering::number_phases;
use super::partition::Partition;
use super::placement::Placement;
use super::plan::{Plan, Rendezvous, RendezvousRing, SyncPoint};
use super::rings::{self, InstPositions, Opened, Rings};
use super::roles::RoleSet;
use super::skew::rendezvous_waits;
use super::tree::Tree;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The ring that all rendezvous are on.
const THE_RING: RingId = RingId(0);

/// Numbers the barriers of [`Plan::syncs`], and finds where threads may be too far ahead.
pub(super) fn plan_rendezvous(
    tree: &Tree,
    placement: &Placement,
    sites: &InstPositions,
    partition: &Partition,
    rings: &Rings,
    plan: &mut Plan,
) {
    // Without roles, all threads meet.
    let everybody = (!tree.has_roles()).then(RoleSet::default);
    let participants = plan.syncs.participants.values().map(|who| who.barrier);
    let sets: BTreeSet<RoleSet> = participants.chain(everybody).collect();
    for roles in sets {
        let rendezvous_ring = as_ring(tree, sites, rings, plan, roles);
        plan_rendezvous_of(tree, placement, sites, partition, rendezvous_ring, plan, roles);
    }
    plan.rendezvous.sort_by_key(|rendezvous| rendezvous.before);
}

/// Numbers the rendezvous of `roles`.
fn plan_rendezvous_of(
    tree: &Tree,
    placement: &Placement,
    sites: &InstPositions,
    partition: &Partition,
    mut rendezvous_ring: Rings,
    plan: &mut Plan,
    roles: RoleSet,
) {
    let within = rendezvous_ring
        .counts
        .per_op
        .iter()
        .map(|rings| !rings.is_empty())
        .collect();
    let all: Vec<PhaseId> = rendezvous_ring
        .opened
        .values()
        .flatten()
        .map(|&(.., id)| id)
        .collect();
    let numbering = number_phases(
        tree,
        placement,
        &Partition::default(),
        &rendezvous_ring,
        &IndexVec::filled(true, 1),
        plan.scope,
    );
    let counted = numbering.expensive[THE_RING] || all.iter().any(|&id| numbering.phase[id].is_none());
    // Where a phase has no rendezvous of its own, those before it are known to be over.
    for (id, phase) in plan.phases.with_ids() {
        let before = rendezvous_ring
            .counts
            .up_to(phase.open_block, THE_RING, Point::before(phase.first));
        rendezvous_ring.counts.opened.entry(id).or_insert(before);
    }
    rendezvous_ring.phi = IndexVec::filled(THE_RING, partition.phis.len());
    rings::ages(tree, placement, partition, sites, &mut rendezvous_ring);
    let waits = rendezvous_waits(tree, partition, &rendezvous_ring, plan, roles);
    let ring = plan.rendezvous_rings.len();
    plan.rendezvous.extend(all.into_iter().map(|id| Rendezvous {
        before: before(id, plan.phases.len()),
        ring,
        number: numbering.phase[id].clone().filter(|_| !counted),
        waits: waits.contains(&id),
    }));
    // Who waits before arriving knows that all have come to the last phase of the slot, and not that the issuing thread has seen
    // it end: unless that one has come to it as well.
    let issuer_arrives = tree.has_roles() && !waits.is_empty() && !roles.has(tree.issuer);
    plan.rendezvous_rings.push(RendezvousRing {
        roles,
        counted,
        within,
        issuer_arrives,
    });
}

/// The phase that stands for a rendezvous: that before which it is, or one after all of these for each load.
fn phase_id(before: SyncPoint, phases: usize) -> PhaseId {
    match before {
        SyncPoint::Phase(phase) => phase,
        SyncPoint::Load(load) => PhaseId(phases + load.index()),
    }
}

/// The rendezvous that a phase stands for.
fn before(id: PhaseId, phases: usize) -> SyncPoint {
    match id.index().checked_sub(phases) {
        None => SyncPoint::Phase(id),
        Some(load) => SyncPoint::Load(LoadId(load)),
    }
}

/// All rendezvous of `roles` as if they were the arms of one ring.
fn as_ring(tree: &Tree, sites: &InstPositions, rings: &Rings, plan: &Plan, roles: RoleSet) -> Rings {
    let syncs = &plan.syncs;
    let who = |before: SyncPoint| {
        syncs
            .participants
            .get(&before)
            .copied()
            .unwrap_or_default()
            .barrier
    };
    let mut opened = Opened::default();
    let opens = rings
        .opened
        .iter()
        .flat_map(|(&block, opens)| opens.iter().map(move |&(inst, _, phase)| (block, inst, phase)));
    let meets = |phase: PhaseId| syncs.phases[phase].barrier && who(SyncPoint::Phase(phase)) == roles;
    for (block, inst, phase) in opens.filter(|&(.., phase)| meets(phase)) {
        opened.entry(block).or_default().push((inst, THE_RING, phase));
    }
    let meets = |load: LoadId| syncs.loads[load].barrier && who(SyncPoint::Load(load)) == roles;
    for load in syncs.loads.ids().filter(|&load| meets(load)) {
        let (block, inst) = sites.load[load];
        let id = phase_id(SyncPoint::Load(load), plan.phases.len());
        opened.entry(block).or_default().push((inst, THE_RING, id));
    }
    for opened in opened.values_mut() {
        opened.sort_unstable_by_key(|&(inst, _, id)| (inst, id));
    }
    let depths = plan.rings.iter().map(|ring| ring.depth);
    let ids = plan.phases.len() + syncs.loads.len();
    Rings {
        phase: IndexVec::filled(THE_RING, ids),
        phi: IndexVec::default(),
        depth: IndexVec::filled(depths.max().unwrap_or(1), 1),
        counts: ArmCounts::new(tree, &opened),
        opened,
        shift: IndexVec::filled(0, ids),
        age_at: FxHashMap::default(),
        unallocated: Vec::new(),
    }
}
