//! `async-opt`: upstream's `mlir-opt` with the `async` and `gpux` dialects and their passes; `async-opt reduce` is its
//! `mlir-reduce`.
#![forbid(unsafe_code)]

use async_dialects::tool;
use mimalloc::MiMalloc;
use std::env;
use std::process::ExitCode;

/// The algorithms make and drop many small vectors beside MLIR's large heap, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    async_passes::register_all();
    let mut arguments = env::args_os();
    if env::args_os().nth(1).is_some_and(|argument| argument == "reduce") {
        let program = arguments.next();
        return tool::run_reduce(program.into_iter().chain(arguments.skip(1)));
    }
    tool::run_opt()
}
