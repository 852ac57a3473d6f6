//! Where threads meet at mbarriers: who may be how far ahead.
//!
//! Threads arrive at the mbarriers of a ring in turn, and only the thread that issues waits there. One that is a whole ring
//! ahead would arrive for others on a slot where these have yet to, so before it arrives, the slot's last phase must be over.
//! Mostly it is known to be: who has waited for a load knows that the issuing thread had got so far, and that it had waited
//! at all meetings before that load.
//!
//! A forward analysis of one number, the **age**: how many of the latest meetings may not be over, on the way with the most.
//! A meeting makes it one more. An await of a phase makes it the meetings since the phase was opened, if these are fewer. At a
//! barrier of the block all threads have arrived everywhere. Where the age reaches the depth of the ring, the thread waits.

use super::bundles::{Bundles, Phase};
use super::plan::Plan;
use super::rings::Rings;
use super::tree::{BlockId, RegionId, Step, Tree};
use crate::program::deep;
use std::collections::{HashMap, HashSet};

/// The most loops around one another that are run until nothing changes.
const DEPTH: usize = 4;

/// The places in [`Plan::syncs`] of the meetings before which threads have to wait for the slot's last phase. `meetings` are
/// all meetings as if they were the arms of one ring, with the ages of what is awaited; bundles and loads (behind them)
/// number them.
pub(super) fn ahead(tree: &Tree, bundles: &Bundles, meetings: &Rings, plan: &Plan) -> HashSet<usize> {
    let mut work = Ahead {
        tree,
        bundles,
        meetings,
        plan,
        depth: plan.sync_depth(),
        loops: 0,
        waits: HashMap::new(),
    };
    work.block(0, 0);
    let waits = work.waits.into_iter();
    waits.filter_map(|(of, waits)| waits.then_some(of)).collect()
}

struct Ahead<'t> {
    tree: &'t Tree,
    bundles: &'t Bundles,
    meetings: &'t Rings,
    plan: &'t Plan,
    depth: u64,
    /// The loops around.
    loops: usize,
    /// For each meeting, whether threads wait before it: what the last round over a loop says counts.
    waits: HashMap<usize, bool>,
}

impl Ahead<'_> {
    fn block(&mut self, block: BlockId, mut age: u64) -> u64 {
        let tree = self.tree;
        let opened = self.meetings.opened.get(&block).into_iter().flatten();
        let mut opened = opened.peekable();
        for (i, step) in tree.blocks[block].steps.iter().enumerate() {
            while let Some(&(.., of)) = opened.next_if(|(step, ..)| *step == i) {
                let waits = age >= self.depth;
                self.waits.insert(of, waits);
                age = (age + 1).min(self.depth);
            }
            match step {
                Step::Barrier => age = 0,
                Step::Store { store, .. } if self.plan.guards.stores[*store].barrier => age = 0,
                Step::Await { id, .. } => {
                    for phase in &self.bundles.awaits[*id] {
                        age = age.min(self.behind(*id, *phase));
                    }
                }
                Step::Region(region) => age = deep(|| self.region(*region, age)),
                _ => {}
            }
        }
        age
    }

    /// The age behind the wait for a phase.
    fn behind(&self, id: usize, phase: Phase) -> u64 {
        let may_be_ready = match phase {
            Phase::Bundle(_) => false,
            Phase::Var(var) => self.plan.vars[var].may_be_ready,
        };
        let age = self.meetings.age_at.get(&(id, phase)).copied();
        age.filter(|_| !may_be_ready).unwrap_or(self.depth)
    }

    fn region(&mut self, id: RegionId, before: u64) -> u64 {
        let tree = self.tree;
        let region = &tree.regions[id];
        let repeats = region.repeats();
        let (mut starts, mut ends) = (vec![None; region.blocks.len()], vec![None; region.blocks.len()]);
        self.loops += usize::from(repeats);
        let worst = if repeats && self.loops > DEPTH {
            self.depth
        } else {
            0
        };
        let way = |from: Option<usize>, ends: &[Option<u64>]| from.map_or(Some(before), |from| ends[from]);
        loop {
            let mut changed = false;
            for (b, &block) in region.blocks.iter().enumerate() {
                let ways = region
                    .edges_to(Some(b))
                    .filter_map(|(_, edge)| way(edge.from, &ends));
                let start = ways.fold(worst, u64::max);
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
        let ways = region
            .edges_to(None)
            .filter_map(|(_, edge)| way(edge.from, &ends));
        ways.fold(0, u64::max)
    }
}
