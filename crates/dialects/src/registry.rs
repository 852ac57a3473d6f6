//! Registration of dialects.

use crate::ffi;
use async_mlir::ir::Op;
use async_mlir::pass::Dialect;
use melior::dialect::DialectRegistry;
use mlir_sys::{MlirDialectRegistry, MlirStringRef};
use std::ffi::c_void;
use std::{error::Error, fmt};

/// `gpux`, for passes that make its operations or those of `async`, which it loads, or ask upstream's what they mean to completion.
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
    collect_conflict(registry.to_raw(), ffi::asyncOptRegisterDialects)
}

/// Adds `gpux` to `registry`, and `async` unless upstream's is there: then `gpux` uses that one, which gets the operations that
/// it lacks.
///
/// # Errors
///
/// If `registry` already has some other dialect of one of these names.
pub fn register_dialects_beside_upstream(registry: &DialectRegistry) -> Result<(), DialectConflict> {
    collect_conflict(registry.to_raw(), ffi::asyncOptRegisterDialectsBesideUpstream)
}

/// As [`register_dialects_beside_upstream`], for the registry of a C++ program.
///
/// # Errors
///
/// As there.
///
/// # Safety
///
/// `registry` is live, and belongs to the caller.
pub unsafe fn register_in_host(registry: MlirDialectRegistry) -> Result<(), DialectConflict> {
    collect_conflict(registry, ffi::asyncOptRegisterDialectsBesideUpstream)
}

type Register = unsafe extern "C" fn(
    MlirDialectRegistry,
    Option<unsafe extern "C" fn(MlirStringRef, *mut c_void)>,
    *mut c_void,
) -> bool;

fn collect_conflict(registry: MlirDialectRegistry, register: Register) -> Result<(), DialectConflict> {
    let mut message = String::new();
    // SAFETY: all callers have a live registry; the callback gets the pointer to `message`.
    let registered = unsafe { register(registry, Some(ffi::collect_text), (&raw mut message).cast()) };
    if registered {
        Ok(())
    } else {
        Err(DialectConflict(message))
    }
}

/// Verifies the attributes of `op` that belong to `async`, as our dialect does, where the context has upstream's. Returns false if
/// one is wrong, after emitting a diagnostic.
#[must_use]
pub fn verify_attributes(op: Op<'_>) -> bool {
    // SAFETY: a live operation.
    !has_upstream_async(op) || unsafe { ffi::asyncOptVerifyAttributes(op.to_raw()) }
}

/// Returns true if the dialect `async` of the context of `op` is upstream's, whose awaits have one operand.
#[must_use]
pub fn has_upstream_async(op: Op<'_>) -> bool {
    // SAFETY: a live context.
    unsafe { ffi::asyncOptHasUpstreamAsync(op.context().to_raw()) }
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
