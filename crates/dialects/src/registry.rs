//! Registration of dialects.

use crate::ffi;
use async_mlir::pass::Dialect;
use melior::dialect::DialectRegistry;
use std::{error::Error, fmt};

/// `async`, for passes that make its operations.
// SAFETY: the function has no preconditions.
pub const ASYNC: Dialect = unsafe { Dialect::new(ffi::asyncOptGetAsyncDialectHandle) };

/// `gpux`, for passes that make its operations or ask upstream's what they mean to completion.
// SAFETY: the function has no preconditions.
pub const GPUX: Dialect = unsafe { Dialect::new(ffi::asyncOptGetGpuxDialectHandle) };

/// The registry already has another dialect of one of our names.
#[derive(Debug)]
pub struct DialectConflict(String);

impl fmt::Display for DialectConflict {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for DialectConflict {}

/// Adds `async` and `gpux` to `registry`.
///
/// # Errors
///
/// If `registry` already has another dialect of one of these names. Upstream's `async` is one, and melior's
/// `register_all_dialects` adds it; MLIR itself would end the process. See [`register_all_dialects`].
pub fn register_dialects(registry: &DialectRegistry) -> Result<(), DialectConflict> {
    let mut message = String::new();
    // SAFETY: a live registry; the callback gets the pointer to `message`.
    let registered = unsafe {
        ffi::asyncOptRegisterDialects(
            registry.to_raw(),
            Some(ffi::collect_text),
            (&raw mut message).cast(),
        )
    };
    if registered {
        Ok(())
    } else {
        Err(DialectConflict(message))
    }
}

/// Adds every upstream dialect but its `async`, with extensions, interfaces and translations to LLVM IR, and then ours.
///
/// # Panics
///
/// If `registry` already has upstream's `async`.
pub fn register_all_dialects(registry: &DialectRegistry) {
    register_dialects(registry).expect("a registry without upstream's `async`");
    // SAFETY: a live registry, which by now holds no `async` but ours.
    unsafe { ffi::asyncOptRegisterAllDialects(registry.to_raw()) }
}

/// Adds every upstream pass and pipeline that does not load upstream's `async` dialect to MLIR's global registry.
pub fn register_upstream_passes() {
    // SAFETY: no preconditions.
    unsafe { ffi::asyncOptRegisterUpstreamPasses() }
}
