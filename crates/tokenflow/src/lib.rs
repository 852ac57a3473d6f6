//! Exact translation of asynchronous tokens into counted groups.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod age;
mod compare;
mod copy;
mod eval;
mod explain;
mod flat;
mod flight;
mod index;
mod line;
pub mod phases;
mod place;
mod program;
mod solve;

pub use compare::unread_exits;
pub use copy::{Peel, peel};
pub use explain::{Step, Witness, witness};
pub use flat::{Flat, FlatBlock};
pub use flight::{Flight, Operations, Waits, in_flight, sound_counts};
pub use place::{Barred, Elsewhere, Options, Solution, elsewhere, groups, solve, solve_given};
pub use program::*;
pub use solve::*;
