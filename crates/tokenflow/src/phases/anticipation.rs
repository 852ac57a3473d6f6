//! Step 5.3: finds phases that are awaited on every path. A backward must-analysis.
//!
//! **In:** awaits and phis. **Out:** for each ring, whether all its phases are always awaited.
//!
//! A phase is always awaited if on every path from where it is opened there is an await of it, or it is passed on to a phi that
//! is always awaited. Where that is not known, a wait has to be added: before the slot is armed again, and where everything
//! ends. The greatest fixed point: what is passed on for ever is not forgotten.
//!
//! **Cost.** Linear in the uses of phases, times the rounds until phis don't change any more; after [`ROUNDS`], nothing is taken
//! for always awaited.

use super::ids::{BlockId, IndexVec, PhiId, RegionOpId, RingId};
use super::partition::{Partition, PhaseValue};
use super::placement::Placement;
use super::rings::{InstPositions, Rings};
use super::tree::Tree;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The most rounds until nothing is taken for always awaited.
const ROUNDS: usize = 256;

/// How a phase is used in one block.
#[derive(Default)]
struct Uses {
    awaited: bool,
    /// The region ops in the block that use it.
    region_ops: BTreeSet<RegionOpId>,
    /// What the edges of the block's own region op, from its end, bind it to: by edge.
    passed_on: BTreeMap<usize, Vec<PhiId>>,
}

/// For each ring, whether all its phases are always awaited.
pub(super) fn always_awaited(
    tree: &Tree,
    placement: &Placement,
    sites: &InstPositions,
    partition: &Partition,
    rings: &Rings,
) -> IndexVec<RingId, bool> {
    let mut work = Anticipation {
        tree,
        uses: FxHashMap::default(),
        entered: FxHashMap::default(),
        phis: IndexVec::filled(true, partition.phis.len()),
    };
    work.note(placement, sites, partition);
    let block_of = |phase: PhaseValue| match phase {
        PhaseValue::Opened(phase) => placement.open_block[partition.phases[phase][0]],
        PhaseValue::Phi(phi) => placement.defs[partition.phis[phi][0].0 as usize].block,
    };
    let mut changed = true;
    for _ in 0..ROUNDS {
        changed = false;
        for phi in work.phis.ids() {
            let phase = PhaseValue::Phi(phi);
            if work.phis[phi] && !work.in_block(phase, block_of(phase)) {
                work.phis[phi] = false;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut always_awaited = IndexVec::filled(!changed, rings.depth.len());
    for phase in partition.phases.ids() {
        let phase = PhaseValue::Opened(phase);
        always_awaited[rings.of(phase)] &= work.in_block(phase, block_of(phase));
    }
    for (phi, &is_always_awaited) in work.phis.with_ids() {
        always_awaited[rings.of(PhaseValue::Phi(phi))] &= is_always_awaited;
    }
    always_awaited
}

struct Anticipation<'t> {
    tree: &'t Tree,
    uses: FxHashMap<(PhaseValue, BlockId), Uses>,
    /// What the edges into a region op bind a phase to: by phase, region op and edge.
    entered: FxHashMap<(PhaseValue, RegionOpId, usize), Vec<PhiId>>,
    phis: IndexVec<PhiId, bool>,
}

impl Anticipation<'_> {
    fn note(&mut self, placement: &Placement, sites: &InstPositions, partition: &Partition) {
        let open_block = |phase: PhaseValue| match phase {
            PhaseValue::Opened(phase) => placement.open_block[partition.phases[phase][0]],
            PhaseValue::Phi(phi) => placement.defs[partition.phis[phi][0].0 as usize].block,
        };
        for (id, phases) in partition.awaits.with_ids() {
            for &phase in phases {
                let block = sites.awaits[id].0;
                self.uses.entry((phase, block)).or_default().awaited = true;
                self.up(phase, block, open_block(phase));
            }
        }
        for (phi, incoming) in partition.incoming.with_ids() {
            for &((op, edge), phase) in incoming {
                let Some(phase) = phase else { continue };
                if let Some(from) = self.tree.region_ops[op].edges[edge].from {
                    let block = self.tree.region_ops[op].blocks[from];
                    let uses = self.uses.entry((phase, block)).or_default();
                    uses.passed_on.entry(edge).or_default().push(phi);
                    self.up(phase, block, open_block(phase));
                } else {
                    let block = self.tree.region_ops[op].parent;
                    self.entered.entry((phase, op, edge)).or_default().push(phi);
                    self.uses.entry((phase, block)).or_default().region_ops.insert(op);
                    self.up(phase, block, open_block(phase));
                }
            }
        }
    }

    /// Notes at all blocks from `block` out to `open_block` which of their region ops use `phase`.
    fn up(&mut self, phase: PhaseValue, mut block: BlockId, open_block: BlockId) {
        while block != open_block {
            let Some(op) = self.tree.blocks[block].parent_op else {
                return;
            };
            block = self.tree.region_ops[op].parent;
            if !self.uses.entry((phase, block)).or_default().region_ops.insert(op) {
                return;
            }
        }
    }

    /// Returns true if a phase that is pending where `block` starts, or that is opened in it, is always awaited.
    fn in_block(&self, phase: PhaseValue, block: BlockId) -> bool {
        let Some(uses) = self.uses.get(&(phase, block)) else {
            return false;
        };
        uses.awaited
            || uses.region_ops.iter().any(|&op| self.in_region(phase, op))
            || self.at_end(uses, block)
    }

    /// Returns true if every path from the end of `block` hands the phase on to a phi that is always awaited.
    fn at_end(&self, uses: &Uses, block: BlockId) -> bool {
        let Some(op) = self.tree.blocks[block].parent_op else {
            return false;
        };
        let op = &self.tree.region_ops[op];
        let ends = op
            .edges
            .iter()
            .enumerate()
            .filter(|(_, edge)| edge.from.is_some_and(|from| op.blocks[from] == block));
        let mut any = false;
        let all = ends.into_iter().all(|(edge, _)| {
            any = true;
            uses.passed_on
                .get(&edge)
                .is_some_and(|phis| phis.iter().any(|&phi| self.phis[phi]))
        });
        any && all
    }

    fn in_region(&self, phase: PhaseValue, op: RegionOpId) -> bool {
        let edges = self.tree.region_ops[op].edges.iter().enumerate();
        let mut entries = edges.filter(|(_, edge)| edge.from.is_none());
        entries.all(|(e, edge)| {
            let incoming = self.entered.get(&(phase, op, e));
            incoming.is_some_and(|phis| phis.iter().any(|&phi| self.phis[phi]))
                || edge.to.is_some_and(|to| {
                    crate::program::ensure_sufficient_stack(|| {
                        self.in_block(phase, self.tree.region_ops[op].blocks[to])
                    })
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::generate::config;
    use crate::phases::test_trees::{ALL, Build, Event, FirstSteps, Shape, any_tree};
    use crate::phases::tree::Trips;
    use crate::program::Token;
    use proptest::prelude::*;
    use rustc_hash::FxHashSet;

    /// For each ring, whether its phases are always awaited.
    fn found(steps: &FirstSteps, rings: &Rings) -> IndexVec<RingId, bool> {
        always_awaited(
            &steps.tree,
            &steps.placement,
            &steps.sites,
            &steps.partition,
            rings,
        )
    }

    /// Whether the phase of a load is always awaited, on a ring of its own.
    fn is_always_awaited(b: &Build, load: Token) -> bool {
        let steps = FirstSteps::new(&b.tree);
        let rings = steps.rings();
        found(&steps, &rings)[rings.of(steps.value(load))]
    }

    #[test]
    fn a_phase_that_one_branch_forgets_is_not_always_awaited() {
        let mut b = Build::new();
        let (x, y) = (b.load(), b.load());
        b.if_(
            |b| {
                b.wait(&[x, y]);
                Vec::new()
            },
            |b| {
                b.wait(&[y]);
                Vec::new()
            },
        );
        assert!(!is_always_awaited(&b, x));
        assert!(is_always_awaited(&b, y));
    }

    #[test]
    fn an_await_in_a_loop_counts_if_the_loop_surely_runs() {
        for (trips, expected) in [(Trips::Constant(2), true), (Trips::Counted, false)] {
            let mut b = Build::new();
            let x = b.load();
            b.for_(trips, &[], |b, _| {
                b.wait(&[x]);
                Vec::new()
            });
            assert_eq!(is_always_awaited(&b, x), expected, "{trips:?}");
        }
    }

    #[test]
    fn a_rotation_is_always_awaited_if_what_comes_out_of_it_is() {
        for is_awaited in [true, false] {
            let mut b = Build::new();
            let x = b.load();
            let last = b.for_(Trips::Constant(3), &[x], |b, params| {
                b.wait(params);
                vec![b.load()]
            });
            if is_awaited {
                b.wait(&last);
            }
            assert_eq!(is_always_awaited(&b, x), is_awaited);
        }
    }

    #[test]
    fn what_a_loop_passes_on_until_it_ends_is_not_forgotten() {
        let mut b = Build::new();
        let (x, y) = (b.load(), b.load());
        let swapped = b.for_(Trips::Counted, &[x, y], |_, params| vec![params[1], params[0]]);
        b.wait(&swapped[..1]);
        b.wait(&swapped[1..]);
        assert!(is_always_awaited(&b, x));
    }

    /// The rings with an instance that some path opens and does not await.
    fn forgotten(paths: Vec<Vec<Event>>, rings: &Rings) -> FxHashSet<RingId> {
        let mut forgotten = FxHashSet::default();
        for path in paths {
            let mut pending = FxHashMap::default();
            for event in path {
                match event {
                    Event::Open(phase, instance) => {
                        pending.insert(instance, rings.phase[phase]);
                    }
                    Event::Wait(_, phases) => phases.iter().for_each(|(_, instance)| {
                        pending.remove(instance);
                    }),
                    _ => {}
                }
            }
            forgotten.extend(pending.into_values());
        }
        forgotten
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn what_is_always_awaited_is_awaited_on_all_paths(tree in any_tree(ALL)) {
            let steps = FirstSteps::new(&tree);
            let rings = steps.rings();
            let forgotten = forgotten(steps.paths(3).unwrap_or_default(), &rings);
            for (ring, &is_always_awaited) in found(&steps, &rings).with_ids() {
                prop_assert!(!is_always_awaited || !forgotten.contains(&ring), "ring {ring}");
            }
        }

        /// What edges bind may be awaited by different names on different paths, which is not found out.
        #[test]
        fn what_is_not_always_awaited_is_forgotten_on_some_path(tree in any_tree(Shape { binds: false, ..ALL })) {
            let steps = FirstSteps::new(&tree);
            let rings = steps.rings();
            let Some(paths) = steps.paths(3) else { return Ok(()) };
            let forgotten = forgotten(paths, &rings);
            for (ring, &is_always_awaited) in found(&steps, &rings).with_ids() {
                prop_assert!(is_always_awaited || forgotten.contains(&ring), "ring {ring}");
            }
        }
    }
}
