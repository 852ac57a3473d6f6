//! Mbarriers that loads complete on: is each load complete where its token is awaited, and does each wait end?
//!
//! [`read`] turns a function whose tokens are still there, beside the mbarriers and waits that stand for them, into [`Code`]: of one
//! ring of mbarriers at a time, with all that its slots and parities are computed from. [`check()`] looks at every state that
//! the code can be in: what it accepts is true of every execution. Where only
//! the thread that issues arrives, it hands out what it has found as a [`Certificate`], and checks that ([`check_certificate()`]).
//!
//! *The machine* is that of the PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier", see [`mod@slot`]. All
//! threads of a block take the same way to loads, arrivals and barriers; how far each of them is, is anybody's guess.

pub mod certificate;
pub mod check_certificate;
pub mod check_invariant;
pub mod code;
pub mod explore;
pub mod int;
pub mod invariant;
pub mod liveness;
pub mod read;
pub mod recheck;
pub mod record;
pub mod slot;
pub mod state;
pub mod unfold;
pub mod verify;

pub use certificate::Certificate;
pub use check_certificate::{Unproven, check_certificate};
pub use check_invariant::{Broken, Outcome, check_invariant};
pub use code::Code;
pub use explore::{Refusal, check, explore};
pub use invariant::Invariant;
pub use read::Written;
pub use recheck::{recheck, rings_of};
pub use record::Record;
pub use slot::Fault;
pub use verify::{Failure, Proof, verify};
