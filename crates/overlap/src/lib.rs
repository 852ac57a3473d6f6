//! Which bytes the threads of a block access, and whether two accesses may meet. No MLIR, and no solver.
//!
//! A [`Footprint`] is what an access touches of a buffer: for each thread ranges of bytes ([`ThreadBytes`]), and an [`Offset`] that is
//! added to all of them, which may change from iteration to iteration. [`overlap()`] decides whether different threads may touch the same
//! byte with two of them, at a [`Distance`] in iterations. All that places barriers or checks them asks it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bounds;
mod distance;
mod footprint;
pub mod ids;
mod iterations;
mod loops;
mod offset;
mod overlap;
mod span;
mod value_set;

pub use bounds::bounds;
pub use distance::{Distance, MAX_DEPTH};
pub use footprint::{Footprint, ThreadBytes};
pub use iterations::count_iterations;
pub use loops::{BufferId, Loop, LoopId, Loops, MAX_RUNNING_COUNTS, RunningCount};
pub use offset::{MAX_PERIOD, Offset, Symbol};
pub use overlap::{Conflict, may_overlap_anywhere, overlap};
pub use span::Span;
