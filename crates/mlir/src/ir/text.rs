//! An operation as text, with the names that values have in it.

use super::{Op, Value};
use crate::ffi;
use mlir_sys::{MlirAsmState, mlirAsmStateDestroy, mlirOperationPrintWithState, mlirValuePrintAsOperand};

/// The text of an operation that uses no value from outside of it, such as a function. It does not depend on what is around the
/// operation, nor on options of the command line for printing, so that passes may ask for it.
pub struct Text<'c> {
    op: Op<'c>,
    state: MlirAsmState,
}

impl<'c> Text<'c> {
    /// The text of `op`, which must not change before it is read.
    #[must_use]
    pub fn new(op: Op<'c>) -> Self {
        // SAFETY: a live operation.
        let state = unsafe { ffi::asyncOptAsmStateCreate(op.to_raw()) };
        Self { op, state }
    }

    /// All of it, without locations.
    #[must_use]
    pub fn whole(&self) -> String {
        let mut text = String::new();
        // SAFETY: a live operation and its state; the callback gets the pointer to `text`.
        unsafe {
            mlirOperationPrintWithState(
                self.op.to_raw(),
                self.state,
                Some(ffi::collect_text),
                (&raw mut text).cast(),
            );
        }
        text
    }

    /// The name of a value of the operation, such as `%3`.
    #[must_use]
    pub fn name_of(&self, value: Value<'c>) -> String {
        let mut text = String::new();
        // SAFETY: a live value in the operation that the state is of; the callback gets the pointer to `text`.
        unsafe {
            mlirValuePrintAsOperand(
                value.to_raw(),
                self.state,
                Some(ffi::collect_text),
                (&raw mut text).cast(),
            );
        }
        text
    }
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and destroyed once.
        unsafe { mlirAsmStateDestroy(self.state) }
    }
}
