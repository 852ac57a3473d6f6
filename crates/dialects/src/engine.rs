//! MLIR's execution engine.

use crate::ffi;
use async_mlir::ir::Op;
use mlir_sys::{
    MlirExecutionEngine, mlirExecutionEngineDestroy, mlirExecutionEngineInitialize,
    mlirExecutionEngineRegisterSymbol,
};
use std::ffi::c_void;

/// A compiled module. What it has compiled can't be called any more when it is dropped.
pub struct Engine(MlirExecutionEngine);

/// What is told of errors.
type OnError = Option<unsafe extern "C" fn(mlir_sys::MlirStringRef, *mut c_void)>;

/// Calls C, and returns its pointer, or the message if that is null.
fn or_message(call: impl FnOnce(OnError, *mut c_void) -> *mut c_void) -> Result<*mut c_void, String> {
    let mut message = String::new();
    let pointer = call(Some(ffi::collect_text), (&raw mut message).cast());
    if pointer.is_null() {
        Err(message)
    } else {
        Ok(pointer)
    }
}

impl Engine {
    /// Translates a module in the LLVM dialect to LLVM IR and optimizes that, at a level from 0 to 3. Functions that it declares and does
    /// not define are looked up among `symbols`, in libraries, and in this process, in this order.
    ///
    /// # Errors
    ///
    /// A message, if LLVM can't. What MLIR can't translate, diagnostics have said before.
    pub fn compile(
        module: Op<'_>,
        opt_level: u8,
        libraries: &[String],
        symbols: &[(&str, *const ())],
    ) -> Result<Self, String> {
        let libraries: Vec<_> = libraries.iter().map(|path| ffi::string_ref(path)).collect();
        let engine = or_message(|on_error, data| {
            // SAFETY: a live module, and strings that live during the call; the callback gets the pointer to its text.
            let engine = unsafe {
                ffi::asyncOptEngineCreate(
                    module.to_raw(),
                    opt_level.into(),
                    libraries.len().cast_signed(),
                    libraries.as_ptr(),
                    on_error,
                    data,
                )
            };
            engine.ptr
        })?;
        let engine = Self(MlirExecutionEngine { ptr: engine });
        for (name, address) in symbols {
            // SAFETY: a live engine, and a string that lives during the call.
            unsafe {
                mlirExecutionEngineRegisterSymbol(engine.0, ffi::string_ref(name), address.cast_mut().cast());
            }
        }
        Ok(engine)
    }

    /// Compiles what is not yet compiled, and returns the address of a function.
    ///
    /// # Errors
    ///
    /// A message, if there is no such function, or a function that the module declares is nowhere.
    pub fn lookup(&self, name: &str) -> Result<*const (), String> {
        or_message(|on_error, data| {
            // SAFETY: a live engine, and a string that lives during the call; the callback gets the pointer to its text.
            unsafe { ffi::asyncOptEngineLookup(self.0, ffi::string_ref(name), on_error, data) }
        })
        .map(|address| address.cast_const().cast())
    }

    /// Runs the constructors of the module. Look a function up before: where a symbol is missing, this ends the process.
    pub fn initialize(&self) {
        // SAFETY: a live engine.
        unsafe { mlirExecutionEngineInitialize(self.0) };
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: a live engine, which nobody uses from now on.
        unsafe { mlirExecutionEngineDestroy(self.0) };
    }
}
