//! Finds out which copies of a thread an await completes.

use async_dialects::completion::{Completion, ExecutionScope, GroupEffect};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_locations::places::Place;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{affine, scf};
use rustc_hash::FxHashSet;

/// A place that a copy accesses, and whether it writes there.
pub(super) type Copied<'c> = (Place<'c>, bool);

/// The copies of a function.
pub(super) struct Copies<'c> {
    /// What any of them accesses, wherever in its buffers; `None` if a token may be of something else.
    any: Option<Vec<Copied<'c>>>,
}

impl<'c> Copies<'c> {
    pub(super) fn of(function: Op<'c>) -> Self {
        let ops = function.self_and_nested();
        let entry = function.regions().next().and_then(async_mlir::ir::Region::first);
        let from_caller = entry.is_some_and(|entry| entry.args().any(|argument| is_token(argument.ty())));
        let from_elsewhere = ops.iter().any(|op| {
            op.results().any(|result| is_token(result.ty()))
                && !is_copy(*op)
                && ![async_::JOIN, async_::READY].contains(&op.name())
                && ![scf::NAMESPACE, affine::NAMESPACE].contains(&op.dialect())
        });
        let any = (!from_caller && !from_elsewhere).then(|| {
            let copied = ops.into_iter().filter(|op| is_copy(*op));
            let copied = copied.flat_map(|op| copied_by(op, true));
            let all: FxHashSet<Copied> = copied.map(|(place, writes)| (place.whole(), writes)).collect();
            all.into_iter().collect()
        });
        Self { any }
    }

    /// What is complete when `wait`, an await, is over; `None` if that may be anything.
    pub(super) fn completed_by(&self, wait: Op<'c>) -> Option<Vec<Copied<'c>>> {
        let mut completed = Vec::new();
        let mut seen = FxHashSet::default();
        let mut tokens: Vec<Value> = wait.operands().collect();
        let mut may_be_any = false;
        while let Some(token) = tokens.pop() {
            if !seen.insert(token) {
                continue;
            }
            match token.defining_op() {
                Some(op) if op.is(async_::READY) => {}
                Some(op) if op.is(async_::JOIN) => tokens.extend(op.operands()),
                Some(op) if is_copy(op) => {
                    let done = Completion::of(op).and_then(|completion| completion.done);
                    completed.extend(copied_by(op, done == Some(token)));
                }
                _ => may_be_any = true,
            }
        }
        if may_be_any {
            completed.extend(self.any.as_ref()?);
        }
        Some(completed)
    }
}

/// Returns true if `op` is a copy that each thread issues for itself, and that its queue orders.
pub(super) fn is_copy(op: Op<'_>) -> bool {
    let is_of_thread = |completion: Completion| {
        completion.effect == GroupEffect::Issue
            && completion.scope == ExecutionScope::Thread
            && completion.queue.is_some()
    };
    op.num_regions() == 0 && Completion::of(op).is_some_and(is_of_thread)
}

/// What the copy `op` has accessed when it has read its source, and if it is `done`, when it is.
fn copied_by(op: Op<'_>, done: bool) -> impl Iterator<Item = Copied<'_>> {
    let completion = Completion::of(op);
    let read = completion.and_then(|completion| completion.source);
    let written = completion.and_then(|completion| completion.destination);
    let read = read.map(|memory| (memory, false));
    let written = written.filter(|_| done).map(|memory| (memory, true));
    let copied = read.into_iter().chain(written);
    copied.map(move |(memory, writes)| (Place::of_operand(op, memory), writes))
}
