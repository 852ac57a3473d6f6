//! What is claimed of [`Code`](super::Code), so that one look at each block is enough to see that it is true.

use super::code::{BlockId, Fifo, Loop, Span, Token};

/// An inductive invariant of a function: claims that hold wherever execution comes by.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Certificate {
    /// The nodes; the first one is where the function begins.
    pub nodes: Vec<Node>,
    /// The claims of all nodes.
    pub claims: Vec<Claim>,
    /// The operations in flight of all claims.
    pub in_flight: Vec<(Fifo, Age)>,
    /// The successors of all nodes.
    pub successors: Vec<Option<NodeId>>,
}

/// A node, by its place in [`Certificate::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Claims for the beginning of a block, in certain iterations of the loops of constant trip count around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The block.
    pub block: BlockId,
    /// The iterations; of a loop that is not listed, any.
    pub context: Vec<(Loop, Iterations)>,
    /// The tokens of which something is known.
    pub claims: Span,
    /// For each edge of the block the node that it leads to; `None` if it leaves the function, or if the iterations rule it out.
    pub successors: Span,
}

/// What is known of a token: each of its operations that is not complete is of one of these FIFOs, and at least that old.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The token.
    pub token: Token,
    /// The FIFOs and ages, at most one of each FIFO.
    pub in_flight: Span,
}

/// The largest age that is told apart: no wait leaves as many groups in flight.
pub const OLDEST: Age = 66;

/// An age: how many groups are at least closed since the operation was issued; 0 while its group is open.
pub type Age = u32;

/// Numbers of iterations: `first`, `first + step`, `first + 2 * step`, ….
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Iterations {
    /// The first one.
    pub first: u64,
    /// The distance from one to the next; 0 if there is only one.
    pub step: u64,
}

impl Iterations {
    /// Returns true if iteration `i` is one of these.
    #[must_use]
    pub fn contain(self, i: u64) -> bool {
        let distance = i.checked_sub(self.first);
        distance.is_some_and(|distance| distance.is_multiple_of(self.step))
    }

    /// Returns true if all of `others` are among these.
    #[must_use]
    pub fn contain_all(self, others: Self) -> bool {
        self.contain(others.first) && others.step.is_multiple_of(self.step)
    }

    /// The iterations after these; `None` if there is no such number.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let first = self.first.checked_add(1)?;
        Some(Self { first, ..self })
    }
}
