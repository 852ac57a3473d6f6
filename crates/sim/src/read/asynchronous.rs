//! Asynchronous operations, by `AsyncCompletionOpInterface`: what is issued, committed and waited for, on which queue, and
//! with which tokens. What the interface does not say, which bytes are moved, is read by operation.
//!
//! **Refusals.** What is issued and has operands other than tokens, of operations whose bytes are not known.

use super::{Done, Reader, UncountedWaits, Unknown, ints, warpgroup};
use crate::code::{Access, Copy, Index, Issued, Op as Instruction, Queue, Target};
use crate::value::Value as Constant;
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect, GroupQueue};
use async_dialects::names::{async_, gpux, gpux_attr};
use async_dialects::types::is_token;
use async_mlir::ir::{Op, Region, Value};
use async_mlir::names::{attr, nvgpu, nvvm};
use async_mlir::types;
use std::ops::Range;

impl<'c> Reader<'c> {
    /// Reads `op` if it is asynchronous, or about tokens; returns false if it is neither.
    pub(super) fn asynchronous(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        if let Some(completion) = Completion::of(op) {
            return self.completion(op, &completion);
        }
        match op.name() {
            async_::AWAIT => {
                let tokens = self.operands(op);
                self.emit(op, Instruction::Await(tokens));
            }
            async_::READY => self.set(op, op.result(0), Constant::Token([].into())),
            async_::JOIN => {
                let (from, to) = (self.operands(op), self.reg(op.result(0)));
                self.emit(op, Instruction::Join { to, from });
            }
            async_::REGION => self.async_region(op)?,
            async_::CALL => self.async_call(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads `op` by what it does to the groups of its queue; returns false if that is nothing.
    fn completion(&mut self, op: Op<'c>, completion: &Completion<'c>) -> Result<bool, Unknown<'c>> {
        match completion.effect {
            GroupEffect::None => return Ok(false),
            GroupEffect::Issue => return self.issue(op, completion),
            GroupEffect::Commit => {
                let queue = self.queue_of(op, completion)?;
                self.meet_for(op, queue);
                let token = completion.done.map(|token| self.reg(token));
                self.emit(op, Instruction::Commit { queue, token });
            }
            GroupEffect::Wait if self.is_for_token(op) => {
                let token = self.operand(op, 0);
                self.emit(op, Instruction::Await([token].into()));
            }
            GroupEffect::Wait => {
                let queue = self.queue_of(op, completion)?;
                let (n, read) = (completion.pending, completion.waits_for_reads);
                if n == u32::MAX {
                    return Err(Unknown::new(op, "a wait for a number of groups that is none"));
                }
                self.meet_for(op, queue);
                self.emit(op, Instruction::Wait { queue, n, read });
            }
        }
        Ok(true)
    }

    /// Returns true if `op` is a wait for a number of groups that is not written, and is read as one for its token.
    fn is_for_token(&self, op: Op<'c>) -> bool {
        self.uncounted == UncountedWaits::OfToken
            && op.is(nvgpu::DEVICE_ASYNC_WAIT)
            && !op.has_attr(attr::NVGPU_NUM_GROUPS)
    }

    /// Reads `op`, which issues; returns false if it is not known what it moves.
    fn issue(&mut self, op: Op<'c>, completion: &Completion<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            gpux::COPY => {
                let [deps, from, to, count] = segments(op, [0, 2, 4, 5])?;
                self.dependencies(op, deps);
                self.copy(op, completion, [from, to, count], gpux_attr::ELEMENTS)?;
            }
            nvgpu::DEVICE_ASYNC_COPY => {
                let [to, from, count] = segments(op, [1, 3, 4])?;
                self.copy(op, completion, [from, to, count], attr::NVGPU_ELEMENTS)?;
            }
            gpux::WGMMA => self.wgmma(op, completion.done)?,
            nvvm::CP_ASYNC_SHARED_GLOBAL => self.nvvm_copy(op, completion)?,
            nvvm::CP_ASYNC_BULK_GLOBAL_SHARED_CTA => self.nvvm_bulk_store(op, completion)?,
            _ if moves_nothing(op, completion) => {
                self.dependencies(op, 0..op.num_operands());
                let issued = self.issued(op, completion)?;
                self.emit(op, Instruction::Issue(issued));
            }
            _ => return self.bulk(op, completion),
        }
        Ok(true)
    }

    /// The queue that the interface names.
    fn queue_of(&mut self, op: Op<'c>, completion: &Completion<'c>) -> Result<Queue, Unknown<'c>> {
        let queue = completion.queue.ok_or_else(|| Unknown::operation(op))?;
        Ok(self.queue(queue))
    }

    /// A queue's number.
    pub(super) fn queue(&mut self, queue: GroupQueue) -> Queue {
        if queue.name() == warpgroup::QUEUE {
            return self.wgmma_queue();
        }
        let known = self.queues.iter().position(|&known| known == Some(queue));
        let number = known.unwrap_or_else(|| {
            self.queues.push(Some(queue));
            self.code.queues.push(queue.name().into());
            self.queues.len() - 1
        });
        Queue(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// How what a thread issues is seen to be complete.
    fn issued(&mut self, op: Op<'c>, completion: &Completion<'c>) -> Result<Issued, Unknown<'c>> {
        Ok(Issued {
            queue: self.queue_of(op, completion)?,
            token: completion.done.map(|token| self.reg(token)),
            awaitable: completion.done.is_some_and(|token| is_token(token.ty())),
        })
    }

    /// Awaits the dependencies of an operation.
    pub(super) fn dependencies(&mut self, op: Op<'c>, operands: Range<usize>) {
        if !operands.is_empty() {
            let tokens = operands.map(|i| self.operand(op, i)).collect();
            self.emit(op, Instruction::Await(tokens));
        }
    }

    /// An element of a memref that the interface names.
    fn element_at(
        &mut self,
        op: Op<'c>,
        memref: Option<Value<'c>>,
        indices: Range<usize>,
    ) -> Result<Target, Unknown<'c>> {
        let memref = memref.ok_or_else(|| Unknown::operation(op))?;
        Ok(Target::Element(Access {
            view: self.reg(memref),
            indices: indices.map(|i| self.operand(op, i)).collect(),
        }))
    }

    /// The bytes of an element of a memref, and of `count` of them.
    fn bytes(op: Op<'c>, memref: Option<Value<'c>>, count: i64) -> Result<(u32, u32), Unknown<'c>> {
        let shape = memref.and_then(|memref| types::memref_shape(memref.ty()));
        let shape = shape.ok_or_else(|| Unknown::operation(op))?;
        let (elem, lanes) = Self::element(op, shape.element)?;
        let unit = u32::try_from(elem.bytes()).unwrap_or(0) * lanes;
        Ok((unit, unit * u32::try_from(count).unwrap_or(0)))
    }

    /// A copy of as many elements as an attribute says, of which an operand may say that fewer are read. Operands are the
    /// indices on both sides, and that one.
    fn copy(
        &mut self,
        op: Op<'c>,
        completion: &Completion<'c>,
        [from, to, mut count]: [Range<usize>; 3],
        elements: &str,
    ) -> Done<'c> {
        let elements = op.int_attr(elements).unwrap_or(0);
        let (unit, bytes) = Self::bytes(op, completion.destination, elements)?;
        let copy = Copy {
            from: self.element_at(op, completion.source, from)?,
            to: self.element_at(op, completion.destination, to)?,
            bytes: Index::Const(i64::from(bytes)),
            align: bytes,
            read: count.next().map(|i| self.operand(op, i)),
            unit,
            bulk: false,
            issued: self.issued(op, completion)?,
        };
        self.emit(op, Instruction::Copy(copy));
        Ok(())
    }

    fn nvvm_copy(&mut self, op: Op<'c>, completion: &Completion<'c>) -> Done<'c> {
        let [to, from] = [0, 1].map(|i| Target::Pointer(self.operand(op, i)));
        let bytes = op.int_attr(attr::SIZE).and_then(|size| u32::try_from(size).ok());
        let bytes = bytes.ok_or_else(|| Unknown::operation(op))?;
        let copy = Copy {
            from,
            to,
            bytes: Index::Const(i64::from(bytes)),
            align: bytes,
            read: (op.num_operands() > 2).then(|| self.operand(op, 2)),
            unit: 1,
            bulk: false,
            issued: self.issued(op, completion)?,
        };
        self.emit(op, Instruction::Copy(copy));
        Ok(())
    }

    /// One thread stores as many bytes as an operand says, a multiple of 16 (PTX ISA, `cp.async.bulk`).
    fn nvvm_bulk_store(&mut self, op: Op<'c>, completion: &Completion<'c>) -> Done<'c> {
        let sizes = ints(op, attr::OPERAND_SEGMENT_SIZES).unwrap_or_default();
        if sizes.last() != Some(&0) {
            return Err(Unknown::new(op, "the interpreter does not know byte masks"));
        }
        let [to, from] = [0, 1].map(|i| Target::Pointer(self.operand(op, i)));
        let copy = Copy {
            from,
            to,
            bytes: Index::Reg(self.operand(op, 2)),
            align: 16,
            read: None,
            unit: 1,
            bulk: true,
            issued: self.issued(op, completion)?,
        };
        self.emit(op, Instruction::Copy(copy));
        Ok(())
    }

    /// In host code, a region is a task. In device code it is issued where it stands, and its token is that of what it yields.
    fn async_region(&mut self, op: Op<'c>) -> Done<'c> {
        if self.code.is_host {
            return self.task_region(op);
        }
        let dependencies = self.operands(op);
        if !dependencies.is_empty() {
            self.emit(op, Instruction::Await(dependencies));
        }
        let results: Vec<Value> = op.results().collect();
        self.task(op, op.region(0), results[0], &results[1..])
    }

    /// The function's token comes last.
    fn async_call(&mut self, op: Op<'c>) -> Done<'c> {
        let callee = self.callee(op, async_::FUNC)?;
        let results: Vec<Value> = op.results().collect();
        let Some((&token, values)) = results.split_last() else {
            return Err(Unknown::operation(op));
        };
        self.inside(op, callee, &mut |reader| {
            reader.task(op, callee.region(0), token, values)
        })?;
        self.leave_function(callee, op);
        Ok(())
    }

    /// Runs a region; `token` is complete when what it yields is, and its `values` are to be used no earlier.
    fn task(&mut self, op: Op<'c>, body: Region<'c>, token: Value<'c>, values: &[Value<'c>]) -> Done<'c> {
        let to = self.reg(token);
        let end = self.label();
        self.region(body, &mut |reader, terminator| {
            let yielded: Vec<Value> = terminator.operands().collect();
            reader.moves(terminator, &yielded[..values.len()], values);
            let from = yielded[values.len()..].iter().map(|&token| reader.reg(token));
            let from = from.collect();
            reader.emit(terminator, Instruction::Join { to, from });
            reader.emit(terminator, Instruction::Jump(end));
            Ok(())
        })?;
        self.bind(end);
        for &value in values {
            let value = self.reg(value);
            self.emit(op, Instruction::Guard { value, token: to });
        }
        Ok(())
    }
}

/// Returns true if a thread issues `op` on a queue and hands it nothing but tokens: it says where it is in its queue, and no
/// memory of the kernel's.
fn moves_nothing(op: Op<'_>, completion: &Completion<'_>) -> bool {
    completion.queue.is_some()
        && completion.scope == ExecutionScope::Thread
        && op.num_regions() == 0
        && op.operands().all(|operand| is_token(operand.ty()))
}

/// Which operands those groups of operands are that have these numbers.
pub(super) fn segments<const N: usize>(
    op: Op<'_>,
    which: [usize; N],
) -> Result<[Range<usize>; N], Unknown<'_>> {
    let sizes = ints(op, attr::OPERAND_SEGMENT_SIZES).ok_or_else(|| Unknown::operation(op))?;
    let sizes: Vec<usize> = sizes
        .into_iter()
        .map(|n| usize::try_from(n).unwrap_or(0))
        .collect();
    Ok(which.map(|group| {
        let start: usize = sizes[..group].iter().sum();
        start..start + sizes.get(group).copied().unwrap_or(0)
    }))
}
