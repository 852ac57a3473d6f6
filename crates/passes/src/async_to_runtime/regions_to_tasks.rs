//! Rewrites regions as tasks, and values that may be pending as a token and an address.

use super::completion_analysis::CompletionAnalysis;
use super::frame_owners::FrameOwnersOfFunctions;
use super::frames::Frame;
use super::functions::Functions;
use super::futures::{PendingValues, is_delivered, successor_operands};
use crate::utils::llvm_builder::{self, At, LlvmBuilder, rt};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::calls::callee_name;
use async_mlir::control_flow::{append, append_to_branch, selected_values};
use async_mlir::gpu::function_type;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::melior::ir::r#type::FunctionType;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{arith, attr, func, ub};
use async_mlir::pass::PassError;
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

/// The operand of a dealloc function of the runtime that is freed.
const DEALLOC_POINTER: usize = 2;

fn is_dealloc(op: Op<'_>) -> bool {
    matches!(callee_name(op), Some(rt::DEVICE_DEALLOC | rt::HOST_DEALLOC))
}

/// Returns true if all that the task `function` does is to free memory of a device: that is due although what used it has failed.
fn frees_only(function: Op<'_>) -> bool {
    let blocks = function.region(0).blocks();
    let ops: Vec<Op> = blocks.into_iter().flat_map(Block::ops).collect();
    let is_help = |op: Op<'_>| op.is_pure() || op.is(func::RETURN) && op.num_operands() == 0;
    ops.iter().any(|op| is_dealloc(*op)) && ops.iter().all(|op| is_dealloc(*op) || is_help(*op))
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

    /// Has everything that hands on values to what is marked hand on tokens and addresses.
    fn hand_on(&mut self, function: Op<'c>) -> Result<(), PassError<'c>> {
        let mut completion = CompletionAnalysis::with_tokens(function, self.tokens_of_regions());
        for block in function.region(0).blocks() {
            for op in block.ops() {
                if let Some(callee) = self.functions.callee(op) {
                    self.arguments(op, op, callee)?;
                } else if op.is(async_::REGION) {
                    let call = self.functions.task_call(op)?;
                    if let Some(task) = self.functions.callee(call) {
                        self.arguments(call, op, task)?;
                        let arguments = task.region(0).first().into_iter().flat_map(Block::args);
                        for (token, argument) in call.operands().zip(arguments) {
                            if self.futures.contains_key(&argument) && completion.is_complete_in(token, op) {
                                self.complete.insert(argument);
                            }
                        }
                    }
                } else if op.is(func::RETURN) {
                    let marked: Vec<usize> = (0..op.num_operands())
                        .filter(|&index| self.pending.results.contains(&(function, index)))
                        .collect();
                    self.pass(op, op, &marked)?;
                } else if selected_values(op).is_some() {
                    self.selection(op)?;
                } else if op.successors().len() > 0 {
                    for index in 0..op.successors().len() {
                        let operands = successor_operands(op);
                        let Some((first, to)) = operands.get(index) else {
                            continue;
                        };
                        let mut places = Vec::new();
                        for (number, argument) in to.iter().enumerate() {
                            if self.pending.values.contains(argument) {
                                places.push(self.operand(op, first + number, op)?);
                            }
                        }
                        append_to_branch(op, index, &places);
                    }
                }
            }
        }
        Ok(())
    }

    fn arguments(&mut self, call: Op<'c>, at: Op<'c>, callee: Op<'c>) -> Result<(), PassError<'c>> {
        let Some(entry) = callee.region(0).first() else {
            return Ok(());
        };
        let marked: Vec<usize> = (0..call.num_operands())
            .filter(|&index| self.pending.values.contains(&entry.arg(index)))
            .collect();
        self.pass(call, at, &marked)
    }

    /// Has the operands `marked` of `op` be tokens, and appends the addresses.
    fn pass(&mut self, op: Op<'c>, at: Op<'c>, marked: &[usize]) -> Result<(), PassError<'c>> {
        let mut places = Vec::new();
        for &index in marked {
            places.push(self.operand(op, index, at)?);
        }
        if !places.is_empty() {
            let operands: Vec<Value> = op.operands().chain(places).collect();
            op.set_operands(&operands);
        }
        Ok(())
    }

    /// The same for a selection between two values.
    fn selection(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        let Some(place) = self.futures.get(&op.result(0)).map(|future| future.place) else {
            return Ok(());
        };
        if place.defining_op() == Some(op) {
            return Ok(());
        }
        // The copy of the selection for addresses comes right after it.
        let addresses = place.defining_op();
        for index in 1..op.num_operands() {
            let address = self.operand(op, index, op)?;
            if let Some(addresses) = addresses {
                addresses.set_operand(index, address);
                self.handed_on.insert((addresses, index));
            }
        }
        Ok(())
    }

    /// Makes operand `index` of `op` a token, and returns the address.
    fn operand(&mut self, op: Op<'c>, index: usize, at: Op<'c>) -> Result<Value<'c>, PassError<'c>> {
        let value = op.operand(index);
        let future = match self.futures.get(&value) {
            Some(future) => *future,
            None => self.boxed(value, at)?,
        };
        op.set_operand(index, future.owner);
        self.handed_on.insert((op, index));
        Ok(future.place)
    }

    /// A token that is complete, with `value` in its frame.
    fn boxed(&mut self, value: Value<'c>, at: Op<'c>) -> Result<Future<'c>, PassError<'c>> {
        let (builder, ty) = (self.builder, value.ty());
        let frame = Frame::new(Vec::new(), vec![ty], at, builder)?;
        let (location, at) = (at.location(), At::Before(at));
        let name = self.boxes.entry(ty).or_insert_with(|| {
            let place = Location::unknown(builder.context());
            frame.describe("asyncopt_value", None, place, builder)
        });
        let name = name.clone();
        let description = builder.address_of(&name, location, at);
        let (owner, place) = self.create(description, location, at);
        builder.store(value, place, location, at);
        builder.call(rt::SUBMIT, &[owner], None, location, at);
        Ok(Future { owner, place, ty })
    }

    /// The tokens that [`Self::create_tasks`] has made.
    fn tokens_of_regions(&self) -> FxHashMap<Op<'c>, Value<'c>> {
        self.regions
            .iter()
            .map(|(region, token, _)| (*region, *token))
            .collect()
    }

    /// Loads futures where they are used. Where it is not known that they are there, the runtime checks it.
    fn load(&mut self, function: Op<'c>) {
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
