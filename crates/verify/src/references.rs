//! References to tokens: does each function release every one that it holds, once, on every path?
//!
//! [`mod@read`] turns a function of host code, whose tokens have calls that retain and release them, into [`Code`]; [`check()`] runs it once.
//!
//! *The rules.* What defines a token hands over one reference. A `retain` adds one, a `release` drops one, and so does a return, a store
//! into a frame, or a branch that passes the token to an argument of a block, which is a definition there. The tokens that a function takes are
//! its caller's. A token is used while a reference is held, and where a function ends, none is. So on any two paths to a block the same
//! references are held, and one look at each block is enough.

pub mod check;
pub mod code;
pub mod read;

pub use check::{Fault, Refusal, check};
pub use code::Code;
pub use read::{Conventions, Reading, read};
