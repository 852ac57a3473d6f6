//! The packing of workgroup memory: are buffers that share bytes never in use at once?
//!
//! [`Before`] notes what a function does to its buffers before a pass moves them. Afterwards it reads from what was written where each is
//! ([`written`]): every use of a buffer has to be one of a part of the pool, the same for all its uses, and nothing else may have changed.
//! [`read`](mod@read) turns the function into [`Code`], and [`check()`] looks at each step of that once.
//!
//! *The rules.* A buffer is in use at a step
//!
//! - that lies on a path from a write of it to a read of it, if it is not allocated on the way;
//! - at which it is accessed;
//! - at which an asynchronous access to it may be in flight: no path to there completes it.
//!
//! What threads may do in different order, each on its own way, is one step. A buffer that can't be followed is in use everywhere.

mod alignment;
mod before;
mod buffer_set;
pub mod check;
pub mod code;
mod contents;
mod in_flight;
pub mod read;
pub mod written;

pub use before::{Before, Wrong};
pub use check::{Fault, Refusal, check};
pub use code::{Block, BlockId, BufferId, Code, Edge, Instr, Issue, Place, Sharing, Step, Token};
