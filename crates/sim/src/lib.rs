//! An interpreter of device IR under an adversarial asynchronous memory model.
//!
//! The machine itself is the crate `async-interpreter`, which needs no MLIR.
#![forbid(unsafe_code)]

pub mod draw;
pub mod inputs;
pub mod read;
pub mod serializer;

pub use async_interpreter::{
    adversary, code, embed, machine, memory, refine, report, scalar, serial, show, timeline, value, wgmma,
};
