//! Phase 9: what has to lie between the threads' accesses and an asynchronous operation that one thread issues for all.
//!
//! A load overwrites what threads may still read, and a store reads what they have just written. So before one is issued
//!
//! - all threads must have come so far: a **barrier** is needed if since the last one some thread may have accessed the
//!   buffer (for a store: written it), may still wait for the phase whose slot is armed anew, or alone has waited for a load
//!   of the buffer ([`super::apart`]);
//! - and what they wrote must have been handed to the asynchronous proxy: a **fence** by each thread that wrote, before
//!   that barrier. PTX ISA, Async proxy: "Accessing the same memory location across multiple proxies needs a cross-proxy
//!   fence. For the async proxy, fence.proxy.async should be used to synchronize memory between generic proxy and the
//!   async proxy."
//!
//! Nothing is needed behind a completion that has been observed: "The completion of a cp{.reduce}.async.bulk operation is
//! followed by an implicit generic-async proxy fence."
//!
//! A forward analysis: what is dirty since when, buffer by buffer, at least on one way. Loops are run until nothing
//! changes; those nested more deeply than [`DEPTH`] start out with all that they touch.

use super::apart::apart;
use super::bundles::{Bundles, Phase};
use super::dirt::{COPIED, FENCED, LANDED, NO_DEPTH, READ, State, UNFENCED, WRITTEN};
use super::rings::{RingId, Rings};
use super::tree::{AccessKind, BlockId, Buffer, RegionId, Step, Tree};
use crate::program::deep;
use std::collections::HashMap;

/// The most loops around one another that are run until nothing changes.
const DEPTH: usize = 4;

/// After so many rounds of a loop, what a ring has been waited for is taken to be as far back as can be.
const ROUNDS: usize = 4;

/// What has to come right before an operation is issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Guard {
    /// A fence between the generic and the asynchronous proxy, by all threads.
    pub fence: bool,
    /// A barrier of the block, behind the fence.
    pub barrier: bool,
}

/// The guards of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Guards {
    /// Before a load.
    pub loads: Vec<Guard>,
    /// Before a phase is opened, and with it its first load.
    pub phases: Vec<Guard>,
    /// Before a store.
    pub stores: Vec<Guard>,
}

/// What is guarded besides stores.
#[derive(Clone, Copy)]
pub(super) struct Phases<'t> {
    /// The bundles.
    pub bundles: &'t Bundles,
    /// Their rings.
    pub rings: &'t Rings,
}

/// For each ring, how deep it has to be so that no slot is armed while threads may still wait for the phase it had last,
/// without any barrier but those that the program has and that loads need for their data; the greatest number if no depth
/// does that.
pub(super) fn depths(tree: &Tree, phases: Phases, fence_reads: bool) -> Vec<u64> {
    let mut work = Guarding::new(tree, Some(phases), fence_reads);
    work.needed = Some(vec![1; phases.bundles.loads.len()]);
    work.block(0, State::at_start(tree));
    let mut depths = vec![1; phases.rings.depth.len()];
    for (bundle, needed) in work.needed.into_iter().flatten().enumerate() {
        let depth: &mut u64 = &mut depths[phases.rings.bundle[bundle]];
        *depth = needed.max(*depth);
    }
    depths
}

/// Finds the guards. With `fence_reads`, reads through the generic proxy are fenced from later asynchronous writes, too.
pub(super) fn guards(tree: &Tree, phases: Option<Phases>, fence_reads: bool) -> Guards {
    let mut work = Guarding::new(tree, phases, fence_reads);
    work.block(0, State::at_start(tree));
    work.out
}

struct Guarding<'t> {
    tree: &'t Tree,
    phases: Option<Phases<'t>>,
    fence_reads: bool,
    /// What the loads write that only some threads know of behind an await.
    apart: Vec<Vec<Buffer>>,
    /// The loops around.
    loops: usize,
    /// All that a region may leave dirty.
    touched: Vec<Option<State>>,
    /// Behind which step of the body rings are armed no more.
    last_arms: HashMap<usize, Vec<RingId>>,
    /// The rings that are armed no more: waits for them are nobody's business.
    done: Vec<bool>,
    /// The depths that the rings of bundles need where their phases are opened, if that is what is asked for: slots are not
    /// guarded then. What the last round over a loop says counts.
    needed: Option<Vec<u64>>,
    out: Guards,
}

impl<'t> Guarding<'t> {
    fn new(tree: &'t Tree, phases: Option<Phases<'t>>, fence_reads: bool) -> Self {
        Self {
            tree,
            phases,
            fence_reads,
            apart: apart(tree),
            loops: 0,
            touched: vec![None; tree.regions.len()],
            last_arms: phases.map_or_else(HashMap::new, |phases| last_arms(tree, phases.rings)),
            done: vec![false; phases.map_or(0, |phases| phases.rings.depth.len())],
            needed: None,
            out: Guards {
                loads: vec![Guard::default(); tree.loads.len()],
                phases: vec![Guard::default(); phases.map_or(0, |phases| phases.bundles.loads.len())],
                stores: vec![Guard::default(); tree.stores],
            },
        }
    }

    fn block(&mut self, block: BlockId, mut state: State) -> State {
        let tree = self.tree;
        let opened = self.phases.and_then(|phases| phases.rings.opened.get(&block));
        let mut opened = opened.into_iter().flatten().peekable();
        for (i, step) in tree.blocks[block].steps.iter().enumerate() {
            while let Some(&(_, ring, bundle)) = opened.next_if(|(step, ..)| *step == i) {
                self.open(ring, bundle, &mut state);
            }
            self.step(step, &mut state);
            let last = self.last_arms.get(&i).filter(|_| block == 0);
            for &ring in last.into_iter().flatten() {
                state.rings.remove(&ring);
                self.done[ring] = true;
            }
        }
        state
    }

    fn step(&mut self, step: &Step, state: &mut State) {
        match step {
            Step::Barrier => state.barrier(),
            Step::Fence => state.fence(),
            Step::Access { buffer, kind } => {
                let dirt = match kind {
                    AccessKind::Read if self.fence_reads => READ | UNFENCED,
                    AccessKind::Read => READ,
                    AccessKind::Write => WRITTEN | UNFENCED,
                    AccessKind::Copy => WRITTEN | UNFENCED | COPIED,
                };
                state.touch(*buffer, dirt);
            }
            Step::Settle => state.settle(),
            Step::Await { id, .. } => self.wait(*id, state),
            // Loads in token form are guarded when they are planned, and not before.
            Step::Load { .. } if self.phases.is_none() => {}
            Step::Load { load, .. } => {
                let needs = Self::needs(self.tree.loads[*load].buffer, READ | WRITTEN | LANDED, state);
                self.out.loads[*load] = pass(needs, state);
            }
            Step::Store { store, buffer } => {
                let needs = Self::needs(*buffer, WRITTEN | LANDED, state);
                self.out.stores[*store] = pass(needs, state);
            }
            Step::Region(region) => *state = deep(|| self.region(*region, std::mem::take(state))),
            Step::Join { .. } => {}
        }
    }

    /// What is needed before an operation that minds `accesses` of a buffer.
    fn needs(buffer: Buffer, accesses: u64, state: &State) -> Guard {
        let dirt = state.of(buffer);
        let fence = dirt & UNFENCED != 0;
        Guard {
            fence,
            barrier: fence || dirt & (accesses | FENCED) != 0,
        }
    }

    fn wait(&self, id: usize, state: &mut State) {
        // What was awaited before on every way is known.
        if self
            .phases
            .is_none_or(|phases| !phases.bundles.awaits[id].is_empty())
        {
            let buffers = self.apart[id].iter();
            buffers.for_each(|&buffer| state.touch(buffer, LANDED));
        }
        let Some(phases) = self.phases else { return };
        for &phase in &phases.bundles.awaits[id] {
            let ring = phases.rings.of(phase);
            if !self.done[ring] {
                let age = phases.rings.age_at.get(&(id, phase)).copied().unwrap_or(0);
                state.wait(ring, age + 1);
            }
        }
    }

    /// A phase is opened: its slot is armed, and all its loads come behind.
    fn open(&mut self, ring: RingId, bundle: usize, state: &mut State) {
        let Some(phases) = self.phases else { return };
        // Who waits for the phase that had the slot before may be as far behind.
        let shift = phases.rings.shift[bundle];
        let waited = state.rings.get(&ring);
        let waited = waited.map_or(0, |waited| waited.saturating_add_signed(shift));
        let mut guard = Guard {
            fence: false,
            barrier: waited >= phases.rings.depth[ring] && self.needed.is_none(),
        };
        for &load in &phases.bundles.loads[bundle] {
            let needs = Self::needs(self.tree.loads[load].buffer, READ | WRITTEN | LANDED, state);
            guard.fence |= needs.fence;
            guard.barrier |= needs.barrier;
        }
        self.out.phases[bundle] = pass(guard, state);
        let waited = state.rings.get_mut(&ring).map_or(1, |waited| {
            *waited = (*waited + 1).min(NO_DEPTH);
            *waited
        });
        if let Some(needed) = &mut self.needed {
            needed[bundle] = waited.saturating_add_signed(shift).max(1);
        }
    }

    fn region(&mut self, id: RegionId, before: State) -> State {
        let tree = self.tree;
        let region = &tree.regions[id];
        let repeats = region.repeats();
        let mut ends: Vec<Option<State>> = vec![None; region.blocks.len()];
        let mut starts: Vec<Option<State>> = vec![None; region.blocks.len()];
        self.loops += usize::from(repeats);
        let mut worst = State::default();
        if repeats && self.loops > DEPTH {
            worst = self.touched(id);
        }
        for round in 0.. {
            let mut changed = false;
            for (b, &block) in region.blocks.iter().enumerate() {
                // Guards make less dirty what they are for, so a state may shrink: it is kept as it was at its worst.
                let mut start = starts[b].clone().unwrap_or_else(|| worst.clone());
                for (_, edge) in region.edges_to(Some(b)) {
                    match edge.from {
                        None => start.join(&before),
                        Some(from) => ends[from].iter().for_each(|end| start.join(end)),
                    }
                }
                if round > ROUNDS {
                    start.widen();
                }
                if starts[b].as_ref() != Some(&start) {
                    ends[b] = Some(self.block(block, start.clone()));
                    starts[b] = Some(start);
                    changed = true;
                }
            }
            if !changed || !repeats || self.loops > DEPTH {
                break;
            }
        }
        self.loops -= usize::from(repeats);
        let mut behind = State::default();
        for (_, edge) in region.edges_to(None) {
            match edge.from {
                None => behind.join(&before),
                Some(from) => ends[from].iter().for_each(|end| behind.join(end)),
            }
        }
        behind
    }

    /// All that a region touches, as dirty as it can be.
    fn touched(&mut self, id: RegionId) -> State {
        if let Some(known) = &self.touched[id] {
            return known.clone();
        }
        let mut state = State::default();
        for &block in &self.tree.regions[id].blocks {
            for step in &self.tree.blocks[block].steps {
                match step {
                    Step::Access { buffer, .. } => {
                        state.touch(*buffer, READ | WRITTEN | UNFENCED | COPIED);
                    }
                    Step::Await { id, .. } => {
                        self.apart[*id]
                            .iter()
                            .for_each(|&buffer| state.touch(buffer, LANDED));
                        if let Some(phases) = self.phases {
                            let rings = phases.bundles.awaits[*id]
                                .iter()
                                .map(|&phase: &Phase| phases.rings.of(phase));
                            rings.for_each(|ring| state.wait(ring, NO_DEPTH));
                        }
                    }
                    Step::Region(inner) => {
                        let inner = deep(|| self.touched(*inner));
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

/// Behind which steps of the body rings are armed no more. Not behind steps further in: a branch that is not taken would
/// leave out what it says.
fn last_arms(tree: &Tree, rings: &Rings) -> HashMap<usize, Vec<RingId>> {
    let mut last: Vec<Option<usize>> = vec![None; rings.depth.len()];
    for (&block, opened) in &rings.opened {
        for &(step, ring, _) in opened {
            let (mut block, mut step) = (block, step);
            while let Some(region) = tree.blocks[block].region {
                (block, step) = (tree.regions[region].parent, rings.counts.step[region]);
            }
            last[ring] = last[ring].max(Some(step));
        }
    }
    let mut behind: HashMap<usize, Vec<RingId>> = HashMap::new();
    for (ring, last) in last.into_iter().enumerate() {
        if let Some(last) = last {
            behind.entry(last).or_default().push(ring);
        }
    }
    behind
}

/// What is left dirty behind a guard.
fn pass(guard: Guard, state: &mut State) -> Guard {
    if guard.fence {
        state.fence();
    }
    if guard.barrier {
        state.barrier();
    }
    guard
}
