//! Code as the checker sees it: what a function does with the mbarriers of one ring.
//!
//! All threads of the block take the same way, so the code is that of one thread; what only the thread that issues executes says so. Where
//! warps have roles, what some of them execute comes in the order of the text, too, and says whose it is.

use super::int::Operation;
use crate::groups::code::Span;

/// A variable: an integer that control flow changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Var(pub u32);

/// A token: a set of loads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Token(pub u32);

/// A block, by its place in [`Code::blocks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// The most slots of a ring: a set of them is a word.
pub const MOST_SLOTS: u32 = 64;

/// The number of threads of a block, where the kernel does not say it: more than any that is counted otherwise.
pub const SOME_THREADS: i64 = 1 << 40;

/// A number that an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A constant.
    Const(i64),
    /// What a variable holds.
    Var(Var),
}

/// A set of roles, as bits. Without roles, all threads have role 0.
pub type Roles = u32;

/// A ring at which threads gather, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Gathering(pub u8);

/// The most rings at which threads gather.
pub const MOST_GATHERINGS: usize = 8;

/// The threads that execute an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// All threads of some roles.
    Roles(Roles),
    /// The one that issues loads.
    Issuer,
}

/// What a function does with a ring of mbarriers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// The number of mbarriers, each of which is a slot.
    pub depth: u32,
    /// How many threads have each role, or [`SOME_THREADS`].
    pub threads: Vec<i64>,
    /// The ring of which it is told how many times threads have gathered there.
    pub counted: Gathering,
    /// True if threads gather at this ring itself.
    pub is_gathering: bool,
    /// How many times threads may gather before it is not told apart any more: as often as the ring at which they do has mbarriers.
    pub most_gathers: u8,
    /// The number of variables.
    pub vars: u32,
    /// The number of tokens.
    pub tokens: u32,
    /// The blocks; execution begins with the first one.
    pub blocks: Vec<Block>,
    /// The instructions of all blocks.
    pub instrs: Vec<Instr>,
    /// The edges of all blocks.
    pub edges: Vec<Edge>,
    /// The tokens of all lists of tokens.
    pub lists: Vec<Token>,
}

/// Instructions in a row, then a choice of edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// What happens, in order.
    pub instrs: Span,
    /// Where control may go next.
    pub edges: Span,
}

/// An instruction. Slots are numbers of mbarriers of the ring, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instr {
    /// `mbarrier.init`, by the thread that issues.
    Init {
        /// The slot.
        slot: Operand,
        /// How many arrivals a phase has.
        count: Operand,
    },
    /// `fence.mbarrier_init`: makes initializations known to the asynchronous proxy.
    InitFence,
    /// `mbarrier.inval`, by the thread that issues.
    Inval {
        /// The slot.
        slot: Operand,
    },
    /// `mbarrier.expect_tx`, by the thread that issues.
    Expect {
        /// The slot.
        slot: Operand,
        /// How many bytes are to come.
        bytes: Operand,
    },
    /// `mbarrier.arrive`; `mbarrier.arrive.expect_tx` is `Expect` and `Arrive`.
    Arrive {
        /// The slot.
        slot: Operand,
        /// Who arrives.
        by: Who,
    },
    /// A load, issued by one thread; the token stands for it alone.
    Load {
        /// The slot that it completes on.
        slot: Operand,
        /// How many bytes it completes.
        bytes: i64,
        /// Its token.
        token: Token,
    },
    /// A loop of `mbarrier.try_wait.parity`.
    Wait {
        /// The slot.
        slot: Operand,
        /// The parity of the phase that has to be complete.
        parity: Operand,
        /// Who waits.
        by: Who,
    },
    /// `barrier.sync` of all threads of the block.
    Barrier,
    /// The place where threads arrive at another ring.
    Gather(Gathering, Roles),
    /// The place where the thread that issues knows that all of them have come to the last [`Instr::Gather`] of that ring.
    Gathered(Gathering),
    /// Threads wait for a load that was issued when all but so many of the last times that threads arrived at this ring were over.
    Learn(u32, Roles),
    /// The place where the loads of all the tokens have to have landed, as these threads know.
    Await(Span, Roles),
    /// Makes a token of the loads of others; of none, it is complete.
    Join(Token, Span),
    /// Computes a variable.
    Compute {
        /// The result.
        to: Var,
        /// The operation.
        operation: Operation,
        /// The width of the operands in bits.
        width: u8,
        /// Its operands; those that it does not have are 0.
        of: [Operand; 3],
    },
    /// Gives a variable a value of which nothing is known.
    Forget(Var),
}

/// A transfer of control.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edge {
    /// Its target; `None` if it leaves the function.
    pub to: Option<BlockId>,
    /// What it takes for the edge to be taken.
    pub when: Option<When>,
    /// What it binds to variables, all at once.
    pub vars: Vec<(Var, Bound)>,
    /// What it binds to tokens, all at once; `None` is a token that is complete.
    pub tokens: Vec<(Token, Option<Token>)>,
}

/// A condition. Of a variable of which nothing is known, it is known after the edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// The variable is true, or false.
    Is(Var, bool),
    /// A loop of constant trip count has another iteration after the one that the variable counts.
    Again(Var, u64),
    /// It has not.
    Last(Var, u64),
    /// The variable, a trip count, is the iteration that another one counts, and one more; without another one, it is 0.
    Trips(Var, Option<Var>),
}

/// What an edge binds to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// A number.
    Is(Operand),
    /// One more than a variable that counts iterations.
    Next(Var),
    /// The first iteration: 0. Iterations are told apart modulo this number.
    First(u32),
    /// Something of which nothing is known.
    Unknown,
}
