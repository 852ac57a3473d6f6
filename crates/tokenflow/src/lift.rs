//! Lifts counted groups to tokens: the inverse of [`solve`](crate::solve()).
//!
//! A wait names the groups of a FIFO by how many are younger; here they are named by values. On every execution, what is
//! awaited at a wait is exactly what the wait newly completes.
//!
//! Notation. *D* is the largest count of a wait. At each point there are *registers*, each of which holds a token: the
//! *open* group, the groups that 0, 1, … *D*−1 others were committed after, and the *tail*, which is the join of all older
//! ones. Every wait completes the tail as a whole, so nothing is lost by joining it. Operations that can be read
//! before they are complete have two families of registers, one for each completion.
//!
//! 1. The program becomes a graph of nodes without nesting, see `lift/flow_graph.rs`.
//! 2. Each node runs on registers, see `lift/registers.rs`: a commit shifts them, a wait takes what it completes and leaves a
//!    complete token. Where paths with different tokens meet, a register is a *phi*: a block parameter or a result. The nodes
//!    are run until no register becomes a phi any more; at first, back edges bring nothing. See `lift/phis.rs`.
//! 3. Phis and joins stay that some wait needs, see `lift/dead_phis.rs`.
//!
//! Where an operation can't have a token, groups have one of their own ([`TokensOf::Groups`]): commits stay, and counting gives
//! the same counts again. Else commits go, and are placed anew when tokens are counted again. What waits complete then may be
//! more, where groups of different sizes meet: [`round_trip_completes_no_more`] asks.
//!
//! With [`Accesses`], a wait leaves to later waits what nobody accesses before them (`lift/demand.rs`, `lift/access_masks.rs`): on every
//! execution, what is complete after an await is a subset of what the wait completed, and has all that is accessed before a
//! later wait completes it.
//!
//! A loop of constant trip count is a loop like any other: a token names a group on every path.
//!
//! Cost: the nodes times *D*, for each round of step 2. A round finds what shifts once more around a loop, so there are
//! at most about *D* for each level of nested loops.

mod access_masks;
mod dead_phis;
mod demand;
mod flow_graph;
mod phis;
mod registers;
mod rewrite;
mod round_trip;

pub use rewrite::rewrite;
pub use round_trip::{counted_again, round_trip_completes_no_more};

use crate::program::{Await, Program, Queue, Site};
use flow_graph::FlowGraph;
use phis::Phis;

/// The regions of an operation, and how values go into and out of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegionStructure {
    /// The region of each block; `None` for blocks that stand for no code.
    pub regions: Vec<Option<usize>>,
    /// True if what goes through the operation is an operand of it, a parameter of the first block of every region, and a
    /// result. Else no first block of a region has a parameter.
    pub is_loop: bool,
}

impl RegionStructure {
    /// Returns true if a region starts with `block`.
    #[must_use]
    pub fn starts_region(&self, block: usize) -> bool {
        let region = self.regions[block];
        region.is_some() && (block == 0 || self.regions[block - 1] != region)
    }
}

/// What has tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokensOf {
    /// Each operation, two if it can be read before it is complete.
    Operations,
    /// Each group, one. Waits for reads are not looked at.
    Groups,
}

/// What may access the memory of operations. There are up to 64 kinds of accesses, one bit each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accesses {
    /// What happens at each await of the program, which awaits nothing: it stands for something that accesses memory.
    pub at: Vec<u64>,
    /// The awaits that stand for barriers of all threads that execute the program: from there on, others do what comes next, whether this
    /// thread has waited again or not.
    pub barriers: Vec<Await>,
    /// What happens where the program ends.
    pub at_end: u64,
    /// What may not happen before an operation is complete.
    pub done: Vec<u64>,
    /// What may not happen before an operation has read its sources.
    pub read: Vec<u64>,
}

/// The register of a queue, by number: those of a lower one hold older groups.
pub type Register = usize;

/// A token of the lifted program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LiftedToken {
    /// A token that is complete.
    Ready,
    /// Complete when the operation is.
    Done(Site),
    /// Complete when the operation has read its sources.
    Read(Site),
    /// Complete when the group is that the commit of this number closes.
    Group(usize),
    /// A join, by number.
    Joined(usize),
    /// What the edges to a block pass on.
    Param {
        /// The number of the graph.
        graph: usize,
        /// The block.
        block: usize,
        /// Of which register.
        register: Register,
    },
    /// What a graph hands out.
    Result {
        /// The number of the graph.
        graph: usize,
        /// Of which register.
        register: Register,
    },
}

/// Where a join stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JoinPlace {
    /// In the place of the commit of this number.
    Commit(usize),
    /// Before the item of the graph of this number.
    Before(usize),
    /// At the end of a block.
    End {
        /// The number of the graph.
        graph: usize,
        /// The block.
        block: usize,
    },
}

/// A join of tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiftedJoin {
    /// Where it stands.
    pub place: JoinPlace,
    /// What is joined; nothing if nobody needs it.
    pub of: Vec<LiftedToken>,
}

/// What becomes of a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiftedGraph {
    /// The registers that go out of it as results; in a loop also into it, and through it.
    pub carried: Vec<Register>,
    /// Its blocks.
    pub blocks: Vec<LiftedBlock>,
    /// The registers where it is entered.
    before: Vec<LiftedToken>,
}

/// What becomes of a block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiftedBlock {
    /// The registers that edges pass on to it, unless it starts a region.
    pub params: Vec<Register>,
    end: Vec<LiftedToken>,
}

/// A queue of a program in token form. Graphs, waits and commits of the queue are numbered in program order, from outside in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiftedQueue {
    /// What is awaited in the place of each wait.
    pub waits: Vec<Vec<LiftedToken>>,
    /// The joins.
    pub joins: Vec<LiftedJoin>,
    /// The graphs; the body of the program is the first.
    pub graphs: Vec<LiftedGraph>,
    /// True if groups have tokens, and not operations.
    pub of_groups: bool,
}

impl LiftedGraph {
    /// What a register holds where the graph is entered.
    #[must_use]
    pub fn before(&self, register: Register) -> LiftedToken {
        // Nothing is known of what is never executed, and nothing has to be.
        self.before.get(register).copied().unwrap_or(LiftedToken::Ready)
    }
}

impl LiftedBlock {
    /// What a register holds at the end of the block.
    #[must_use]
    pub fn end(&self, register: Register) -> LiftedToken {
        self.end.get(register).copied().unwrap_or(LiftedToken::Ready)
    }

    /// Returns true if everything is complete at the end of the block.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end.iter().all(|token| *token == LiftedToken::Ready)
    }
}

/// Lifts a queue of `program` whose operations have no tokens, whose commits are given, and on which nothing is in flight at
/// first. There is a structure for each graph; no edge leads to the first block of a graph.
#[must_use]
pub fn lift(
    program: &Program,
    queue: Queue,
    structures: &[RegionStructure],
    of: TokensOf,
    accesses: Option<&Accesses>,
) -> LiftedQueue {
    let flow = FlowGraph::new(program, queue, structures, of, accesses);
    let phis = Phis::new(&flow, accesses);
    dead_phis::without_dead_phis(&flow, phis)
}
