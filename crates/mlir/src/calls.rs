//! Calls of functions, and putting bodies in their place.

use crate::{ffi, ir::Op};
use mlir_sys::MlirStringRef;
use rustc_hash::FxHashSet;
use std::ffi::c_void;

/// Why a call was not inlined.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotInlined {
    /// The body has several blocks, and the call stands where only one may be.
    SeveralBlocks,
    /// The call or the function forbids it, or the body does not return as functions do.
    NotLegal,
}

/// Returns true if `op` calls a function.
#[must_use]
pub fn is_call(op: Op<'_>) -> bool {
    // SAFETY: a live operation.
    unsafe { ffi::asyncOptIsCall(op.to_raw()) }
}

/// The name of the function that `op` calls, if it calls one in the symbol table around it by name.
#[must_use]
pub fn callee_name(op: Op<'_>) -> Option<&str> {
    // SAFETY: a live operation; names are interned in the context.
    let name = unsafe { ffi::str_from_raw(ffi::asyncOptCallGetCalleeName(op.to_raw())) };
    (!name.is_empty()).then_some(name)
}

/// Puts a copy of the body of `callee` in place of `call`, which it is called by and which is erased.
///
/// # Errors
///
/// If that can't be; nothing has changed then.
///
/// # Panics
///
/// If `call` does not call a function of the name of `callee`, or that is none.
pub fn inline<'c>(call: Op<'c>, callee: Op<'c>) -> Result<(), NotInlined> {
    let name = callee_name(call);
    assert!(
        name.is_some() && name == callee.str_attr("sym_name") && callee.is_function(),
        "`{}` does not call what is to be inlined",
        call.name()
    );
    // SAFETY: a live call and its callee.
    match unsafe { ffi::asyncOptInlineCall(call.to_raw(), callee.to_raw()) } {
        ffi::ASYNC_OPT_INLINED => {
            call.erase();
            Ok(())
        }
        ffi::ASYNC_OPT_INLINED_NOT_SEVERAL_BLOCKS => Err(NotInlined::SeveralBlocks),
        _ => Err(NotInlined::NotLegal),
    }
}

/// The symbols of a symbol table that something in it refers to.
pub struct UsedSymbols {
    names: FxHashSet<String>,
    /// False if there may be others.
    all_known: bool,
}

impl UsedSymbols {
    /// What is referred to in `table`.
    #[must_use]
    pub fn of(table: Op<'_>) -> Self {
        extern "C" fn insert(name: MlirStringRef, data: *mut c_void) {
            // SAFETY: the pointer to `names` below, and a name that lives during the call.
            unsafe {
                let names = &mut *data.cast::<FxHashSet<String>>();
                let name = ffi::str_from_raw(name);
                if !names.contains(name) {
                    names.insert(name.to_owned());
                }
            }
        }
        let mut names = FxHashSet::default();
        // SAFETY: a live operation; the callback gets the pointer to `names`.
        let all_known =
            unsafe { ffi::asyncOptForEachSymbolUse(table.to_raw(), Some(insert), (&raw mut names).cast()) };
        Self { names, all_known }
    }

    /// What is referred to in any of `ops`, which are in one symbol table.
    #[must_use]
    pub fn of_all<'c>(ops: impl IntoIterator<Item = Op<'c>>) -> Self {
        let mut all = Self {
            names: FxHashSet::default(),
            all_known: true,
        };
        for used in ops.into_iter().map(Self::of) {
            all.names.extend(used.names);
            all.all_known &= used.all_known;
        }
        all
    }

    /// Returns true if `symbol`, which is in the table, is or may be referred to.
    #[must_use]
    pub fn has(&self, symbol: Op<'_>) -> bool {
        let name = symbol.str_attr("sym_name");
        !self.all_known || name.is_none_or(|name| self.names.contains(name))
    }
}

/// Returns true if `op` is a symbol that is not seen outside of its symbol table.
#[must_use]
pub fn is_private_symbol(op: Op<'_>) -> bool {
    // SAFETY: a live operation.
    unsafe { ffi::asyncOptSymbolIsPrivate(op.to_raw()) }
}
