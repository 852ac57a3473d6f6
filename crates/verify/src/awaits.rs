//! Awaits in the place of waits: is what the counts complete, and somebody accesses, awaited before?
//!
//! A queue in token form, whose commits and waits are still there, is read into [`Code`]: [`mod@super::groups`] reads commits, waits and
//! tokens, and here it is added what operations access. An operation that the counts have completed and that nobody has awaited since is
//! *missing*. [`infer()`] finds a [`Certificate`], all that may be in flight or missing where each block begins; [`check()`] looks whether it
//! holds, and whether what is missing is left alone. That awaits complete no more than waits did, [`super::groups::check()`] says of the same
//! code.
//!
//! *The rules.* While an operation is missing,
//!
//! - nothing accesses what it writes, and nothing writes to what it reads, in this thread;
//! - this thread tells others nothing, but at barriers that all threads pass at the same place (PTX ISA, `bar.sync`: it orders what each
//!   thread knows to be complete);
//! - execution does not end. Where a caller goes on, nothing may be in flight that was never awaited, either.
//!
//! After such a barrier, other threads may do what comes next, and know nothing of the awaits of this one: what it awaits later is as good as
//! missing until the next barrier. Stores that all threads of the block await together are known to all of them at once.

pub mod certificate;
pub mod check;
pub mod code;
pub mod infer;
pub mod read;
mod state;
pub mod verify;

pub use certificate::Certificate;
pub use check::{Refusal, check};
pub use code::Code;
pub use infer::infer;
pub use verify::{Failure, Written, verify};
