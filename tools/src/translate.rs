//! `async-translate`.

use async_allocator::keep_freed_memory;
use async_dialects::tool::{self, UpstreamAsync};
use async_mlir::ir::Op;
use async_mlir::pass::PassError;
use async_passes::{export_upstream_async, import_upstream_async};
use std::{ffi::OsString, process::ExitCode};

/// Runs `async-translate`.
#[must_use]
pub fn translate(arguments: Vec<OsString>) -> ExitCode {
    keep_freed_memory();
    tool::run_translate::<BothWays>(arguments)
}

/// How modules go between the two dialects `async`.
pub struct BothWays;

impl UpstreamAsync for BothWays {
    fn import(module: Op<'_>) -> Result<(), PassError<'_>> {
        import_upstream_async(module)
    }

    fn export(module: Op<'_>) -> Result<(), PassError<'_>> {
        export_upstream_async(module)
    }
}
