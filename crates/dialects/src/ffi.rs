//! Our C API (`dialects/capi/AsyncOpt-c/`), as bindgen reads its headers, and helpers for text.

pub use generated::*;

use mlir_sys::MlirStringRef;
use std::ffi::c_void;

/// What `build.rs` made of the headers. Names are theirs.
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code)]
#[allow(clippy::all, clippy::pedantic, rustdoc::all)]
mod generated {
    use mlir_sys::{
        MlirAttribute, MlirBlock, MlirContext, MlirDiagnosticSeverity, MlirDialectRegistry, MlirLocation,
        MlirOperation, MlirRegion, MlirStringRef, MlirType, MlirValue,
    };
    include!(concat!(env!("OUT_DIR"), "/ffi.rs"));
}

/// A callback that takes text.
pub type EmitText = Option<unsafe extern "C" fn(MlirStringRef, *mut c_void)>;

/// `text` for the C++ side, which copies what it wants to keep.
pub fn string_ref(text: &str) -> MlirStringRef {
    MlirStringRef {
        data: text.as_ptr().cast(),
        length: text.len(),
    }
}

/// The text behind `raw`; bytes that are no UTF-8 (a user's file may hold any) make the empty string.
///
/// # Safety
///
/// What `raw` points at must outlive `'a`.
pub unsafe fn str_from_raw<'a>(raw: MlirStringRef) -> &'a str {
    if raw.length == 0 {
        return "";
    }
    // SAFETY: a string reference covers `length` bytes, and the caller vouches for how long.
    let bytes = unsafe { std::slice::from_raw_parts(raw.data.cast::<u8>(), raw.length) };
    std::str::from_utf8(bytes).unwrap_or("")
}

/// Collects text into the `String` that `data` points at.
pub extern "C" fn collect_text(text: MlirStringRef, data: *mut c_void) {
    // SAFETY: callers in this crate pass a pointer to a live `String`, and MLIR's text lives during the call.
    unsafe {
        let text = std::slice::from_raw_parts(text.data.cast::<u8>(), text.length);
        (*data.cast::<String>()).push_str(&String::from_utf8_lossy(text));
    }
}
