//! The command line tools of async-opt, as functions from their arguments (the first is the program's name) to an exit code.
//!
//! Each is an executable of its own during development, and packages have one executable for all of them.
#![forbid(unsafe_code)]

mod opt;
mod run;
mod sim;
mod translate;
mod verify;

pub use opt::opt;
pub use sim::sim;
pub use translate::translate;
pub use verify::verify;

use async_dialects::tool;
use std::{ffi::OsString, process::ExitCode};

/// A tool.
pub struct Tool {
    /// The name that it is called by.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its `main`.
    pub main: fn(Vec<OsString>) -> ExitCode,
}

/// All tools.
pub const TOOLS: [Tool; 5] = [
    Tool {
        name: "async-opt",
        summary: "upstream's mlir-opt with the async and gpux dialects and their passes",
        main: opt,
    },
    Tool {
        name: "async-translate",
        summary: "from MLIR to PTX, and between the two dialects async",
        main: translate,
    },
    Tool {
        name: "async-sim",
        summary: "runs device code under an adversary, and reports races",
        main: sim,
    },
    Tool {
        name: "async-verify",
        summary: "checks what a pass has written, by the certificates that came with it",
        main: verify,
    },
    Tool {
        name: "async-lsp-server",
        summary: "upstream's mlir-lsp-server with our dialects, for editors",
        main: |arguments| tool::run_lsp_server(arguments),
    },
];
