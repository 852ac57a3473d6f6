//! What is device code.

use async_dialects::calls::is_call;
use async_dialects::ir::{Op, Walk};

/// The outermost functions in `root` that run on the device: they stand in a `gpu.module`, or use what only devices have.
pub(crate) fn device_functions(root: Op<'_>) -> Vec<Op<'_>> {
    let mut functions = Vec::new();
    root.walk(|op| {
        if !op.is_function() {
            return Walk::Advance;
        }
        if op.ancestors().any(|outer| outer.is("gpu.module")) || op.nested().into_iter().any(is_of_device) {
            functions.push(op);
        }
        Walk::Skip
    });
    functions
}

/// Returns true if `op` is one that hosts don't have.
fn is_of_device(op: Op<'_>) -> bool {
    op.name().starts_with("gpux.") || op.is("nvgpu.device_async_copy")
}

/// What to add to a message about a token that `op` takes to where it can't be followed, if there is something to do.
pub(crate) fn advice_on_escape(op: Op<'_>) -> &'static str {
    let leaves = is_call(op) || (op.is_terminator() && op.parent().is_some_and(Op::is_function));
    if leaves && op.ancestors().any(|outer| outer.is("gpu.module")) {
        "; --gpux-inline-calls, run before, puts functions with tokens where they are called"
    } else {
        ""
    }
}
