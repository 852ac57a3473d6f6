//! See [`async_tools::verify`].
#![forbid(unsafe_code)]

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    async_tools::verify(env::args_os().collect())
}
