//! The `async` and `gpux` dialects from safe Rust.
//!
//! All that is not about them is in [`async_mlir`].
//!
//! ```
//! use async_dialects::registry::register_all_dialects;
//! use async_mlir::melior::{Context, dialect::DialectRegistry, ir::Module};
//!
//! let registry = DialectRegistry::new();
//! // Not melior's function of that name, which adds upstream's `async`: MLIR knows one dialect of a name.
//! register_all_dialects(&registry);
//! let context = Context::new_with_registry(&registry, true);
//! let source = "func.func @f(%t: !async.token) { async.await %t  return }";
//! assert!(Module::parse(&context, source).is_some());
//! ```
//!
//! - [`completion`]: what operations mean to asynchronous completion.
//! - [`engine`]: MLIR's execution engine.
//! - [`names`]: the names of operations and attributes.
//! - [`registry`]: registration of dialects and of upstream's passes.
//! - [`tool`]: the drivers of the command line tools.
//! - [`types`]: types and attributes.

pub mod completion;
pub mod engine;
mod ffi;
pub mod kernels;
pub mod names;
pub mod registry;
pub mod tool;
pub mod types;
