//! Step 4: finds phases of an await that are available: awaited before on every path. A forward
//! must-analysis.
//!
//! **In:** the phases of each await. **Out:** the same, without those that are available.
//!
//! What a block awaits is available after the region op that it is of, if it is on every path through that. What the edges into
//! an op bind to an argument is available where the argument is awaited in the first block. And where one path has a phase, and
//! the others bind it to a result, to await the result implies the phase.
//!
//! **Cost.** Linear in the size of the tree, times the phases that are available at a time.

use super::ids::{AwaitId, BlockId, IndexVec, PhiId, RegionOpId};
use super::partition::{EdgeId, Partition, PhaseValue};
use super::placement::Placement;
use super::tree::{Inst, Tree};
use crate::program::ensure_sufficient_stack;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The phases of each await, without those that were awaited before on every path.
pub(super) fn without_available(
    tree: &Tree,
    placement: &Placement,
    partition: &Partition,
) -> IndexVec<AwaitId, Vec<PhaseValue>> {
    let mut incoming: FxHashMap<EdgeId, Vec<(PhiId, PhaseValue)>> = FxHashMap::default();
    for (phi, all) in partition.incoming.with_ids() {
        for &(edge, phase) in all {
            if let Some(phase) = phase {
                incoming.entry(edge).or_default().push((phi, phase));
            }
        }
    }
    let mut work = Availability {
        tree,
        placement,
        partition,
        incoming,
        available: FxHashSet::default(),
        implies: FxHashMap::default(),
        awaits: partition.awaits.clone(),
    };
    work.block(BlockId(0));
    work.awaits
}

struct Availability<'t> {
    tree: &'t Tree,
    placement: &'t Placement,
    partition: &'t Partition,
    /// What edges bind phis to.
    incoming: FxHashMap<EdgeId, Vec<(PhiId, PhaseValue)>>,
    /// What has been awaited on every path.
    available: FxHashSet<PhaseValue>,
    /// What is available as soon as a phase is.
    implies: FxHashMap<PhaseValue, Vec<PhaseValue>>,
    awaits: IndexVec<AwaitId, Vec<PhaseValue>>,
}

impl Availability<'_> {
    /// Goes through a block. Returns what is available at its end and was not before.
    fn block(&mut self, block: BlockId) -> BTreeSet<PhaseValue> {
        let mut added = BTreeSet::new();
        for inst in &self.tree.blocks[block].insts {
            match inst {
                Inst::Await { id, .. } => self.wait(*id, &mut added),
                Inst::RegionOp(op) => {
                    for phase in ensure_sufficient_stack(|| self.region_op(*op)) {
                        self.make_available(phase, &mut added);
                    }
                }
                _ => {}
            }
        }
        for phase in &added {
            self.available.remove(phase);
        }
        added
    }

    fn wait(&mut self, id: AwaitId, added: &mut BTreeSet<PhaseValue>) {
        let all = std::mem::take(&mut self.awaits[id]);
        let implied: FxHashSet<PhaseValue> = {
            let implies = all.iter().filter_map(|phase| self.implies.get(phase));
            implies.flatten().copied().collect()
        };
        let left = all.iter().copied();
        self.awaits[id] = left
            .filter(|phase| !self.available.contains(phase) && !implied.contains(phase))
            .collect();
        for phase in all {
            self.make_available(phase, added);
        }
    }

    fn make_available(&mut self, phase: PhaseValue, added: &mut BTreeSet<PhaseValue>) {
        let mut work = vec![phase];
        while let Some(phase) = work.pop() {
            if self.available.insert(phase) {
                added.insert(phase);
                work.extend(self.implies.get(&phase).into_iter().flatten());
            }
        }
    }

    /// Goes through a region op. Returns what is available after it and was not before.
    fn region_op(&mut self, id: RegionOpId) -> BTreeSet<PhaseValue> {
        let op = &self.tree.region_ops[id];
        let mut ends: Vec<Option<BTreeSet<PhaseValue>>> = vec![None; op.blocks.len()];
        for (b, &block) in op.blocks.iter().enumerate() {
            // What is available where the block starts: on each path to it. Those that come around have no less than those
            // that came before; what they know more is left out.
            let paths: Vec<Option<usize>> = op.edges_to(Some(b)).map(|(_, edge)| edge.from).collect();
            let ends_of = |from: &Option<usize>| from.and_then(|from| ends[from].clone()).unwrap_or_default();
            let mut start = BTreeSet::new();
            for phase in common(paths.iter().map(ends_of)) {
                self.make_available(phase, &mut start);
            }
            let mut end = self.block(block);
            for phase in &start {
                self.available.remove(phase);
            }
            end.append(&mut start);
            ends[b] = Some(end);
        }
        let first = self.of_first_blocks(id, &ends);
        let paths: Vec<(usize, Option<usize>)> = op.edges_to(None).map(|(e, edge)| (e, edge.from)).collect();
        let end_of = |from: Option<usize>| -> BTreeSet<PhaseValue> {
            let Some(from) = from else { return BTreeSet::new() };
            let own = ends[from].iter().flatten().copied();
            let outer = own.filter(|&phase| !self.is_inside(phase, id));
            outer.chain(first.iter().copied()).collect()
        };
        let available: Vec<BTreeSet<PhaseValue>> = paths.iter().map(|&(_, from)| end_of(from)).collect();
        self.note_results(id, &paths, &available);
        common(available.into_iter())
    }

    /// Returns true if a phase is defined in a block of `op`.
    fn is_inside(&self, phase: PhaseValue, op: RegionOpId) -> bool {
        let block = match phase {
            PhaseValue::Opened(phase) => self.placement.open_block[self.partition.phases[phase][0]],
            PhaseValue::Phi(phi) => self.placement.defs[self.partition.phis[phi][0].0 as usize].block,
        };
        self.tree.region_ops[op].blocks.contains(&block)
    }

    /// What is available after any block, since those that are entered first await what their arguments are bound to.
    fn of_first_blocks(&self, id: RegionOpId, ends: &[Option<BTreeSet<PhaseValue>>]) -> BTreeSet<PhaseValue> {
        let edges = self.tree.region_ops[id].edges.iter().enumerate();
        let entries = edges.filter(|(_, edge)| edge.from.is_none());
        let entries = entries.filter_map(|(e, edge)| Some((e, edge.to?)));
        common(entries.map(|(e, to)| {
            let incoming = self.incoming.get(&(id, e)).into_iter().flatten();
            let awaited = incoming.filter(|(phi, _)| {
                let end = ends[to].as_ref();
                end.is_some_and(|end| end.contains(&PhaseValue::Phi(*phi)))
            });
            awaited.map(|&(_, phase)| phase).collect()
        }))
    }

    /// Notes the phases that some paths bind to a result, and all others know.
    fn note_results(
        &mut self,
        id: RegionOpId,
        paths: &[(usize, Option<usize>)],
        available: &[BTreeSet<PhaseValue>],
    ) {
        let incoming: Vec<&[(PhiId, PhaseValue)]> = {
            let incoming = paths.iter().map(|(e, _)| self.incoming.get(&(id, *e)));
            incoming
                .map(|incoming| incoming.map_or(&[][..], Vec::as_slice))
                .collect()
        };
        let pairs: BTreeSet<(PhiId, PhaseValue)> = incoming
            .iter()
            .flat_map(|incoming| incoming.iter().copied())
            .collect();
        let mut found = Vec::new();
        for (phi, phase) in pairs.into_iter().filter(|(_, phase)| !self.is_inside(*phase, id)) {
            let mut paths = incoming.iter().zip(available);
            if paths
                .all(|(incoming, available)| available.contains(&phase) || incoming.contains(&(phi, phase)))
            {
                found.push((PhaseValue::Phi(phi), phase));
            }
        }
        for (phi, phase) in found {
            self.implies.entry(phi).or_default().push(phase);
        }
    }
}

/// What all sets have in common.
fn common(mut sets: impl Iterator<Item = BTreeSet<PhaseValue>>) -> BTreeSet<PhaseValue> {
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |mut common, next| {
        common.retain(|phase| next.contains(phase));
        common
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::generate::config;
    use crate::phases::test_trees::{ALL, Build, Event, FirstSteps, Shape, any_tree};
    use crate::phases::tree::Trips;
    use proptest::prelude::*;

    /// For each await, how many phases are left of it.
    fn left(b: &Build) -> Vec<usize> {
        let steps = FirstSteps::new(&b.tree);
        let left = without_available(&steps.tree, &steps.placement, &steps.partition);
        left.iter().map(Vec::len).collect()
    }

    #[test]
    fn what_all_paths_await_is_available() {
        let mut b = Build::new();
        let (x, y) = (b.load(), b.load());
        let await_x = |b: &mut Build| {
            b.wait(&[x]);
            Vec::new()
        };
        b.if_(await_x, await_x);
        // Not so y, which only one path awaits.
        let await_y = |b: &mut Build| {
            b.wait(&[y]);
            Vec::new()
        };
        b.if_(await_y, |_| Vec::new());
        b.wait(&[x, y]);
        assert_eq!(left(&b), [1, 1, 1, 1]);
        let steps = FirstSteps::new(&b.tree);
        let awaits = without_available(&steps.tree, &steps.placement, &steps.partition);
        assert_eq!(awaits[AwaitId(3)], [steps.value(y)]);
    }

    #[test]
    fn a_loop_makes_available_what_its_body_awaits_if_it_surely_runs() {
        for (trips, expected) in [(Trips::Constant(2), [1, 0]), (Trips::Counted, [1, 1])] {
            let mut b = Build::new();
            let x = b.load();
            b.for_(trips, &[], |b, _| {
                b.wait(&[x]);
                Vec::new()
            });
            b.wait(&[x]);
            assert_eq!(left(&b), expected, "{trips:?}");
        }
    }

    #[test]
    fn an_argument_that_the_first_block_awaits_makes_available_what_it_is_bound_to() {
        let mut b = Build::new();
        let x = b.load();
        b.for_(Trips::Constant(2), &[x], |b, params| {
            b.wait(params);
            vec![b.load()]
        });
        b.wait(&[x]);
        assert_eq!(left(&b), [1, 0]);
    }

    #[test]
    fn a_result_implies_what_it_stands_for_on_one_path_and_the_others_await() {
        for (is_awaited, expected) in [(true, [1, 1, 0]), (false, [1, 1, 1])] {
            let mut b = Build::new();
            let (x, other) = (b.load(), b.load());
            let result = b.if_(
                |b| {
                    b.wait(&[if is_awaited { x } else { other }]);
                    vec![b.load()]
                },
                |_| vec![x],
            );
            b.wait(&result);
            b.wait(&[x]);
            assert_eq!(left(&b), expected);
        }
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn what_awaits_were_for_is_complete_with_what_is_left_of_them(tree in any_tree(ALL)) {
            let steps = FirstSteps::new(&tree);
            let left = without_available(&steps.tree, &steps.placement, &steps.partition);
            for path in steps.paths(3).unwrap_or_default() {
                let mut complete = FxHashSet::default();
                for event in path {
                    let Event::Wait(id, phases) = event else { continue };
                    let is_left = phases.iter().filter(|(phase, _)| left[id].contains(phase));
                    complete.extend(is_left.map(|&(_, instance)| instance));
                    prop_assert!(phases.iter().all(|(_, instance)| complete.contains(instance)), "await {id}");
                }
            }
        }

        /// What edges bind may be known in more ways than are looked for.
        #[test]
        fn what_is_left_was_not_awaited_on_some_path(tree in any_tree(Shape { binds: false, ..ALL })) {
            let steps = FirstSteps::new(&tree);
            let left = without_available(&steps.tree, &steps.placement, &steps.partition);
            let Some(paths) = steps.paths(3) else { return Ok(()) };
            let mut pending = FxHashSet::default();
            for path in paths {
                let mut complete = FxHashSet::default();
                for event in path {
                    let Event::Wait(id, phases) = event else { continue };
                    let first = phases.iter().filter(|(_, instance)| complete.insert(*instance));
                    pending.extend(first.map(|&(phase, _)| (id, phase)));
                }
            }
            for (id, phases) in left.with_ids() {
                for &phase in phases {
                    prop_assert!(pending.contains(&(id, phase)), "{phase:?} of await {id}");
                }
            }
        }
    }
}
