//! Phase 2: which loads share a phase.
//!
//! Loads of one home share a phase if they are **observed** alike: awaited by the same awaits, and handed on by the
//! same edges, to tokens that stand for the same phases in turn. That is a partition refinement: all loads of a home,
//! and all tokens that the same edges bind, start out as one class; what is observed differently is told apart until
//! nothing changes. So two tensors of a pipeline stage get one mbarrier, whose bytes are added up, although their tokens
//! are carried around the loop side by side.
//!
//! A load that nobody observes has a phase of its own. Loads with more bytes than a phase can count don't share one.
//!
//! **Notation.** What a token stands for is a set of *atoms*: loads, and *variables*, which are tokens that edges bind to
//! one phase or another. Afterwards it is a set of *phases*: bundles of loads, and classes of variables.
//!
//! **Cost.** Linear in what the tokens of awaits and edges stand for, times the rounds of the refinement, of which there
//! are as many as the longest rotation is deep; programs with longer chains than [`ROUNDS`] get a phase for each load.

use super::homes::{By, Homes};
use super::tree::{AwaitId, LoadId, RegionId, Step, Tree};
use crate::program::{Token, deep};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The most bytes that an mbarrier counts in a phase (PTX ISA, tx-count: up to 2^20 - 1).
pub const MAX_PHASE_BYTES: u64 = (1 << 20) - 1;
/// The most rounds of refinement.
const ROUNDS: usize = 64;

/// What a token stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Atom {
    Load(LoadId),
    Var(Token),
}

/// A phase, or what stands for one of several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// The phase of a bundle of loads.
    Bundle(usize),
    /// A class of tokens that edges bind to phases.
    Var(usize),
}

/// An edge of a region, by its place there.
pub(super) type EdgeId = (RegionId, usize);

/// Which loads share a phase.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    /// The loads of each bundle.
    pub loads: Vec<Vec<LoadId>>,
    /// The tokens of each variable: they always stand for the same phase.
    pub vars: Vec<Vec<Token>>,
    /// The variable of a token.
    pub var_of: HashMap<Token, usize>,
    /// The phases that each await is for.
    pub awaits: Vec<Vec<Phase>>,
    /// What each edge binds a variable to; `None`: to a token that is complete.
    pub bound: Vec<Vec<(EdgeId, Option<Phase>)>>,
    /// Loads whose tokens no phase can follow: they are joined with others that are awaited apart, and the join is
    /// handed on.
    pub lost: Vec<LoadId>,
}

/// Puts loads together.
pub(super) fn bundles(tree: &Tree, homes: &Homes) -> Bundles {
    let mut work = Bundler {
        tree,
        homes,
        loaded: tree.loaded(),
        split: HashSet::new(),
        apart: vec![false; tree.loads.len()],
    };
    loop {
        let atoms = Atoms::new(&work);
        let observed = Observed::new(&work, &atoms);
        let classes = observed.classes(&work);
        if !work.split_results(&atoms, &classes) && !work.split_bytes(&classes) {
            return work.finish(&atoms, &observed, &classes);
        }
    }
}

struct Bundler<'t> {
    tree: &'t Tree,
    homes: &'t Homes,
    /// True for tokens that may stand for a load.
    loaded: Vec<bool>,
    /// Fresh results that are variables all the same: their loads are alternatives that are also awaited apart.
    split: HashSet<Token>,
    /// Loads that share no phase.
    apart: Vec<bool>,
}

impl Bundler<'_> {
    /// Returns true if edges bind `token` to one phase or another.
    fn is_var(&self, token: Token) -> bool {
        if !self.loaded[token.0 as usize] {
            return false;
        }
        match self.homes.defs[token.0 as usize].by {
            By::Edges => !self.homes.inner[token.0 as usize],
            By::Region(_) => !self.homes.loads.contains_key(&token) || self.split.contains(&token),
            _ => false,
        }
    }

    /// Makes variables of fresh results that stand for several bundles, one on each way. Returns true if there are any.
    fn split_results(&mut self, atoms: &Atoms, classes: &HashMap<Atom, usize>) -> bool {
        let before = self.split.len();
        for (&result, loads) in &self.homes.loads {
            let By::Region(region) = self.homes.defs[result.0 as usize].by else {
                continue;
            };
            let mut found: Vec<usize> = loads.iter().map(|&load| classes[&Atom::Load(load)]).collect();
            found.sort_unstable();
            found.dedup();
            // What goes around, or through arguments, is joined rather than chosen.
            let blocks = &self.tree.regions[region].blocks;
            let is_branch = blocks
                .iter()
                .all(|&block| self.tree.blocks[block].params.is_empty());
            let one_each = || {
                let region = &self.tree.regions[region];
                let args = region.edges.iter().flat_map(|edge| &edge.bindings);
                args.filter(|(_, to)| *to == result).all(|(from, _)| {
                    let mut classes: Vec<usize> = atoms.of(*from).iter().map(|atom| classes[atom]).collect();
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
    fn split_bytes(&mut self, classes: &HashMap<Atom, usize>) -> bool {
        let mut bytes: HashMap<usize, u64> = HashMap::new();
        let loads = || (0..self.tree.loads.len()).map(|load| (load, classes[&Atom::Load(load)]));
        for (load, class) in loads() {
            *bytes.entry(class).or_default() += self.tree.loads[load].bytes;
        }
        let too_many: Vec<LoadId> = loads()
            .filter(|(load, class)| bytes[class] > MAX_PHASE_BYTES && !self.apart[*load])
            .map(|(load, _)| load)
            .collect();
        for &load in &too_many {
            self.apart[load] = true;
        }
        !too_many.is_empty()
    }

    fn finish(&self, atoms: &Atoms, observed: &Observed, classes: &HashMap<Atom, usize>) -> Bundles {
        let mut out = Bundles {
            awaits: vec![Vec::new(); self.tree.awaits],
            ..Bundles::default()
        };
        let mut phases: HashMap<usize, Phase> = HashMap::new();
        for load in 0..self.tree.loads.len() {
            let phase = phases.entry(classes[&Atom::Load(load)]).or_insert_with(|| {
                out.loads.push(Vec::new());
                Phase::Bundle(out.loads.len() - 1)
            });
            if let Phase::Bundle(bundle) = *phase {
                out.loads[bundle].push(load);
            }
        }
        for &token in &atoms.vars {
            let phase = phases.entry(classes[&Atom::Var(token)]).or_insert_with(|| {
                out.vars.push(Vec::new());
                Phase::Var(out.vars.len() - 1)
            });
            if let Phase::Var(var) = *phase {
                out.vars[var].push(token);
                out.var_of.insert(token, var);
            }
        }
        let phases_of = |token: Token| {
            let mut found: Vec<Phase> = atoms
                .of(token)
                .iter()
                .map(|atom| phases[&classes[atom]])
                .collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        for block in &self.tree.blocks {
            for step in &block.steps {
                if let Step::Await { id, tokens } = step {
                    let mut found: Vec<Phase> = tokens.iter().flat_map(|&token| phases_of(token)).collect();
                    found.sort_unstable();
                    found.dedup();
                    out.awaits[*id] = found;
                }
            }
        }
        out.bound = vec![Vec::new(); out.vars.len()];
        for &(edge, from, to) in &observed.bindings {
            let found = phases_of(from);
            if found.len() > 1 {
                out.lost.extend(loads_behind(observed, atoms, from));
            }
            out.bound[out.var_of[&to]].push((edge, found.first().copied()));
        }
        out.bound.iter_mut().for_each(|bound| {
            bound.sort_unstable();
            // Tokens of one class are bound alike, but for those that are complete already.
            bound.dedup_by(|b, a| {
                a.0 == b.0
                    && (a.1 == b.1 || {
                        a.1 = a.1.or(b.1);
                        true
                    })
            });
        });
        out.lost.sort_unstable();
        out.lost.dedup();
        out
    }
}

/// All loads that `token` may stand for, through variables.
fn loads_behind(observed: &Observed, atoms: &Atoms, token: Token) -> Vec<LoadId> {
    let mut seen = HashSet::new();
    let mut work: Vec<Atom> = atoms.of(token).to_vec();
    let mut loads = Vec::new();
    while let Some(atom) = work.pop() {
        if !seen.insert(atom) {
            continue;
        }
        match atom {
            Atom::Load(load) => loads.push(load),
            Atom::Var(var) => {
                let into = observed.into.get(&var).into_iter().flatten();
                work.extend(into.flat_map(|(_, atoms)| atoms));
            }
        }
    }
    loads
}

/// What each token stands for.
struct Atoms {
    of: Vec<Vec<Atom>>,
    vars: Vec<Token>,
}

impl Atoms {
    fn new(work: &Bundler) -> Self {
        let mut atoms = Self {
            of: vec![Vec::new(); work.tree.tokens as usize],
            vars: Vec::new(),
        };
        atoms.block(work, 0);
        atoms
    }

    fn of(&self, token: Token) -> &[Atom] {
        &self.of[token.0 as usize]
    }

    fn block(&mut self, work: &Bundler, block: usize) {
        for &param in &work.tree.blocks[block].params {
            self.edges(work, param);
        }
        for step in &work.tree.blocks[block].steps {
            match step {
                Step::Load { load, token } => self.of[token.0 as usize] = vec![Atom::Load(*load)],
                Step::Join { token, of } => {
                    let mut all: Vec<Atom> = of.iter().flat_map(|&of| self.of(of).to_vec()).collect();
                    all.sort_unstable();
                    all.dedup();
                    self.of[token.0 as usize] = all;
                }
                Step::Region(region) => {
                    let region = &work.tree.regions[*region];
                    deep(|| region.blocks.iter().for_each(|&inner| self.block(work, inner)));
                    region.results.iter().for_each(|&result| self.edges(work, result));
                }
                _ => {}
            }
        }
    }

    /// A token that edges bind.
    fn edges(&mut self, work: &Bundler, token: Token) {
        self.of[token.0 as usize] = if work.is_var(token) {
            self.vars.push(token);
            vec![Atom::Var(token)]
        } else {
            let loads = work.homes.loads.get(&token).into_iter().flatten();
            loads.map(|&load| Atom::Load(load)).collect()
        };
    }
}

/// Who awaits an atom or hands it on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Observer {
    Await(AwaitId),
    Edge(EdgeId, Token),
}

/// The observers of every atom.
struct Observed {
    observers: HashMap<Atom, Vec<Observer>>,
    /// What edges bind to variables.
    bindings: Vec<(EdgeId, Token, Token)>,
    /// The bindings of each variable, and what is bound.
    into: HashMap<Token, Vec<(EdgeId, Vec<Atom>)>>,
}

impl Observed {
    fn new(work: &Bundler, atoms: &Atoms) -> Self {
        let mut new = Self {
            observers: HashMap::new(),
            bindings: Vec::new(),
            into: HashMap::new(),
        };
        for block in &work.tree.blocks {
            for step in &block.steps {
                if let Step::Await { id, tokens } = step {
                    for atom in tokens.iter().flat_map(|&token| atoms.of(token)) {
                        new.observers.entry(*atom).or_default().push(Observer::Await(*id));
                    }
                }
            }
        }
        for (r, region) in work.tree.regions.iter().enumerate() {
            for (e, edge) in region.edges.iter().enumerate() {
                for &(from, to) in edge.bindings.iter().filter(|(_, to)| work.is_var(*to)) {
                    let id = (r, e);
                    for atom in atoms.of(from) {
                        new.observers
                            .entry(*atom)
                            .or_default()
                            .push(Observer::Edge(id, to));
                    }
                    new.bindings.push((id, from, to));
                    new.into
                        .entry(to)
                        .or_default()
                        .push((id, atoms.of(from).to_vec()));
                }
            }
        }
        for observers in new.observers.values_mut() {
            observers.sort_unstable();
            observers.dedup();
        }
        new
    }

    /// Tells atoms apart that are observed differently: the class of each.
    fn classes(&self, work: &Bundler) -> HashMap<Atom, usize> {
        let atoms: Vec<Atom> = {
            let loads = (0..work.tree.loads.len()).map(Atom::Load);
            let defs = (0..).zip(&work.homes.defs).map(|(token, _)| Token(token));
            loads
                .chain(defs.filter(|&token| work.is_var(token)).map(Atom::Var))
                .collect()
        };
        let mut classes = number(&atoms, |&atom| self.first_class(work, atom));
        for _ in 0..ROUNDS {
            let next = number(&atoms, |&atom| self.signature(&classes, atom));
            let count = |classes: &HashMap<Atom, usize>| classes.values().max().map_or(0, |max| max + 1);
            let stable = count(&next) == count(&classes);
            classes = next;
            if stable {
                return classes;
            }
        }
        number(&atoms, |&atom| atom)
    }

    fn first_class(&self, work: &Bundler, atom: Atom) -> (usize, usize, usize) {
        match atom {
            Atom::Load(load) => {
                let alone = work.apart[load] || !self.observers.contains_key(&atom);
                (0, work.homes.home[load], if alone { load + 1 } else { 0 })
            }
            Atom::Var(token) => match work.homes.defs[token.0 as usize].by {
                By::Region(region) => (1, region, 0),
                _ => (2, work.homes.defs[token.0 as usize].block, 0),
            },
        }
    }

    /// What tells an atom from others of its class.
    fn signature(&self, classes: &HashMap<Atom, usize>, atom: Atom) -> Signature {
        /// Stands for an await where others name a region.
        const AWAIT: usize = usize::MAX;
        let observers = self.observers.get(&atom).into_iter().flatten();
        let mut seen: Vec<(EdgeId, usize)> = observers
            .map(|observer| match observer {
                Observer::Await(id) => ((AWAIT, *id), 0),
                Observer::Edge(edge, to) => (*edge, classes[&Atom::Var(*to)]),
            })
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let mut bound = Vec::new();
        if let Atom::Var(token) = atom {
            for (edge, atoms) in self.into.get(&token).into_iter().flatten() {
                bound.extend(atoms.iter().map(|atom| (*edge, classes[atom])));
            }
            bound.sort_unstable();
            bound.dedup();
        }
        (classes[&atom], seen, bound)
    }
}

/// A class, what observes its atoms, and what edges bind to them.
type Signature = (usize, Vec<(EdgeId, usize)>, Vec<(EdgeId, usize)>);

/// Numbers the different keys of atoms, in the order in which they are met.
fn number<K: Hash + Eq>(atoms: &[Atom], key: impl Fn(&Atom) -> K) -> HashMap<Atom, usize> {
    let mut known: HashMap<K, usize> = HashMap::new();
    let mut classes = HashMap::with_capacity(atoms.len());
    for atom in atoms {
        let next = known.len();
        classes.insert(*atom, *known.entry(key(atom)).or_insert(next));
    }
    classes
}
