//! `async-translate`: from MLIR to what a GPU reads.
#![forbid(unsafe_code)]

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    async_dialects::tool::run_translate(env::args_os())
}
