//! Phase 7: which phases are surely waited for.
//!
//! A phase is surely waited for if on every way from where it is opened there is an await of it, or it is handed on to a
//! variable that is surely waited for. Where that is not known, a wait has to be added: before the slot is armed again,
//! and where everything ends. The greatest fixed point: what is handed on for ever is not forgotten.

use super::bundles::{Bundles, Phase};
use super::homes::Homes;
use super::rings::{Places, Rings};
use super::tree::{BlockId, RegionId, Tree};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most rounds until all is taken for not sure.
const ROUNDS: usize = 256;

/// How a phase is used in one block.
#[derive(Default)]
struct Uses {
    awaited: bool,
    /// The regions in the block that use it.
    regions: BTreeSet<RegionId>,
    /// What the edges of the block's own region, from its end, bind it to: by edge.
    handed_on: BTreeMap<usize, Vec<usize>>,
}

/// For each ring, whether all its phases are surely waited for.
pub(super) fn sure(
    tree: &Tree,
    homes: &Homes,
    places: &Places,
    bundles: &Bundles,
    rings: &Rings,
) -> Vec<bool> {
    let mut work = Sure {
        tree,
        uses: HashMap::new(),
        entered: HashMap::new(),
        vars: vec![true; bundles.vars.len()],
    };
    work.note(homes, places, bundles);
    let block_of = |phase: Phase| match phase {
        Phase::Bundle(bundle) => homes.home[bundles.loads[bundle][0]],
        Phase::Var(var) => homes.defs[bundles.vars[var][0].0 as usize].block,
    };
    let mut changed = true;
    for _ in 0..ROUNDS {
        changed = false;
        for var in 0..work.vars.len() {
            let phase = Phase::Var(var);
            if work.vars[var] && !work.in_block(phase, block_of(phase)) {
                work.vars[var] = false;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut sure = vec![!changed; rings.depth.len()];
    for bundle in 0..bundles.loads.len() {
        let phase = Phase::Bundle(bundle);
        sure[rings.of(phase)] &= work.in_block(phase, block_of(phase));
    }
    for (var, &is_sure) in work.vars.iter().enumerate() {
        sure[rings.of(Phase::Var(var))] &= is_sure;
    }
    sure
}

struct Sure<'t> {
    tree: &'t Tree,
    uses: HashMap<(Phase, BlockId), Uses>,
    /// What the edges into a region bind a phase to: by phase, region and edge.
    entered: HashMap<(Phase, RegionId, usize), Vec<usize>>,
    vars: Vec<bool>,
}

impl Sure<'_> {
    fn note(&mut self, homes: &Homes, places: &Places, bundles: &Bundles) {
        let home = |phase: Phase| match phase {
            Phase::Bundle(bundle) => homes.home[bundles.loads[bundle][0]],
            Phase::Var(var) => homes.defs[bundles.vars[var][0].0 as usize].block,
        };
        for (id, phases) in bundles.awaits.iter().enumerate() {
            for &phase in phases {
                let block = places.awaits[id].0;
                self.uses.entry((phase, block)).or_default().awaited = true;
                self.up(phase, block, home(phase));
            }
        }
        for (var, bound) in bundles.bound.iter().enumerate() {
            for &((region, edge), phase) in bound {
                let Some(phase) = phase else { continue };
                if let Some(from) = self.tree.regions[region].edges[edge].from {
                    let block = self.tree.regions[region].blocks[from];
                    let uses = self.uses.entry((phase, block)).or_default();
                    uses.handed_on.entry(edge).or_default().push(var);
                    self.up(phase, block, home(phase));
                } else {
                    let block = self.tree.regions[region].parent;
                    self.entered.entry((phase, region, edge)).or_default().push(var);
                    self.uses
                        .entry((phase, block))
                        .or_default()
                        .regions
                        .insert(region);
                    self.up(phase, block, home(phase));
                }
            }
        }
    }

    /// Notes at all blocks from `block` out to `home` which of their regions use `phase`.
    fn up(&mut self, phase: Phase, mut block: BlockId, home: BlockId) {
        while block != home {
            let Some(region) = self.tree.blocks[block].region else {
                return;
            };
            block = self.tree.regions[region].parent;
            if !self
                .uses
                .entry((phase, block))
                .or_default()
                .regions
                .insert(region)
            {
                return;
            }
        }
    }

    /// Returns true if a phase that is pending where `block` starts, or that is opened in it, is surely waited for.
    fn in_block(&self, phase: Phase, block: BlockId) -> bool {
        let Some(uses) = self.uses.get(&(phase, block)) else {
            return false;
        };
        uses.awaited
            || uses.regions.iter().any(|&region| self.in_region(phase, region))
            || self.at_end(uses, block)
    }

    /// Returns true if every way from the end of `block` hands the phase on to a variable that is surely waited for.
    fn at_end(&self, uses: &Uses, block: BlockId) -> bool {
        let Some(region) = self.tree.blocks[block].region else {
            return false;
        };
        let region = &self.tree.regions[region];
        let ends = region
            .edges
            .iter()
            .enumerate()
            .filter(|(_, edge)| edge.from.is_some_and(|from| region.blocks[from] == block));
        let mut any = false;
        let all = ends.into_iter().all(|(edge, _)| {
            any = true;
            uses.handed_on
                .get(&edge)
                .is_some_and(|vars| vars.iter().any(|&var| self.vars[var]))
        });
        any && all
    }

    fn in_region(&self, phase: Phase, region: RegionId) -> bool {
        let edges = self.tree.regions[region].edges.iter().enumerate();
        let mut entries = edges.filter(|(_, edge)| edge.from.is_none());
        entries.all(|(e, edge)| {
            let bound = self.entered.get(&(phase, region, e));
            bound.is_some_and(|vars| vars.iter().any(|&var| self.vars[var]))
                || edge.to.is_some_and(|to| {
                    crate::program::deep(|| self.in_block(phase, self.tree.regions[region].blocks[to]))
                })
        })
    }
}
