//! `async-opt`: upstream's `mlir-opt` with the `async` and `gpux` dialects and their passes.
#![forbid(unsafe_code)]

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// The algorithms make and drop many small vectors beside MLIR's large heap, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    async_passes::register_all();
    async_dialects::tool::run_opt()
}
