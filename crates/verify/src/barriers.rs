//! Checks that a barrier lies between every two accesses of the workgroup's memory that meet: by different threads, at least one of which
//! writes, on every path.
//!
//! [`read()`] turns a function into [`Code`]: where each access is, `async-locations` says, and whether two may meet `async-overlap`.
//! [`infer()`] finds a [`Certificate`], the accesses that are pending where each block begins: no barrier came after them yet. [`check()`]
//! believes none of it: it walks once through each block, and looks whether an access meets one that is pending, and whether all that is
//! pending at the end is claimed where control goes next.

mod bytes;
pub mod certificate;
pub mod check;
pub mod code;
mod in_flight;
pub mod infer;
pub mod read;
mod state;

pub use certificate::Certificate;
pub use check::{Refusal, check};
pub use code::Code;
pub use infer::infer;
pub use read::{AroundBarriers, Reading, read};
