//! See [`async_tools::opt`].
#![forbid(unsafe_code)]

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    async_tools::opt(env::args_os().collect())
}
