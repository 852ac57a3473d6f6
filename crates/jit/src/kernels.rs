//! The kernels of a module, as the interpreter runs them.

use crate::turns::Turns;
use crate::{Reported, lower};
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::objects;
use async_mlir::ir::{Op, Walk};
use async_mlir::names::{attr, gpu, linalg};
use async_sim::code::Code;
use async_sim::read;
use async_sim::serial;
use asyncopt_rt::interface::asyncopt_rt_register_module;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kernels by name, such as `module::kernel`.
pub struct Kernels {
    codes: HashMap<String, Code>,
    /// What is in the variables that kernels of the `gpu.module`s share, by the module and the variable, once a kernel has used them.
    variables: Mutex<Variables>,
    /// Those that run by turns.
    pub turns: Turns,
}

/// Bytes of variables, by the names of their module and their own.
pub type Variables = HashMap<(String, String), Vec<u8>>;

impl Kernels {
    /// Reads all kernels of a module that was parsed from `file`.
    pub fn read(module: Op<'_>, file: &str) -> Result<Self, Reported> {
        let top_level = lower::top_level(module);
        let mut codes = HashMap::new();
        for binary in top_level.iter().filter(|op| op.is(gpu::BINARY)) {
            insert(&mut codes, serialized(*binary)?);
        }
        let modules: Vec<_> = top_level.into_iter().filter(|op| op.is(gpu::MODULE)).collect();
        // What the interpreter does not know. The first pass also erases what nobody uses, and faults would go with it.
        if modules.iter().any(|kernels| has_linalg(*kernels)) {
            lower::run(module, "gpu.module(convert-linalg-to-loops)")?;
        }
        if !modules.is_empty() {
            lower::run(module, "gpu.module(lower-affine)")?;
        }
        for kernels in modules {
            let read = read::read_module(kernels, file).map_err(|unknown| {
                Diagnostic::error(unknown.op.location(), unknown.message).emit();
                Reported
            })?;
            insert(&mut codes, read);
        }
        Ok(Self {
            codes,
            variables: Mutex::default(),
            turns: Turns::default(),
        })
    }

    /// The variables, for a kernel that uses them: others wait until it has ended.
    pub fn variables(&self) -> MutexGuard<'_, Variables> {
        // A kernel that panics leaves them as they were before.
        self.variables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel of a name, or what to say to the author of the program.
    pub fn get(&self, name: &str) -> Result<&Code, String> {
        self.codes.get(name).ok_or_else(|| {
            let mut names: Vec<_> = self.codes.keys().map(String::as_str).collect();
            names.sort_unstable();
            let others = if names.is_empty() {
                "the module has none".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            };
            format!("there is no kernel '{name}': {others}")
        })
    }
}

fn insert(codes: &mut HashMap<String, Code>, kernels: Vec<Code>) {
    let named = kernels
        .into_iter()
        .map(|code| (format!("{}::{}", code.module, code.name), code));
    codes.extend(named);
}

/// Reads kernels that are code for the interpreter already, and erases them.
fn serialized(binary: Op<'_>) -> Result<Vec<Code>, Reported> {
    let image = objects(binary)
        .into_iter()
        .find(|image| image.starts_with(serial::MAGIC));
    let read = image.map(serial::read).ok_or(
        "the interpreter runs kernels of a gpu.module, and no machine code: leave out the pass that makes this, or give it the target #gpux.sim_target"
            .to_owned(),
    );
    let message = match read {
        Ok(Ok(kernels)) => {
            binary.erase();
            return Ok(kernels);
        }
        Ok(Err(error)) => error.to_string(),
        Err(message) => message,
    };
    Diagnostic::error(binary.location(), message).emit();
    Err(Reported)
}

/// Compiles the kernels of a module for a device that runs machine code, unless some pass has, and hands them to the runtime.
pub fn compile_for(chip: &str, module: Op<'_>) -> Result<(), Reported> {
    if lower::top_level(module).iter().any(|op| op.is(gpu::MODULE)) {
        lower::run(module, &format!("gpux-lower-to-nvvm{{chip={chip}}}"))?;
    }
    for binary in lower::top_level(module)
        .into_iter()
        .filter(|op| op.is(gpu::BINARY))
    {
        let name = CString::new(binary.str_attr(attr::SYM_NAME).unwrap_or_default()).unwrap_or_default();
        // The driver refuses what it can't load, with its reason.
        if let Some(image) = objects(binary).first() {
            let size = i64::try_from(image.len()).unwrap_or(0);
            // SAFETY: a string, and so many bytes.
            unsafe { asyncopt_rt_register_module(name.as_ptr(), image.as_ptr().cast(), size) };
        }
        binary.erase();
    }
    Ok(())
}

fn has_linalg(module: Op<'_>) -> bool {
    let found = module.walk(|op| {
        if op.dialect() == linalg::NAMESPACE {
            Walk::Stop
        } else {
            Walk::Advance
        }
    });
    found == Walk::Stop
}
