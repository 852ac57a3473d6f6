//! A kernel as the checker of packed memory sees it: blocks of steps, with what each does to buffers.

use async_overlap::ids::{IndexVec, ids};

pub use crate::tokens::Token;

ids! {
    /// A block.
    BlockId;
    /// A buffer.
    BufferId;
}

/// A kernel. Execution begins with the first block.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The blocks.
    pub blocks: IndexVec<BlockId, Block>,
}

/// Steps in a row, then a choice of edges.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// Where control may go next.
    pub edges: Vec<Edge>,
}

/// What all threads do before any of them does the next step, if barriers lie between: what one thread does in a step, others may do at any
/// time of it. What it does to tokens, it does in order.
#[derive(Clone, Debug, Default)]
pub struct Step(pub Vec<Instr>);

/// What happens.
#[derive(Clone, Debug)]
pub enum Instr {
    /// A buffer is read.
    Read(BufferId),
    /// A buffer is written, perhaps in part. What the step reads of it may be from before.
    Write(BufferId),
    /// A buffer is allocated: nobody wants what it held.
    Allocate(BufferId),
    /// An asynchronous access begins.
    Issue(Issue),
    /// Waits, in all threads of these warps, given as bits, for what one of the tokens stands for.
    Await(Vec<Token>, u32),
    /// Makes tokens that stand for nothing yet.
    Define(Vec<Token>),
    /// Makes a token of others.
    Join(Token, Vec<Token>),
    /// Makes a group of all of the queue that are in no group yet.
    Commit(u8),
    /// Waits for all groups of the queue but the newest ones.
    Wait {
        /// The queue.
        queue: u8,
        /// How many groups it leaves in flight.
        pending: u32,
        /// True if it waits for reads alone.
        reads: bool,
    },
    /// A barrier of the block.
    Barrier,
}

/// An asynchronous access that begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Issue {
    /// The buffer.
    pub buffer: BufferId,
    /// Whether it is written.
    pub writes: bool,
    /// What stands for it.
    pub tokens: Vec<Token>,
    /// The queue whose open group it joins.
    pub queue: Option<u8>,
    /// The warps that have to await it, as bits; if none, any of them has to.
    pub warps: u32,
}

/// All warps, as bits.
pub const ALL_WARPS: u32 = u32::MAX;

/// A transfer of control.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Where it leads.
    pub to: BlockId,
    /// Tokens, and those that they are bound to, all at once.
    pub bindings: Vec<(Token, Token)>,
}

/// Where a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its first byte.
    pub start: u64,
    /// The byte after its last one.
    pub end: u64,
}

/// Which buffers may share bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// Those that are never in use at once.
    Liveness,
    /// Of these, those that barriers separate, too.
    Barriers,
    /// None.
    None,
}

impl Place {
    /// Returns true if a byte is of both.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.start.max(other.start) < self.end.min(other.end)
    }
}

impl Instr {
    /// An access that is over when the step is.
    #[must_use]
    pub fn access(buffer: BufferId, writes: bool) -> Self {
        if writes {
            Self::Write(buffer)
        } else {
            Self::Read(buffer)
        }
    }
}

impl Step {
    /// The buffers that are read, or begin to be.
    pub fn reads(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.0.iter().filter_map(|instr| match instr {
            Instr::Read(buffer) => Some(*buffer),
            Instr::Issue(issue) => (!issue.writes).then_some(issue.buffer),
            _ => None,
        })
    }

    /// The buffers that are written, or begin to be.
    pub fn writes(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.0.iter().filter_map(|instr| match instr {
            Instr::Write(buffer) => Some(*buffer),
            Instr::Issue(issue) => issue.writes.then_some(issue.buffer),
            _ => None,
        })
    }

    /// The buffers that are accessed, or begin to be.
    pub fn accesses(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.reads().chain(self.writes())
    }

    /// The buffers that are allocated.
    pub fn allocates(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.0.iter().filter_map(|instr| match instr {
            Instr::Allocate(buffer) => Some(*buffer),
            _ => None,
        })
    }

    /// Returns true if it is a barrier of the block.
    #[must_use]
    pub fn is_barrier(&self) -> bool {
        self.0.iter().any(|instr| matches!(instr, Instr::Barrier))
    }
}
