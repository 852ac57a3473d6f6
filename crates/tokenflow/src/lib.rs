//! Exact translation of asynchronous tokens into counted groups.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

// The unit tests use the oracle of the integration tests, which knows this crate by its name.
#[cfg(test)]
extern crate self as tokenflow;
#[cfg(test)]
#[path = "../tests/oracle/mod.rs"]
mod oracle;

mod age;
mod automaton;
pub mod barriers;
#[cfg(test)]
mod brute_force;
mod clone;
mod compare;
mod counts;
mod eval;
mod explain;
pub mod flags;
mod flat;
mod flight;
pub mod ids;
pub mod lift;
mod never_committed;
pub mod packing;
pub mod phases;
pub mod pipeline;
mod place;
mod program;
mod program_info;
pub mod schedule;
mod solve;
mod straight_line;

pub use clone::{Peel, peel};
pub use compare::unread_exits;
pub use counts::{Count, QueueSolution, covered_by_awaits, solve_queue};
pub use explain::{Step, Witness, witness};
pub use flat::{Flat, FlatBlock};
pub use flight::{Flight, Operations, Waits, in_flight, sound_counts};
pub use never_committed::{never_committed, never_waited};
pub use place::{MoveEffect, NotChosen, effect_of_move, operations_by_commit};
pub use program::*;
pub use solve::{Options, Solution, solve, solve_given};
