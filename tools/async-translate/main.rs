//! `async-translate`: from MLIR to PTX, and between the two dialects `async`.
#![forbid(unsafe_code)]

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    async_tools::translate(env::args_os().collect())
}
