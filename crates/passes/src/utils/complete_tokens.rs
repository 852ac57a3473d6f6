//! A scoped set of the tokens that are known to be complete, for a walk through nested blocks.
//!
//! A token never becomes incomplete again, so what is complete where an operation starts is so in its regions.

use async_dialects::names::{async_, upstream_async};
use async_dialects::types::is_token;
use async_mlir::ir::Value;
use rustc_hash::FxHashSet;

/// The tokens that are complete at a place, in a set for each block around it.
pub(crate) struct CompleteTokens<'c>(Vec<FxHashSet<Value<'c>>>);

impl<'c> CompleteTokens<'c> {
    /// No token is known to be.
    pub(crate) fn new() -> Self {
        Self(vec![FxHashSet::default()])
    }

    /// Goes into a block.
    pub(crate) fn enter(&mut self) {
        self.0.push(FxHashSet::default());
    }

    /// Forgets what was learned in the block.
    pub(crate) fn leave(&mut self) {
        self.0.pop();
    }

    /// Returns true if `token` is known to be complete.
    pub(crate) fn contains(&self, token: Value<'c>) -> bool {
        self.0.iter().any(|known| known.contains(&token))
    }

    /// Learns that `token` is complete, and with it what it completes after.
    pub(crate) fn learn(&mut self, token: Value<'c>) {
        let mut stack = vec![token];
        while let Some(token) = stack.pop() {
            if self.contains(token) {
                continue;
            }
            self.0.last_mut().expect("the outermost set").insert(token);
            let Some(op) = token.defining_op() else { continue };
            if matches!(op.name(), async_::JOIN | async_::REGION | upstream_async::EXECUTE) {
                stack.extend(op.operands().filter(|operand| is_token(operand.ty())));
            }
        }
    }
}
