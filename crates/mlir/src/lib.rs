//! MLIR of any dialect from safe Rust: what melior lacks to read and rewrite IR, and to write passes.
//!
//! This crate and `async-dialects` have all `unsafe` code, and what is public may be called without it unless it says otherwise.
//! That is not a promise of memory safety: handles such as [`ir::Op`] are copied freely and are plain pointers. Once an
//! operation, block or region is erased, its handles and those to what was in it must not be used. Debug builds find such uses
//! in passes ([`ir`] says which); release builds check nothing.
//!
//! - [`arith`]: how `arith` compares.
//! - [`calls`]: calls of functions, and putting bodies in their place.
//! - [`control_flow`]: edges between blocks and regions, and operations with fewer operands or results.
//! - [`diagnostic`]: errors, warnings and remarks with notes, at an operation or a location.
//! - [`gpu`]: what functions and memory of device code say of themselves.
//! - [`ir`]: handles to operations, values, blocks and regions, and a builder for operations.
//! - [`llvm`]: types of the `llvm` dialect.
//! - [`location`]: where in a file something came from.
//! - [`memory_effects`]: what operations say of their effects on memory.
//! - [`names`]: the names of upstream's operations and attributes.
//! - [`nvgpu`]: upstream's lowering of `nvgpu`, and its types.
//! - [`nvvm`]: attributes of fences.
//! - [`pass`]: the trait that a pass implements, its options and statistics, and its registration.
//! - [`pipeline`]: pass pipelines with options, written as a list.
//! - [`registry`]: what registered dialects have.
//! - [`text`]: text to and from MLIR's C API.
//! - [`transform`]: what operations of transform scripts do.
//! - [`types`]: what melior does not say of types and constants.
//! - [`vectors`]: upstream's rewriting of vector operations.

pub mod affine;
pub mod arith;
pub mod calls;
pub mod control_flow;
pub mod diagnostic;
mod ffi;
pub mod gpu;
pub mod ir;
pub mod llvm;
pub mod location;
pub mod memory_effects;
pub mod names;
pub mod nvgpu;
pub mod nvvm;
mod options;
pub mod pass;
pub mod pipeline;
pub mod registry;
pub mod text;
pub mod transform;
pub mod types;
pub mod vectors;

pub use melior;
