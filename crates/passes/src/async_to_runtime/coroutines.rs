//! Makes coroutines of functions that suspend, with LLVM's intrinsics: `docs/runtime.md` has the pattern.

use super::instances::Instance;
use crate::utils::llvm_builder::{self, At, LlvmBuilder, branch, branch_if, rt};
use async_dialects::names::async_;
use async_mlir::control_flow::may_repeat;
use async_mlir::ir::{Block, Op, OpBuilder, Value, bool_attr, str_attr};
use async_mlir::melior::ir::attribute::ArrayAttribute;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{attr, llvm, memref};
use async_mlir::pass::PassError;
use async_mlir::types::known_type;

const RESUME: &str = "asyncopt_resume";

/// Makes `instance` a coroutine, in which each `async.await` is a suspension.
pub(super) fn expand<'c>(instance: &Instance<'c>, builder: &LlvmBuilder<'c>) -> Result<(), PassError<'c>> {
    let function = instance.function;
    let blocks = function.region(0).blocks();
    let ops: Vec<Op> = blocks.into_iter().flat_map(Block::ops).collect();
    for op in &ops {
        check_alloca(*op)?;
    }
    let (Some(entry), location) = (function.region(0).first(), function.location()) else {
        return Ok(());
    };
    let passthrough = str_attr(function.context(), "presplitcoroutine");
    function.set_attr(
        attr::PASSTHROUGH,
        ArrayAttribute::new(function.context(), &[passthrough]).into(),
    );
    let coroutine = Coroutine::begin(entry, location, builder);
    for op in ops {
        match op.name() {
            async_::AWAIT => coroutine.suspend(op),
            llvm::RETURN => coroutine.leave(op),
            _ => {}
        }
    }
    coroutine.end(function, location);
    Ok(())
}

/// What is on the stack of a coroutine is one place in its frame, whatever loops it is in.
fn check_alloca<'c>(op: Op<'c>) -> Result<(), PassError<'c>> {
    let repeats = op.block().is_none_or(may_repeat);
    if !op.is(memref::ALLOCA) || op.num_operands() == 0 && !repeats {
        return Ok(());
    }
    let why = if repeats {
        "in a loop"
    } else {
        "of a size that is not constant"
    };
    let message = format!("allocates {why}, on the stack of a task that is suspended meanwhile");
    Err(PassError::new(op, message).note(op, "use memref.alloc and memref.dealloc"))
}

struct Coroutine<'a, 'c> {
    builder: &'a LlvmBuilder<'c>,
    token: Value<'c>,
    id: Value<'c>,
    handle: Value<'c>,
    clean_up: Block<'c>,
    suspended: Block<'c>,
}

impl<'a, 'c> Coroutine<'a, 'c> {
    fn begin(entry: Block<'c>, location: Location<'c>, builder: &'a LlvmBuilder<'c>) -> Self {
        let first = entry.first().expect("a body");
        let at = At::Before(first);
        let (ptr, token_type) = (builder.ptr, known_type(builder.context(), "!llvm.token"));
        let zero = builder.constant(32, 0, location, at);
        let null = builder.null(location, at);
        let one = |name: &str, operands: &[Value<'c>], ty: Type<'c>| {
            llvm_builder::op(name, operands, &[ty], location, at).result(0)
        };
        let id = one(llvm::INTR_CORO_ID, &[zero, null, null, null], token_type);
        let size = one(llvm::INTR_CORO_SIZE, &[], builder.int(64));
        let memory = builder
            .call(rt::ALLOCATE, &[size], Some(ptr), location, at)
            .result(0);
        let handle = one(llvm::INTR_CORO_BEGIN, &[id, memory], ptr);
        Self {
            builder,
            token: entry.arg(0),
            id,
            handle,
            clean_up: Block::new(&[]),
            suspended: Block::new(&[]),
        }
    }

    /// Suspends until the token that `op` awaits is complete.
    fn suspend(&self, op: Op<'c>) {
        let (location, builder) = (op.location(), self.builder);
        let (Some(block), Some(next)) = (op.block(), op.next()) else {
            return;
        };
        let token = op.operand(0);
        let i32 = builder.int(32);
        let state = builder
            .call(rt::STATE, &[token], Some(i32), location, At::Before(op))
            .result(0);
        let pending = builder.equals(state, rt::PENDING, location, At::Before(op));
        op.erase();
        let rest = block.split_before(next);
        let region = block.region().expect("a block of a function");
        let (wait, resumed) = (Block::new(&[]), Block::new(&[]));
        region.insert_after(block, wait);
        region.insert_after(wait, resumed);
        branch_if(block, pending, [wait, rest], location);
        let at = At::End(wait);
        let save_type = known_type(builder.context(), "!llvm.token");
        let save =
            llvm_builder::op(llvm::INTR_CORO_SAVE, &[self.handle], &[save_type], location, at).result(0);
        let resume = builder.address_of(&resume(builder, location), location, at);
        builder.call(
            rt::RESUME_AFTER,
            &[token, self.handle, resume],
            None,
            location,
            at,
        );
        let last = OpBuilder::new(llvm::MLIR_CONSTANT, location)
            .results(&[builder.int(1)])
            .attr(attr::VALUE, bool_attr(builder.context(), false))
            .at_end(wait)
            .result(0);
        let i8 = builder.int(8);
        let why = llvm_builder::op(llvm::INTR_CORO_SUSPEND, &[save, last], &[i8], location, at).result(0);
        let why = llvm_builder::op(llvm::SEXT, &[why], &[i32], location, at).result(0);
        let goes_on = builder.equals(why, 0, location, at);
        branch_if(wait, goes_on, [rest, resumed], location);
        let ends = builder.equals(why, 1, location, At::End(resumed));
        branch_if(resumed, ends, [self.clean_up, self.suspended], location);
    }

    /// Ends the coroutine where its function returns.
    fn leave(&self, op: Op<'c>) {
        if let Some(block) = op.block() {
            let location = op.location();
            op.erase();
            branch(block, self.clean_up, location);
        }
    }

    /// Adds the blocks in which the coroutine frees its frame, and returns to whoever ran it.
    fn end(self, function: Op<'c>, location: Location<'c>) {
        let builder = self.builder;
        let region = function.region(0);
        region.append(self.clean_up);
        region.append(self.suspended);
        let at = At::End(self.clean_up);
        let memory = llvm_builder::op(
            llvm::INTR_CORO_FREE,
            &[self.id, self.handle],
            &[builder.ptr],
            location,
            at,
        );
        builder.call(rt::DEALLOCATE, &[memory.result(0)], None, location, at);
        // Last, since whoever waits for the token may free what is used here.
        builder.call(rt::COMPLETE, &[self.token], None, location, at);
        branch(self.clean_up, self.suspended, location);
        let at = At::End(self.suspended);
        let none_type = known_type(builder.context(), "!llvm.token");
        let none = llvm_builder::op(llvm::MLIR_NONE, &[], &[none_type], location, at).result(0);
        let unwinds = OpBuilder::new(llvm::MLIR_CONSTANT, location)
            .results(&[builder.int(1)])
            .attr(attr::VALUE, bool_attr(builder.context(), false))
            .at_end(self.suspended)
            .result(0);
        let operands = [self.handle, unwinds, none];
        llvm_builder::op(llvm::INTR_CORO_END, &operands, &[builder.int(1)], location, at);
        let result = builder.constant(32, rt::SUSPENDED, location, at);
        llvm_builder::op(llvm::RETURN, &[result], &[], location, at);
    }
}

/// The name of the function that resumes coroutines, which is made with the first.
fn resume<'c>(builder: &LlvmBuilder<'c>, location: Location<'c>) -> String {
    builder.shared(RESUME, |name| {
        let function = builder.function(name, "!llvm.func<void (ptr)>", location);
        let block = Block::new(&[(builder.ptr, location)]);
        function.region(0).append(block);
        let at = At::End(block);
        llvm_builder::op(llvm::INTR_CORO_RESUME, &[block.arg(0)], &[], location, at);
        llvm_builder::op(llvm::RETURN, &[], &[], location, at);
    })
}
