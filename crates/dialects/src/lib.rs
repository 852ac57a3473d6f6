//! The `async` and `gpux` dialects, and what it takes to write MLIR passes in safe Rust.
//!
//! This is the only crate with `unsafe` code; everything that is public here may be called without it.
//!
//! - [`calls`]: calls of functions, and putting bodies in their place.
//! - [`completion`]: what operations mean to asynchronous completion.
//! - [`control_flow`]: edges between blocks and regions, and operations with fewer operands or results.
//! - [`ir`]: handles to operations, values, blocks and regions, and a builder for operations.
//! - [`diagnostic`]: errors, warnings and remarks with notes, at an operation or a location.
//! - [`gpu`]: what functions and memory of device code say of themselves.
//! - [`nvgpu`]: upstream's lowering of `nvgpu`, and its types.
//! - [`pass`]: the trait that a pass implements, its options and statistics, and its registration.
//! - [`pipeline`]: pass pipelines with options, written as a list.
//! - [`registry`]: registration of dialects.
//! - [`tool`]: the drivers of the command line tools.
//! - [`types`]: what melior does not say of types and constants.
//! - [`vectors`]: upstream's rewriting of vector operations.

pub mod calls;
pub mod completion;
pub mod control_flow;
pub mod diagnostic;
mod ffi;
pub mod gpu;
pub mod ir;
pub mod nvgpu;
#[allow(missing_docs, clippy::all, clippy::pedantic)] // Generated.
pub mod ops;
mod options;
pub mod pass;
pub mod pipeline;
pub mod registry;
pub mod tool;
pub mod types;
pub mod vectors;

pub use melior;
