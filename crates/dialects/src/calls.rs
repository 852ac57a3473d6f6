//! Calls of functions, and putting bodies in their place.

use crate::{ffi, ir::Op};

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

/// The function that `op` calls, if it calls one and that is in the same symbol table.
#[must_use]
pub fn callee(op: Op<'_>) -> Option<Op<'_>> {
    // SAFETY: a live operation; null means that there is none.
    unsafe { Op::from_option_raw(ffi::asyncOptCallGetCallee(op.to_raw())) }
}

/// Puts a copy of the body of `callee` in place of `call`, which it is called by.
///
/// # Errors
///
/// If that can't be; nothing has changed then.
///
/// # Panics
///
/// If `call` is no call of `callee`.
pub fn inline<'c>(call: Op<'c>, callee: Op<'c>) -> Result<(), NotInlined> {
    assert!(
        self::callee(call) == Some(callee),
        "`{}` does not call what is to be inlined",
        call.name()
    );
    // SAFETY: a live call and its callee. Handles to the call dangle from here on, as after `Op::erase`.
    match unsafe { ffi::asyncOptInlineCall(call.to_raw(), callee.to_raw()) } {
        ffi::INLINED => Ok(()),
        ffi::INLINED_NOT_SEVERAL_BLOCKS => Err(NotInlined::SeveralBlocks),
        _ => Err(NotInlined::NotLegal),
    }
}

/// Returns true if anything in the symbol table around `symbol` refers to it, or may do so.
#[must_use]
pub fn symbol_has_uses(symbol: Op<'_>) -> bool {
    // SAFETY: a live operation.
    unsafe { ffi::asyncOptSymbolHasUses(symbol.to_raw()) }
}

/// Returns true if `op` is a symbol that is not seen outside of its symbol table.
#[must_use]
pub fn is_private_symbol(op: Op<'_>) -> bool {
    // SAFETY: a live operation.
    unsafe { ffi::asyncOptSymbolIsPrivate(op.to_raw()) }
}
