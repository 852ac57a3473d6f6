//! Groups of asynchronous operations: is each complete where its token is awaited?
//!
//! [`mod@read`] turns a function whose tokens are still there, beside the commits and waits that stand for them, into [`Code`]. [`infer()`]
//! finds a [`Certificate`], and [`check()`] looks whether it holds: what it accepts is true of every execution.
//!
//! *The machine.* Each FIFO has an open group. An operation that is issued joins it, and lands whenever it likes; a commit closes the
//! group, and a wait for `n` blocks until all closed groups but the last `n` have landed (PTX ISA, `cp.async.commit_group`,
//! `cp.async.wait_group`, `cp.async.bulk.wait_group`, `wgmma.wait_group`). Each choice of an edge is independent of all others, but
//! that loops of constant trip count run as often as that says.
//!
//! *Ages.* The age of an operation is the number of groups that were closed since it was issued: 0 while its own is open. A wait for `n`
//! completes what is older than `n`. A claim says of a token which FIFOs its operations may be in flight in, and how old they are at least.

pub mod certificate;
pub mod check;
pub mod code;
pub mod exact;
pub mod infer;
mod lists;
pub mod needed;
pub mod read;
pub mod recheck;
pub mod record;
pub mod state;

pub use certificate::Certificate;
pub use check::{Refusal, check};
pub use code::Code;
pub use exact::{Inexact, check_exact};
pub use infer::infer;
pub use needed::check_and_find_superfluous;
pub use recheck::{nvgpu_waits, recheck};
pub use record::Record;
