//! Step 9: computes how far threads may run ahead of one another where they meet at mbarriers.
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
use super::roles::RoleSet;
use super::tree::{Inst, Tree};
use crate::program::ensure_sufficient_stack;
use rustc_hash::{FxHashMap, FxHashSet};

/// The most loops around one another that are run until nothing changes.
const DEPTH: usize = 4;

/// The rendezvous before which threads have to wait for the slot's last phase: those of any of `roles`, which meet there.
/// `rendezvous` are all of them as if they were the arms of one ring, with the ages of what is awaited; phases and loads (after them)
/// number them.
pub(super) fn rendezvous_waits(
    tree: &Tree,
    partition: &Partition,
    rendezvous: &Rings,
    plan: &Plan,
    roles: RoleSet,
) -> FxHashSet<PhaseId> {
    let depth = plan.rings.iter().map(|ring| ring.depth).max().unwrap_or(0);
    let waits_in = |tree: &Tree| {
        let mut work = Skew {
            tree,
            partition,
            rendezvous,
            plan,
            depth,
            loops: 0,
            waits: FxHashMap::default(),
        };
        work.block(BlockId(0), 0);
        work.waits
    };
    let waits: Vec<_> = if tree.has_roles() {
        roles.iter().map(|role| waits_in(&tree.of_role(role))).collect()
    } else {
        vec![waits_in(tree)]
    };
    let waits = waits.into_iter().flatten();
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
    waits: FxHashMap<PhaseId, bool>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::generate::config;
    use crate::phases::hazards::{RequiredSync, Syncs};
    use crate::phases::ids::{IndexVec, PhiId, RingId};
    use crate::phases::plan::{Phi, Rendezvous, Ring, SyncPoint};
    use crate::phases::test_trees::{ALL, Build, Event, FirstSteps, any_tree};
    use crate::phases::tree::Trips;
    use crate::program::Token;
    use proptest::prelude::*;

    /// The phases before which threads wait, if there is a rendezvous before each phase and at each store a barrier.
    fn waiting(steps: &FirstSteps, depth: u64) -> FxHashSet<PhaseId> {
        let partition = &steps.partition;
        let mut may_be_complete = IndexVec::<PhiId, bool>::filled(false, partition.phis.len());
        for _ in partition.phis.ids() {
            for (phi, incoming) in partition.incoming.with_ids() {
                may_be_complete[phi] |= incoming.iter().any(|(_, phase)| match phase {
                    None => true,
                    Some(PhaseValue::Phi(from)) => may_be_complete[*from],
                    Some(PhaseValue::Opened(_)) => false,
                });
            }
        }
        let phis = may_be_complete.into_iter().map(|may_be_complete| Phi {
            tokens: Vec::new(),
            ring: RingId(0),
            number: None,
            may_be_complete,
            incoming: Vec::new(),
        });
        let barrier = RequiredSync {
            fence: false,
            barrier: true,
        };
        let plan = Plan {
            phis: phis.collect(),
            rings: IndexVec::filled(
                Ring {
                    depth,
                    has_counter: false,
                    always_awaited: true,
                    end: None,
                },
                1,
            ),
            rendezvous: vec![Rendezvous {
                before: SyncPoint::Phase(PhaseId(0)),
                ring: 0,
                number: None,
                waits: true,
            }],
            syncs: Syncs {
                stores: IndexVec::filled(barrier, steps.tree.stores),
                ..Syncs::default()
            },
            ..Plan::default()
        };
        rendezvous_waits(
            &steps.tree,
            partition,
            &steps.one_ring(),
            &plan,
            RoleSet::default(),
        )
    }

    /// Whether threads wait before each load.
    fn waits(b: &Build, depth: u64, loads: &[Token]) -> Vec<bool> {
        let steps = FirstSteps::new(&b.tree);
        let waiting = waiting(&steps, depth);
        loads
            .iter()
            .map(|&load| waiting.contains(&steps.phase(load)))
            .collect()
    }

    #[test]
    fn threads_wait_where_they_may_be_a_whole_ring_ahead() {
        let mut b = Build::new();
        let loads = [b.load(), b.load(), b.load()];
        assert_eq!(waits(&b, 2, &loads), [false, false, true]);
        assert_eq!(waits(&b, 3, &loads), [false, false, false]);
        b.push(Inst::Barrier);
        let loads = [b.load(), b.load(), b.load()];
        assert_eq!(waits(&b, 2, &loads), [false, false, true]);
    }

    #[test]
    fn after_an_await_the_rendezvous_before_its_phase_are_over() {
        for (awaited, expected) in [(0, [false, true, true]), (1, [false, false, true])] {
            let mut b = Build::new();
            let loads = [b.load(), b.load()];
            b.wait(&[loads[awaited]]);
            let later = [b.load(), b.load(), b.load()];
            assert_eq!(waits(&b, 2, &later), expected, "await of load {awaited}");
        }
    }

    #[test]
    fn each_iteration_gets_further_ahead_unless_it_surely_awaits_something() {
        let around = |awaits: fn(&mut Build, Token)| {
            let mut b = Build::new();
            let mut loads = Vec::new();
            b.for_(Trips::Counted, &[], |b, _| {
                let load = b.load();
                awaits(b, load);
                loads.push(load);
                Vec::new()
            });
            waits(&b, 2, &loads)
        };
        let wait = |b: &mut Build, load| {
            b.wait(&[load]);
        };
        assert_eq!(around(|_, _| {}), [true]);
        assert_eq!(around(wait), [false]);
        let perhaps = |b: &mut Build, load| {
            let then = |b: &mut Build| {
                b.wait(&[load]);
                Vec::new()
            };
            b.if_(then, |_| Vec::new());
        };
        assert_eq!(around(perhaps), [true]);
    }

    #[test]
    fn an_await_of_what_may_be_complete_tells_nothing() {
        for is_complete in [true, false] {
            let mut b = Build::new();
            let first = if is_complete { b.join(&[]) } else { b.load() };
            let mut next = Vec::new();
            b.for_(Trips::Counted, &[first], |b, params| {
                b.wait(params);
                next.push(b.load());
                next.clone()
            });
            assert_eq!(waits(&b, 1, &next), [is_complete]);
        }
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn nobody_gets_a_whole_ring_ahead_without_a_wait(tree in any_tree(ALL), depth in 1..4_u64) {
            let steps = FirstSteps::new(&tree);
            prop_assume!(steps.one_ring().unallocated.is_empty());
            let waiting = waiting(&steps, depth);
            for path in steps.paths(3).unwrap_or_default() {
                // The rendezvous that may not be over are the latest of those so far, of which instance n has number n.
                let (mut met, mut over) = (0, 0);
                for event in path {
                    match event {
                        Event::Open(phase, _) => {
                            let is_full = met - over >= depth;
                            prop_assert!(!is_full || waiting.contains(&phase), "phase {phase}");
                            met += 1;
                            over += u64::from(is_full);
                        }
                        Event::Wait(_, phases) => for (_, instance) in phases {
                            over = over.max(instance as u64 + 1);
                        },
                        Event::Begin(block, inst) => {
                            let inst = &steps.tree.blocks[block].insts[inst];
                            if matches!(inst, Inst::Barrier | Inst::Store { .. }) {
                                over = met;
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}
