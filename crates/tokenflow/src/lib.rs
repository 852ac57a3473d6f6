//! Exact translation of asynchronous tokens into counted groups, and other problems of asynchronous
//! copies on GPUs, on plain data: no MLIR, no IR at all. A compiler describes its program as a [`Program`],
//! and applies what it is told.
//!
//! - [`solve()`]: where to commit, and how many groups each wait may leave in flight.
//! - [`lift`]: from counted groups to tokens.
//! - [`phases`]: from tokens to phases of mbarriers.
//! - [`barriers`]: the fewest block barriers between accesses that conflict.
//! - [`packing`]: offsets for buffers in one allocation, by their lifetimes.
//! - [`schedule`]: the order of operations on several engines, within limits of open dependences.
//! - [`flags`]: flags between engines that run on their own.
//! - [`reference_counting`]: where to retain and release what is counted by reference.
//! - [`pipeline`]: whether a schedule of a pipelined loop is legal, and how many versions of its buffers it takes.
//!
//! # Example
//!
//! Two copies, and an await of each: at the first, one group, that of the second copy, may stay in flight.
//!
//! ```
//! use tokenflow::{Block, Item, Options, Program, Queue, solve};
//!
//! let mut program = Program::new(1);
//! let mut items = Vec::new();
//! let mut copies = Vec::new();
//! for _ in 0..2 {
//!     let token = program.token();
//!     items.push(Item::Issue {
//!         site: program.site(),
//!         queue: Queue(0),
//!         token: Some(token),
//!         read: None,
//!         slot: Some(program.slot()),
//!     });
//!     copies.push(token);
//! }
//! for token in copies {
//!     items.push(Item::Await {
//!         site: program.new_await(),
//!         tokens: vec![token],
//!         covered: false,
//!     });
//! }
//! program.body.blocks.push(Block {
//!     items,
//!     ..Block::default()
//! });
//!
//! let solution = solve(&program, &Options::default());
//! let queue = &solution.queues[0];
//! let waits: Vec<_> = queue.waits.iter().flatten().map(|wait| wait.n).collect();
//! // How many commits there are after each copy, and how many groups each await leaves in flight.
//! assert_eq!((&*queue.commits, &*waits), (&[1, 1][..], &[1, 0][..]));
//! ```
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
mod empty_groups;
mod eval;
mod explain;
pub mod flags;
mod flat_cfg;
mod in_flight;
pub mod lift;
mod nested_waits;
mod never_committed;
pub mod packing;
pub mod phases;
pub mod pipeline;
mod place;
mod program;
mod program_info;
pub mod reference_counting;
pub mod schedule;
mod solve;
mod straight_line;

pub use async_overlap::ids;
pub use clone::{Peel, have_same_outline, peel};
pub use compare::unread_exits;
pub use counts::{Count, QueueSolution, covered_by_awaits, solve_queue};
pub use empty_groups::sometimes_empty;
pub use explain::{Step, Witness, witness};
pub use flat_cfg::{FlatBlock, FlatCfg};
pub use in_flight::{InFlightOperations, Operations, Waits, in_flight, sound_counts};
pub use nested_waits::assume_nested_waits;
pub use never_committed::{never_committed, never_waited};
pub use place::{MoveEffect, NotChosen, effect_of_move, operations_by_commit};
pub use program::*;
pub use solve::{Options, Solution, solve, solve_given};
