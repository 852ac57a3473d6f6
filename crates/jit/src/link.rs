//! Where the functions and globals are that a module declares: in the runtime, in libraries that the user names, or in this process.
//!
//! LLVM finds them as well, but for those of the runtime, which an executable does not export. What it says of one that is missing has no
//! place.

use crate::Reported;
use crate::lower::top_level;
use async_mlir::calls::callee_name;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, Walk};
use async_mlir::llvm::external_linkage;
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

    /// The functions of the runtime that `module` declares, with their addresses. What is used and is nowhere is an error at its first
    /// use.
    pub fn resolve(&self, module: Op<'_>) -> Result<Vec<(&'static str, *const ())>, Reported> {
        let declared = declarations(module);
        let runtime: HashMap<&str, *const ()> = asyncopt_rt::symbols().into_iter().collect();
        let mut missing = HashSet::new();
        let found = |name: &str| self.has_hidden || runtime.contains_key(name) || self.have(name);
        module.walk(|op| {
            let used = callee_name(op).or_else(|| {
                let name = op
                    .attr(attr::GLOBAL_NAME)
                    .filter(|_| op.is(llvm::MLIR_ADDRESSOF))?;
                symbol(name)
            });
            if let Some(name) = used
                && let Some(declaration) = declared.get(name)
                && !found(name)
                && missing.insert(name)
            {
                let message = format!(
                    "'{name}' is neither in the module, nor in the runtime, nor in a library of --shared-libs"
                );
                Diagnostic::error(op.location(), message)
                    .note(declaration.location(), "it is declared here")
                    .emit();
            }
            Walk::Advance
        });
        if !missing.is_empty() {
            return Err(Reported);
        }
        let symbols = asyncopt_rt::symbols().into_iter();
        Ok(symbols.filter(|(name, _)| declared.contains_key(name)).collect())
    }
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
