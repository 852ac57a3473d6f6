//! What is device code.

use async_dialects::calls::is_call;
use async_dialects::ir::{Op, Walk};

/// The device code in `root`: outermost functions that stand in a `gpu.module` or use what only devices have, and what host
/// code has in a `gpu.launch`.
pub(crate) fn device_code(root: Op<'_>) -> Vec<Op<'_>> {
    let mut found = Vec::new();
    root.walk(|op| {
        let is_device = op.is("gpu.launch")
            || op.is_function() && (op.ancestors().any(|outer| outer.is("gpu.module")) || is_for_device(op));
        if is_device {
            found.push(op);
            return Walk::Skip;
        }
        Walk::Advance
    });
    found
}

/// Returns true if `function` itself has an operation that hosts don't have.
fn is_for_device(function: Op<'_>) -> bool {
    let stopped = function.walk(|op| match op.name() {
        "gpu.launch" => Walk::Skip,
        _ if op.completion().is_some() || op.is("gpux.elect") => Walk::Stop,
        _ => Walk::Advance,
    });
    stopped == Walk::Stop
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
