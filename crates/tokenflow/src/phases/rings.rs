//! Step 5.1: computes the ages of phases, and so the depths of rings.
//!
//! **In:** which phases share a ring. **Out:** the age of each phase where it is awaited, and the depth of each ring.
//!
//! Phases that edges bind to one phi must be on one ring, since only the running program knows which of them is awaited. The slot
//! of a phase is armed again as many arms later as its ring is deep, by which time nothing may wait for it any more. So the
//! depth is one more than the greatest **age** of a phase where it is last awaited or passed on.
//!
//! The age of a phi is the greatest of what is bound to it, plus the arms between the definition of that and the edge: longest
//! paths in a graph of the phis. A token that outlives any number of arms has no such ring, and its loads are unallocated.
//!
//! **Cost.** Linear in awaits and bindings, times the depth of the tree; ages of phis that depend on one another converge in as
//! many rounds as the deepest ring has mbarriers.

use super::arm_counts::{ArmCounts, Point, PrefixSum, add};
use super::ids::{AwaitId, BlockId, Id, IndexVec, LoadId, PhaseId, PhiId, RegionOpId, RingId};
use super::partition::{Partition, PhaseValue};
use super::placement::{DefinedBy, Placement};
use super::tree::{Inst, Tree};
use super::union_find::UnionFind;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The deepest ring.
pub const MAX_DEPTH: u64 = 64;
/// For each block, where phases are opened in it: before which instruction, on which ring, of which phase.
pub(super) type Opened = FxHashMap<BlockId, Vec<(usize, RingId, PhaseId)>>;

/// The rings.
pub(super) struct Rings {
    /// The ring of each phase.
    pub phase: IndexVec<PhaseId, RingId>,
    /// The ring of each phi.
    pub phi: IndexVec<PhiId, RingId>,
    /// How many mbarriers each ring has.
    pub depth: IndexVec<RingId, u64>,
    /// Where phases are opened.
    pub opened: Opened,
    /// How often each ring is armed where.
    pub counts: ArmCounts,
    /// How much greater the number of each phase is than how often its ring was armed before.
    pub shift: IndexVec<PhaseId, i64>,
    /// The most arms since a phase, by ring, where an await is for it: by await and value.
    pub age_at: FxHashMap<(AwaitId, PhaseValue), u64>,
    /// Loads of rings that would have to be endless.
    pub unallocated: Vec<LoadId>,
}

impl Rings {
    /// The ring of a phase.
    pub fn of(&self, phase: PhaseValue) -> RingId {
        match phase {
            PhaseValue::Opened(phase) => self.phase[phase],
            PhaseValue::Phi(phi) => self.phi[phi],
        }
    }
}

/// Where loads, awaits and region ops stand.
pub(super) struct InstPositions {
    /// Where each load stands.
    pub load: IndexVec<LoadId, (BlockId, usize)>,
    /// Where each await stands.
    pub awaits: IndexVec<AwaitId, (BlockId, usize)>,
    /// The instruction of each region op in its parent.
    pub region_ops: IndexVec<RegionOpId, usize>,
}

impl InstPositions {
    /// Finds them.
    pub fn new(tree: &Tree) -> Self {
        let mut sites = Self {
            load: IndexVec::filled((BlockId(0), 0), tree.loads.len()),
            awaits: IndexVec::filled((BlockId(0), 0), tree.awaits),
            region_ops: IndexVec::filled(0, tree.region_ops.len()),
        };
        for (b, block) in tree.blocks.with_ids() {
            for (i, inst) in block.insts.iter().enumerate() {
                match inst {
                    Inst::Load { load, .. } => sites.load[*load] = (b, i),
                    Inst::Await { id, .. } => sites.awaits[*id] = (b, i),
                    Inst::RegionOp(op) => sites.region_ops[*op] = i,
                    _ => {}
                }
            }
        }
        sites
    }

    /// The block that opens the phase of loads that share a phase, and the first and last instruction there that has one of them.
    pub fn span(&self, tree: &Tree, placement: &Placement, loads: &[LoadId]) -> (BlockId, usize, usize) {
        let open_block = placement.open_block[loads[0]];
        let insts = loads.iter();
        let insts = insts.filter_map(|&load| self.inst_in(tree, open_block, self.load[load]));
        let (first, last) = insts.fold((usize::MAX, 0), |(first, last), inst| {
            (first.min(inst), last.max(inst))
        });
        (open_block, first, last)
    }

    /// The instruction of `outer` that holds what stands at `place`, in it or in a region op inside.
    pub fn inst_in(&self, tree: &Tree, outer: BlockId, place: (BlockId, usize)) -> Option<usize> {
        let (mut block, mut inst) = place;
        while block != outer {
            let op = tree.blocks[block].parent_op?;
            (block, inst) = (tree.region_ops[op].parent, self.region_ops[op]);
        }
        Some(inst)
    }
}

/// Puts phases on rings; `joined` are those that share a ring because they are never live together, and `shift` says what to add
/// to the number of each phase.
pub(super) fn assign(
    tree: &Tree,
    placement: &Placement,
    sites: &InstPositions,
    partition: &Partition,
    joined: &UnionFind,
    shift: IndexVec<PhaseId, i64>,
) -> Rings {
    let n = partition.phases.len();
    let mut union = joined.clone();
    for (phi, incoming) in partition.incoming.with_ids() {
        for (_, phase) in incoming {
            match phase {
                Some(PhaseValue::Opened(phase)) => union.union(phase.index(), n + phi.index()),
                Some(PhaseValue::Phi(other)) => union.union(n + other.index(), n + phi.index()),
                None => {}
            }
        }
    }
    let mut numbers: BTreeMap<usize, RingId> = BTreeMap::new();
    let mut ring = |i: usize, union: &mut UnionFind| {
        let next = RingId(numbers.len());
        *numbers.entry(union.find(i)).or_insert(next)
    };
    let phase: IndexVec<PhaseId, RingId> = (0..n).map(|i| ring(i, &mut union)).collect();
    let phi: IndexVec<PhiId, RingId> = (n..n + partition.phis.len())
        .map(|i| ring(i, &mut union))
        .collect();
    let mut opened: Opened = FxHashMap::default();
    for (b, loads) in partition.phases.with_ids() {
        let (open_block, first, _) = sites.span(tree, placement, loads);
        opened.entry(open_block).or_default().push((first, phase[b], b));
    }
    for opened in opened.values_mut() {
        opened.sort_unstable_by_key(|&(inst, _, phase)| (inst, phase));
    }
    let mut counts = ArmCounts::new(tree, &opened);
    for (phase, opened) in &mut counts.opened {
        opened.shift(shift[*phase]);
    }
    let mut rings = Rings {
        depth: IndexVec::filled(1, numbers.len()),
        phase,
        phi,
        opened,
        counts,
        shift,
        age_at: FxHashMap::default(),
        unallocated: Vec::new(),
    };
    ages(tree, placement, partition, sites, &mut rings);
    rings
}

/// Finds how old phases get, and how deep rings have to be for that.
pub(super) fn ages(
    tree: &Tree,
    placement: &Placement,
    partition: &Partition,
    sites: &InstPositions,
    rings: &mut Rings,
) {
    let ages = Ages {
        tree,
        placement,
        partition,
        sites,
    };
    ages.fill(rings);
}

struct Ages<'t> {
    tree: &'t Tree,
    placement: &'t Placement,
    partition: &'t Partition,
    sites: &'t InstPositions,
}

impl Ages<'_> {
    fn fill(&self, rings: &mut Rings) {
        let phis = self.phis(rings);
        let age = |phase: PhaseValue| match phase {
            PhaseValue::Opened(_) => 0,
            PhaseValue::Phi(phi) => phis[phi],
        };
        for (phi, &age) in phis.with_ids() {
            let depth = &mut rings.depth[rings.phi[phi]];
            *depth = (*depth).max(add(age, 1));
        }
        for (id, phases) in self.partition.awaits.with_ids() {
            let (block, inst) = self.sites.awaits[id];
            for &phase in phases {
                let ring = rings.of(phase);
                let arms = rings.counts.between(
                    self.tree,
                    ring,
                    self.def(rings, phase),
                    (block, Point::before(inst)),
                );
                let age = add(age(phase), arms);
                rings.age_at.insert((id, phase), age);
                rings.depth[ring] = rings.depth[ring].max(add(age, 1));
            }
        }
        self.count_open(rings);
        for (phase, loads) in self.partition.phases.with_ids() {
            if rings.depth[rings.phase[phase]] > MAX_DEPTH {
                rings.unallocated.extend(loads);
            }
        }
    }

    /// A phase must have all its loads before its slot is armed again, whoever waits for it.
    fn count_open(&self, rings: &mut Rings) {
        // Whether phases of a ring are numbered in turn.
        let mut turns = IndexVec::filled(true, rings.depth.len());
        for (phase, &shift) in rings.shift.with_ids().take(self.partition.phases.len()) {
            turns[rings.phase[phase]] &= shift == 0;
        }
        for (phase, loads) in self.partition.phases.with_ids() {
            let (open_block, _, last) = self.sites.span(self.tree, self.placement, loads);
            let (ring, phase) = (rings.phase[phase], PhaseValue::Opened(phase));
            // The arrival on it is after the instruction, with all that is armed in there.
            let to = (open_block, Point::before(last + 1));
            let arms = rings.counts.between(self.tree, ring, self.def(rings, phase), to);
            let arms = if turns[ring] {
                arms
            } else {
                arms.max(self.ahead(rings, phase, (open_block, last)))
            };
            rings.depth[ring] = rings.depth[ring].max(add(arms, 1));
        }
    }

    /// How far ahead of a phase the numbers are of those that are opened up to an instruction of its block.
    fn ahead(&self, rings: &Rings, phase: PhaseValue, (open_block, last): (BlockId, usize)) -> u64 {
        let (_, own) = self.def(rings, phase);
        let opened = rings.opened.get(&open_block).into_iter().flatten();
        let others = opened.filter(|&&(inst, ring, _)| inst <= last && ring == rings.of(phase));
        let ahead = others.map(|(.., other)| rings.counts.opened[other].since(own));
        ahead.max().unwrap_or(0)
    }

    /// Where a phase is defined: the block, and the arms of its ring up to there.
    fn def(&self, rings: &Rings, phase: PhaseValue) -> (BlockId, PrefixSum) {
        match phase {
            PhaseValue::Opened(phase) => {
                let open_block = self.placement.open_block[self.partition.phases[phase][0]];
                (open_block, rings.counts.opened[&phase])
            }
            PhaseValue::Phi(phi) => {
                let def = self.placement.defs[self.partition.phis[phi][0].0 as usize];
                let sum = match def.by {
                    DefinedBy::RegionOp(_) => {
                        rings
                            .counts
                            .up_to(def.block, rings.phi[phi], Point::before(def.inst + 1))
                    }
                    _ => PrefixSum::default(),
                };
                (def.block, sum)
            }
        }
    }

    /// The greatest age of each phi where it is defined, or more than [`MAX_DEPTH`].
    fn phis(&self, rings: &Rings) -> IndexVec<PhiId, u64> {
        let n = self.partition.phis.len();
        let mut ages = IndexVec::filled(0, n);
        // The phis that each is bound to, and how much older it is by then.
        let mut next: IndexVec<PhiId, Vec<(PhiId, u64)>> = IndexVec::filled(Vec::new(), n);
        for (phi, incoming) in self.partition.incoming.with_ids() {
            for &((op, edge), phase) in incoming {
                let Some(phase) = phase else { continue };
                let place = match self.tree.region_ops[op].edges[edge].from {
                    None => (
                        self.tree.region_ops[op].parent,
                        Point::inside(self.sites.region_ops[op]),
                    ),
                    Some(from) => (self.tree.region_ops[op].blocks[from], Point::END),
                };
                let ring = rings.phi[phi];
                let arms = rings
                    .counts
                    .between(self.tree, ring, self.def(rings, phase), place);
                match phase {
                    PhaseValue::Opened(_) => ages[phi] = arms.max(ages[phi]),
                    PhaseValue::Phi(other) => next[other].push((phi, arms)),
                }
            }
        }
        let mut work: Vec<PhiId> = ages.ids().collect();
        while let Some(phi) = work.pop() {
            for &(to, arms) in &next[phi] {
                let age = add(ages[phi], arms).min(MAX_DEPTH);
                if age > ages[to] {
                    ages[to] = age;
                    work.push(to);
                }
            }
        }
        ages
    }
}

#[cfg(test)]
mod tests;
