//! See [`async_tools::sim`].
#![forbid(unsafe_code)]

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    async_tools::sim(env::args_os().collect())
}
