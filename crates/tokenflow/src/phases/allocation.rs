//! Step 5: allocates phases to rings of mbarriers.
//!
//! **In:** phases, phis, awaits. **Out:** rings with their depths and the ages of phases, or loads that no ring can follow.
//!
//! Phases that one phi stands for have to be on one ring. Rings that are never live together are coalesced
//! ([`super::coalescing`]). And a ring that is live together with another one may still be one with it, if its phases are awaited
//! in turn: a first tile that is awaited before a loop, whose tiles follow it. That is tried, in functions with few rings, and
//! kept where it takes fewer mbarriers and no more barriers.

use super::anticipation;
use super::coalescing;
use super::hazards::{self, Allocated};
use super::ids::{AwaitId, Id, IndexVec, LoadId, PhaseId, RingId};
use super::liveness;
use super::partition::Partition;
use super::phase_order;
use super::placement::Placement;
use super::rings::{self, InstPositions, MAX_DEPTH, Rings};
use super::roles;
use super::tree::Tree;
use super::union_find::UnionFind;

/// The most rings of which pairs are tried, each at the cost of a plan.
const RINGS: usize = 32;

/// What rings are chosen for.
pub(super) struct Allocator<'t> {
    pub tree: &'t Tree,
    pub placement: &'t Placement,
    pub sites: &'t InstPositions,
    pub partition: &'t Partition,
    pub fence_reads: bool,
}

/// Rings.
pub(super) struct Allocation {
    /// The rings.
    pub rings: Rings,
    /// Those whose phases are always awaited.
    pub always_awaited: IndexVec<RingId, bool>,
}

impl Allocator<'_> {
    /// Chooses rings, or returns the loads that no ring can follow.
    pub fn allocate(&self) -> Result<Allocation, Vec<LoadId>> {
        let mut joined = UnionFind::new(self.partition.phases.len() + self.partition.phis.len());
        let mut allocation = self.rings(&joined)?;
        // Threads of one role may not await what others do, so nobody but the issuing thread knows when a ring is free.
        if self.tree.has_roles() {
            return Ok(allocation);
        }
        let pairs = self.non_interfering(&allocation);
        if !pairs.is_empty() {
            let mut merged = joined.clone();
            let phase_of = first_phases(&allocation.rings);
            for (one, other) in pairs {
                merged.union(phase_of[one].index(), phase_of[other].index());
            }
            // A ring may get too deep where it is passed through what arms the other one.
            if let Ok(better) = self.rings(&merged) {
                (allocation, joined) = (better, merged);
            }
        }
        self.coalesce_adjacent(&mut allocation, joined);
        Ok(allocation)
    }

    /// The rings of phases of which those that are `joined` are on one, with numbers in the order that is best.
    fn rings(&self, joined: &UnionFind) -> Result<Allocation, Vec<LoadId>> {
        let allocation = self.with_shifts(joined, IndexVec::filled(0, self.partition.phases.len()))?;
        let shift = phase_order::shifts(
            self.tree,
            self.placement,
            self.sites,
            self.partition,
            &allocation.rings,
        );
        if shift.iter().all(|shift| *shift == 0) {
            return Ok(allocation);
        }
        let (mbarriers, barriers) = self.cost(&allocation);
        match self
            .with_shifts(joined, shift)
            .map(|other| (self.cost(&other), other))
        {
            Ok((cost, other)) if cost.0 < mbarriers && cost.1 <= barriers => Ok(other),
            _ => Ok(allocation),
        }
    }

    /// The same, with these shifts of numbers.
    fn with_shifts(
        &self,
        joined: &UnionFind,
        shift: IndexVec<PhaseId, i64>,
    ) -> Result<Allocation, Vec<LoadId>> {
        let (tree, placement, sites, partition) = (self.tree, self.placement, self.sites, self.partition);
        let mut rings = rings::assign(tree, placement, sites, partition, joined, shift);
        if !rings.unallocated.is_empty() {
            return Err(rings.unallocated);
        }
        // So deep that slots need no barriers of their own, where some depth does that.
        let needed = hazards::depths(tree, self.allocated(&rings), self.fence_reads);
        for (depth, needed) in rings.depth.iter_mut().zip(needed) {
            if needed <= MAX_DEPTH {
                *depth = needed.max(*depth);
            }
        }
        let always_awaited = self.always_awaited(&rings);
        Ok(Allocation {
            rings,
            always_awaited,
        })
    }

    /// For each ring, whether all its phases are awaited on every path, by threads of some role.
    fn always_awaited(&self, rings: &Rings) -> IndexVec<RingId, bool> {
        let of = |tree: &Tree| {
            anticipation::always_awaited(tree, self.placement, self.sites, self.partition, rings)
        };
        if !self.tree.has_roles() {
            return of(self.tree);
        }
        let mut any = IndexVec::filled(false, rings.depth.len());
        for role in self.tree.all_roles().iter() {
            let awaited = of(&self.tree.of_role(role));
            any.iter_mut()
                .zip(awaited.iter())
                .for_each(|(any, awaited)| *any |= awaited);
        }
        any
    }

    /// The first awaits of roles that await some phases of a ring, and not all of them on every path. Such a role might be ahead
    /// of the phase before, on the same slot, and take that one's end for what it waits for.
    pub fn partly_awaited(&self, rings: &Rings) -> Vec<AwaitId> {
        let mut partly = Vec::new();
        if !self.tree.has_roles() {
            return partly;
        }
        let awaited = roles::awaited_rings(self.tree, self.partition, rings);
        for (role, awaited) in self.tree.all_roles().iter().zip(awaited) {
            let tree = self.tree.of_role(role);
            let always =
                anticipation::always_awaited(&tree, self.placement, self.sites, self.partition, rings);
            let some = awaited.with_ids().filter(|(ring, _)| !always[*ring]);
            partly.extend(some.filter_map(|(_, first)| *first));
        }
        partly.sort_unstable();
        partly.dedup();
        partly
    }

    fn allocated<'a>(&'a self, rings: &'a Rings) -> Allocated<'a> {
        Allocated {
            partition: self.partition,
            rings,
        }
    }

    /// Pairs of rings that may be one since they are never live together.
    fn non_interfering(&self, allocation: &Allocation) -> Vec<(RingId, RingId)> {
        let rest = liveness::Assigned {
            rings: &allocation.rings,
            always_awaited: &allocation.always_awaited,
            syncs: &hazards::required_syncs(
                self.tree,
                Some(self.allocated(&allocation.rings)),
                self.fence_reads,
            ),
        };
        let ranges = liveness::live_ranges(self.tree, self.placement, self.sites, self.partition, rest);
        coalescing::coalesce(ranges, &allocation.rings.depth)
    }

    /// Makes one ring of neighbours where that is better.
    fn coalesce_adjacent(&self, allocation: &mut Allocation, mut joined: UnionFind) {
        let mut firsts: Vec<PhaseId> = first_phases(&allocation.rings).into_iter().collect();
        if firsts.len() > RINGS {
            return;
        }
        firsts.sort_unstable();
        let mut cost = self.cost(allocation);
        let mut i = 0;
        while i + 1 < firsts.len() {
            // Before a slot of theirs is armed again, its last phase has to be waited for.
            let always_awaited = |phase: PhaseId| allocation.always_awaited[allocation.rings.phase[phase]];
            if !always_awaited(firsts[i]) || !always_awaited(firsts[i + 1]) {
                i += 1;
                continue;
            }
            let mut merged = joined.clone();
            merged.union(firsts[i].index(), firsts[i + 1].index());
            let other = self.rings(&merged).ok().map(|other| (self.cost(&other), other));
            let better =
                other.filter(|((mbarriers, barriers), _)| *mbarriers < cost.0 && *barriers <= cost.1);
            if let Some((its_cost, better)) = better {
                (cost, *allocation, joined) = (its_cost, better, merged);
                firsts.remove(i + 1);
            } else {
                i += 1;
            }
        }
    }

    /// How many mbarriers a choice takes, and how many barriers.
    fn cost(&self, allocation: &Allocation) -> (u64, usize) {
        let syncs = hazards::required_syncs(
            self.tree,
            Some(self.allocated(&allocation.rings)),
            self.fence_reads,
        );
        let all = syncs.phases.iter().chain(&syncs.loads);
        let barriers = all.filter(|sync| sync.barrier).count();
        (allocation.rings.depth.iter().sum(), barriers)
    }
}

/// The first phase of each ring.
fn first_phases(rings: &Rings) -> IndexVec<RingId, PhaseId> {
    let mut first = IndexVec::filled(PhaseId(usize::MAX), rings.depth.len());
    for (phase, &ring) in rings.phase.with_ids() {
        first[ring] = first[ring].min(phase);
    }
    first
}
