//! Host code: a region is a task, and calls run in the thread of their caller.
//!
//! **Condition.** A `func.func` or `async.func` outside of device code that has regions, or calls a function that has, and
//! in neither anything that only devices have.

use super::flow::called;
use super::{Done, Reader, Unknown};
use crate::code::{Label, Op as Instruction, Reg, TaskOp};
use async_dialects::completion::Completion;
use async_dialects::names::{async_, gpux};
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Block, Op, Walk};
use async_mlir::names::{func, gpu, memref, nvgpu, nvvm};

/// Returns true if regions in `function` are tasks.
pub(super) fn is_host(function: Op<'_>) -> bool {
    if !is_host_function(function) || function.ancestors().any(|outer| outer.is(gpu::MODULE)) {
        return false;
    }
    let mut functions = vec![function];
    let (mut next, mut has_regions) = (0, false);
    while let Some(&function) = functions.get(next) {
        next += 1;
        let stopped = function.walk(|op| {
            if is_for_device(op) {
                return Walk::Stop;
            }
            has_regions |= op.is(async_::REGION);
            let kind = match op.name() {
                func::CALL => func::FUNC,
                async_::CALL => async_::FUNC,
                _ => return Walk::Advance,
            };
            let callee = called(op, kind).filter(|callee| !functions.contains(callee));
            functions.extend(callee);
            Walk::Advance
        });
        if stopped == Walk::Stop {
            return false;
        }
    }
    has_regions
}

fn is_host_function(op: Op<'_>) -> bool {
    op.is(func::FUNC) || op.is(async_::FUNC)
}

/// Returns true if hosts don't have such an operation.
fn is_for_device(op: Op<'_>) -> bool {
    let of_device = [gpu::NAMESPACE, gpux::NAMESPACE, nvgpu::NAMESPACE, nvvm::NAMESPACE];
    of_device.contains(&op.dialect())
        || Completion::of(op).is_some()
        || op.results().any(|result| is_workgroup(result.ty()))
        || is_host_function(op) && takes_workgroup(op)
}

/// Returns true if all that a region does is to free memory of a device.
fn frees_only(region: Op<'_>) -> bool {
    let blocks = region.region(0).blocks();
    let ops: Vec<Op> = blocks.into_iter().flat_map(Block::ops).collect();
    let is_dealloc = |op: &Op| op.is(gpux::DEALLOC) && op.num_results() == 0;
    let is_help = |op: &Op| op.is_pure() || op.is(async_::YIELD) && op.num_operands() == 0;
    ops.iter().any(is_dealloc) && ops.iter().all(|op| is_dealloc(op) || is_help(op))
}

fn takes_workgroup(function: Op<'_>) -> bool {
    let entry = function.region(0).first();
    entry.is_some_and(|entry| entry.args().any(|arg| is_workgroup(arg.ty())))
}

impl<'c> Reader<'c> {
    /// Reads a region that is a task.
    pub(super) fn task_region(&mut self, op: Op<'c>) -> Done<'c> {
        let dependencies = self.operands(op);
        let mut results = op.results().map(|result| self.reg(result));
        let token = results.next().ok_or_else(|| Unknown::operation(op))?;
        let values: Box<[Reg]> = results.collect();
        let count = values.len();
        let after = self.start_task(op, token, (values, dependencies), frees_only(op));
        self.region(op.region(0), &mut |reader, terminator| {
            reader.end_scope(op, terminator);
            let yielded = reader.operands(terminator);
            let (values, tokens) = yielded.split_at(count);
            let end = TaskOp::End {
                values: values.into(),
                tokens: tokens.into(),
            };
            reader.emit(terminator, Instruction::Task(end));
            Ok(())
        })?;
        self.bind(after);
        Ok(())
    }

    /// Makes a task of what is read next, up to its end. Returns the label of what comes after that, which is not bound yet.
    pub(super) fn start_task(
        &mut self,
        op: Op<'c>,
        token: Reg,
        (values, dependencies): (Box<[Reg]>, Box<[Reg]>),
        frees: bool,
    ) -> Label {
        let after = self.label();
        let start = TaskOp::Start {
            token,
            values,
            dependencies,
            after,
            frees,
        };
        self.emit(op, Instruction::Task(start));
        after
    }

    /// Reads what the body of a function yields to its caller.
    pub(super) fn leave_function(&mut self, function: Op<'c>, terminator: Op<'c>) {
        if self.code.is_host {
            self.end_scope(function, terminator);
        }
    }

    /// Ends the lives of what `memref.alloca` makes in `scope`, and in no scope inside of it, before `at`.
    pub(super) fn end_scope(&mut self, scope: Op<'c>, at: Op<'c>) {
        let buffers = self.allocas(scope);
        if !buffers.is_empty() {
            self.emit(at, Instruction::EndScope(buffers.into()));
        }
    }

    fn allocas(&mut self, scope: Op<'c>) -> Vec<Reg> {
        let mut buffers = Vec::new();
        let is_host = self.code.is_host;
        scope.walk(|inner| {
            let is_scope = inner.is(memref::ALLOCA_SCOPE)
                || is_host && (inner.is(async_::REGION) || is_host_function(inner));
            if inner != scope && is_scope {
                return Walk::Skip;
            }
            if inner.is(memref::ALLOCA) && !is_workgroup(inner.result(0).ty()) {
                buffers.push(self.reg(inner.result(0)));
            }
            Walk::Advance
        });
        buffers
    }
}
