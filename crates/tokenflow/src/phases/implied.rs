//! Which phases of an await were awaited before on every way.
//!
//! What a block surely awaits is known behind the region that it is of, if every way through the region knows it. What
//! the edges into a region bind to an argument is known where the argument is awaited in the first block. And where one way
//! knows a phase, and the others bind it to a result, awaiting the result is as good as awaiting the phase.

use super::bundles::{Bundles, EdgeId, Phase};
use super::homes::Homes;
use super::tree::{BlockId, RegionId, Step, Tree};
use crate::program::deep;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The phases of each await, without those that were awaited before on every way.
pub(super) fn without_implied(tree: &Tree, homes: &Homes, bundles: &Bundles) -> Vec<Vec<Phase>> {
    let mut bound: HashMap<EdgeId, Vec<(usize, Phase)>> = HashMap::new();
    for (var, all) in bundles.bound.iter().enumerate() {
        for &(edge, phase) in all {
            if let Some(phase) = phase {
                bound.entry(edge).or_default().push((var, phase));
            }
        }
    }
    let mut work = Implied {
        tree,
        homes,
        bundles,
        bound,
        known: HashSet::new(),
        as_good: HashMap::new(),
        awaits: bundles.awaits.clone(),
    };
    work.block(0);
    work.awaits
}

struct Implied<'t> {
    tree: &'t Tree,
    homes: &'t Homes,
    bundles: &'t Bundles,
    /// What edges bind variables to.
    bound: HashMap<EdgeId, Vec<(usize, Phase)>>,
    /// What has been awaited on every way.
    known: HashSet<Phase>,
    /// What is known as well as soon as a phase is.
    as_good: HashMap<Phase, Vec<Phase>>,
    awaits: Vec<Vec<Phase>>,
}

impl Implied<'_> {
    /// Goes through a block. Returns what is known at its end and was not before.
    fn block(&mut self, block: BlockId) -> BTreeSet<Phase> {
        let mut added = BTreeSet::new();
        for step in &self.tree.blocks[block].steps {
            match step {
                Step::Await { id, .. } => self.wait(*id, &mut added),
                Step::Region(region) => {
                    for phase in deep(|| self.region(*region)) {
                        self.learn(phase, &mut added);
                    }
                }
                _ => {}
            }
        }
        for phase in &added {
            self.known.remove(phase);
        }
        added
    }

    fn wait(&mut self, id: usize, added: &mut BTreeSet<Phase>) {
        let all = std::mem::take(&mut self.awaits[id]);
        let implied: HashSet<Phase> = {
            let as_good = all.iter().filter_map(|phase| self.as_good.get(phase));
            as_good.flatten().copied().collect()
        };
        let left = all.iter().copied();
        self.awaits[id] = left
            .filter(|phase| !self.known.contains(phase) && !implied.contains(phase))
            .collect();
        for phase in all {
            self.learn(phase, added);
        }
    }

    fn learn(&mut self, phase: Phase, added: &mut BTreeSet<Phase>) {
        let mut work = vec![phase];
        while let Some(phase) = work.pop() {
            if self.known.insert(phase) {
                added.insert(phase);
                work.extend(self.as_good.get(&phase).into_iter().flatten());
            }
        }
    }

    /// Goes through a region. Returns what is known behind it and was not before.
    fn region(&mut self, id: RegionId) -> BTreeSet<Phase> {
        let region = &self.tree.regions[id];
        let mut ends: Vec<Option<BTreeSet<Phase>>> = vec![None; region.blocks.len()];
        for (b, &block) in region.blocks.iter().enumerate() {
            // What is known where the block starts: what each way to it knows. Those that come around know no less than those
            // that came before; what they know more is left out.
            let ways: Vec<Option<usize>> = region.edges_to(Some(b)).map(|(_, edge)| edge.from).collect();
            let ends_of = |from: &Option<usize>| from.and_then(|from| ends[from].clone()).unwrap_or_default();
            let mut start = BTreeSet::new();
            for phase in common(ways.iter().map(ends_of)) {
                self.learn(phase, &mut start);
            }
            let mut end = self.block(block);
            for phase in &start {
                self.known.remove(phase);
            }
            end.append(&mut start);
            ends[b] = Some(end);
        }
        let first = self.of_first_blocks(id, &ends);
        let ways: Vec<(usize, Option<usize>)> =
            region.edges_to(None).map(|(e, edge)| (e, edge.from)).collect();
        let end_of = |from: Option<usize>| -> BTreeSet<Phase> {
            let Some(from) = from else { return BTreeSet::new() };
            let own = ends[from].iter().flatten().copied();
            let outer = own.filter(|&phase| !self.is_inside(phase, id));
            outer.chain(first.iter().copied()).collect()
        };
        let known: Vec<BTreeSet<Phase>> = ways.iter().map(|&(_, from)| end_of(from)).collect();
        self.note_results(id, &ways, &known);
        common(known.into_iter())
    }

    /// Returns true if a phase is defined in a block of `region`.
    fn is_inside(&self, phase: Phase, region: RegionId) -> bool {
        let block = match phase {
            Phase::Bundle(bundle) => self.homes.home[self.bundles.loads[bundle][0]],
            Phase::Var(var) => self.homes.defs[self.bundles.vars[var][0].0 as usize].block,
        };
        self.tree.regions[region].blocks.contains(&block)
    }

    /// What is known behind any block, since those that are entered first await what their arguments are bound to.
    fn of_first_blocks(&self, id: RegionId, ends: &[Option<BTreeSet<Phase>>]) -> BTreeSet<Phase> {
        let edges = self.tree.regions[id].edges.iter().enumerate();
        let entries = edges.filter(|(_, edge)| edge.from.is_none());
        let entries = entries.filter_map(|(e, edge)| Some((e, edge.to?)));
        common(entries.map(|(e, to)| {
            let bound = self.bound.get(&(id, e)).into_iter().flatten();
            let awaited = bound.filter(|(var, _)| {
                let end = ends[to].as_ref();
                end.is_some_and(|end| end.contains(&Phase::Var(*var)))
            });
            awaited.map(|&(_, phase)| phase).collect()
        }))
    }

    /// Notes the phases that some ways bind to a result, and all others know.
    fn note_results(&mut self, id: RegionId, ways: &[(usize, Option<usize>)], known: &[BTreeSet<Phase>]) {
        let bound: Vec<&[(usize, Phase)]> = {
            let bound = ways.iter().map(|(e, _)| self.bound.get(&(id, *e)));
            bound.map(|bound| bound.map_or(&[][..], Vec::as_slice)).collect()
        };
        let pairs: BTreeSet<(usize, Phase)> = bound.iter().flat_map(|bound| bound.iter().copied()).collect();
        let mut found = Vec::new();
        for (var, phase) in pairs.into_iter().filter(|(_, phase)| !self.is_inside(*phase, id)) {
            let mut ways = bound.iter().zip(known);
            if ways.all(|(bound, known)| known.contains(&phase) || bound.contains(&(var, phase))) {
                found.push((Phase::Var(var), phase));
            }
        }
        for (var, phase) in found {
            self.as_good.entry(var).or_default().push(phase);
        }
    }
}

/// What all sets have in common.
fn common(mut sets: impl Iterator<Item = BTreeSet<Phase>>) -> BTreeSet<Phase> {
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |mut common, next| {
        common.retain(|phase| next.contains(phase));
        common
    })
}
