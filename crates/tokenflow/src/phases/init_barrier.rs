//! After all steps: finds whether threads need a barrier after the initialization of mbarriers.
//!
//! **In:** the plan. **Out:** whether it takes a barrier.
//!
//! One thread initializes them, arms them and issues loads. The others must not touch them before they are initialized: they
//! do where they wait for a phase, or arrive at an mbarrier. If they meet before that on every path, for other reasons,
//! they need not meet right after the initialization.

use super::ids::{BlockId, PhaseId, RegionOpId};
use super::plan::Plan;
use super::tree::{Inst, Tree};
use crate::program::ensure_sufficient_stack;
use rustc_hash::FxHashMap;

/// What threads do first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstAction {
    /// They meet.
    Meet,
    /// They touch an mbarrier, on some path.
    Touch,
    /// Neither, or they meet on some paths only.
    Neither,
}

/// Returns true if a thread may touch an mbarrier before all meet; `by_barrier` says whether syncs are barriers of the
/// block, rather than mbarriers.
#[must_use]
pub fn needs_init_barrier(tree: &Tree, plan: &Plan, by_barrier: bool) -> bool {
    // Threads of different roles take different paths from here.
    if tree.has_roles() {
        return true;
    }
    let mut opened: FxHashMap<(BlockId, usize), Vec<PhaseId>> = FxHashMap::default();
    for (id, phase) in plan.phases.with_ids() {
        opened
            .entry((phase.open_block, phase.first))
            .or_default()
            .push(id);
    }
    let work = Search {
        tree,
        plan,
        by_barrier,
        opened,
    };
    work.block(plan.scope, plan.extent.0) == FirstAction::Touch
}

struct Search<'t> {
    tree: &'t Tree,
    plan: &'t Plan,
    by_barrier: bool,
    /// The phases that are opened before an instruction.
    opened: FxHashMap<(BlockId, usize), Vec<PhaseId>>,
}

impl Search<'_> {
    fn block(&self, block: BlockId, from: usize) -> FirstAction {
        let insts = self.tree.blocks[block].insts.iter().enumerate().skip(from);
        let all = insts.map(|(i, inst)| {
            let opened = self.opened(block, i);
            if opened == FirstAction::Neither {
                self.inst(inst)
            } else {
                opened
            }
        });
        let mut decided = all.filter(|first| *first != FirstAction::Neither);
        decided.next().unwrap_or(FirstAction::Neither)
    }

    /// What comes before the phases that are opened before an instruction.
    fn opened(&self, block: BlockId, inst: usize) -> FirstAction {
        for &b in self.opened.get(&(block, inst)).into_iter().flatten() {
            let phase = &self.plan.phases[b];
            // All threads wait for the last phase of the slot.
            if !self.plan.rings[phase.ring].always_awaited && !self.plan.is_first(phase) {
                return FirstAction::Touch;
            }
            if self.plan.syncs.phases[b].barrier {
                return self.sync();
            }
        }
        FirstAction::Neither
    }

    fn sync(&self) -> FirstAction {
        if self.by_barrier {
            FirstAction::Meet
        } else {
            FirstAction::Touch
        }
    }

    fn inst(&self, inst: &Inst) -> FirstAction {
        match inst {
            Inst::Barrier => FirstAction::Meet,
            Inst::Load { load, .. } if self.plan.syncs.loads[*load].barrier => self.sync(),
            Inst::Store { store, .. } if self.plan.syncs.stores[*store].barrier => FirstAction::Meet,
            Inst::Await { id, .. } if !self.plan.awaits[*id].is_empty() => FirstAction::Touch,
            Inst::RegionOp(op) => ensure_sufficient_stack(|| self.region_op(*op)),
            _ => FirstAction::Neither,
        }
    }

    fn region_op(&self, id: RegionOpId) -> FirstAction {
        let op = &self.tree.region_ops[id];
        let firsts: Vec<FirstAction> = {
            let blocks = op.blocks.iter();
            blocks.map(|&block| self.block(block, 0)).collect()
        };
        if firsts.contains(&FirstAction::Touch) {
            return FirstAction::Touch;
        }
        let mut entries = op.edges.iter().filter(|edge| edge.from.is_none());
        if entries.all(|edge| edge.to.is_some_and(|to| firsts[to] == FirstAction::Meet)) {
            return FirstAction::Meet;
        }
        FirstAction::Neither
    }
}
