//! Remarks on the awaits that stay in regions, and on calls there of functions that await: a task is
//! suspended at each.

use async_dialects::names::async_;
use async_mlir::calls::callee_name;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, Walk};
use async_mlir::names::{attr, gpu};
use rustc_hash::{FxHashMap, FxHashSet};

/// Says of each await in a region, and of each call there of a function that awaits something, that a task is suspended.
pub(super) fn report(root: Op<'_>) {
    let waiting = waiting_functions(root);
    root.walk(|op| {
        if op.is(gpu::MODULE) || op.is(gpu::LAUNCH) {
            return Walk::Skip;
        }
        let Some(region) = op.ancestors().find(|outer| outer.is(async_::REGION) || outer.is_function()) else {
            return Walk::Advance;
        };
        if !region.is(async_::REGION) {
            return Walk::Advance;
        }
        if op.is(async_::AWAIT) {
            Diagnostic::remark(op, "suspends the task: it is not in a straight line, or the task has memory on its stack, or too many awaits").emit();
        } else if callee_name(op).is_some_and(|name| waiting.contains(name)) {
            Diagnostic::remark(op, "suspends the task: what it calls awaits something").emit();
        }
        Walk::Advance
    });
}

/// The functions in which something is awaited outside of regions, those included that call such.
fn waiting_functions(root: Op<'_>) -> FxHashSet<&str> {
    let mut waiting = FxHashSet::default();
    let mut callers: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    let mut function = None;
    root.walk(|op| {
        if op.is(gpu::MODULE) || op.is(gpu::LAUNCH) || op.is(async_::REGION) {
            return Walk::Skip;
        }
        if op.is_function() {
            function = op.str_attr(attr::SYM_NAME);
        } else if let Some(function) = function {
            if op.is(async_::AWAIT) {
                waiting.insert(function);
            } else if let Some(callee) = callee_name(op) {
                callers.entry(callee).or_default().push(function);
            }
        }
        Walk::Advance
    });
    let mut work: Vec<&str> = waiting.iter().copied().collect();
    while let Some(callee) = work.pop() {
        for caller in callers.remove(callee).unwrap_or_default() {
            if waiting.insert(caller) {
                work.push(caller);
            }
        }
    }
    waiting
}
