//! Computes which accesses of in-flight copies each await completes.
//!
//! A token of a copy, or a join of such, completes what these copies access. One that comes from elsewhere
//! (an argument of a block, a result of an operation with regions) may be of any copy of the function. An
//! await of anything else is a fence: a token of a caller or of an asynchronous region, or where the function
//! has copies that threads issue together.

use super::cost_model::is_copy;
use super::effects::{Access, Timing};
use async_dialects::completion::Completion;
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{affine, scf};
use rustc_hash::FxHashSet;

/// The copies of a function.
pub(crate) struct InFlightCopies<'c> {
    /// What any of them accesses, wherever in its buffers; `None` if that is not known.
    any: Option<Vec<Access<'c>>>,
}

impl<'c> InFlightCopies<'c> {
    /// The copies of `function`.
    pub fn of(function: Op<'c>) -> Self {
        let ops = function.self_and_nested();
        let is_known = !has_foreign_tokens(function) && ops.iter().all(|op| makes_known_tokens(*op));
        let any = is_known.then(|| {
            let mut seen = FxHashSet::default();
            let accesses = ops
                .into_iter()
                .filter(|op| is_copy(*op))
                .flat_map(|op| accesses(op, true));
            let accesses = accesses.map(Access::to_all);
            accesses
                .filter(|access| seen.insert((access.place.root, access.writes)))
                .collect()
        });
        Self { any }
    }

    /// What `wait`, an await, completes; `None` if that may be anything.
    pub fn completed_by(&self, wait: Op<'c>) -> Option<Vec<Access<'c>>> {
        let mut completed = Vec::new();
        let mut includes_any = false;
        let mut seen = FxHashSet::default();
        let mut work: Vec<Value> = wait.operands().collect();
        while let Some(token) = work.pop() {
            if !seen.insert(token) {
                continue;
            }
            match token.defining_op() {
                Some(op) if op.is(async_::JOIN) => work.extend(op.operands()),
                Some(op) if op.is(async_::READY) => {}
                Some(op) if is_copy(op) => {
                    let done = Completion::of(op).and_then(|completion| completion.done);
                    completed.extend(accesses(op, done == Some(token)));
                }
                _ => includes_any = true,
            }
        }
        if includes_any {
            completed.extend(self.any.as_ref()?);
        }
        Some(completed)
    }
}

/// What the end of the copy `op` completes; before it is `done`, it has read its source.
fn accesses(op: Op<'_>, done: bool) -> impl Iterator<Item = Access<'_>> {
    let completion = Completion::of(op);
    let read = completion.and_then(|completion| completion.source);
    let written = completion
        .and_then(|completion| completion.destination)
        .filter(|_| done);
    let read = read.map(|memory| (memory, false));
    let written = written.map(|memory| (memory, true));
    read.into_iter().chain(written).map(move |(memory, writes)| {
        let mut access = Access::new(op, memory, writes);
        access.timing = Timing::Completed;
        access
    })
}

/// Returns true if callers hand tokens to `function`.
fn has_foreign_tokens(function: Op<'_>) -> bool {
    let entry = function.regions().next().and_then(async_mlir::ir::Region::first);
    entry.is_some_and(|entry| entry.args().any(|argument| is_token(argument.ty())))
}

/// Returns true if a token of `op` is one of a thread's copies, if it has any.
fn makes_known_tokens(op: Op<'_>) -> bool {
    if !op.results().any(|result| is_token(result.ty())) {
        // Without a token, nobody awaits it.
        return true;
    }
    is_copy(op)
        || op.is(async_::JOIN)
        || op.is(async_::READY)
        || matches!(op.dialect(), scf::NAMESPACE | affine::NAMESPACE)
}
