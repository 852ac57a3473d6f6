//! Finds device code, and classifies what is in it.

use async_dialects::completion::Completion;
use async_dialects::names::gpux;
use async_mlir::calls::is_call;
use async_mlir::ir::{Op, Walk};
use async_mlir::names::gpu;

pub(crate) use async_locations::memory::is_workgroup_alloc;

/// The device code in `root`: outermost functions that stand in a `gpu.module` or use what only devices have, and what host
/// code has in a `gpu.launch`.
pub(crate) fn device_code(root: Op<'_>) -> Vec<Op<'_>> {
    let mut found = Vec::new();
    root.walk(|op| {
        let is_device = op.is(gpu::LAUNCH)
            || op.is_function() && (op.ancestors().any(|outer| outer.is(gpu::MODULE)) || is_for_device(op));
        if is_device {
            found.push(op);
            return Walk::Skip;
        }
        Walk::Advance
    });
    found
}

/// Returns true if `code`, a function or a launch, itself has an operation that hosts don't have; what a function launches is
/// not its own.
pub(crate) fn is_for_device(code: Op<'_>) -> bool {
    let stopped = code.walk(|op| match op.name() {
        gpu::LAUNCH if op != code => Walk::Skip,
        _ if Completion::of(op).is_some() || op.is(gpux::ELECT) => Walk::Stop,
        _ => Walk::Advance,
    });
    stopped == Walk::Stop
}

/// Returns true if `op` is what host code does with a device.
pub(crate) fn is_host_operation(op: Op<'_>) -> bool {
    matches!(
        op.name(),
        gpux::ALLOC | gpux::HOST_ALLOC | gpux::DEALLOC | gpux::TRANSFER | gpux::MEMSET | gpux::ASYNC_LAUNCH
    )
}

/// What to add to a message about a token that `op` takes to where it can't be followed, if there is something to do.
pub(crate) fn advice_on_escape(op: Op<'_>) -> &'static str {
    let leaves = is_call(op) || (op.is_terminator() && op.parent().is_some_and(Op::is_function));
    if leaves && op.ancestors().any(|outer| outer.is(gpu::MODULE)) {
        "; run --gpux-inline-calls first to inline functions with tokens"
    } else {
        ""
    }
}

/// `function` and what is nested in it, except functions inside, which are not run where they stand.
pub(crate) fn own_ops(function: Op<'_>) -> Vec<Op<'_>> {
    let mut ops = Vec::new();
    function.walk(|op| {
        if op != function && op.is_function() {
            return Walk::Skip;
        }
        ops.push(op);
        Walk::Advance
    });
    ops
}
