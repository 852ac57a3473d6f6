//! Our C API to IR of any dialect (`dialects/capi/AsyncOpt-c/MLIR/`), as bindgen reads its headers.

pub use crate::text::{collect_text, str_from_raw, string_ref};
pub use generated::*;

use mlir_sys::MlirStringRef;
use std::ffi::c_void;

/// What `build.rs` made of the headers. Names are theirs.
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code)]
#[allow(clippy::all, clippy::pedantic, rustdoc::all)]
mod generated {
    use mlir_sys::{
        MlirAsmState, MlirAttribute, MlirBlock, MlirContext, MlirDiagnosticSeverity, MlirDialectHandle,
        MlirLocation, MlirOperation, MlirRegion, MlirStringCallback, MlirStringRef, MlirType, MlirValue,
    };
    include!(concat!(env!("OUT_DIR"), "/ffi.rs"));
}

/// A callback that takes text.
pub type EmitText = Option<unsafe extern "C" fn(MlirStringRef, *mut c_void)>;
