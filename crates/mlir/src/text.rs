//! Text between Rust and MLIR's C API.

use mlir_sys::MlirStringRef;
use std::ffi::c_void;

/// `text` for C, which has to copy what it wants to keep.
#[must_use]
pub fn string_ref(text: &str) -> MlirStringRef {
    MlirStringRef {
        data: text.as_ptr().cast(),
        length: text.len(),
    }
}

/// The text that `raw` refers to; bytes that are no UTF-8 (a user's file may hold any) make the empty string.
///
/// # Safety
///
/// What `raw` points at must outlive `'a`.
#[must_use]
pub unsafe fn str_from_raw<'a>(raw: MlirStringRef) -> &'a str {
    if raw.length == 0 {
        return "";
    }
    // SAFETY: a string reference covers `length` bytes, and the caller vouches for how long.
    let bytes = unsafe { std::slice::from_raw_parts(raw.data.cast::<u8>(), raw.length) };
    if bytes.is_ascii() {
        // Nearly all names of operations, which passes compare all the time, and faster to check.
        // SAFETY: ASCII is UTF-8.
        return unsafe { std::str::from_utf8_unchecked(bytes) };
    }
    std::str::from_utf8(bytes).unwrap_or("")
}

/// A callback that appends text to the `String` that `data` points at.
///
/// # Safety
///
/// `data` must point to a `String` that nobody else uses during the call, and `text` to text that lives as long.
pub unsafe extern "C" fn collect_text(text: MlirStringRef, data: *mut c_void) {
    // SAFETY: the caller vouches for both.
    unsafe {
        let text = std::slice::from_raw_parts(text.data.cast::<u8>(), text.length);
        (*data.cast::<String>()).push_str(&String::from_utf8_lossy(text));
    }
}
