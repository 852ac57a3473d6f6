//! Step 3: which loads share a phase.
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
//! A load that nobody uses has a phase of its own. Loads with more bytes than a phase can count don't share one.
//!
//! **Notation.** The *reaching definitions* of a token are loads, and tokens that edges bind to one phase or another. A class of
//! definitions is a phase, or a phi.
//!
//! **Cost.** Linear in the reaching definitions of what awaits and edges use, times the rounds of the refinement, of which there
//! are as many as the longest rotation is deep; programs with longer chains than [`ROUNDS`] get a phase for each load.

use super::ids::{AwaitId, BlockId, IndexVec, LoadId, PhaseId, PhiId, RegionOpId};
use super::placement::{DefinedBy, Placement};
use super::tree::{Inst, Tree};
use crate::program::{Token, deep};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The most bytes that an mbarrier counts in a phase (PTX ISA, tx-count: up to 2^20 - 1).
pub const MAX_PHASE_BYTES: u64 = (1 << 20) - 1;
/// The most rounds of refinement.
const ROUNDS: usize = 64;

/// What a token stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum PhaseDef {
    Load(LoadId),
    Phi(Token),
}

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
    pub phi_of: HashMap<Token, PhiId>,
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
        split: HashSet::new(),
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

struct Partitioner<'t> {
    tree: &'t Tree,
    placement: &'t Placement,
    /// True for tokens that may stand for a load.
    loaded: Vec<bool>,
    /// Hoisted results that are phis all the same: their loads are alternatives that are also awaited apart.
    split: HashSet<Token>,
    /// Loads that share no phase.
    alone: IndexVec<LoadId, bool>,
}

impl Partitioner<'_> {
    /// Returns true if edges bind `token` to one phase or another.
    fn is_var(&self, token: Token) -> bool {
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
    fn split_results(&mut self, defs: &ReachingDefs, classes: &HashMap<PhaseDef, usize>) -> bool {
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
    fn split_bytes(&mut self, classes: &HashMap<PhaseDef, usize>) -> bool {
        let mut bytes: HashMap<usize, u64> = HashMap::new();
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

    fn finish(&self, defs: &ReachingDefs, uses: &Uses, classes: &HashMap<PhaseDef, usize>) -> Partition {
        let mut out = Partition {
            awaits: IndexVec::filled(Vec::new(), self.tree.awaits),
            ..Partition::default()
        };
        let mut phases: HashMap<usize, PhaseValue> = HashMap::new();
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
        out.incoming.iter_mut().for_each(|incoming| {
            incoming.sort_unstable();
            // Tokens of one class are bound alike, but for those that are complete already.
            incoming.dedup_by(|b, a| {
                a.0 == b.0
                    && (a.1 == b.1 || {
                        a.1 = a.1.or(b.1);
                        true
                    })
            });
        });
        out.unallocated.sort_unstable();
        out.unallocated.dedup();
        out
    }
}

/// All loads that `token` may stand for, through phis.
fn reaching_loads(uses: &Uses, defs: &ReachingDefs, token: Token) -> Vec<LoadId> {
    let mut seen = HashSet::new();
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

/// What each token stands for.
struct ReachingDefs {
    of: Vec<Vec<PhaseDef>>,
    phis: Vec<Token>,
}

impl ReachingDefs {
    fn new(work: &Partitioner) -> Self {
        let mut defs = Self {
            of: vec![Vec::new(); work.tree.tokens as usize],
            phis: Vec::new(),
        };
        defs.block(work, BlockId(0));
        defs
    }

    fn of(&self, token: Token) -> &[PhaseDef] {
        &self.of[token.0 as usize]
    }

    fn block(&mut self, work: &Partitioner, block: BlockId) {
        for &param in &work.tree.blocks[block].params {
            self.edges(work, param);
        }
        for inst in &work.tree.blocks[block].insts {
            match inst {
                Inst::Load { load, token } => self.of[token.0 as usize] = vec![PhaseDef::Load(*load)],
                Inst::Join { token, of } => {
                    let mut all: Vec<PhaseDef> = of.iter().flat_map(|&of| self.of(of).to_vec()).collect();
                    all.sort_unstable();
                    all.dedup();
                    self.of[token.0 as usize] = all;
                }
                Inst::RegionOp(op) => {
                    let op = &work.tree.region_ops[*op];
                    deep(|| op.blocks.iter().for_each(|&inner| self.block(work, inner)));
                    op.results.iter().for_each(|&result| self.edges(work, result));
                }
                _ => {}
            }
        }
    }

    /// A token that edges bind.
    fn edges(&mut self, work: &Partitioner, token: Token) {
        self.of[token.0 as usize] = if work.is_var(token) {
            self.phis.push(token);
            vec![PhaseDef::Phi(token)]
        } else {
            let loads = work.placement.result_loads.get(&token).into_iter().flatten();
            loads.map(|&load| PhaseDef::Load(load)).collect()
        };
    }
}

/// What starts out as one class.
#[derive(PartialEq, Eq, Hash)]
enum FirstClass {
    /// Loads whose phases are opened in a block: all of them, or one that shares no phase.
    Loads(BlockId, Option<LoadId>),
    /// Results of an operation.
    Results(RegionOpId),
    /// Parameters of a block.
    Params(BlockId),
}

/// A use of a definition, as far as it tells classes apart: by an await, or by an edge that binds a phi of a class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Observation {
    Await(AwaitId),
    Edge(EdgeId, usize),
}

/// A use of a definition: it is awaited, or passed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Use {
    Await(AwaitId),
    Edge(EdgeId, Token),
}

/// The uses of every definition.
struct Uses {
    users: HashMap<PhaseDef, Vec<Use>>,
    /// What edges bind to phis.
    bindings: Vec<(EdgeId, Token, Token)>,
    /// The bindings of each phi, and what is bound.
    into: HashMap<Token, Vec<(EdgeId, Vec<PhaseDef>)>>,
}

impl Uses {
    fn new(work: &Partitioner, defs: &ReachingDefs) -> Self {
        let mut new = Self {
            users: HashMap::new(),
            bindings: Vec::new(),
            into: HashMap::new(),
        };
        for block in &work.tree.blocks {
            for inst in &block.insts {
                if let Inst::Await { id, tokens } = inst {
                    for def in tokens.iter().flat_map(|&token| defs.of(token)) {
                        new.users.entry(*def).or_default().push(Use::Await(*id));
                    }
                }
            }
        }
        for (r, op) in work.tree.region_ops.with_ids() {
            for (e, edge) in op.edges.iter().enumerate() {
                for &(from, to) in edge.bindings.iter().filter(|(_, to)| work.is_var(*to)) {
                    let id = (r, e);
                    for def in defs.of(from) {
                        new.users.entry(*def).or_default().push(Use::Edge(id, to));
                    }
                    new.bindings.push((id, from, to));
                    new.into.entry(to).or_default().push((id, defs.of(from).to_vec()));
                }
            }
        }
        for users in new.users.values_mut() {
            users.sort_unstable();
            users.dedup();
        }
        new
    }

    /// Splits classes until all definitions of one are used alike. Returns the class of each.
    fn classes(&self, work: &Partitioner) -> HashMap<PhaseDef, usize> {
        let defs: Vec<PhaseDef> = {
            let loads = work.tree.loads.ids().map(PhaseDef::Load);
            let defs = (0..).zip(&work.placement.defs).map(|(token, _)| Token(token));
            loads
                .chain(defs.filter(|&token| work.is_var(token)).map(PhaseDef::Phi))
                .collect()
        };
        let mut classes = number(&defs, |&def| self.first_class(work, def));
        for _ in 0..ROUNDS {
            let next = number(&defs, |&def| self.signature(&classes, def));
            let count = |classes: &HashMap<PhaseDef, usize>| classes.values().max().map_or(0, |max| max + 1);
            let stable = count(&next) == count(&classes);
            classes = next;
            if stable {
                return classes;
            }
        }
        number(&defs, |&def| def)
    }

    fn first_class(&self, work: &Partitioner, def: PhaseDef) -> FirstClass {
        match def {
            PhaseDef::Load(load) => {
                let alone = work.alone[load] || !self.users.contains_key(&def);
                FirstClass::Loads(work.placement.open_block[load], alone.then_some(load))
            }
            PhaseDef::Phi(token) => match work.placement.defs[token.0 as usize].by {
                DefinedBy::RegionOp(op) => FirstClass::Results(op),
                _ => FirstClass::Params(work.placement.defs[token.0 as usize].block),
            },
        }
    }

    /// What distinguishes a definition from others of its class.
    fn signature(&self, classes: &HashMap<PhaseDef, usize>, def: PhaseDef) -> Signature {
        let users = self.users.get(&def).into_iter().flatten();
        let mut seen: Vec<Observation> = users
            .map(|user| match user {
                Use::Await(id) => Observation::Await(*id),
                Use::Edge(edge, to) => Observation::Edge(*edge, classes[&PhaseDef::Phi(*to)]),
            })
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let mut incoming = Vec::new();
        if let PhaseDef::Phi(token) = def {
            for (edge, defs) in self.into.get(&token).into_iter().flatten() {
                incoming.extend(defs.iter().map(|def| (*edge, classes[def])));
            }
            incoming.sort_unstable();
            incoming.dedup();
        }
        (classes[&def], seen, incoming)
    }
}

/// A class, the uses of its definitions, and what edges bind to them.
type Signature = (usize, Vec<Observation>, Vec<(EdgeId, usize)>);

/// Numbers the different keys of definitions, in the order in which they are met.
fn number<K: Hash + Eq>(defs: &[PhaseDef], key: impl Fn(&PhaseDef) -> K) -> HashMap<PhaseDef, usize> {
    let mut known: HashMap<K, usize> = HashMap::new();
    let mut classes = HashMap::with_capacity(defs.len());
    for def in defs {
        let next = known.len();
        classes.insert(*def, *known.entry(key(def)).or_insert(next));
    }
    classes
}
