//! What is claimed of [`Code`](super::Code), so that one look at each block is enough to see that it is true.

use super::code::{BlockId, ClassId, Token};
use async_overlap::Distance;
use async_overlap::ids::IndexVec;
use rustc_hash::FxHashSet;

/// For each block, all that may be pending where it begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Certificate {
    /// The sets, by block.
    pub blocks: IndexVec<BlockId, FxHashSet<Pending>>,
}

/// An access that no barrier came after yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Pending {
    /// It is over, for the threads that did it.
    Exposed(Exposed),
    /// It may be in flight.
    InFlight(InFlight),
}

/// An access that is over, and that other threads are not ordered with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Exposed {
    /// The access.
    pub class: ClassId,
    /// How many iterations ago.
    pub distance: Distance,
    /// The warps that are not ordered with it, as bits.
    pub unordered: u32,
    /// The warps that did it, as bits.
    pub by: u32,
    /// True if it is of this execution of code that threads are apart in: no barrier could come between.
    pub is_inside: bool,
}

/// An asynchronous access that is not complete.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InFlight {
    /// The access.
    pub class: ClassId,
    /// How many iterations ago it was issued.
    pub distance: Distance,
    /// The queue that it is complete by.
    pub queue: Option<u8>,
    /// How many groups of the queue were committed since, its own among them; larger numbers are not told apart.
    pub groups: u8,
    /// The tokens that stand for it, in order.
    pub tokens: Vec<Token>,
    /// True if it is not known which tokens stand for it.
    pub is_lost: bool,
    /// Who issued it.
    pub issuer: Issuer,
}

/// Who issued an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Issuer {
    /// Threads of these warps, each its own part.
    Threads(u32),
    /// All threads of the block together.
    Block {
        /// The warps that have not awaited it, as bits.
        waiting: u32,
        /// The warps that have awaited it last, as bits; 0 if none have.
        by: u32,
        /// True if these awaited it in this execution of code that threads are apart in.
        is_inside: bool,
    },
}
