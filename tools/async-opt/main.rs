//! `async-opt`: upstream's `mlir-opt` with the `async` and `gpux` dialects and their passes.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    async_passes::register_all();
    async_dialects::tool::run_opt()
}
