//! `async-opt`: upstream's `mlir-opt` with the `async` and `gpux` dialects and their passes; `async-opt reduce` is its
//! `mlir-reduce`, and `async-opt run` runs a program.

use crate::run::run;
use async_allocator::keep_freed_memory;
use async_dialects::{kernels, tool};
use async_sim::serializer::Serializer;
use std::{ffi::OsString, process::ExitCode};

/// `async-opt`: upstream's `mlir-opt` with the `async` and `gpux` dialects and their passes; `async-opt reduce` is its
/// `mlir-reduce`, and `async-opt run` runs a program.
#[must_use]
pub fn opt(mut arguments: Vec<OsString>) -> ExitCode {
    async_passes::register_all();
    kernels::register_serializer::<Serializer>();
    if arguments.get(1).is_some_and(|argument| argument == "reduce") {
        arguments.remove(1);
        return tool::run_reduce(arguments);
    }
    if arguments.get(1).is_some_and(|argument| argument == "run") {
        arguments.remove(1);
        return run(arguments);
    }
    keep_freed_memory();
    tool::run_opt(arguments)
}
