//! The dialects and passes of async-opt as a shared library that uses the `libMLIR.so` of the process that loads it.
//!
//! Hosts load `plugin/loader` instead, which opens this library once it knows that the host's MLIR is the right one.

use async_dialects::registry::register_in_host;
use mlir_sys::MlirDialectRegistry;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the host has other dialects of our names.
static CONFLICT: AtomicBool = AtomicBool::new(false);

/// Adds the dialects to the registry of the host, and prints why, if they can't be added.
///
/// # Safety
///
/// `registry` is a live `mlir::DialectRegistry`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncOptRegisterPluginDialects(registry: MlirDialectRegistry) {
    // SAFETY: as the caller has it.
    if let Err(conflict) = unsafe { register_in_host(registry) } {
        eprintln!("async-opt: {conflict}");
        CONFLICT.store(true, Ordering::Relaxed);
    }
}

/// Adds the passes and pipelines to MLIR's global registry; those that it already has stay. Adds none where the dialects could not
/// be added: MLIR would end the process at the first pass that asks for them.
#[unsafe(no_mangle)]
pub extern "C" fn asyncOptRegisterPasses() {
    if !CONFLICT.load(Ordering::Relaxed) {
        async_passes::register_all();
    }
}
