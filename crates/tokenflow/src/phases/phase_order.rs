//! Step 5.4: chooses the order in which phases take their numbers.
//!
//! **In:** rings. **Out:** for each phase, how much greater its number is than how often the ring was armed before.
//!
//! A phase takes the next number of its ring when it is opened. A rotation that begins with tokens in another order than that of
//! their loads would wait for a phase when it is older than need be, and its ring would be deeper. So phases that are opened in
//! one **batch**, with nothing in between that waits for the ring or opens it somewhere inside, take the batch's numbers in the
//! order in which they are awaited: first by the instruction that does it, then by how often a loop there goes around before.
//! That is tried, and kept where it takes fewer mbarriers.
//!
//! **Cost.** A sort of each batch.

use super::ids::{BlockId, IndexVec, PhaseId, PhiId, RingId};
use super::partition::{Partition, PhaseValue};
use super::placement::Placement;
use super::rings::{InstPositions, Rings};
use super::tree::{Inst, Tree};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Never, or not known.
const NEVER: u64 = u64::MAX;

/// When a phase is first awaited: at which instruction of the block that opens it, and after how many rounds of a loop there.
type FirstUse = (usize, u64);

/// For each phase, how much greater its number is than if it were the next one.
pub(super) fn shifts(
    tree: &Tree,
    placement: &Placement,
    sites: &InstPositions,
    partition: &Partition,
    rings: &Rings,
) -> IndexVec<PhaseId, i64> {
    let mut shifts = IndexVec::filled(0, partition.phases.len());
    let batches = batches(tree, partition, rings);
    if batches.is_empty() {
        return shifts;
    }
    let first_uses = first_uses(tree, placement, sites, partition);
    for batch in batches {
        let mut sorted = batch.clone();
        sorted.sort_by_key(|&phase| first_uses[phase]);
        for (place, &phase) in batch.iter().enumerate() {
            let number = sorted.iter().position(|other| *other == phase);
            let number = number.unwrap_or(place);
            shifts[phase] = number.cast_signed() as i64 - place.cast_signed() as i64;
        }
    }
    shifts
}

/// Phases that are opened one after the other.
fn batches(tree: &Tree, partition: &Partition, rings: &Rings) -> Vec<Vec<PhaseId>> {
    let mut batches = Vec::new();
    let mut blocks: Vec<BlockId> = rings.opened.keys().copied().collect();
    blocks.sort_unstable();
    for block in blocks {
        let insts = &tree.blocks[block].insts;
        let mut current: FxHashMap<RingId, (usize, Vec<PhaseId>)> = FxHashMap::default();
        for &(inst, ring, phase) in &rings.opened[&block] {
            // Longer than any ring may be, a run is of no use.
            let (last, batch) = current.entry(ring).or_insert((inst, Vec::new()));
            let ends = !insts[*last..=inst]
                .iter()
                .all(|inst| leaves_alone(partition, rings, ring, inst));
            if ends || batch.len() as u64 >= super::rings::MAX_DEPTH {
                batches.push(std::mem::take(batch));
            }
            *last = inst;
            if matches!(insts[inst], Inst::Load { .. }) {
                batch.push(phase);
            }
        }
        batches.extend(current.into_values().map(|(_, batch)| batch));
    }
    batches.retain(|batch| batch.len() > 1);
    batches
}

/// Returns true if an instruction has nothing to do with a ring but to load on it.
fn leaves_alone(partition: &Partition, rings: &Rings, ring: RingId, inst: &Inst) -> bool {
    match inst {
        Inst::RegionOp(_) => false,
        Inst::Await { id, .. } => {
            let mut phases = partition.awaits[*id].iter();
            phases.all(|&phase| rings.of(phase) != ring)
        }
        _ => true,
    }
}

/// When each phase is first awaited.
fn first_uses(
    tree: &Tree,
    placement: &Placement,
    sites: &InstPositions,
    partition: &Partition,
) -> IndexVec<PhaseId, FirstUse> {
    let rounds = rounds(tree, partition);
    let mut first_uses = IndexVec::filled((usize::MAX, NEVER), partition.phases.len());
    let mut note = |phase: PhaseValue, place: (BlockId, usize), rounds: u64| {
        if let PhaseValue::Opened(phase) = phase {
            let open_block = placement.open_block[partition.phases[phase][0]];
            let inst = sites.inst_in(tree, open_block, place).unwrap_or(usize::MAX);
            first_uses[phase] = first_uses[phase].min((inst, rounds));
        }
    };
    for (id, phases) in partition.awaits.with_ids() {
        for &phase in phases {
            note(phase, sites.awaits[id], 0);
        }
    }
    for (phi, incoming) in partition.incoming.with_ids() {
        for &((op, edge), phase) in incoming {
            let enters = tree.region_ops[op].edges[edge].to.is_some();
            if let Some(phase) = phase.filter(|_| enters) {
                note(
                    phase,
                    (tree.region_ops[op].parent, sites.region_ops[op]),
                    rounds[phi],
                );
            }
        }
    }
    first_uses
}

/// How often a loop goes around before what it holds in a phi is awaited.
fn rounds(tree: &Tree, partition: &Partition) -> IndexVec<PhiId, u64> {
    let mut rounds = IndexVec::filled(NEVER, partition.phis.len());
    let mut work = VecDeque::new();
    for phase in partition.awaits.iter().flatten() {
        if let PhaseValue::Phi(phi) = *phase
            && rounds[phi] == NEVER
        {
            rounds[phi] = 0;
            work.push_back(phi);
        }
    }
    while let Some(phi) = work.pop_front() {
        for &((op, edge), phase) in &partition.incoming[phi] {
            let edge = &tree.region_ops[op].edges[edge];
            if let Some(PhaseValue::Phi(from)) = phase
                && edge.to.is_some()
                && rounds[from] == NEVER
            {
                rounds[from] = rounds[phi] + 1;
                work.push_back(from);
            }
        }
    }
    rounds
}
