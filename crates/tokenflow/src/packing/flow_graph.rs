//! The input: a control-flow graph of what threads do to buffers.
//!
//! A node is a step that all threads of a block come by, or pass by, together: what threads may do at different times, each
//! on its own path, is one node with all that may happen there.

/// A buffer, by number.
pub type BufferId = usize;
/// A token, by number.
pub type TokenId = usize;
/// A queue of groups, by number.
pub type QueueId = usize;
/// A node, by number; 0 is the first to run.
pub type NodeId = usize;

/// The steps of a function.
#[derive(Clone, Debug, Default)]
pub struct FlowGraph {
    /// The steps.
    pub nodes: Vec<Node>,
    /// How many buffers there are.
    pub buffers: usize,
    /// Where each token comes from.
    pub tokens: Vec<TokenOrigin>,
}

/// Where a token comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenOrigin {
    /// A node makes it.
    Node(NodeId),
    /// Edges hand it over.
    Edges,
    /// It is made in a node, and whatever waits for it waits in that node, or for a token that is made of it there.
    Inside(NodeId),
    /// It may be lost: it can't be told when it is awaited.
    Lost,
}

/// A step.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Buffers that are read.
    pub reads: Vec<BufferId>,
    /// Buffers that are written, each perhaps in part. What is read there is read first.
    pub writes: Vec<BufferId>,
    /// Buffers whose old contents nobody wants any more.
    pub fresh: Vec<BufferId>,
    /// Asynchronous accesses that begin.
    pub issues: Vec<Issue>,
    /// Tokens that are made of others, which have to be complete first.
    pub joins: Vec<(TokenId, Vec<TokenId>)>,
    /// Tokens that are awaited by all threads.
    pub awaits: Vec<TokenId>,
    /// Tokens that are awaited by all threads of some warps, given as bits.
    pub awaits_of_warps: Vec<(TokenId, u32)>,
    /// The queue whose open group is closed.
    pub commits: Option<QueueId>,
    /// The queue all of whose groups are waited for; with true, until their sources are read.
    pub waits: Option<(QueueId, bool)>,
    /// True if all threads of the block wait for each other.
    pub barrier: bool,
    /// Where control may go from here; nowhere at an end.
    pub edges: Vec<Edge>,
}

/// An asynchronous access.
#[derive(Clone, Debug)]
pub struct Issue {
    /// What is accessed.
    pub buffer: BufferId,
    /// True if it is written.
    pub write: bool,
    /// When it is over.
    pub until: AccessEnd,
}

/// When an asynchronous access is over.
#[derive(Clone, Debug)]
pub enum AccessEnd {
    /// When any of these is complete.
    Tokens(Vec<TokenId>),
    /// When all of these warps, given as bits, have awaited any of these; if there are none, any warp.
    TokensOfWarps(Vec<TokenId>, u32),
    /// When a wait for its group is over.
    Queue(QueueId),
    /// That is not known.
    Unknown,
}

/// A transfer of control.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    /// Where it leads.
    pub to: NodeId,
    /// Tokens that are handed over, and what they are there.
    pub bindings: Vec<(TokenId, TokenId)>,
}

/// A set of nodes that is emptied at no cost.
#[derive(Debug)]
pub(super) struct NodeSet {
    round: u32,
    entered: Vec<u32>,
}

impl NodeSet {
    pub fn new(nodes: usize) -> Self {
        Self {
            round: 1,
            entered: vec![0; nodes],
        }
    }

    pub fn clear(&mut self) {
        self.round += 1;
    }

    /// Adds `node`; returns false if it was there.
    pub fn insert(&mut self, node: NodeId) -> bool {
        std::mem::replace(&mut self.entered[node], self.round) != self.round
    }

    pub fn contains(&self, node: NodeId) -> bool {
        self.entered[node] == self.round
    }
}
