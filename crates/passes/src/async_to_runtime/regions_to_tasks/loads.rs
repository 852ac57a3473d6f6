//! Loads values that may be pending where they are used, and frees memory of devices that is there.

use super::Rewriter;
use crate::async_to_runtime::completion_analysis::CompletionAnalysis;
use crate::utils::llvm_builder::{self, At, rt};
use async_dialects::names::async_;
use async_mlir::calls::callee_name;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::names::{arith, func};

/// The operand of a dealloc function of the runtime that is freed.
const DEALLOC_POINTER: usize = 2;

fn is_dealloc(op: Op<'_>) -> bool {
    matches!(callee_name(op), Some(rt::DEVICE_DEALLOC | rt::HOST_DEALLOC))
}

/// Returns true if all that the task `function` does is to free memory of a device: that is due although what used it has failed.
pub(super) fn frees_only(function: Op<'_>) -> bool {
    let blocks = function.region(0).blocks();
    let ops: Vec<Op> = blocks.into_iter().flat_map(Block::ops).collect();
    let is_help = |op: Op<'_>| op.is_pure() || op.is(func::RETURN) && op.num_operands() == 0;
    ops.iter().any(|op| is_dealloc(*op)) && ops.iter().all(|op| is_dealloc(*op) || is_help(*op))
}

impl<'c> Rewriter<'_, 'c> {
    /// Loads futures where they are used. Where it is not known that they are there, the runtime checks it.
    pub(super) fn load(&mut self, function: Op<'c>) {
        let frees = self.freeing.contains(&function);
        let mut completion = CompletionAnalysis::with_tokens(function, self.tokens_of_regions());
        for block in function.region(0).blocks() {
            for outer in block.ops() {
                // What a region uses is captured before it starts.
                let is_region = outer.is(async_::REGION);
                for op in outer.self_and_nested() {
                    for index in 0..op.num_operands() {
                        let value = op.operand(index);
                        if self.handed_on.contains(&(op, index)) {
                            continue;
                        }
                        if let Some(future) = self.futures.get(&value) {
                            let before = if is_region { outer } else { op };
                            let (owner, at) = (future.owner, At::Before(before));
                            let is_there =
                                self.complete.contains(&owner) || completion.is_complete(owner, before);
                            if !is_there && !frees {
                                let place = self.builder.location(op.location(), at);
                                let operands = [owner, place];
                                self.builder
                                    .call(rt::EXPECT_COMPLETE, &operands, None, op.location(), at);
                            }
                            let loaded = self.builder.load(future.place, future.ty, op.location(), at);
                            op.set_operand(index, loaded);
                        }
                    }
                }
            }
        }
        // Last: these look at the tokens of futures, not at the values.
        if frees {
            self.free_what_is_there(function);
        }
    }

    /// Has `function`, a task that runs although a dependency has failed, free nothing if what allocates has failed.
    fn free_what_is_there(&self, function: Op<'c>) {
        let builder = self.builder;
        let owners: Vec<Value> = function
            .region(0)
            .first()
            .into_iter()
            .flat_map(Block::args)
            .filter_map(|argument| Some(self.futures.get(&argument)?.owner))
            .collect();
        let ops = function.region(0).blocks().into_iter().flat_map(Block::ops);
        for op in ops.filter(|op| is_dealloc(*op)) {
            let (location, at) = (op.location(), At::Before(op));
            for &owner in &owners {
                let i32 = Some(builder.int(32));
                let results = builder
                    .call(rt::HAS_RESULTS, &[owner], i32, location, at)
                    .result(0);
                let are_missing = builder.equals(results, 0, location, at);
                let null = builder.null(location, at);
                let operands = [are_missing, null, op.operand(DEALLOC_POINTER)];
                let pointer =
                    llvm_builder::op(arith::SELECT, &operands, &[builder.ptr], location, at).result(0);
                op.set_operand(DEALLOC_POINTER, pointer);
            }
        }
    }
}
