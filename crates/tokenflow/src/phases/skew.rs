//! Step 9: where threads meet at mbarriers, how far they may run ahead of one another.
//!
//! **In:** the numbered rendezvous. **Out:** those before which threads have to wait for the slot's last phase.
//!
//! Threads arrive at the mbarriers of a ring in turn, and only the thread that issues waits there. One that is a whole ring
//! ahead would arrive for others on a slot where these have yet to, so before it arrives, the slot's last phase must be over.
//! Mostly it is known to be: who has waited for a load knows that the issuing thread had got so far, and that it had waited
//! at all rendezvous before that load.
//!
//! A forward may-analysis of one number, the **skew**: how many of the latest rendezvous may not be over, on the path with the
//! most. A rendezvous makes it one more. An await of a phase makes it the rendezvous since the phase was opened, if these are
//! fewer. At a barrier of the block all threads have arrived everywhere. Where the skew reaches the depth, threads wait.
//!
//! **Cost.** Linear in the size of the tree, times the depth for each loop around.

use super::ids::{AwaitId, BlockId, PhaseId, RegionOpId};
use super::partition::{Partition, PhaseValue};
use super::plan::Plan;
use super::rings::Rings;
use super::tree::{Inst, Tree};
use crate::program::ensure_sufficient_stack;
use std::collections::{HashMap, HashSet};

/// The most loops around one another that are run until nothing changes.
const DEPTH: usize = 4;

/// The rendezvous before which threads have to wait for the slot's last phase. `rendezvous` are
/// all of them as if they were the arms of one ring, with the ages of what is awaited; phases and loads (after them)
/// number them.
pub(super) fn rendezvous_waits(
    tree: &Tree,
    partition: &Partition,
    rendezvous: &Rings,
    plan: &Plan,
) -> HashSet<PhaseId> {
    let mut work = Skew {
        tree,
        partition,
        rendezvous,
        plan,
        depth: plan.rendezvous_depth(),
        loops: 0,
        waits: HashMap::new(),
    };
    work.block(BlockId(0), 0);
    let waits = work.waits.into_iter();
    waits.filter_map(|(of, waits)| waits.then_some(of)).collect()
}

struct Skew<'t> {
    tree: &'t Tree,
    partition: &'t Partition,
    rendezvous: &'t Rings,
    plan: &'t Plan,
    depth: u64,
    /// The loops around.
    loops: usize,
    /// For each rendezvous, whether threads wait before it: what the last round over a loop says counts.
    waits: HashMap<PhaseId, bool>,
}

impl Skew<'_> {
    fn block(&mut self, block: BlockId, mut skew: u64) -> u64 {
        let tree = self.tree;
        let opened = self.rendezvous.opened.get(&block).into_iter().flatten();
        let mut opened = opened.peekable();
        for (i, inst) in tree.blocks[block].insts.iter().enumerate() {
            while let Some(&(.., of)) = opened.next_if(|(inst, ..)| *inst == i) {
                let waits = skew >= self.depth;
                self.waits.insert(of, waits);
                skew = (skew + 1).min(self.depth);
            }
            match inst {
                Inst::Barrier => skew = 0,
                Inst::Store { store, .. } if self.plan.syncs.stores[*store].barrier => skew = 0,
                Inst::Await { id, .. } => {
                    for phase in &self.partition.awaits[*id] {
                        skew = skew.min(self.after_wait(*id, *phase));
                    }
                }
                Inst::RegionOp(op) => skew = ensure_sufficient_stack(|| self.region_op(*op, skew)),
                _ => {}
            }
        }
        skew
    }

    /// The skew after the wait for a phase.
    fn after_wait(&self, id: AwaitId, phase: PhaseValue) -> u64 {
        let may_be_complete = match phase {
            PhaseValue::Opened(_) => false,
            PhaseValue::Phi(phi) => self.plan.phis[phi].may_be_complete,
        };
        let skew = self.rendezvous.age_at.get(&(id, phase)).copied();
        skew.filter(|_| !may_be_complete).unwrap_or(self.depth)
    }

    fn region_op(&mut self, id: RegionOpId, before: u64) -> u64 {
        let tree = self.tree;
        let op = &tree.region_ops[id];
        let repeats = op.repeats();
        let (mut starts, mut ends) = (vec![None; op.blocks.len()], vec![None; op.blocks.len()]);
        self.loops += usize::from(repeats);
        let worst = if repeats && self.loops > DEPTH {
            self.depth
        } else {
            0
        };
        let path = |from: Option<usize>, ends: &[Option<u64>]| from.map_or(Some(before), |from| ends[from]);
        loop {
            let mut changed = false;
            for (b, &block) in op.blocks.iter().enumerate() {
                let paths = op
                    .edges_to(Some(b))
                    .filter_map(|(_, edge)| path(edge.from, &ends));
                let start = paths.fold(worst, u64::max);
                if starts[b] != Some(start) {
                    ends[b] = Some(self.block(block, start));
                    starts[b] = Some(start);
                    changed = true;
                }
            }
            if !changed || !repeats {
                break;
            }
        }
        self.loops -= usize::from(repeats);
        let paths = op.edges_to(None).filter_map(|(_, edge)| path(edge.from, &ends));
        paths.fold(0, u64::max)
    }
}
