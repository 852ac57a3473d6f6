//! A kernel as the checker sees it: blocks of accesses, barriers and what completes asynchronous accesses, with where each access is.

use async_overlap::ids::{IndexVec, ids};
use async_overlap::{Footprint, LoopId, Loops};

pub use crate::tokens::Token;

ids! {
    /// A block.
    BlockId;
    /// Accesses of the same bytes in the same way: what holds of one of them holds of all.
    ClassId;
}

/// A kernel. Execution begins with the first block.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The loops.
    pub loops: Loops,
    /// The accesses.
    pub classes: IndexVec<ClassId, Class>,
    /// The blocks.
    pub blocks: IndexVec<BlockId, Block>,
    /// The warps that there may be, as bits.
    pub warps: u32,
}

/// Accesses of the same bytes in the same way.
#[derive(Clone, Debug)]
pub struct Class {
    /// Which bytes each thread accesses.
    pub footprint: Footprint,
    /// How.
    pub kind: Kind,
}

/// How memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written in one go, which no other atomic access comes into.
    Atomic,
}

/// Instructions in a row, then a choice of edges.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// What happens, in order.
    pub instrs: Vec<Instr>,
    /// Where control may go next.
    pub edges: Vec<Edge>,
    /// The number of loops around.
    pub depth: usize,
    /// No block before this one comes after the block: it is itself, or the first one of the outermost loop around.
    pub first_after: BlockId,
    /// Who comes by.
    pub threads: Threads,
}

/// The threads of a block of threads that come by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// Warps that may, as bits.
    pub warps: u32,
    /// True if all threads of each of these warps do, or none.
    pub whole: bool,
    /// True if threads may take different paths here, in any order: no barrier of the whole block is met.
    pub apart: bool,
}

/// All warps, as bits.
pub const ALL_WARPS: u32 = u32::MAX;

impl Default for Threads {
    fn default() -> Self {
        Self {
            warps: ALL_WARPS,
            whole: true,
            apart: false,
        }
    }
}

/// What happens.
#[derive(Clone, Debug)]
pub enum Instr {
    /// A barrier of the block.
    Barrier,
    /// A barrier of these warps, given as bits.
    BarrierOf(u32),
    /// Accesses, which are over when the operation is.
    Access(Vec<ClassId>),
    /// Asynchronous accesses begin.
    Issue(Vec<Issue>),
    /// Waits for what one of the tokens stands for.
    Await(Vec<Token>),
    /// The same, and for all groups of the queue that were committed before that of a token.
    AwaitGroup(u8, Vec<Token>),
    /// Makes a token of others.
    Join(Token, Vec<Token>),
    /// Makes a group, which the token stands for, of all of the queue that are in no group yet.
    Commit(u8, Option<Token>),
    /// Waits for all groups of the queue but the newest ones.
    Wait {
        /// The queue.
        queue: u8,
        /// The number of groups that may be incomplete.
        pending: u32,
        /// True if it waits only until they have read all.
        reads: bool,
    },
}

/// An asynchronous access that begins.
#[derive(Clone, Debug)]
pub struct Issue {
    /// The access.
    pub class: ClassId,
    /// The tokens that stand for it.
    pub tokens: Vec<Token>,
    /// The queue whose open group it joins.
    pub queue: Option<u8>,
    /// True if all threads of the block issue it together: then it comes after all that they did, and who awaits it is ordered with it.
    pub block_wide: bool,
}

/// A transfer of control.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Its target.
    pub to: BlockId,
    /// Its part in a loop.
    pub kind: EdgeKind,
    /// Tokens, and those that they are bound to, all at once.
    pub bindings: Vec<(Token, Token)>,
    /// True if bound tokens keep what they stand for: another part of the threads has taken another edge before.
    pub adds: bool,
}

/// The part of an edge in a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeKind {
    /// None.
    Plain,
    /// To the first iteration.
    Enter(LoopId),
    /// To the next iteration.
    Back(LoopId),
    /// Out of the loop.
    Leave(LoopId),
}

impl Kind {
    /// Returns true if two accesses of a byte by different threads have to be ordered.
    #[must_use]
    pub fn needs_order_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Read, Self::Read) | (Self::Atomic, Self::Atomic) => false,
            (Self::Write, _) | (_, Self::Write) | (Self::Read, Self::Atomic) | (Self::Atomic, Self::Read) => {
                true
            }
        }
    }
}
