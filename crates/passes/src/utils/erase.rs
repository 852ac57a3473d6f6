//! Removes tokens from the IR: from operands and results of control flow, block arguments, and copies.

use super::device::own_ops;
use super::tokens::ready;
use crate::analysis::skeleton::Skeleton;
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::control_flow::{erase_operand, erase_results};
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::names::ub;
use rustc_hash::FxHashSet;

/// Removes every token of `function` for which `goes` is true; with `counted`, operations of queues get their counted form.
pub(crate) fn erase_tokens<'c>(
    function: Op<'c>,
    skeleton: &Skeleton<'c>,
    goes: &dyn Fn(Value<'c>) -> bool,
    counted: bool,
) {
    let eraser = Eraser {
        goes,
        counted,
        escapes: skeleton.escapes.iter().copied().collect(),
    };
    let ops = own_ops(function);
    for &op in &ops {
        eraser.operands(op);
    }
    // Users before what they use.
    for &op in ops.iter().rev() {
        eraser.results(op, op == function);
    }
}

struct Eraser<'a, 'c> {
    goes: &'a dyn Fn(Value<'c>) -> bool,
    counted: bool,
    escapes: FxHashSet<(Op<'c>, usize)>,
}

impl<'c> Eraser<'_, 'c> {
    fn goes(&self, value: Value<'c>) -> bool {
        (self.goes)(value)
    }

    /// Erases the operands of control flow that hand on tokens.
    fn operands(&self, op: Op<'c>) {
        let hands_on = op.num_regions() > 0 || op.is_terminator();
        if !hands_on {
            return;
        }
        for i in (0..op.num_operands()).rev() {
            if self.goes(op.operand(i)) && !self.escapes.contains(&(op, i)) {
                erase_operand(op, i);
            }
        }
    }

    fn results(&self, op: Op<'c>, is_function: bool) {
        if is_function {
            // The arguments of the function itself belong to its callers.
            let entry = op.regions().next().and_then(Region::first);
            let blocks = op.regions().flat_map(Region::blocks);
            blocks
                .filter(|block| Some(*block) != entry)
                .for_each(|block| self.args(block));
        } else {
            for block in op.regions().flat_map(Region::blocks) {
                self.args(block);
            }
        }
        if !op
            .results()
            .any(|result| is_token(result.ty()) || self.goes(result))
        {
            // Most operations have none.
            return;
        }
        if let Some(completion) = Completion::of(op)
            && completion.queue.is_some()
            && matches!(completion.effect, GroupEffect::Issue | GroupEffect::Commit)
        {
            if self.counted {
                to_counted(op, completion.scope);
            }
            return;
        }
        match op.name() {
            async_::READY | async_::JOIN | ub::POISON if self.goes(op.result(0)) => erase_unused(op),
            _ if op.num_regions() == 0 => {
                let tokens = op.num_results() == 1 && self.goes(op.result(0));
                if tokens {
                    erase_unused(op);
                }
            }
            _ => {
                if op.results().any(|result| self.goes(result)) {
                    for result in op.results().filter(|result| self.goes(*result)) {
                        replace_by_ready(result, op);
                    }
                    erase_results(op, |result| self.goes(result));
                }
            }
        }
    }

    fn args(&self, block: Block<'c>) {
        for i in (0..block.num_args()).rev() {
            let arg = block.arg(i);
            if !self.goes(arg) {
                continue;
            }
            if let Some(first) = block.first() {
                replace_by_ready(arg, first);
            }
            block.erase_arg(i);
        }
    }
}

/// Makes what still uses `token` use a complete token instead, which is made right before `op`.
fn replace_by_ready<'c>(token: Value<'c>, op: Op<'c>) {
    if token.has_uses() {
        let ready = ready(op.location(), token.ty()).before(op);
        token.replace_all_uses_with(ready.result(0));
    }
}

/// Erases an operation that does nothing but to define a token, unless a call or the like takes it.
fn erase_unused(op: Op<'_>) {
    if op.has_uses() && op.is(async_::READY) {
        return;
    }
    replace_by_ready(op.result(0), op);
    op.erase();
}

/// Takes the tokens off an operation of a queue. Those of a block-wide one go when it is issued.
fn to_counted(op: Op<'_>, scope: ExecutionScope) {
    let tokens = op.results().filter(|result| is_token(result.ty()));
    let tokens: Vec<Value> = tokens.collect();
    for token in &tokens {
        replace_by_ready(*token, op);
    }
    if scope != ExecutionScope::Block && !tokens.is_empty() {
        erase_results(op, |result| is_token(result.ty()));
    }
}
