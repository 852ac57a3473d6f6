//! Step 8: finds where barriers and proxy fences are needed between the threads' accesses and an asynchronous
//! operation that one thread issues for all. A forward may-analysis.
//!
//! **In:** rings, and accesses to memory. **Out:** a barrier and a fence, or none, before each load, opened phase and store.
//!
//! A load overwrites what threads may still read, and a store reads what they have just written. So before one is issued
//!
//! - all threads must have come so far: a **barrier** is needed if since the last one some thread may have accessed the
//!   buffer (for a store: written it), may still wait for the phase whose slot is armed anew, or alone has waited for a load
//!   of the buffer ([`super::divergence`]);
//! - and what they wrote must have been passed to the asynchronous proxy: a **fence** by each thread that wrote, before
//!   that barrier. PTX ISA, Async proxy: "Accessing the same memory location across multiple proxies needs a cross-proxy
//!   fence. For the async proxy, fence.proxy.async should be used to synchronize memory between generic proxy and the
//!   async proxy."
//!
//! Nothing is needed after a completion that has been observed: "The completion of a cp{.reduce}.async.bulk operation is
//! followed by an implicit generic-async proxy fence."
//!
//! A forward may-analysis: what is pending since when, buffer by buffer, at least on one path.
//!
//! **Cost.** Linear in the size of the tree times buffers and rings. Loops are run until nothing changes; those nested more
//! deeply than [`DEPTH`] start out with all that they touch.

use super::divergence::divergent_awaits;
use super::hazard_state::{COPIED, FENCED, HazardState, LANDED, NO_DEPTH, READ, UNFENCED, WRITTEN};
use super::ids::{AwaitId, BlockId, IndexVec, LoadId, PhaseId, RegionOpId, RingId, StoreId};
use super::partition::{Partition, PhaseValue};
use super::plan::SyncPoint;
use super::rings::Rings;
use super::roles::RoleSet;
use super::tree::{AccessKind, Buffer, Inst, Tree};
use crate::program::ensure_sufficient_stack;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The most loops around one another that are run until nothing changes.
const DEPTH: usize = 4;

/// After so many rounds of a loop, what a ring has been waited for is taken to be as far back as can be.
const ROUNDS: usize = 4;

/// What has to come right before an operation is issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequiredSync {
    /// A fence between the generic and the asynchronous proxy, by all threads.
    pub fence: bool,
    /// A barrier of the block, after the fence.
    pub barrier: bool,
}

/// The syncs of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Syncs {
    /// Before a load.
    pub loads: IndexVec<LoadId, RequiredSync>,
    /// Before a phase is opened, and with it its first load.
    pub phases: IndexVec<PhaseId, RequiredSync>,
    /// Before a store.
    pub stores: IndexVec<StoreId, RequiredSync>,
    /// Who takes part in what is needed before a load, if threads have different roles.
    pub participants: BTreeMap<SyncPoint, Participants>,
}

/// The roles whose threads take part in a [`RequiredSync`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Participants {
    /// Whose threads have written through the generic proxy.
    pub fence: RoleSet,
    /// Whose threads the issuing one has to know to have come so far.
    pub barrier: RoleSet,
}

/// What is synchronized in addition to stores.
#[derive(Clone, Copy)]
pub(super) struct Allocated<'t> {
    /// The phases.
    pub partition: &'t Partition,
    /// Their rings.
    pub rings: &'t Rings,
}

/// For each ring, how deep it has to be so that no slot is armed while threads may still wait for the phase it had last,
/// without any barrier but those that the program has and that loads need for their data; the greatest number if no depth
/// does that.
pub(super) fn depths(tree: &Tree, allocated: Allocated, fence_reads: bool) -> IndexVec<RingId, u64> {
    let mut work = Hazards::new(tree, Some(allocated), fence_reads);
    work.needed = Some(IndexVec::filled(1, allocated.partition.phases.len()));
    work.block(BlockId(0), HazardState::at_start(tree));
    let mut depths = IndexVec::filled(1, allocated.rings.depth.len());
    let needed = work.needed.unwrap_or_default();
    for (phase, &needed) in needed.with_ids() {
        let depth: &mut u64 = &mut depths[allocated.rings.phase[phase]];
        *depth = needed.max(*depth);
    }
    depths
}

/// Finds the syncs. With `fence_reads`, reads through the generic proxy are fenced from later asynchronous writes, too.
pub(super) fn required_syncs(tree: &Tree, allocated: Option<Allocated>, fence_reads: bool) -> Syncs {
    let mut work = Hazards::new(tree, allocated, fence_reads);
    work.block(BlockId(0), HazardState::at_start(tree));
    work.out
}

struct Hazards<'t> {
    tree: &'t Tree,
    allocated: Option<Allocated<'t>>,
    fence_reads: bool,
    /// What the loads write that only some threads know of after an await.
    divergent_awaits: IndexVec<AwaitId, Vec<Buffer>>,
    /// The loops around.
    loops: usize,
    /// The roles of the threads that run what is looked at.
    roles: RoleSet,
    /// All that a region op may leave pending.
    touched: IndexVec<RegionOpId, Option<HazardState>>,
    /// After which instruction of the body rings are armed no more.
    last_arms: FxHashMap<usize, Vec<RingId>>,
    /// The rings that are armed no more: waits for them need no synchronization.
    done: IndexVec<RingId, bool>,
    /// The depths that the rings of phases need where their phases are opened, if that is what is asked for: slots are not
    /// synchronized then. What the last round over a loop says counts.
    needed: Option<IndexVec<PhaseId, u64>>,
    out: Syncs,
}

impl<'t> Hazards<'t> {
    fn new(tree: &'t Tree, allocated: Option<Allocated<'t>>, fence_reads: bool) -> Self {
        Self {
            tree,
            allocated,
            fence_reads,
            divergent_awaits: divergent_awaits(tree),
            loops: 0,
            roles: tree.all_roles(),
            touched: IndexVec::filled(None, tree.region_ops.len()),
            last_arms: allocated
                .map_or_else(FxHashMap::default, |allocated| last_arms(tree, allocated.rings)),
            done: IndexVec::filled(
                false,
                allocated.map_or(0, |allocated| allocated.rings.depth.len()),
            ),
            needed: None,
            out: Syncs {
                loads: IndexVec::filled(RequiredSync::default(), tree.loads.len()),
                phases: IndexVec::filled(
                    RequiredSync::default(),
                    allocated.map_or(0, |allocated| allocated.partition.phases.len()),
                ),
                stores: IndexVec::filled(RequiredSync::default(), tree.stores),
                participants: BTreeMap::new(),
            },
        }
    }

    fn block(&mut self, block: BlockId, mut state: HazardState) -> HazardState {
        let tree = self.tree;
        let opened = self
            .allocated
            .and_then(|allocated| allocated.rings.opened.get(&block));
        let mut opened = opened.into_iter().flatten().peekable();
        for (i, inst) in tree.blocks[block].insts.iter().enumerate() {
            while let Some(&(_, ring, phase)) = opened.next_if(|(inst, ..)| *inst == i) {
                self.open(ring, phase, &mut state);
            }
            self.inst(inst, &mut state);
            let last = self.last_arms.get(&i).filter(|_| block == BlockId(0));
            for &ring in last.into_iter().flatten() {
                state.forget(ring);
                self.done[ring] = true;
            }
        }
        state
    }

    fn inst(&mut self, inst: &Inst, state: &mut HazardState) {
        match inst {
            Inst::Barrier => state.synchronize(self.tree.all_roles()),
            Inst::Fence => state.fence(self.roles),
            Inst::Access { buffer, kind } => {
                let pending = match kind {
                    AccessKind::Read if self.fence_reads => READ | UNFENCED,
                    AccessKind::Read | AccessKind::AsyncRead => READ,
                    AccessKind::Write => WRITTEN | UNFENCED,
                    AccessKind::Copy => WRITTEN | UNFENCED | COPIED,
                };
                state.record(*buffer, pending, self.roles);
            }
            Inst::WaitForCopies => state.complete_copies(self.roles),
            Inst::Await { id, .. } => self.wait(*id, state),
            // Loads in token form are synchronized when they are planned, and not before.
            Inst::Load { .. } if self.allocated.is_none() => {}
            Inst::Load { load, .. } => {
                let (buffer, minds) = (self.tree.loads[*load].buffer, READ | WRITTEN | LANDED);
                let (needs, who) = (
                    Self::needs(buffer, minds, state),
                    participants(buffer, minds, state),
                );
                self.out.loads[*load] = self.apply(needs, who, SyncPoint::Load(*load), state);
            }
            Inst::Store { store, buffer } => {
                let needs = Self::needs(*buffer, WRITTEN | LANDED, state);
                let all = self.tree.all_roles();
                if needs.fence {
                    state.fence(all);
                }
                if needs.barrier {
                    state.synchronize(all);
                }
                self.out.stores[*store] = needs;
            }
            Inst::RegionOp(op) => {
                *state = ensure_sufficient_stack(|| self.region_op(*op, std::mem::take(state)));
            }
            Inst::Join { .. } => {}
        }
    }

    /// What is needed before an operation that minds `accesses` of a buffer.
    fn needs(buffer: Buffer, accesses: u64, state: &HazardState) -> RequiredSync {
        let pending = state.pending(buffer);
        let fence = pending & UNFENCED != 0;
        RequiredSync {
            fence,
            barrier: fence || pending & (accesses | FENCED) != 0,
        }
    }

    fn wait(&self, id: AwaitId, state: &mut HazardState) {
        // What was awaited before on every path is available.
        if self
            .allocated
            .is_none_or(|allocated| !allocated.partition.awaits[id].is_empty())
        {
            let buffers = self.divergent_awaits[id].iter();
            buffers.for_each(|&buffer| state.record(buffer, LANDED, self.roles));
        }
        let Some(allocated) = self.allocated else { return };
        for &phase in &allocated.partition.awaits[id] {
            let ring = allocated.rings.of(phase);
            if !self.done[ring] {
                let age = allocated.rings.age_at.get(&(id, phase)).copied().unwrap_or(0);
                state.record_wait(ring, age + 1, self.roles);
            }
        }
    }

    /// A phase is opened: its slot is armed, and all its loads come after.
    fn open(&mut self, ring: RingId, phase: PhaseId, state: &mut HazardState) {
        let Some(allocated) = self.allocated else { return };
        // Who waits for the phase that had the slot before may be as far after.
        let shift = allocated.rings.shift[phase];
        let depth = allocated.rings.depth[ring];
        let behind = state
            .waits(ring)
            .filter(|(_, arms)| arms.saturating_add_signed(shift) >= depth);
        let behind = behind.fold(RoleSet::default(), |roles, (role, _)| roles.or(RoleSet::of(role)));
        let mut who = Participants::default();
        if self.needed.is_none() {
            who.barrier = behind;
        }
        let mut sync = RequiredSync {
            fence: false,
            barrier: !who.barrier.is_empty(),
        };
        for &load in &allocated.partition.phases[phase] {
            let (buffer, minds) = (self.tree.loads[load].buffer, READ | WRITTEN | LANDED);
            let needs = Self::needs(buffer, minds, state);
            sync.fence |= needs.fence;
            sync.barrier |= needs.barrier;
            let its = participants(buffer, minds, state);
            who.fence = who.fence.or(its.fence);
            who.barrier = who.barrier.or(its.barrier);
        }
        self.out.phases[phase] = self.apply(sync, who, SyncPoint::Phase(phase), state);
        let waited = state.arm(ring);
        if let Some(needed) = &mut self.needed {
            needed[phase] = waited.saturating_add_signed(shift).max(1);
        }
    }

    /// Applies what comes before a load to the state, and notes who takes part.
    fn apply(
        &mut self,
        sync: RequiredSync,
        who: Participants,
        before: SyncPoint,
        state: &mut HazardState,
    ) -> RequiredSync {
        if sync.fence {
            state.fence(who.fence);
        }
        if sync.barrier {
            state.synchronize(who.barrier);
        }
        if self.tree.has_roles() {
            self.out.participants.remove(&before);
            if sync.barrier {
                self.out.participants.insert(before, who);
            }
        }
        sync
    }

    fn region_op(&mut self, id: RegionOpId, before: HazardState) -> HazardState {
        let tree = self.tree;
        let op = &tree.region_ops[id];
        let repeats = op.repeats();
        let mut ends: Vec<Option<HazardState>> = vec![None; op.blocks.len()];
        let mut starts: Vec<Option<HazardState>> = vec![None; op.blocks.len()];
        self.loops += usize::from(repeats);
        let mut worst = HazardState::default();
        if repeats && self.loops > DEPTH {
            worst = self.touched(id);
        }
        for round in 0.. {
            let mut changed = false;
            for (b, &block) in op.blocks.iter().enumerate() {
                // What a barrier clears is no longer pending, so a state may shrink: it is kept as it was at its worst.
                let mut start = starts[b].clone().unwrap_or_else(|| worst.clone());
                for (_, edge) in op.edges_to(Some(b)) {
                    match edge.from {
                        None => start.join(&before),
                        Some(from) => ends[from].iter().for_each(|end| start.join(end)),
                    }
                }
                if round > ROUNDS {
                    start.widen();
                }
                if starts[b].as_ref() != Some(&start) {
                    let outer = self.roles;
                    self.roles = outer.and(op.roles.get(b).copied().unwrap_or(outer));
                    ends[b] = Some(self.block(block, start.clone()));
                    self.roles = outer;
                    starts[b] = Some(start);
                    changed = true;
                }
            }
            if !changed || !repeats || self.loops > DEPTH {
                break;
            }
        }
        self.loops -= usize::from(repeats);
        let mut after = HazardState::default();
        for (_, edge) in op.edges_to(None) {
            match edge.from {
                None => after.join(&before),
                Some(from) => ends[from].iter().for_each(|end| after.join(end)),
            }
        }
        after
    }

    /// All that a region op touches, with all that can be pending.
    fn touched(&mut self, id: RegionOpId) -> HazardState {
        if let Some(known) = &self.touched[id] {
            return known.clone();
        }
        let mut state = HazardState::default();
        // Whoever runs what is inside: at most those that run the region op, and it is the worst that is asked for.
        let roles = self.tree.all_roles();
        for &block in &self.tree.region_ops[id].blocks {
            for inst in &self.tree.blocks[block].insts {
                match inst {
                    Inst::Access { buffer, .. } => {
                        state.record(*buffer, READ | WRITTEN | UNFENCED | COPIED, roles);
                    }
                    Inst::Await { id, .. } => {
                        self.divergent_awaits[*id]
                            .iter()
                            .for_each(|&buffer| state.record(buffer, LANDED, roles));
                        if let Some(allocated) = self.allocated {
                            let rings = allocated.partition.awaits[*id]
                                .iter()
                                .map(|&phase: &PhaseValue| allocated.rings.of(phase));
                            rings.for_each(|ring| state.record_wait(ring, NO_DEPTH, roles));
                        }
                    }
                    Inst::RegionOp(inner) => {
                        let inner = ensure_sufficient_stack(|| self.touched(*inner));
                        state.join(&inner);
                    }
                    _ => {}
                }
            }
        }
        self.touched[id] = Some(state.clone());
        state
    }
}

/// After which steps of the body rings are armed no more. Not after instructions further in: a branch that is not taken would
/// leave out what it says.
fn last_arms(tree: &Tree, rings: &Rings) -> FxHashMap<usize, Vec<RingId>> {
    let mut last: IndexVec<RingId, Option<usize>> = IndexVec::filled(None, rings.depth.len());
    for (&block, opened) in &rings.opened {
        for &(inst, ring, _) in opened {
            let (mut block, mut inst) = (block, inst);
            while let Some(op) = tree.blocks[block].parent_op {
                (block, inst) = (tree.region_ops[op].parent, rings.counts.inst[op]);
            }
            last[ring] = last[ring].max(Some(inst));
        }
    }
    let mut after: FxHashMap<usize, Vec<RingId>> = FxHashMap::default();
    for (ring, last) in last.with_ids() {
        if let Some(last) = *last {
            after.entry(last).or_default().push(ring);
        }
    }
    after
}

/// Who takes part in what is needed before a load into `buffer` that minds `accesses`.
fn participants(buffer: Buffer, accesses: u64, state: &HazardState) -> Participants {
    Participants {
        fence: state.roles(buffer, UNFENCED),
        barrier: state.roles(buffer, accesses | UNFENCED | FENCED),
    }
}

#[cfg(test)]
mod tests;
