//! Lowers the arguments, returns and failures of functions, in each of their forms.

use super::frames::{Frame, RUN};
use super::instances::{Form, Instance, Instances, is_device_call};
use crate::utils::llvm_builder::{self, At, LlvmBuilder, branch_if, rt};
use async_dialects::names::{async_, gpux_attr};
use async_dialects::types::is_token;
use async_mlir::calls::callee_name;
use async_mlir::control_flow::append;
use async_mlir::gpu::function_type;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::melior::ir::r#type::FunctionType;
use async_mlir::melior::ir::{Attribute, Location, Type};
use async_mlir::names::{attr, cf, func, llvm};
use async_mlir::pass::PassError;
use rustc_hash::FxHashMap;

/// The frame of each function that has one, and the name of the constant that describes it, by name of the function.
pub(super) type Frames<'c> = FxHashMap<String, (Frame<'c>, String)>;

/// Lowers the arguments, returns and failures of all instances. Afterwards those with frames are functions of the `llvm` dialect,
/// in which `async.await` stands for a suspension.
pub(super) fn lower<'c>(
    instances: &mut Instances<'c>,
    mut tasks: FxHashMap<Op<'c>, Frame<'c>>,
    builder: &LlvmBuilder<'c>,
) -> Result<(), PassError<'c>> {
    let mut frames = Frames::default();
    for instance in &instances.list {
        if let Some(frame) = tasks.remove(&instance.function) {
            frames.insert(name_of(instance.function), (frame, String::new()));
        } else if instance.form == Form::Coroutine {
            let function = instance.function;
            let ty = function_type(function);
            let inputs = (0..ty.map_or(0, |ty| ty.input_count())).filter_map(|i| ty?.input(i).ok());
            let results = (0..ty.map_or(0, |ty| ty.result_count())).filter_map(|i| ty?.result(i).ok());
            let frame = Frame::new(inputs.collect(), results.collect(), function, builder)?;
            let name = name_of(function);
            let description = frame.describe(&name, Some(&name), function.location(), builder);
            frames.insert(name, (frame, description));
        }
    }
    let list = instances.list.clone();
    let mut lowered = Vec::new();
    for instance in list {
        let mut body = Body {
            instance,
            builder,
            instances,
            frames: &frames,
            token: None,
            pointer: None,
        };
        lowered.push(body.lower());
    }
    instances.list = lowered;
    Ok(())
}

fn name_of(function: Op<'_>) -> String {
    function.str_attr(attr::SYM_NAME).unwrap_or_default().to_owned()
}

struct Body<'a, 'c> {
    instance: Instance<'c>,
    builder: &'a LlvmBuilder<'c>,
    instances: &'a mut Instances<'c>,
    frames: &'a Frames<'c>,
    /// The token of the task, in the forms that have one.
    token: Option<Value<'c>>,
    /// The frame of the task, in the forms that have one.
    pointer: Option<Value<'c>>,
}

impl<'c> Body<'_, 'c> {
    fn lower(&mut self) -> Instance<'c> {
        let blocks = self.instance.function.region(0).blocks();
        let ops: Vec<Op> = blocks.into_iter().flat_map(Block::ops).collect();
        let form = self.instance.form;
        if form.has_frame() {
            self.take_from_frame();
        } else if form.has_status() {
            self.add_status();
        }
        for op in ops {
            match op.name() {
                async_::AWAIT => self.wait(op),
                cf::ASSERT => self.assert(op),
                func::RETURN => self.give_back(op),
                func::CALL if is_device_call(op) => self.device_call(op),
                func::CALL => self.call(op),
                _ => {}
            }
        }
        self.instance
    }

    /// Makes the function one that takes a token and a frame.
    fn take_from_frame(&mut self) {
        let function = self.instance.function;
        let name = name_of(function);
        let location = function.location();
        let Some(entry) = function.region(0).first() else {
            return;
        };
        let ptr = self.builder.ptr;
        let (frame, _) = &self.frames[&name];
        let arguments: Vec<Value> = entry.args().collect();
        let token = entry.add_arg(ptr, location);
        let pointer = entry.add_arg(ptr, location);
        if let Some(first) = entry.first() {
            let at = At::Before(first);
            for (index, argument) in arguments.iter().enumerate() {
                let place = frame.input(pointer, index, location, at, self.builder);
                let value = self.builder.load(place, argument.ty(), location, at);
                self.instances.owners.replace(*argument, value);
                argument.replace_all_uses_with(value);
            }
        }
        for _ in &arguments {
            entry.erase_arg(0);
        }
        let run = self.builder.function(&name, RUN, location);
        run.region(0).take_body(function.region(0));
        function.erase();
        self.instance.function = run;
        self.token = Some(token);
        self.pointer = Some(pointer);
    }

    /// Adds the status to what the function returns, and in a task, the task's token to what it takes.
    fn add_status(&mut self) {
        let function = self.instance.function;
        let (Some(ty), Some(entry)) = (function_type(function), function.region(0).first()) else {
            return;
        };
        if self.instance.form == Form::InTask {
            self.token = Some(entry.add_arg(self.builder.ptr, function.location()));
        }
        let inputs: Vec<Type> = entry.args().map(Value::ty).collect();
        let results = (0..ty.result_count()).filter_map(|index| ty.result(index).ok());
        let results: Vec<Type> = results.chain([self.builder.int(32)]).collect();
        let ty = FunctionType::new(function.context(), &inputs, &results);
        function.set_attr(attr::FUNCTION_TYPE, TypeAttribute::new(ty.into()).into());
        if self.instance.form == Form::BlockingStatus {
            function.set_attr(gpux_attr::RETURNS_STATUS, Attribute::unit(function.context()));
        }
        function.remove_attr(attr::ARG_ATTRS);
        function.remove_attr(attr::RES_ATTRS);
    }

    fn wait(&mut self, op: Op<'c>) {
        let (location, builder) = (op.location(), self.builder);
        let Some(next) = op.next() else {
            return;
        };
        for token in op.operands() {
            let at = At::Before(next);
            let state = match self.instance.form {
                Form::Blocking => {
                    let place = builder.location(location, at);
                    builder.call(rt::AWAIT_OR_ABORT, &[token, place], None, location, at);
                    continue;
                }
                Form::BlockingStatus => {
                    builder.call(rt::AWAIT, &[token], Some(builder.int(32)), location, at)
                }
                Form::Task | Form::InTask | Form::Coroutine => {
                    OpBuilder::new(async_::AWAIT, location)
                        .operands(&[token])
                        .before(next);
                    builder.call(rt::STATE, &[token], Some(builder.int(32)), location, at)
                }
            };
            let failed = builder.equals(state.result(0), rt::FAILED, location, at);
            let fail = branch_on(failed, true, next, location);
            self.fail_from(token, fail, location);
        }
        op.erase();
    }

    fn assert(&mut self, op: Op<'c>) {
        let (location, builder) = (op.location(), self.builder);
        let Some(next) = op.next() else {
            return;
        };
        let message = op.str_attr(attr::MSG).unwrap_or_default().to_owned();
        let fail = branch_on(op.operand(0), false, next, location);
        let at = At::End(fail);
        let place = builder.location(location, at);
        let text = builder.string(&message, location, at);
        if self.instance.form == Form::Blocking {
            builder.call(rt::ABORT, &[place, text], None, location, at);
            llvm_builder::op(llvm::UNREACHABLE, &[], &[], location, at);
        } else {
            match self.token {
                Some(this) => builder.call(rt::FAIL, &[this, place, text], None, location, at),
                None => builder.call(rt::NOTE_ERROR, &[place, text], None, location, at),
            };
            self.leave(fail, location);
        }
        op.erase();
    }

    fn device_call(&mut self, op: Op<'c>) {
        let (location, builder) = (op.location(), self.builder);
        let (Some(this), Some(next)) = (self.token, op.next()) else {
            return;
        };
        op.set_operand(0, this);
        let at = At::Before(next);
        let result = op.result(0);
        // A null pointer means failure, and a status of 0 success.
        let is_pointer = result.ty() == builder.ptr;
        let number = if is_pointer {
            builder.pointer_to_int(result, location, at)
        } else {
            result
        };
        let is_zero = builder.equals(number, 0, location, at);
        let fail = branch_on(is_zero, is_pointer, next, location);
        self.leave(fail, location);
    }

    fn call(&mut self, op: Op<'c>) {
        let Some(callee) = self.instances.callee(op) else {
            return;
        };
        let location = op.location();
        if callee.form == Form::Coroutine {
            self.call_coroutine(op);
        } else if callee.form.has_status() {
            let in_task = callee.form == Form::InTask;
            let this: Vec<Value> = self.token.filter(|_| in_task).into_iter().collect();
            let kept = self.instances.owners.take(op.results());
            let call = append(op, &this, &[self.builder.int(32)]);
            self.instances.owners.put(kept, call.results());
            let Some(next) = call.next() else {
                return;
            };
            let status = call.result(call.num_results() - 1);
            let good = self.builder.equals(status, 0, location, At::Before(next));
            let fail = branch_on(good, false, next, location);
            self.leave(fail, location);
        }
    }

    /// Starts the callee as a task, waits for it, and takes its results from the frame.
    fn call_coroutine(&mut self, op: Op<'c>) {
        let (location, builder) = (op.location(), self.builder);
        let frame = callee_name(op).and_then(|name| self.frames.get(name));
        let (Some(next), Some((frame, description))) = (op.next(), frame) else {
            return;
        };
        let at = At::Before(op);
        let ty = builder.address_of(description, location, at);
        let token = builder
            .call(rt::CREATE, &[ty], Some(builder.token), location, at)
            .result(0);
        let pointer = builder
            .call(rt::FRAME, &[token], Some(builder.ptr), location, at)
            .result(0);
        self.instances.owners.insert(pointer, token);
        for (index, value) in op.operands().enumerate() {
            let place = frame.input(pointer, index, location, at, builder);
            self.instances.owners.insert(place, token);
            builder.store(value, place, location, at);
        }
        builder.call(rt::SUBMIT, &[token], None, location, at);
        OpBuilder::new(async_::AWAIT, location)
            .operands(&[token])
            .before(op);
        let state = builder
            .call(rt::STATE, &[token], Some(builder.int(32)), location, at)
            .result(0);
        let failed = builder.equals(state, rt::FAILED, location, at);
        let fail = branch_on(failed, true, op, location);
        self.fail_from(token, fail, location);
        let mut results = Vec::new();
        for (index, ty) in frame.results().iter().enumerate() {
            let at = At::Before(next);
            let place = frame.result(pointer, index, location, at, builder);
            self.instances.owners.insert(place, token);
            let value = builder.load(place, *ty, location, at);
            if is_token(*ty) {
                // Nobody else looks at it, so its reference moves here.
                let null = builder.null(location, at);
                builder.store(null, place, location, at);
            }
            results.push(value);
        }
        for (old, new) in op.results().zip(&results) {
            self.instances.owners.replace(old, *new);
        }
        op.replace_with(&results);
    }

    /// Lowers a return.
    fn give_back(&mut self, op: Op<'c>) {
        let (location, at, builder) = (op.location(), At::Before(op), self.builder);
        let form = self.instance.form;
        if form.has_status() {
            let good = builder.constant(32, 0, location, at);
            let operands: Vec<Value> = op.operands().chain([good]).collect();
            op.set_operands(&operands);
        }
        let (true, Some(this), Some(pointer)) = (form.has_frame(), self.token, self.pointer) else {
            return;
        };
        let (frame, _) = &self.frames[&name_of(self.instance.function)];
        for (index, value) in op.operands().enumerate() {
            if index < frame.results().len() {
                let place = frame.result(pointer, index, location, at, builder);
                builder.store(value, place, location, at);
            } else {
                builder.call(rt::DEPEND, &[this, value], None, location, at);
            }
        }
        let done = builder.constant(32, 0, location, at);
        llvm_builder::op(llvm::RETURN, &[done], &[], location, at);
        op.erase();
    }

    /// Has `block` fail with the error of `token`.
    fn fail_from(&self, token: Value<'c>, block: Block<'c>, location: Location<'c>) {
        let at = At::End(block);
        match self.token {
            Some(this) => self
                .builder
                .call(rt::FAIL_FROM, &[this, token], None, location, at),
            None => self.builder.call(rt::NOTE_ERROR_OF, &[token], None, location, at),
        };
        self.leave(block, location);
    }

    /// Ends `block` by returning that something has failed.
    fn leave(&self, block: Block<'c>, location: Location<'c>) {
        let (at, builder) = (At::End(block), self.builder);
        if self.instance.form.has_frame() {
            let done = builder.constant(32, 0, location, at);
            llvm_builder::op(llvm::RETURN, &[done], &[], location, at);
            return;
        }
        let ty = function_type(self.instance.function);
        let mut results: Vec<Type> = (0..ty.map_or(0, |ty| ty.result_count()))
            .filter_map(|index| ty?.result(index).ok())
            .collect();
        results.pop();
        let mut values: Vec<Value> = results
            .into_iter()
            .map(|ty| builder.poison(ty, location, at))
            .collect();
        values.push(builder.constant(32, 1, location, at));
        llvm_builder::op(func::RETURN, &values, &[], location, at);
    }
}

/// Ends the block of `next` before it, and has it go on to a new block if `condition` is `value`. Returns that.
fn branch_on<'c>(condition: Value<'c>, value: bool, next: Op<'c>, location: Location<'c>) -> Block<'c> {
    let fail = Block::new(&[]);
    let Some(block) = next.block() else {
        return fail;
    };
    let rest = block.split_before(next);
    if let Some(region) = block.region() {
        region.insert_after(block, fail);
    }
    let targets = if value { [fail, rest] } else { [rest, fail] };
    branch_if(block, condition, targets, location);
    fail
}
