//! MLIR's execution engine, through its C API.

use async_mlir::ir::Op;
use async_mlir::text::string_ref;
use mlir_sys::{
    MlirExecutionEngine, mlirExecutionEngineCreate, mlirExecutionEngineDestroy,
    mlirExecutionEngineInitialize, mlirExecutionEngineLookup, mlirExecutionEngineRegisterSymbol,
    mlirModuleFromOperation,
};

/// A compiled module. What it has compiled can't be called any more when it is dropped.
pub struct Engine(MlirExecutionEngine);

impl Engine {
    /// Translates a module in the LLVM dialect, with the addresses of functions that it declares. Where MLIR or LLVM can't, they have
    /// said why.
    pub fn compile(
        module: Op<'_>,
        opt_level: u8,
        shared_libs: &[String],
        symbols: &[(&str, *const ())],
    ) -> Result<Self, ()> {
        let libraries: Vec<_> = shared_libs.iter().map(|path| string_ref(path)).collect();
        // SAFETY: a live module, whose strings and those of `libraries` live during the calls.
        unsafe {
            let engine = mlirExecutionEngineCreate(
                mlirModuleFromOperation(module.to_raw()),
                opt_level.into(),
                i32::try_from(libraries.len()).map_err(|_| ())?,
                libraries.as_ptr(),
                /* enableObjectDump */ false,
                /* enablePIC */ false,
            );
            if engine.ptr.is_null() {
                return Err(());
            }
            for (name, address) in symbols {
                mlirExecutionEngineRegisterSymbol(engine, string_ref(name), address.cast_mut().cast());
            }
            Ok(Self(engine))
        }
    }

    /// Compiles what is not yet compiled, and returns the address of a function; `None` if LLVM can't, which it has said.
    pub fn lookup(&self, name: &str) -> Option<*mut ()> {
        // SAFETY: a live engine.
        let address = unsafe { mlirExecutionEngineLookup(self.0, string_ref(name)) };
        (!address.is_null()).then_some(address.cast())
    }

    /// Runs the constructors of the module. Look a function up before, since this ends the process where symbols are missing.
    pub fn initialize(&self) {
        // SAFETY: a live engine.
        unsafe { mlirExecutionEngineInitialize(self.0) };
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: nothing uses it any more.
        unsafe { mlirExecutionEngineDestroy(self.0) };
    }
}
