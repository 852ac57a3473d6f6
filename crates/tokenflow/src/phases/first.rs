//! Whether threads have to meet behind the initialisation of mbarriers.
//!
//! One thread initialises them, arms them and issues loads. The others must not touch them before they are initialised: they
//! do where they wait for a phase, or arrive at an mbarrier. If they meet before that on every way, for other reasons,
//! they need not meet right behind the initialisation.

use super::plan::Plan;
use super::tree::{BlockId, RegionId, Step, Tree};
use crate::program::deep;
use std::collections::HashMap;

/// What threads do first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// They meet.
    Meet,
    /// They touch an mbarrier, on some way.
    Touch,
    /// Neither, or they meet on some ways only.
    Neither,
}

/// Returns true if a thread may touch an mbarrier before all meet; `by_barrier` says whether guards are barriers of the
/// block, rather than mbarriers.
#[must_use]
pub fn meet_first(tree: &Tree, plan: &Plan, by_barrier: bool) -> bool {
    let mut opened: HashMap<(BlockId, usize), Vec<usize>> = HashMap::new();
    for (b, bundle) in plan.bundles.iter().enumerate() {
        opened.entry((bundle.home, bundle.first)).or_default().push(b);
    }
    let work = Search {
        tree,
        plan,
        by_barrier,
        opened,
    };
    work.block(plan.scope, plan.range.0) == First::Touch
}

struct Search<'t> {
    tree: &'t Tree,
    plan: &'t Plan,
    by_barrier: bool,
    /// The bundles whose phases are opened before a step.
    opened: HashMap<(BlockId, usize), Vec<usize>>,
}

impl Search<'_> {
    fn block(&self, block: BlockId, from: usize) -> First {
        let steps = self.tree.blocks[block].steps.iter().enumerate().skip(from);
        let all = steps.map(|(i, step)| {
            let opened = self.opened(block, i);
            if opened == First::Neither {
                self.step(step)
            } else {
                opened
            }
        });
        let mut decided = all.filter(|first| *first != First::Neither);
        decided.next().unwrap_or(First::Neither)
    }

    /// What comes before the phases that are opened before a step.
    fn opened(&self, block: BlockId, step: usize) -> First {
        for &b in self.opened.get(&(block, step)).into_iter().flatten() {
            let bundle = &self.plan.bundles[b];
            // All threads wait for the last phase of the slot.
            if !self.plan.rings[bundle.ring].sure && !self.plan.is_first(bundle) {
                return First::Touch;
            }
            if self.plan.guards.phases[b].barrier {
                return self.guard();
            }
        }
        First::Neither
    }

    fn guard(&self) -> First {
        if self.by_barrier {
            First::Meet
        } else {
            First::Touch
        }
    }

    fn step(&self, step: &Step) -> First {
        match step {
            Step::Barrier => First::Meet,
            Step::Load { load, .. } if self.plan.guards.loads[*load].barrier => self.guard(),
            Step::Store { store, .. } if self.plan.guards.stores[*store].barrier => First::Meet,
            Step::Await { id, .. } if !self.plan.awaits[*id].is_empty() => First::Touch,
            Step::Region(region) => deep(|| self.region(*region)),
            _ => First::Neither,
        }
    }

    fn region(&self, id: RegionId) -> First {
        let region = &self.tree.regions[id];
        let firsts: Vec<First> = {
            let blocks = region.blocks.iter();
            blocks.map(|&block| self.block(block, 0)).collect()
        };
        if firsts.contains(&First::Touch) {
            return First::Touch;
        }
        let mut entries = region.edges.iter().filter(|edge| edge.from.is_none());
        if entries.all(|edge| edge.to.is_some_and(|to| firsts[to] == First::Meet)) {
            return First::Meet;
        }
        First::Neither
    }
}
