//! The dialects and passes of async-opt as a shared library that uses the `libMLIR.so` of the process that loads it.
//!
//! Hosts load `plugin/loader` instead, which opens this library once it knows that the host's MLIR is the right one.

use async_dialects::registry::register_in_host;
use mlir_sys::MlirDialectRegistry;

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
    }
}

/// Adds the passes and pipelines to MLIR's global registry; those that it already has stay.
#[unsafe(no_mangle)]
pub extern "C" fn asyncOptRegisterPasses() {
    async_passes::register_all();
}
