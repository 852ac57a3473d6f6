//! What operations say of their effects on memory.

use crate::ffi;
use crate::ir::{Op, Value};
use mlir_sys::MlirValue;
use std::ffi::c_void;

/// What an operation does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// It may read.
    Read,
    /// It may write.
    Write,
    /// It allocates.
    Allocate,
    /// It frees.
    Free,
}

/// The effects that `op` itself has on memory, with the operand or result that they are on, if they are on one that is
/// named; `None` if it does not say. What its regions do is up to the operations in there.
#[must_use]
pub fn memory_effects(op: Op<'_>) -> Option<Vec<(EffectKind, Option<Value<'_>>)>> {
    unsafe extern "C" fn push(kind: ffi::AsyncOptMemoryEffect, value: MlirValue, data: *mut c_void) {
        let kind = match kind {
            ffi::ASYNC_OPT_MEMORY_EFFECT_READ => EffectKind::Read,
            ffi::ASYNC_OPT_MEMORY_EFFECT_WRITE => EffectKind::Write,
            ffi::ASYNC_OPT_MEMORY_EFFECT_ALLOCATE => EffectKind::Allocate,
            _ => EffectKind::Free,
        };
        // SAFETY: the pointer to `effects` below; a live value, or null.
        unsafe {
            let value = (!value.ptr.is_null()).then(|| Value::from_raw(value));
            (*data.cast::<Vec<(EffectKind, Option<Value>)>>()).push((kind, value));
        }
    }
    let mut effects = Vec::new();
    // SAFETY: a live operation; the callback gets the pointer to `effects`.
    let known =
        unsafe { ffi::asyncOptForEachMemoryEffect(op.to_raw(), Some(push), (&raw mut effects).cast()) };
    known.then_some(effects)
}
