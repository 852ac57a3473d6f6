//! `async-lsp-server`: upstream's `mlir-lsp-server` with the `async` and `gpux` dialects, for editors.
#![forbid(unsafe_code)]

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    async_dialects::tool::run_lsp_server(env::args_os())
}
