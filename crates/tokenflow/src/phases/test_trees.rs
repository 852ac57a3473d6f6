//! Small trees for the unit tests of the steps: by hand, or at random (`random.rs`). And what a step is held against: what
//! happens on all paths, up to a bound (`paths.rs`).

mod paths;
mod random;

pub(super) use paths::Event;
pub(super) use random::{ALL, Shape, any_tree};

use super::ids::{AwaitId, BlockId, IndexVec, PhaseId, RegionOpId, StoreId};
use super::partition::{Partition, PhaseValue, partition};
use super::placement::{Placement, place_phases};
use super::rings::{InstPositions, Rings, assign};
use super::simplify::simplify;
use super::tree::{AccessKind, Block, Buffer, Edge, Inst, Load, RegionOp, Tree, Trips};
use super::union_find::UnionFind;
use crate::program::Token;

/// Builds a tree from front to back.
pub(super) struct Build {
    pub tree: Tree,
    block: BlockId,
}

impl Build {
    pub fn new() -> Self {
        let mut tree = Tree::default();
        let block = tree.blocks.push(Block::default());
        Self { tree, block }
    }

    pub fn push(&mut self, inst: Inst) {
        self.tree.blocks[self.block].insts.push(inst);
    }

    /// A load to a buffer of its own.
    pub fn load(&mut self) -> Token {
        self.tree.buffers += 1;
        self.load_to(Buffer::Known(self.tree.buffers - 1))
    }

    pub fn load_to(&mut self, buffer: Buffer) -> Token {
        let load = self.tree.loads.push(Load { bytes: 16, buffer });
        let token = self.tree.token();
        self.push(Inst::Load { load, token });
        token
    }

    pub fn wait(&mut self, tokens: &[Token]) -> AwaitId {
        let (id, tokens) = (AwaitId(self.tree.awaits), tokens.to_vec());
        self.tree.awaits += 1;
        self.push(Inst::Await { id, tokens });
        id
    }

    /// A token that is complete when all of `of` are.
    pub fn join(&mut self, of: &[Token]) -> Token {
        let (token, of) = (self.tree.token(), of.to_vec());
        self.push(Inst::Join { token, of });
        token
    }

    pub fn store(&mut self, buffer: Buffer) -> StoreId {
        let store = StoreId(self.tree.stores);
        self.tree.stores += 1;
        self.push(Inst::Store { store, buffer });
        store
    }

    pub fn access(&mut self, buffer: Buffer, kind: AccessKind) {
        self.push(Inst::Access { buffer, kind });
    }

    /// One of two blocks; both return what they pass out.
    pub fn if_(
        &mut self,
        then: impl FnOnce(&mut Self) -> Vec<Token>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Token>,
    ) -> Vec<Token> {
        let op = self.begin(Trips::FromEdges);
        let then = self.inside(op, Vec::new(), |b, _| then(b));
        let otherwise = self.inside(op, Vec::new(), |b, _| otherwise(b));
        let results = self.results(op, then.len());
        for (place, args) in [then, otherwise].iter().enumerate() {
            self.edge(op, None, Some(place), &[]);
            self.edge(op, Some(place), None, args);
        }
        results
    }

    /// A loop whose body gets what it carries around, and returns what it passes on.
    pub fn for_(
        &mut self,
        trips: Trips,
        inits: &[Token],
        body: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
    ) -> Vec<Token> {
        let op = self.begin(trips);
        let params = inits.iter().map(|_| self.tree.token()).collect();
        let args = self.inside(op, params, body);
        let results = self.results(op, inits.len());
        self.edge(op, None, Some(0), inits);
        if trips == Trips::Counted {
            self.edge(op, None, None, inits);
        }
        if trips != Trips::Constant(1) {
            self.edge(op, Some(0), Some(0), &args);
        }
        self.edge(op, Some(0), None, &args);
        results
    }

    /// A loop with a block before its condition, which may leave it, and one after it.
    pub fn while_(
        &mut self,
        inits: &[Token],
        before: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
        after: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
    ) -> Vec<Token> {
        let op = self.begin(Trips::FromEdges);
        let params = inits.iter().map(|_| self.tree.token()).collect();
        let out = self.inside(op, params, before);
        let params = out.iter().map(|_| self.tree.token()).collect();
        let around = self.inside(op, params, after);
        let results = self.results(op, out.len());
        self.edge(op, None, Some(0), inits);
        self.edge(op, Some(0), Some(1), &out);
        self.edge(op, Some(0), None, &out);
        self.edge(op, Some(1), Some(0), &around);
        results
    }

    /// Threads may differ in the path they take through the last region op.
    pub fn diverge(&mut self) {
        if let Some(op) = self.tree.region_ops.last_mut() {
            op.divergent = true;
        }
    }

    fn begin(&mut self, trips: Trips) -> RegionOpId {
        let op = self.tree.region_ops.push(RegionOp {
            parent: self.block,
            trips,
            ..RegionOp::default()
        });
        self.push(Inst::RegionOp(op));
        op
    }

    fn inside<R>(
        &mut self,
        op: RegionOpId,
        params: Vec<Token>,
        fill: impl FnOnce(&mut Self, &[Token]) -> R,
    ) -> R {
        let block = self.tree.blocks.push(Block {
            params: params.clone(),
            parent_op: Some(op),
            ..Block::default()
        });
        self.tree.region_ops[op].blocks.push(block);
        let outer = std::mem::replace(&mut self.block, block);
        let result = fill(self, &params);
        self.block = outer;
        result
    }

    fn results(&mut self, op: RegionOpId, n: usize) -> Vec<Token> {
        let results: Vec<Token> = (0..n).map(|_| self.tree.token()).collect();
        self.tree.region_ops[op].results.clone_from(&results);
        results
    }

    fn edge(&mut self, op: RegionOpId, from: Option<usize>, to: Option<usize>, args: &[Token]) {
        let it = &self.tree.region_ops[op];
        let targets = to.map_or(&it.results, |to| &self.tree.blocks[it.blocks[to]].params);
        let bindings = args.iter().copied().zip(targets.iter().copied()).collect();
        self.tree.region_ops[op].edges.push(Edge { from, to, bindings });
    }
}

/// What the first steps make of a tree, for the tests of later ones.
pub(super) struct FirstSteps {
    pub tree: Tree,
    pub sites: InstPositions,
    pub placement: Placement,
    pub partition: Partition,
}

impl FirstSteps {
    pub fn new(tree: &Tree) -> Self {
        let tree = simplify(tree);
        let placement = place_phases(&tree);
        Self {
            sites: InstPositions::new(&tree),
            partition: partition(&tree, &placement),
            placement,
            tree,
        }
    }

    /// What a token of a load or of an edge stands for.
    pub fn value(&self, token: Token) -> PhaseValue {
        if let Some(&phi) = self.partition.phi_of.get(&token) {
            return PhaseValue::Phi(phi);
        }
        let insts = self.tree.blocks.iter().flat_map(|block| &block.insts);
        let mut loads = insts.filter_map(|inst| match inst {
            Inst::Load { load, token: own } if *own == token => Some(*load),
            _ => None,
        });
        let load = loads.next().expect("the token of a load");
        let mut phases = self.partition.phases.with_ids();
        let found = phases.find(|(_, loads)| loads.contains(&load));
        PhaseValue::Opened(found.expect("each load has a phase").0)
    }

    /// The phase of a load.
    pub fn phase(&self, token: Token) -> PhaseId {
        match self.value(token) {
            PhaseValue::Opened(phase) => phase,
            PhaseValue::Phi(_) => panic!("{token:?} is bound by edges"),
        }
    }

    /// Rings as different as they can be.
    pub fn rings(&self) -> Rings {
        self.rings_of(&UnionFind::new(self.values()))
    }

    /// One ring for all phases, as if they had been coalesced.
    pub fn one_ring(&self) -> Rings {
        let mut joined = UnionFind::new(self.values());
        (1..self.partition.phases.len()).for_each(|phase| joined.union(0, phase));
        self.rings_of(&joined)
    }

    fn values(&self) -> usize {
        self.partition.phases.len() + self.partition.phis.len()
    }

    fn rings_of(&self, joined: &UnionFind) -> Rings {
        let shift = IndexVec::filled(0, self.partition.phases.len());
        assign(
            &self.tree,
            &self.placement,
            &self.sites,
            &self.partition,
            joined,
            shift,
        )
    }
}
