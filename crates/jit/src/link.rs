//! Where the functions and globals are that a module declares: in the runtime, in libraries that the user names, or in this process.
//!
//! LLVM finds them as well, but for those of the runtime, which an executable does not export. What it says of one that is missing has no
//! place.

use crate::lower::top_level;
use crate::{Reported, builtins};
use async_mlir::calls::callee_name;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, Walk};
use async_mlir::llvm::external_linkage;
use async_mlir::location::file_position;
use async_mlir::names::{attr, llvm};
use async_mlir::types::symbol;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, c_void};
use std::ptr;

/// Libraries whose functions a program may call.
pub struct Libraries {
    handles: Vec<*mut c_void>,
    /// True if one of them hands MLIR's engine functions that it does not export: then LLVM alone knows what is missing.
    has_hidden: bool,
}

/// With it, a library for MLIR's engine tells it what it has.
const INIT: &CStr = c"__mlir_execution_engine_init";

impl Libraries {
    /// Loads them.
    pub fn open(paths: &[String]) -> Result<Self, Reported> {
        let mut handles = Vec::new();
        for path in paths {
            // No argument of a program has a zero byte.
            let name = CString::new(path.as_str()).unwrap_or_default();
            // SAFETY: a string. What a library does when it is loaded is up to whoever names it.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if handle.is_null() {
                // SAFETY: after a failure, it is a string.
                let why = unsafe { CStr::from_ptr(libc::dlerror()) };
                eprintln!("async-opt run: --shared-libs: {}", why.to_string_lossy());
                return Err(Reported);
            }
            handles.push(handle);
        }
        // SAFETY: live handles.
        let has_hidden = handles
            .iter()
            .any(|&handle| !unsafe { libc::dlsym(handle, INIT.as_ptr()) }.is_null());
        Ok(Self { handles, has_hidden })
    }

    fn have(&self, name: &str) -> bool {
        let Ok(name) = CString::new(name) else {
            return false;
        };
        let mut places = self.handles.iter().copied().chain([libc::RTLD_DEFAULT]);
        // SAFETY: live handles, and a string.
        places.any(|place| !unsafe { libc::dlsym(place, name.as_ptr()) }.is_null())
    }

    /// The functions of the runtime, with their addresses, but for those that `module` defines itself. What it uses and is nowhere is an
    /// error at its first use.
    pub fn resolve(&self, module: Op<'_>) -> Result<Vec<Symbol>, Reported> {
        let declared = declarations(module);
        let ours = asyncopt_rt::symbols().into_iter().chain(builtins::symbols());
        let names: HashSet<&str> = ours.clone().map(|(name, _)| name).collect();
        if !self.has_hidden {
            self.check(module, &declared, &names)?;
        }
        let defined: HashSet<_> = top_level(module)
            .into_iter()
            .filter_map(|op| op.str_attr(attr::SYM_NAME))
            .filter(|name| !declared.contains_key(name))
            .collect();
        Ok(ours.filter(|(name, _)| !defined.contains(name)).collect())
    }

    /// Looks up what a module declares and uses, and is not among `ours`.
    fn check(
        &self,
        module: Op<'_>,
        declared: &HashMap<&str, Op<'_>>,
        ours: &HashSet<&str>,
    ) -> Result<(), Reported> {
        let mut missing = HashSet::new();
        module.walk(|op| {
            if let Some(name) = used_symbol(op)
                && let Some(declaration) = declared.get(name)
                && !ours.contains(name)
                && !self.have(name)
                && missing.insert(name)
            {
                let message = format!(
                    "'{name}' is neither in the module, nor in the runtime, nor in a library of --shared-libs"
                );
                let mut error = Diagnostic::error(op.location(), message);
                // What a pass has declared is in no file.
                if file_position(declaration.location()).is_some_and(|place| place.line > 0) {
                    error = error.note(declaration.location(), "it is declared here");
                }
                error.emit();
            }
            Walk::Advance
        });
        if missing.is_empty() { Ok(()) } else { Err(Reported) }
    }
}

/// Name and address of a function.
pub type Symbol = (&'static str, *const ());

/// The function or global that an operation calls or takes the address of.
fn used_symbol(op: Op<'_>) -> Option<&str> {
    callee_name(op).or_else(|| {
        let name = op
            .attr(attr::GLOBAL_NAME)
            .filter(|_| op.is(llvm::MLIR_ADDRESSOF))?;
        symbol(name)
    })
}

/// What the module declares and does not define. Intrinsics are LLVM's own.
fn declarations(module: Op<'_>) -> HashMap<&str, Op<'_>> {
    let external = external_linkage(module.context());
    let declarations = top_level(module).into_iter().filter(|op| {
        let is_external_global = || {
            op.is(llvm::MLIR_GLOBAL) && !op.has_attr(attr::VALUE) && op.attr(attr::LINKAGE) == Some(external)
        };
        let has_body = op.num_regions() > 0 && op.region(0).first().is_some();
        !has_body && (op.is_function() || is_external_global())
    });
    declarations
        .filter_map(|op| Some((op.str_attr(attr::SYM_NAME)?, op)))
        .filter(|(name, _)| !name.starts_with("llvm."))
        .collect()
}

impl Drop for Libraries {
    fn drop(&mut self) {
        for handle in &mut self.handles {
            // SAFETY: a live handle, which nobody uses from now on.
            unsafe { libc::dlclose(std::mem::replace(handle, ptr::null_mut())) };
        }
    }
}
