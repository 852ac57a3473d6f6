//! The runtime of asynchronous host code: tasks that never wait, on threads that steal work.
//!
//! Compiled code uses the C interface, which `include/asyncopt_rt.h` describes and `docs/runtime.md` explains. What is public here is
//! that interface, for tests and for a JIT in Rust.
//!
//! - `token`: tokens, their counts and their completion.
//! - `pool`: workers, deques, awaits; `idle`: who sleeps and whom to wake.
//! - `census`, `error`, `trace`: what is alive, what failed, what ran when.
//! - `order`: what comes before what, which the simulated device is told.
//! - `device`: device operations; `simulated`: a device that is an adversary; `cuda`: NVIDIA's GPUs. `memref`: MLIR's functions for printing and copying.
//! - `interface`: the functions of the C interface; `symbols`: what the library exports, by name.

// tools/test-runtime sets it.
#![allow(unexpected_cfgs, reason = "loom")]
// What loom checks is a part of the crate: the rest is not there to use it.
#![cfg_attr(loom, allow(dead_code))]

mod census;
mod error;
mod idle;
mod order;
mod sync;
mod token;

#[cfg(not(loom))]
mod cuda;
#[cfg(not(loom))]
pub mod device;
#[cfg(not(loom))]
pub mod interface;
#[cfg(not(loom))]
pub mod memref;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
mod simulated;
#[cfg(not(loom))]
mod symbols;
#[cfg(not(loom))]
mod trace;

pub use census::Census;
#[cfg(not(loom))]
pub use symbols::symbols;
pub use token::{Token, Type};
