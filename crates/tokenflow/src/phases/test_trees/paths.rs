//! What happens on all paths through a tree, up to a bound: which instances of phases are opened, passed on and awaited.

use super::FirstSteps;
use crate::phases::ids::{AwaitId, BlockId, PhaseId, PhiId, RegionOpId};
use crate::phases::partition::PhaseValue;
use crate::phases::tree::{Inst, Tree, Trips};
use rustc_hash::FxHashMap;

/// What happens on a path. Instances of phases are numbered in the order in which they are opened, whatever their ring.
#[derive(Clone, Debug)]
pub(in crate::phases) enum Event {
    /// An instance of a phase is opened.
    Open(PhaseId, usize),
    /// An instruction begins.
    Begin(BlockId, usize),
    /// An await is for these instances.
    Wait(AwaitId, Vec<(PhaseValue, usize)>),
    /// An instruction is over, with all that is inside.
    End(BlockId, usize),
    /// An edge of a region op is taken.
    Edge(RegionOpId, usize),
    /// That edge binds a phi to an instance.
    Bind(PhiId, usize),
}

/// The most paths of a tree that are looked at.
const LIMIT: usize = 500;

impl FirstSteps {
    /// What happens on each path, with loops that run at most `rounds` times unless the tree says how often; `None` if there
    /// are too many.
    pub fn paths(&self, rounds: u64) -> Option<Vec<Vec<Event>>> {
        let paths = Paths {
            tree: &self.tree,
            rounds,
        };
        let all = paths.block(BlockId(0), vec![Vec::new()]);
        (all.len() < LIMIT).then(|| all.iter().map(|path| self.events(path)).collect())
    }

    fn events(&self, path: &[Step]) -> Vec<Event> {
        let mut opened: FxHashMap<(BlockId, usize), Vec<PhaseId>> = FxHashMap::default();
        for (phase, loads) in self.partition.phases.with_ids() {
            let (block, first, _) = self.sites.span(&self.tree, &self.placement, loads);
            opened.entry((block, first)).or_default().push(phase);
        }
        // A token of SSA form is what it was bound to last; `None` is complete.
        let mut values: FxHashMap<PhaseValue, Option<usize>> = FxHashMap::default();
        let (mut events, mut instances) = (Vec::new(), 0);
        for &step in path {
            match step {
                Step::Begin(block, inst) => {
                    for &phase in opened.get(&(block, inst)).into_iter().flatten() {
                        values.insert(PhaseValue::Opened(phase), Some(instances));
                        events.push(Event::Open(phase, instances));
                        instances += 1;
                    }
                    events.push(Event::Begin(block, inst));
                    if let Inst::Await { id, .. } = self.tree.blocks[block].insts[inst] {
                        let of = |phase: &PhaseValue| values[phase].map(|instance| (*phase, instance));
                        let awaited = self.partition.awaits[id].iter().filter_map(of).collect();
                        events.push(Event::Wait(id, awaited));
                    }
                }
                Step::End(block, inst) => events.push(Event::End(block, inst)),
                Step::Edge(op, edge) => {
                    events.push(Event::Edge(op, edge));
                    let mut bound: Vec<(PhiId, Option<usize>)> = Vec::new();
                    for (phi, incoming) in self.partition.incoming.with_ids() {
                        let own = incoming.iter().filter(|(of, _)| *of == (op, edge));
                        bound.extend(own.map(|(_, phase)| (phi, phase.and_then(|phase| values[&phase]))));
                    }
                    for (phi, instance) in bound {
                        values.insert(PhaseValue::Phi(phi), instance);
                        events.extend(instance.map(|instance| Event::Bind(phi, instance)));
                    }
                }
            }
        }
        events
    }
}

#[derive(Clone, Copy)]
enum Step {
    Begin(BlockId, usize),
    End(BlockId, usize),
    Edge(RegionOpId, usize),
}

struct Paths<'t> {
    tree: &'t Tree,
    rounds: u64,
}

impl Paths<'_> {
    /// Goes on with each of `paths` through a block.
    fn block(&self, block: BlockId, mut paths: Vec<Vec<Step>>) -> Vec<Vec<Step>> {
        for (i, inst) in self.tree.blocks[block].insts.iter().enumerate() {
            push(&mut paths, Step::Begin(block, i));
            if let Inst::RegionOp(op) = inst {
                paths = self.region_op(*op, paths);
            }
            push(&mut paths, Step::End(block, i));
            paths.truncate(LIMIT);
        }
        paths
    }

    fn region_op(&self, id: RegionOpId, before: Vec<Vec<Step>>) -> Vec<Vec<Step>> {
        let op = &self.tree.region_ops[id];
        let (most, least) = match op.trips {
            Trips::Constant(trips) => (trips, trips),
            _ => (self.rounds * op.blocks.len() as u64, 0),
        };
        let mut after = Vec::new();
        let mut work = vec![(None, 0, before)];
        while let Some((from, visits, paths)) = work.pop() {
            for (e, edge) in op.edges.iter().enumerate() {
                let goes_on = edge.to.is_some();
                if edge.from != from || goes_on && visits == most || !goes_on && visits < least {
                    continue;
                }
                let mut paths = paths.clone();
                push(&mut paths, Step::Edge(id, e));
                match edge.to {
                    Some(to) => work.push((Some(to), visits + 1, self.block(op.blocks[to], paths))),
                    None => after.extend(paths),
                }
            }
        }
        after
    }
}

fn push(paths: &mut [Vec<Step>], step: Step) {
    for path in paths {
        path.push(step);
    }
}
