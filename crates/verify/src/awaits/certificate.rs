//! What is claimed of [`Code`](super::Code), so that one look at each block is enough to see that it is true.

use super::code::Memory;
use crate::groups::code::{Fifo, Token};
use rustc_hash::FxHashSet;

/// For each block, all operations that may be in flight or missing where it begins; `None` if control never comes there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Certificate {
    /// The sets, by block.
    pub blocks: Vec<Option<FxHashSet<Pending>>>,
}

/// An operation that is not known to be complete.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pending {
    /// The FIFO of its group.
    pub fifo: Fifo,
    /// What it accesses.
    pub memory: Memory,
    /// True if all threads of the block await it together.
    pub of_block: bool,
    /// How far it is.
    pub phase: Phase,
    /// The tokens that stand for it and are used later, in order.
    pub tokens: Vec<Token>,
}

/// How far an operation is that is not known to be complete.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// It may be in flight, and so many groups were closed since it was issued; larger ages than any wait is for are not told apart.
    InFlight(u32),
    /// The counts have completed it, and no await has.
    Missing {
        /// True if a barrier has told other threads since that it is complete.
        is_told: bool,
    },
    /// This thread has awaited it, but others were told before: they know of that after the next barrier.
    AwaitedLate,
}
