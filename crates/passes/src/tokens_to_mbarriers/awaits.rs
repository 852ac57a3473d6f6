//! Rewrites everything that waits for a load as an `async.await`, and removes complete tokens in the end.

use crate::analysis::op_classifier::AsyncOpClassifier;
use crate::analysis::phase_skeleton::{Escape, PhaseSkeleton};
use crate::analysis::skeleton;
use crate::analysis::token_origins::TokenOrigins;
use crate::utils::device::advice_on_escape;
use crate::utils::erase;
use crate::utils::tokens::{await_before, ready};
use async_dialects::names::async_;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, OpBuilder, Value};
use rustc_hash::FxHashSet;

/// Awaits a load right after it; its token is complete for everybody else.
pub(super) fn await_at_once(load: Op<'_>) {
    let token = load.result(0);
    let complete = ready(load.location(), token.ty()).after(load);
    token.replace_all_uses_with(complete.result(0));
    OpBuilder::new(async_::AWAIT, load.location())
        .operands(&[token])
        .after(load);
}

/// Awaits tokens of loads before they go where they can't be followed. Returns true if there are any; what was read is
/// then out of date.
pub(super) fn await_escapes(read: &PhaseSkeleton) -> bool {
    let of_loads = read.tree.loaded();
    let mut any = false;
    for &Escape { op, operand, before } in &read.escapes {
        let value = op.operand(operand);
        if !of_loads[read.tokens[&value].0 as usize] {
            continue;
        }
        any = true;
        Diagnostic::remark(
            op.location(),
            format!(
                "a token of a load escapes here, where it can't be followed; it is awaited before{}",
                advice_on_escape(op)
            ),
        )
        .emit();
        await_before(before, &[value]);
        let complete = ready(op.location(), value.ty()).before(before);
        op.set_operand(operand, complete.result(0));
    }
    any
}

/// Takes away the tokens that nothing but complete ones can be, from awaits and wherever they are passed on.
pub(super) fn erase_complete(function: Op<'_>) {
    let skeleton = skeleton::read(function, &AsyncOpClassifier::default(), &FxHashSet::default());
    let origins = TokenOrigins::new(&skeleton);
    let is_complete = |value: Value| {
        let token = skeleton.tokens.get(&value);
        token.is_some_and(|&token| origins.is_complete(token))
    };
    for &op in skeleton.awaits.iter().filter(|op| op.is(async_::AWAIT)) {
        let left: Vec<Value> = op.operands().filter(|value| !is_complete(*value)).collect();
        if left.is_empty() {
            op.erase();
        } else if left.len() < op.num_operands() {
            op.set_operands(&left);
        }
    }
    erase::erase_tokens(function, &skeleton, &is_complete, false);
}
