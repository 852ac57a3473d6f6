//! Removes tokens of `gpu` from the results of asynchronous regions, which return them in upstream's
//! `--gpu-async-region`.
//!
//! A region of ours returns no token but its own. That waits for what is yielded, so it takes the place of
//! the others.

use async_dialects::names::async_;
use async_dialects::types::token;
use async_mlir::control_flow::erase_results;
use async_mlir::gpu::is_gpu_token;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::names::gpu;

/// Has the tokens that tasks in `module` return be their own.
pub(super) fn yield_tokens(module: Op<'_>) {
    let mut ops = module.self_and_nested();
    ops.retain(|op| op.is(async_::REGION));
    // From the inside out: what an inner task returns may be what an outer one does.
    for op in ops.into_iter().rev() {
        let end = op.region(0).first().and_then(Block::terminator);
        let Some(end) = end.filter(|_| op.results().any(|value| is_gpu_token(value.ty()))) else {
            continue;
        };
        let count = op.num_results() - 1;
        let yielded: Vec<Value> = end.operands().collect();
        let (values, own) = yielded.split_at(count);
        let (tokens, mut operands): (Vec<Value>, Vec<Value>) =
            values.iter().partition(|value| is_gpu_token(value.ty()));
        operands.extend(own);
        for dependency in tokens {
            // A wait, since a token may be a stream, and what counts is what is in it now.
            let last = OpBuilder::new(gpu::WAIT, end.location())
                .operands(&[dependency])
                .results(&[token(op.context())])
                .before(end);
            operands.push(last.result(0));
        }
        end.set_operands(&operands);
        for value in op.results().filter(|value| is_gpu_token(value.ty())) {
            value.replace_all_uses_with(op.result(0));
        }
        erase_results(op, |value| is_gpu_token(value.ty()));
    }
}
