//! What is known of code with mbarriers, written so that one look at each of its blocks is enough to see that it is true.
//!
//! The code is unfolded: each state in which a block may begin is a block of its own, in which slots, counts and parities are
//! numbers. [`check_certificate()`](super::check_certificate()) checks it. `proofs/` has the same code, certificates and checker,
//! and what follows of code that has a certificate.

/// An mbarrier: a slot of a ring.
pub type Mbarrier = u32;

/// A token.
pub type TokenId = u32;

/// A block, by its place in [`Certificate::blocks`].
pub type BlockId = u32;

/// A node, by its place in [`Certificate::nodes`].
pub type NodeId = u32;

/// Code, and an inductive invariant of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Certificate {
    /// The code; it begins with the first block.
    pub blocks: Vec<Block>,
    /// What is known where blocks begin; of the first one, in the first node.
    pub nodes: Vec<Node>,
}

/// Instructions in a row, then a choice of edges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// What happens, in order.
    pub instrs: Vec<Instr>,
    /// Where control may go next.
    pub edges: Vec<Edge>,
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instr {
    /// `mbarrier.init`: a phase counts so many arrivals.
    Init(Mbarrier, u64),
    /// `mbarrier.inval`.
    Inval(Mbarrier),
    /// A load that completes so many bytes; the token names it alone.
    Load(Mbarrier, TokenId, u64),
    /// `mbarrier.expect_tx`.
    Expect(Mbarrier, u64),
    /// `mbarrier.arrive`.
    Arrive(Mbarrier),
    /// A loop of `mbarrier.try_wait.parity`.
    TryWait(Mbarrier, bool),
    /// `barrier.sync` of all threads of the block.
    Sync,
    /// The place where no load of the mbarrier may be in flight.
    Idle(Mbarrier),
    /// The place where the loads of all the tokens have to have landed.
    Await(Vec<TokenId>),
    /// Makes a token of the loads of others; of none, it is complete.
    Join(TokenId, Vec<TokenId>),
}

/// A transfer of control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Its target.
    pub to: BlockId,
    /// Tokens that name the loads of others after it, all at once.
    pub binds: Vec<(TokenId, Vec<TokenId>)>,
}

/// What is known where a block begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// The block.
    pub block: BlockId,
    /// Mbarriers; `None` if one is not initialized.
    pub accounts: Vec<(Mbarrier, Option<Account>)>,
    /// Tokens: the loads of each have landed, or complete on one of these.
    pub claims: Vec<(TokenId, Vec<Mbarrier>)>,
    /// For each edge of the block the node that it leads to.
    pub successors: Vec<NodeId>,
}

/// The phase of an mbarrier that the thread has to do with. Once its last arrival is done and its debt is paid, it may be complete.
#[allow(clippy::struct_excessive_bools)] // They have nothing to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Account {
    /// The arrivals of each phase.
    pub total: u64,
    /// The parity of the phase.
    pub parity: bool,
    /// Pending arrivals.
    pub arrivals: u64,
    /// The bytes expected, less those of the loads issued.
    pub debt: i64,
    /// True if loads of the phase were issued, and may be in flight.
    pub loaded: bool,
    /// True if other threads may not know that the mbarrier is initialized.
    pub fresh: bool,
    /// True if other threads may be at their wait for the last phase.
    pub at_wait: bool,
}
