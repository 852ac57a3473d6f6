//! The order of operations: is a block that was reordered a permutation of what it was that keeps each dependence?
//!
//! [`Before`] notes the operations of each block before a pass reorders them, and compares afterwards. [`mod@read`] turns a block, in the order
//! that it had, into [`Step`]s; [`check()`] looks at them once, with where each is now.
//!
//! *The rules.* Two steps may not pass each other if
//!
//! - one uses a value of the other one, also in its regions;
//! - one is a fence, an operation that may do anything, and the other one does anything at all;
//! - both access memory that may be the same, and one of them writes.
//!
//! Where a thread's copies are told apart from what awaits them, only these have to stay in order: what comes before a copy and conflicts
//! with it, what comes after an await and conflicts with a copy that it completes, a barrier and the copies after it, the copies of a
//! queue, and awaits. What conflicts with a copy in flight races with it anyway.

pub mod check;
pub mod code;
pub mod read;

pub use check::{Refusal, check};
pub use code::{Access, Fence, Step, Timing};
pub use read::{Before, Fault};
