//! The input: structured control flow with loads, awaits, barriers and accesses.
//!
//! A [`Tree`] is made of blocks without branches. An instruction of a block may be a [`RegionOp`], an operation with blocks of
//! its own and edges between them, as MLIR's `RegionBranchOpInterface` tells them. Tokens are in SSA form.

use super::ids::{AwaitId, BlockId, IndexVec, LoadId, RegionOpId, StoreId};
use crate::program::Token;

/// A function body.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The blocks.
    pub blocks: IndexVec<BlockId, Block>,
    /// The operations with blocks of their own.
    pub region_ops: IndexVec<RegionOpId, RegionOp>,
    /// The loads.
    pub loads: IndexVec<LoadId, Load>,
    /// How many tokens there are; they are numbered from 0.
    pub tokens: u32,
    /// How many awaits there are.
    pub awaits: usize,
    /// How many stores there are.
    pub stores: usize,
    /// How many buffers are told apart; accesses name them by number.
    pub buffers: usize,
    /// True if threads may have accessed any of them before: the function is called by others.
    pub called: bool,
}

/// A load that completes on an mbarrier.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many bytes it transfers.
    pub bytes: u64,
    /// What it writes.
    pub buffer: Buffer,
}

/// Memory of the workgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// A buffer that shares no byte with any other.
    Known(usize),
    /// Any of them.
    Any,
}

/// A straight line of instructions.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Tokens that the edges to the block bind.
    pub params: Vec<Token>,
    /// What happens, in order.
    pub insts: Vec<Inst>,
    /// The region op that the block is of; `None` for the body.
    pub parent_op: Option<RegionOpId>,
}

/// One instruction of a block.
#[derive(Clone, Debug)]
pub enum Inst {
    /// A load starts, once all threads are here.
    Load {
        /// Which.
        load: LoadId,
        /// Complete when the load is.
        token: Token,
    },
    /// Tokens are awaited.
    Await {
        /// Which await.
        id: AwaitId,
        /// The tokens.
        tokens: Vec<Token>,
    },
    /// A token that is complete when all of `of` are; of none: complete already, or not the business of phases.
    Join {
        /// The token.
        token: Token,
        /// The others.
        of: Vec<Token>,
    },
    /// An operation with blocks.
    RegionOp(RegionOpId),
    /// All threads of the block meet.
    Barrier,
    /// What this thread wrote is passed to the asynchronous proxy.
    Fence,
    /// Threads wait for copies of their own, which have written by now.
    WaitForCopies,
    /// Threads access memory, through the generic proxy unless the kind says otherwise.
    Access {
        /// What.
        buffer: Buffer,
        /// How.
        kind: AccessKind,
    },
    /// A store starts, once all threads are here; it reads through the asynchronous proxy.
    Store {
        /// Which.
        store: StoreId,
        /// What it reads.
        buffer: Buffer,
    },
}

/// How threads access memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// They read.
    Read,
    /// They have started a read through the asynchronous proxy, or have waited for one that is over now.
    AsyncRead,
    /// They write, and may read.
    Write,
    /// They start copies, which write any time until they are waited for.
    Copy,
}

/// An operation with blocks.
#[derive(Clone, Debug, Default)]
pub struct RegionOp {
    /// The block it stands in.
    pub parent: BlockId,
    /// Its blocks, single ones each.
    pub blocks: Vec<BlockId>,
    /// Where control may go; a loop of one iteration has no edge around.
    pub edges: Vec<Edge>,
    /// Its token results.
    pub results: Vec<Token>,
    /// How often its blocks run.
    pub trips: Trips,
    /// True if threads may differ in the path they take through it. With something inside for which all threads meet, they
    /// don't.
    pub divergent: bool,
    /// True if it takes a division to know which iteration of it runs, or how often it does.
    pub divides: bool,
    /// True if nothing can be carried through it but what it carries by itself.
    pub closed: bool,
}

/// How often the blocks of a region op run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Trips {
    /// As the edges say; some path around may be run any number of times.
    #[default]
    FromEdges,
    /// It is a loop of one block, whose iterations are numbered from 0 by the program, and these many are run.
    Constant(u64),
    /// The same, with a number that only the running program knows.
    Counted,
}

/// A path from one block of a region op to another one.
#[derive(Clone, Debug)]
pub struct Edge {
    /// From the end of this block of the region op, or `None`: from where the region op is entered.
    pub from: Option<usize>,
    /// To the start of this block of the region op, or `None`: after the region op.
    pub to: Option<usize>,
    /// Which token is bound to which.
    pub bindings: Vec<(Token, Token)>,
}

impl Tree {
    /// Returns a new token.
    pub fn token(&mut self) -> Token {
        self.tokens += 1;
        Token(self.tokens - 1)
    }

    /// For each token, whether it may stand for a load.
    #[must_use]
    pub fn loaded(&self) -> Vec<bool> {
        let mut next: Vec<Vec<Token>> = vec![Vec::new(); self.tokens as usize];
        let mut work: Vec<Token> = Vec::new();
        for inst in self.blocks.iter().flat_map(|block| &block.insts) {
            match inst {
                Inst::Load { token, .. } => work.push(*token),
                Inst::Join { token, of } => of.iter().for_each(|of| next[of.0 as usize].push(*token)),
                _ => {}
            }
        }
        let edges = self.region_ops.iter().flat_map(|op| &op.edges);
        for (from, to) in edges.flat_map(|edge| &edge.bindings) {
            next[from.0 as usize].push(*to);
        }
        let mut loaded = vec![false; next.len()];
        while let Some(token) = work.pop() {
            if !std::mem::replace(&mut loaded[token.0 as usize], true) {
                work.extend(&next[token.0 as usize]);
            }
        }
        loaded
    }

    /// The block around `block`.
    #[must_use]
    pub fn outer(&self, block: BlockId) -> Option<BlockId> {
        Some(self.region_ops[self.blocks[block].parent_op?].parent)
    }
}

impl RegionOp {
    /// Returns true if a block of the region op may run more than once.
    #[must_use]
    pub fn repeats(&self) -> bool {
        match self.trips {
            Trips::Constant(trips) => trips > 1,
            Trips::Counted => true,
            Trips::FromEdges => self.has_cycle(),
        }
    }

    fn has_cycle(&self) -> bool {
        // Takes away blocks that nothing leads to any more; what is left goes around.
        let mut left: Vec<bool> = vec![true; self.blocks.len()];
        loop {
            let reached = |block: usize| {
                let into = |edge: &&Edge| edge.to == Some(block) && edge.from.is_some_and(|from| left[from]);
                self.edges.iter().find(into).is_some()
            };
            let Some(gone) = (0..left.len()).find(|&block| left[block] && !reached(block)) else {
                return left.contains(&true);
            };
            left[gone] = false;
        }
    }

    /// The edges into a block of the region op, or after it.
    pub fn edges_to(&self, to: Option<usize>) -> impl Iterator<Item = (usize, &Edge)> {
        self.edges
            .iter()
            .enumerate()
            .filter(move |(_, edge)| edge.to == to)
    }
}
