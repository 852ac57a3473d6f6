//! The `async` and `gpux` dialects from safe Rust.
//!
//! All that is not about them is in [`async_mlir`].
//!
//! - [`completion`]: what operations mean to asynchronous completion.
//! - [`names`]: the names of operations and attributes.
//! - [`registry`]: registration of dialects and of upstream's passes.
//! - [`tool`]: the drivers of the command line tools.
//! - [`types`]: types and attributes.

pub mod completion;
mod ffi;
pub mod names;
pub mod registry;
pub mod tool;
pub mod types;
