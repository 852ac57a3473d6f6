//! A machine that runs kernels under an adversarial asynchronous memory model: threads and memory as plain data, without MLIR.
//!
//! `async-sim` reads kernels into [`code`] and runs them.
#![forbid(unsafe_code)]

pub mod adversary;
pub mod code;
pub mod embed;
pub mod machine;
pub mod memory;
pub mod refine;
pub mod report;
pub mod scalar;
pub mod serial;
pub mod show;
pub mod timeline;
pub mod value;
pub mod wgmma;
