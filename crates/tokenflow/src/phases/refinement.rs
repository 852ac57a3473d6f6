//! Step 3: partition refinement: finds definitions that are used alike.
//!
//! **In:** the definitions of [`super::partition`], loads and phis. **Out:** classes of definitions that no await tells apart.

use super::ids::{AwaitId, BlockId, LoadId, RegionOpId};
use super::partition::{EdgeId, Partitioner};
use super::placement::DefinedBy;
use super::tree::Inst;
use crate::program::{Token, ensure_sufficient_stack};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::Hash;

/// The most rounds of refinement.
pub(super) const ROUNDS: usize = 64;

/// What a token stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum PhaseDef {
    Load(LoadId),
    Phi(Token),
}

/// What each token stands for.
pub(super) struct ReachingDefs {
    of: Vec<Vec<PhaseDef>>,
    /// The tokens that edges bind to one phase or another.
    pub phis: Vec<Token>,
}

impl ReachingDefs {
    pub fn new(work: &Partitioner) -> Self {
        let mut defs = Self {
            of: vec![Vec::new(); work.tree.tokens as usize],
            phis: Vec::new(),
        };
        defs.block(work, BlockId(0));
        defs
    }

    pub fn of(&self, token: Token) -> &[PhaseDef] {
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
                    ensure_sufficient_stack(|| op.blocks.iter().for_each(|&inner| self.block(work, inner)));
                    op.results.iter().for_each(|&result| self.edges(work, result));
                }
                _ => {}
            }
        }
    }

    /// A token that edges bind.
    fn edges(&mut self, work: &Partitioner, token: Token) {
        self.of[token.0 as usize] = if work.is_phi(token) {
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
pub(super) struct Uses {
    users: FxHashMap<PhaseDef, Vec<Use>>,
    /// What edges bind to phis.
    pub bindings: Vec<(EdgeId, Token, Token)>,
    /// The bindings of each phi, and what is bound.
    pub into: FxHashMap<Token, Vec<(EdgeId, Vec<PhaseDef>)>>,
}

impl Uses {
    pub fn new(work: &Partitioner, defs: &ReachingDefs) -> Self {
        let mut new = Self {
            users: FxHashMap::default(),
            bindings: Vec::new(),
            into: FxHashMap::default(),
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
                for &(from, to) in edge.bindings.iter().filter(|(_, to)| work.is_phi(*to)) {
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
    pub fn classes(&self, work: &Partitioner) -> FxHashMap<PhaseDef, usize> {
        let defs: Vec<PhaseDef> = {
            let loads = work.tree.loads.ids().map(PhaseDef::Load);
            let defs = (0..).zip(&work.placement.defs).map(|(token, _)| Token(token));
            loads
                .chain(defs.filter(|&token| work.is_phi(token)).map(PhaseDef::Phi))
                .collect()
        };
        let mut classes = number(&defs, |&def| self.first_class(work, def));
        for _ in 0..ROUNDS {
            let next = number(&defs, |&def| self.signature(&classes, def));
            let count =
                |classes: &FxHashMap<PhaseDef, usize>| classes.values().max().map_or(0, |max| max + 1);
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
    fn signature(&self, classes: &FxHashMap<PhaseDef, usize>, def: PhaseDef) -> Signature {
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
fn number<K: Hash + Eq>(defs: &[PhaseDef], key: impl Fn(&PhaseDef) -> K) -> FxHashMap<PhaseDef, usize> {
    let mut known: FxHashMap<K, usize> = FxHashMap::default();
    let mut classes = FxHashMap::with_capacity_and_hasher(defs.len(), FxBuildHasher);
    for def in defs {
        let next = known.len();
        classes.insert(*def, *known.entry(key(def)).or_insert(next));
    }
    classes
}
