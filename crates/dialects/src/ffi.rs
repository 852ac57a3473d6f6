//! Our C API to the dialects and tools (`dialects/capi/AsyncOpt-c/`), as bindgen reads its headers.

pub use async_mlir::text::{collect_text, str_from_raw, string_ref};
pub use generated::*;

/// What `build.rs` made of the headers. Names are theirs.
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code)]
#[allow(clippy::all, clippy::pedantic, rustdoc::all)]
mod generated {
    use mlir_sys::{
        MlirAttribute, MlirContext, MlirDialectHandle, MlirDialectRegistry, MlirExecutionEngine,
        MlirLocation, MlirOperation, MlirStringCallback, MlirStringRef, MlirType, MlirValue,
    };
    include!(concat!(env!("OUT_DIR"), "/ffi.rs"));
}
