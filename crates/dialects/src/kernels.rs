//! Who makes code for the simulated device of kernels: the target `#gpux.sim_target` asks.

use crate::ffi;
use async_mlir::ir::Op;
use async_mlir::pass::{PassError, run_on};
use mlir_sys::{MlirOperation, MlirStringCallback, MlirStringRef};
use std::ffi::c_void;

/// Makes code of kernels.
pub trait SerializeKernels {
    /// The code of all kernels of a `gpu.module`.
    ///
    /// # Errors
    ///
    /// If the interpreter can't run one of them.
    fn serialize(module: Op<'_>) -> Result<Vec<u8>, PassError<'_>>;
}

unsafe extern "C" fn serialize<S: SerializeKernels>(
    module: MlirOperation,
    on_bytes: MlirStringCallback,
    data: *mut c_void,
) -> bool {
    // SAFETY: the module lives during the call.
    run_on(
        "the target 'sim_target'",
        unsafe { Op::from_raw(module) },
        |module| {
            let bytes = S::serialize(module)?;
            if let Some(on_bytes) = on_bytes {
                let bytes = MlirStringRef {
                    data: bytes.as_ptr().cast(),
                    length: bytes.len(),
                };
                // SAFETY: the bytes live during the call, and the data is what it is called with.
                unsafe { on_bytes(bytes, data) };
            }
            Ok(())
        },
    )
}

/// Has `#gpux.sim_target` ask `S`. Call it before any pass runs.
pub fn register_serializer<S: SerializeKernels>() {
    // SAFETY: the function does as its type in C says.
    unsafe { ffi::asyncOptSetKernelSerializer(Some(serialize::<S>)) };
}
