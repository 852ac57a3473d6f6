//! MLIR of any dialect from safe Rust: what melior lacks to read and rewrite IR, and to write passes.
//!
//! This crate and `async-dialects` have all `unsafe` code, and what is public may be called without it unless it says otherwise.
//! That is not a promise of memory safety: handles such as [`ir::Op`] are copied freely and are plain pointers. Once an
//! operation, block or region is erased, its handles and those to what was in it must not be used. Debug builds find such uses
//! in passes ([`ir`] says which); release builds check nothing.
//!
//! # Example
//!
//! A pass with a flag and an option, which marks functions:
//!
//! ```
//! use async_mlir::ir::{Op, int_attr};
//! use async_mlir::melior::{Context, dialect::DialectRegistry, ir::Module, pass::PassManager};
//! use async_mlir::melior::utility::{parse_pass_pipeline, register_all_dialects};
//! use async_mlir::pass::{Anchor, OptionInfo, OptionValue, Pass, PassContext, PassError, PassInfo, register_pass};
//!
//! struct Mark;
//!
//! impl Pass for Mark {
//!     const INFO: PassInfo = PassInfo {
//!         anchor: Anchor::Functions,
//!         options: &[OptionInfo {
//!             name: "value",
//!             description: "what to mark functions with",
//!             default: OptionValue::Int(1),
//!         }],
//!         ..PassInfo::new("mark", "marks functions")
//!     };
//!
//!     fn run<'c>(op: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
//!         op.set_attr("mark", int_attr(op.context(), 64, cx.int("value")));
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! register_pass::<Mark>(); // once per process
//! let registry = DialectRegistry::new();
//! register_all_dialects(&registry);
//! let context = Context::new_with_registry(&registry, true);
//! let mut module = Module::parse(&context, "func.func @f() { return }").ok_or("the source has errors")?;
//! let passes = PassManager::new(&context);
//! parse_pass_pipeline(passes.as_operation_pass_manager(), "builtin.module(mark{value=7})")?;
//! passes.run(&mut module)?;
//! assert!(module.as_operation().to_string().contains("mark = 7"));
//! # Ok(())
//! # }
//! ```
//!
//! # melior's `register_all_dialects`
//!
//! It registers upstream's `async`, whose name is that of ours. A program that uses this crate alone can call it, as above. A program
//! that uses `async-dialects` calls, instead of it, `async_dialects::registry::register_all_dialects`, which registers every upstream
//! dialect but that one, and ours; and instead of `melior::utility::register_all_passes`,
//! `async_dialects::registry::register_upstream_passes`. Where upstream's has to be there,
//! `async_dialects::registry::register_dialects_beside_upstream` adds `gpux` to a registry that has it.
//!
//! # Modules
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
pub mod loops;
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
