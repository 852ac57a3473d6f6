//! An interpreter of device IR under an adversarial asynchronous memory model.
//!
//! The machine itself is the crate `async-interpreter`, which needs no MLIR.
#![forbid(unsafe_code)]

pub mod draw;
pub mod inputs;
pub mod read;

pub use async_interpreter::{
    adversary, code, machine, memory, refine, report, scalar, show, timeline, value, wgmma,
};
