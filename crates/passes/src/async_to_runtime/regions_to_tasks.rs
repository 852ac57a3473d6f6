//! Rewrites regions as tasks, and values that may be pending as a token and an address.

mod hand_on;
mod loads;

use super::frame_owners::FrameOwnersOfFunctions;
use super::frames::Frame;
use super::functions::Functions;
use super::futures::{PendingValues, is_delivered};
use crate::utils::llvm_builder::{At, LlvmBuilder, rt};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::control_flow::append;
use async_mlir::gpu::function_type;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::melior::ir::r#type::FunctionType;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{attr, func, ub};
use async_mlir::pass::PassError;
use loads::frees_only;
use rustc_hash::{FxHashMap, FxHashSet};

/// A value that may be pending.
#[derive(Clone, Copy)]
struct Future<'c> {
    /// The token that the value is there with.
    owner: Value<'c>,
    /// Where the value will be.
    place: Value<'c>,
    ty: Type<'c>,
}

/// What the rewriting leaves for the steps after it.
pub(super) struct Rewritten<'c> {
    /// Of each function, addresses in frames, with the tokens that keep the frames.
    pub(super) owners: FrameOwnersOfFunctions<'c>,
    /// The frame of each task.
    pub(super) frames: FxHashMap<Op<'c>, Frame<'c>>,
}

/// Rewrites all of `functions`.
pub(super) fn rewrite<'c>(
    functions: &Functions<'c>,
    pending: &PendingValues<'c>,
    builder: &LlvmBuilder<'c>,
) -> Result<Rewritten<'c>, PassError<'c>> {
    let mut rewriter = Rewriter {
        functions,
        pending,
        builder,
        futures: FxHashMap::default(),
        handed_on: FxHashSet::default(),
        complete: FxHashSet::default(),
        freeing: functions
            .tasks
            .iter()
            .copied()
            .filter(|task| frees_only(*task))
            .collect(),
        boxes: FxHashMap::default(),
        regions: Vec::new(),
        function: None,
        out: Rewritten {
            owners: FxHashMap::default(),
            frames: FxHashMap::default(),
        },
    };
    for &function in &functions.list {
        rewriter.function = Some(function);
        rewriter.split_arguments(function);
    }
    let mut types = FxHashMap::default();
    for &task in &functions.tasks {
        let frame = rewriter.frame(task)?;
        let name = task.str_attr(attr::SYM_NAME).unwrap_or_default();
        let ty = frame.describe(name, Some(name), task.location(), builder);
        rewriter.out.frames.insert(task, frame);
        types.insert(task, ty);
    }
    for &function in &functions.list {
        rewriter.function = Some(function);
        rewriter.split_results(function);
        rewriter.create_tasks(function, &types)?;
    }
    for &function in &functions.list {
        rewriter.function = Some(function);
        rewriter.hand_on(function)?;
    }
    for &function in &functions.list {
        rewriter.load(function);
        rewriter.simple_tokens(function);
    }
    rewriter.submit_tasks();
    for &function in &functions.list {
        rewriter.set_type(function);
    }
    Ok(rewriter.out)
}

struct Rewriter<'a, 'c> {
    functions: &'a Functions<'c>,
    pending: &'a PendingValues<'c>,
    builder: &'a LlvmBuilder<'c>,
    futures: FxHashMap<Value<'c>, Future<'c>>,
    /// Operands that hand on a future as it is.
    handed_on: FxHashSet<(Op<'c>, usize)>,
    /// Tokens among the arguments of tasks that are complete when the task runs.
    complete: FxHashSet<Value<'c>>,
    /// Tasks that run although a dependency has failed.
    freeing: FxHashSet<Op<'c>>,
    /// The names of the constants for tokens that hold one value, by its type.
    boxes: FxHashMap<Type<'c>, String>,
    /// Regions, with the token and the frame of their task.
    regions: Vec<(Op<'c>, Value<'c>, Value<'c>)>,
    /// The function that is being rewritten.
    function: Option<Op<'c>>,
    out: Rewritten<'c>,
}

impl<'c> Rewriter<'_, 'c> {
    fn owns(&mut self, token: Value<'c>, address: Value<'c>) {
        if let Some(function) = self.function {
            self.out
                .owners
                .entry(function)
                .or_default()
                .push((address, token));
        }
    }

    fn future(&mut self, value: Value<'c>, future: Future<'c>) {
        self.owns(future.owner, future.place);
        self.futures.insert(value, future);
    }

    /// Adds arguments for the addresses of pending arguments, which become the tokens.
    fn split_arguments(&mut self, function: Op<'c>) {
        for block in function.region(0).blocks() {
            for argument in block.args().collect::<Vec<_>>() {
                if self.pending.values.contains(&argument) {
                    let ty = argument.ty();
                    let place = block.add_arg(self.builder.ptr, argument.location());
                    argument.set_type(self.builder.token);
                    let owner = argument;
                    self.future(argument, Future { owner, place, ty });
                }
            }
        }
    }

    fn frame(&self, task: Op<'c>) -> Result<Frame<'c>, PassError<'c>> {
        let entry = task.region(0).first();
        let inputs = entry.map_or(Vec::new(), |entry| entry.args().map(Value::ty).collect());
        let values = self.functions.num_task_values(task);
        let ty = function_type(task);
        let results = (0..values).filter_map(|index| ty?.result(index).ok()).collect();
        Frame::new(inputs, results, task, self.builder)
    }

    /// The same for results of calls and selections.
    fn split_results(&mut self, function: Op<'c>) {
        for block in function.region(0).blocks() {
            for op in block.ops() {
                let marked: Vec<usize> = (0..op.num_results())
                    .filter(|&index| self.pending.values.contains(&op.result(index)))
                    .collect();
                if marked.is_empty() {
                    continue;
                }
                if op.is(func::CALL) {
                    let places = vec![self.builder.ptr; marked.len()];
                    let count = op.num_results();
                    let op = append(op, &[], &places);
                    for (number, index) in marked.into_iter().enumerate() {
                        let owner = op.result(index);
                        let ty = owner.ty();
                        let place = op.result(count + number);
                        owner.set_type(self.builder.token);
                        self.future(owner, Future { owner, place, ty });
                    }
                } else {
                    // The operands follow when all futures are known.
                    let owner = op.result(0);
                    let ty = owner.ty();
                    let place = op.clone_detached();
                    place.move_after(op);
                    let place = place.result(0);
                    place.set_type(self.builder.ptr);
                    owner.set_type(self.builder.token);
                    self.future(owner, Future { owner, place, ty });
                }
            }
        }
    }

    /// Makes the tokens of the regions in `function`.
    fn create_tasks(
        &mut self,
        function: Op<'c>,
        types: &FxHashMap<Op<'c>, String>,
    ) -> Result<(), PassError<'c>> {
        for block in function.region(0).blocks() {
            for region in block.ops() {
                if !region.is(async_::REGION) {
                    continue;
                }
                let (location, at) = (region.location(), At::Before(region));
                let call = self.functions.task_call(region)?;
                let Some(task) = self.functions.callee(call) else {
                    continue;
                };
                let ty = self.builder.address_of(&types[&task], location, at);
                let (owner, pointer) = self.create(ty, location, at);
                let frame = self.out.frames[&task].clone();
                for (index, value) in region.results().skip(1).enumerate() {
                    if value.has_uses() {
                        let place = frame.result(pointer, index, location, at, self.builder);
                        let ty = value.ty();
                        self.future(value, Future { owner, place, ty });
                    }
                }
                region.result(0).replace_all_uses_with(owner);
                self.regions.push((region, owner, pointer));
            }
        }
        Ok(())
    }

    /// A new token and its frame.
    fn create(&mut self, ty: Value<'c>, location: Location<'c>, at: At<'c>) -> (Value<'c>, Value<'c>) {
        let (builder, ptr) = (self.builder, self.builder.ptr);
        let token = builder
            .call(rt::CREATE, &[ty], Some(builder.token), location, at)
            .result(0);
        let frame = builder
            .call(rt::FRAME, &[token], Some(ptr), location, at)
            .result(0);
        self.owns(token, frame);
        (token, frame)
    }

    /// The tokens that [`Self::create_tasks`] has made.
    fn tokens_of_regions(&self) -> FxHashMap<Op<'c>, Value<'c>> {
        self.regions
            .iter()
            .map(|(region, token, _)| (*region, *token))
            .collect()
    }

    /// Lowers joins and tokens that are complete.
    fn simple_tokens(&mut self, function: Op<'c>) {
        for block in function.region(0).blocks() {
            for op in block.ops() {
                let (location, at) = (op.location(), At::Before(op));
                match op.name() {
                    async_::JOIN => {
                        let null = self.builder.null(location, at);
                        let ty = Some(self.builder.token);
                        let join = self.builder.call(rt::CREATE, &[null], ty, location, at).result(0);
                        for token in op.operands() {
                            self.builder.call(rt::DEPEND, &[join, token], None, location, at);
                        }
                        self.builder.call(rt::SUBMIT, &[join], None, location, at);
                        op.replace_with(&[join]);
                    }
                    async_::READY => op.replace_with(&[self.builder.null(location, at)]),
                    ub::POISON if is_token(op.result(0).ty()) => {
                        op.replace_with(&[self.builder.null(location, at)]);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Fills in what tasks take, and starts them.
    fn submit_tasks(&mut self) {
        let builder = self.builder;
        for (region, token, pointer) in std::mem::take(&mut self.regions) {
            let (location, at) = (region.location(), At::Before(region));
            let Ok(call) = self.functions.task_call(region) else {
                continue;
            };
            let frame = self
                .functions
                .callee(call)
                .and_then(|task| self.out.frames.get(&task));
            let Some(frame) = frame else {
                continue;
            };
            for (index, value) in call.operands().enumerate() {
                let place = frame.input(pointer, index, location, at, builder);
                builder.store(value, place, location, at);
            }
            for dependency in region.operands() {
                builder.call(rt::DEPEND, &[token, dependency], None, location, at);
            }
            if self
                .functions
                .callee(call)
                .is_some_and(|task| self.freeing.contains(&task))
            {
                builder.call(rt::RUN_ALWAYS, &[token], None, location, at);
            }
            builder.call(rt::SUBMIT, &[token], None, location, at);
            debug_assert!(
                region
                    .results()
                    .all(|result| !result.has_uses() || is_delivered(result))
            );
            region.erase();
        }
    }

    /// Makes the type of `function` that of its arguments and of what it returns.
    fn set_type(&self, function: Op<'c>) {
        let (Some(ty), Some(entry)) = (function_type(function), function.region(0).first()) else {
            return;
        };
        let inputs: Vec<Type> = entry.args().map(Value::ty).collect();
        let mut results: Vec<Type> = (0..ty.result_count())
            .filter_map(|index| ty.result(index).ok())
            .collect();
        for index in 0..ty.result_count() {
            if self.pending.results.contains(&(function, index)) {
                results[index] = self.builder.token;
                results.push(self.builder.ptr);
            }
        }
        // Attributes are of the types before.
        if ty.input_count() != inputs.len() {
            function.remove_attr(attr::ARG_ATTRS);
        }
        if ty.result_count() != results.len() {
            function.remove_attr(attr::RES_ATTRS);
        }
        let ty = FunctionType::new(function.context(), &inputs, &results);
        function.set_attr(attr::FUNCTION_TYPE, TypeAttribute::new(ty.into()).into());
    }
}
