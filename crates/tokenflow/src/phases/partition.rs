//! Step 3: finds which loads share a phase, and which tokens a phi.
//!
//! **In:** the placement of loads. **Out:** phases, each with its loads; phis, each with its tokens and incoming values; the
//! phases of each await.
//!
//! Loads that are placed in one block share a phase if they are **used** alike: awaited by the same awaits, and passed on by the
//! same edges, to tokens that stand for the same phases in turn. That is a partition refinement: all loads of a block,
//! and all tokens that the same edges bind, start out as one class; what is used differently is split until nothing changes. So
//! two tensors of a pipeline stage get one mbarrier, whose bytes are added up, although their tokens are carried around the
//! loop side by side.
//!
//! A load that is not used has a phase of its own. Loads with more bytes than a phase can count don't share one.
//!
//! **Notation.** The *reaching definitions* of a token are loads, and tokens that edges bind to one phase or another. A class of
//! definitions is a phase, or a phi.
//!
//! **Cost.** Linear in the reaching definitions of what awaits and edges use, times the rounds of the refinement, of which there
//! are as many as the longest rotation is deep; programs with longer chains than [`ROUNDS`](super::refinement::ROUNDS) get a
//! phase for each load.

use super::ids::{AwaitId, IndexVec, LoadId, PhaseId, PhiId, RegionOpId};
use super::placement::{DefinedBy, Placement};
use super::refinement::{PhaseDef, ReachingDefs, Uses};
use super::tree::{Inst, Tree};
use crate::program::Token;
use rustc_hash::{FxHashMap, FxHashSet};

/// The most bytes that an mbarrier counts in a phase (PTX ISA, tx-count: up to 2^20 - 1).
pub const MAX_PHASE_BYTES: u64 = (1 << 20) - 1;

/// A phase, or what stands for one of several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum PhaseValue {
    /// The phase itself.
    Opened(PhaseId),
    /// What edges bind to one of several.
    Phi(PhiId),
}

/// An edge of a region op, by its index there.
pub(super) type EdgeId = (RegionOpId, usize);

/// Which loads share a phase.
#[derive(Debug, Default)]
pub(super) struct Partition {
    /// The loads of each phase.
    pub phases: IndexVec<PhaseId, Vec<LoadId>>,
    /// The tokens of each phi: they always stand for the same phase.
    pub phis: IndexVec<PhiId, Vec<Token>>,
    /// The phi of a token.
    pub phi_of: FxHashMap<Token, PhiId>,
    /// The phases that each await is for.
    pub awaits: IndexVec<AwaitId, Vec<PhaseValue>>,
    /// What each edge binds a phi to; `None`: to a token that is complete.
    pub incoming: IndexVec<PhiId, Vec<(EdgeId, Option<PhaseValue>)>>,
    /// Loads whose tokens no phase can follow: they are joined with others that are awaited apart, and the join is
    /// passed on.
    pub unallocated: Vec<LoadId>,
}

/// Partitions loads into phases, and tokens into phis.
pub(super) fn partition(tree: &Tree, placement: &Placement) -> Partition {
    let mut work = Partitioner {
        tree,
        placement,
        loaded: tree.loaded(),
        split: FxHashSet::default(),
        alone: IndexVec::filled(false, tree.loads.len()),
    };
    loop {
        let defs = ReachingDefs::new(&work);
        let uses = Uses::new(&work, &defs);
        let classes = uses.classes(&work);
        if !work.split_results(&defs, &classes) && !work.split_bytes(&classes) {
            return work.finish(&defs, &uses, &classes);
        }
    }
}

/// Splits loads, and tokens that edges bind, until what is left together is used alike.
pub(super) struct Partitioner<'t> {
    pub tree: &'t Tree,
    pub placement: &'t Placement,
    /// True for tokens that may stand for a load.
    loaded: Vec<bool>,
    /// Hoisted results that are phis all the same: their loads are alternatives that are also awaited apart.
    split: FxHashSet<Token>,
    /// Loads that share no phase.
    pub alone: IndexVec<LoadId, bool>,
}

impl Partitioner<'_> {
    /// Returns true if edges bind `token` to one phase or another.
    pub fn is_phi(&self, token: Token) -> bool {
        if !self.loaded[token.0 as usize] {
            return false;
        }
        match self.placement.defs[token.0 as usize].by {
            DefinedBy::Edges => !self.placement.hoisted_params[token.0 as usize],
            DefinedBy::RegionOp(_) => {
                !self.placement.result_loads.contains_key(&token) || self.split.contains(&token)
            }
            _ => false,
        }
    }

    /// Makes phis of hoisted results that stand for several phases, one on each path. Returns true if there are any.
    fn split_results(&mut self, defs: &ReachingDefs, classes: &FxHashMap<PhaseDef, usize>) -> bool {
        let before = self.split.len();
        for (&result, loads) in &self.placement.result_loads {
            let DefinedBy::RegionOp(op) = self.placement.defs[result.0 as usize].by else {
                continue;
            };
            let mut found: Vec<usize> = loads.iter().map(|&load| classes[&PhaseDef::Load(load)]).collect();
            found.sort_unstable();
            found.dedup();
            // What goes around, or through arguments, is joined rather than chosen.
            let blocks = &self.tree.region_ops[op].blocks;
            let is_branch = blocks
                .iter()
                .all(|&block| self.tree.blocks[block].params.is_empty());
            let one_each = || {
                let op = &self.tree.region_ops[op];
                let args = op.edges.iter().flat_map(|edge| &edge.bindings);
                args.filter(|(_, to)| *to == result).all(|(from, _)| {
                    let mut classes: Vec<usize> = defs.of(*from).iter().map(|def| classes[def]).collect();
                    classes.dedup();
                    classes.len() <= 1
                })
            };
            if found.len() > 1 && is_branch && one_each() {
                self.split.insert(result);
            }
        }
        self.split.len() > before
    }

    /// Sets loads apart that have too many bytes together. Returns true if there are any.
    fn split_bytes(&mut self, classes: &FxHashMap<PhaseDef, usize>) -> bool {
        let mut bytes: FxHashMap<usize, u64> = FxHashMap::default();
        let loads = || {
            self.tree
                .loads
                .ids()
                .map(|load| (load, classes[&PhaseDef::Load(load)]))
        };
        for (load, class) in loads() {
            *bytes.entry(class).or_default() += self.tree.loads[load].bytes;
        }
        let too_many: Vec<LoadId> = loads()
            .filter(|(load, class)| bytes[class] > MAX_PHASE_BYTES && !self.alone[*load])
            .map(|(load, _)| load)
            .collect();
        for &load in &too_many {
            self.alone[load] = true;
        }
        !too_many.is_empty()
    }

    fn finish(&self, defs: &ReachingDefs, uses: &Uses, classes: &FxHashMap<PhaseDef, usize>) -> Partition {
        let mut out = Partition {
            awaits: IndexVec::filled(Vec::new(), self.tree.awaits),
            ..Partition::default()
        };
        let mut phases: FxHashMap<usize, PhaseValue> = FxHashMap::default();
        for load in self.tree.loads.ids() {
            let phase = phases
                .entry(classes[&PhaseDef::Load(load)])
                .or_insert_with(|| PhaseValue::Opened(out.phases.push(Vec::new())));
            if let PhaseValue::Opened(phase) = *phase {
                out.phases[phase].push(load);
            }
        }
        for &token in &defs.phis {
            let phase = phases
                .entry(classes[&PhaseDef::Phi(token)])
                .or_insert_with(|| PhaseValue::Phi(out.phis.push(Vec::new())));
            if let PhaseValue::Phi(phi) = *phase {
                out.phis[phi].push(token);
                out.phi_of.insert(token, phi);
            }
        }
        let phases_of = |token: Token| {
            let mut found: Vec<PhaseValue> = defs.of(token).iter().map(|def| phases[&classes[def]]).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        for block in &self.tree.blocks {
            for inst in &block.insts {
                if let Inst::Await { id, tokens } = inst {
                    let mut found: Vec<PhaseValue> =
                        tokens.iter().flat_map(|&token| phases_of(token)).collect();
                    found.sort_unstable();
                    found.dedup();
                    out.awaits[*id] = found;
                }
            }
        }
        out.incoming = IndexVec::filled(Vec::new(), out.phis.len());
        for &(edge, from, to) in &uses.bindings {
            let found = phases_of(from);
            if found.len() > 1 {
                out.unallocated.extend(reaching_loads(uses, defs, from));
            }
            out.incoming[out.phi_of[&to]].push((edge, found.first().copied()));
        }
        out.incoming.iter_mut().for_each(one_for_each_edge);
        out.unallocated.sort_unstable();
        out.unallocated.dedup();
        out
    }
}

/// Keeps one of the values that each edge binds a phi to: tokens of one class are bound alike, but for those that are
/// complete already.
fn one_for_each_edge(incoming: &mut Vec<(EdgeId, Option<PhaseValue>)>) {
    incoming.sort_unstable();
    incoming.dedup_by(|(edge, value), (kept_edge, kept)| {
        let same = edge == kept_edge;
        if same {
            *kept = kept.or(*value);
        }
        same
    });
}

/// All loads that `token` may stand for, through phis.
fn reaching_loads(uses: &Uses, defs: &ReachingDefs, token: Token) -> Vec<LoadId> {
    let mut seen = FxHashSet::default();
    let mut work: Vec<PhaseDef> = defs.of(token).to_vec();
    let mut loads = Vec::new();
    while let Some(def) = work.pop() {
        if !seen.insert(def) {
            continue;
        }
        match def {
            PhaseDef::Load(load) => loads.push(load),
            PhaseDef::Phi(phi) => {
                let into = uses.into.get(&phi).into_iter().flatten();
                work.extend(into.flat_map(|(_, defs)| defs));
            }
        }
    }
    loads
}
