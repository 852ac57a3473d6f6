//! Collects the host functions of a module, and which of them are the bodies of regions.

use crate::utils::device::is_host_operation;
use crate::utils::llvm_builder::rt;
use crate::utils::tokens::{has_tokens, type_has_tokens};
use async_dialects::names::async_;
use async_mlir::calls::callee_name;
use async_mlir::ir::{Block, Op, Region, Walk};
use async_mlir::melior::ir::attribute::FlatSymbolRefAttribute;
use async_mlir::melior::ir::r#type::FunctionType;
use async_mlir::names::{attr, cf, func, gpu, memref};
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// The functions directly in a module.
pub(super) struct Functions<'c> {
    /// Those with a body.
    pub(super) list: Vec<Op<'c>>,
    by_name: FxHashMap<&'c str, Op<'c>>,
    /// The bodies of regions.
    pub(super) tasks: Vec<Op<'c>>,
    /// How many values the region of a task has.
    values: FxHashMap<Op<'c>, usize>,
    /// Those that are referred to other than by calls.
    pub(super) address_taken: FxHashSet<Op<'c>>,
}

impl<'c> Functions<'c> {
    /// Finds those of `module`, and checks that each asynchronous operation is where it can be lowered.
    pub(super) fn of(module: Op<'c>) -> Result<Self, PassError<'c>> {
        let ops: Vec<Op> = module
            .regions()
            .flat_map(Region::blocks)
            .flat_map(Block::ops)
            .collect();
        if let Some(function) = ops.iter().find(|op| op.is(async_::FUNC)) {
            return Err(not_outlined(*function));
        }
        let mut list: Vec<Op> = ops.into_iter().filter(|op| op.is(func::FUNC)).collect();
        let named = list
            .iter()
            .filter_map(|&op| Some((op.str_attr(attr::SYM_NAME)?, op)));
        let mut functions = Self {
            by_name: named.collect(),
            list: Vec::new(),
            tasks: Vec::new(),
            values: FxHashMap::default(),
            address_taken: FxHashSet::default(),
        };
        list.retain(|function| function.region(0).first().is_some() && !is_of_runtime(*function));
        functions.list = list;
        for function in functions.list.clone() {
            functions.find_tasks(function)?;
        }
        Ok(functions)
    }

    fn find_tasks(&mut self, function: Op<'c>) -> Result<(), PassError<'c>> {
        let mut fault = None;
        function.walk(|op| {
            if op.is(gpu::LAUNCH) {
                return Walk::Skip;
            }
            if op.is(func::CONSTANT) {
                let name = op
                    .attr(attr::VALUE)
                    .and_then(|name| FlatSymbolRefAttribute::try_from(name).ok());
                let target = name.and_then(|name| self.by_name.get(name.value()).copied());
                self.address_taken.extend(target);
            }
            if is_host_operation(op) {
                fault = Some(
                    PassError::new(op, "is not lowered for the host")
                        .note(op, "run --gpux-host-to-runtime first, or --async-lower-to-cpu"),
                );
                return Walk::Stop;
            }
            let is_outermost = op.parent() == Some(function);
            if takes_tokens_by_pointer(op) {
                let message = "has tokens in the type of a function that is a value";
                fault = Some(PassError::new(op, message).note(op, "call the function by its name"));
            }
            // What ends a task or suspends it leaves the operations around it, too.
            let may_leave = op.is(cf::ASSERT) || self.callee(op).is_some();
            if may_leave && op != function && !is_outermost {
                fault = Some(nested(op));
            }
            if op.dialect() != async_::NAMESPACE {
                return Walk::Advance;
            }
            if op.is(async_::CALL) {
                fault = Some(not_outlined(op));
            } else if !is_outermost {
                fault = Some(nested(op));
            } else if op.is(async_::REGION) {
                match self.task_call(op) {
                    Ok(call) => {
                        let values = op.num_results() - 1;
                        if let Some(task) = self.callee(call)
                            && self.values.insert(task, values).is_none()
                        {
                            self.tasks.push(task);
                        }
                    }
                    Err(error) => fault = Some(error),
                }
                return Walk::Skip;
            }
            Walk::Advance
        });
        fault.map_or(Ok(()), Err)
    }

    /// The function of this module that `op` calls, if it is a call of one with a body.
    pub(super) fn callee(&self, op: Op<'c>) -> Option<Op<'c>> {
        let name = callee_name(op).filter(|_| op.is(func::CALL))?;
        let callee = self.by_name.get(name).copied();
        callee.filter(|callee| callee.region(0).first().is_some() && !is_of_runtime(*callee))
    }

    /// The one call in `region`.
    pub(super) fn task_call(&self, region: Op<'c>) -> Result<Op<'c>, PassError<'c>> {
        let ops = region.region(0).first().map_or(Vec::new(), Block::ops);
        match *ops {
            [call, end] if self.callee(call).is_some() && end.operands().eq(call.results()) => Ok(call),
            _ => Err(
                PassError::new(region, "has another body than a call of a function")
                    .note(region, "run --async-outline first"),
            ),
        }
    }

    /// How many of the results of `task` are values of its region; the others are tokens that delay it.
    pub(super) fn num_task_values(&self, task: Op<'c>) -> usize {
        self.values.get(&task).copied().unwrap_or(0)
    }

    pub(super) fn is_task(&self, function: Op<'c>) -> bool {
        self.values.contains_key(&function)
    }

    /// Returns true if values that `function` returns may be pending: without tokens, a caller can't tell when they are there.
    pub(super) fn may_return_pending(&self, function: Op<'c>) -> bool {
        !self.is_task(function) && !self.address_taken.contains(&function) && has_tokens(function)
    }

    /// Returns true if values that `function` takes may be pending.
    pub(super) fn may_take_pending(&self, function: Op<'c>) -> bool {
        self.is_task(function) || !self.address_taken.contains(&function) && has_tokens(function)
    }
}

/// What to say of `op`, which is not directly in a function.
fn nested(op: Op<'_>) -> PassError<'_> {
    let outer = op.parent().map_or("", Op::name);
    let help = match outer {
        memref::ALLOCA_SCOPE => "move it out of the scope, or allocate with memref.alloc",
        _ => "run --async-outline and --convert-scf-to-cf first",
    };
    PassError::new(op, format!("is inside of '{outer}'")).note(op, help)
}

/// Returns true if `op` has a function with tokens in its type as a value.
fn takes_tokens_by_pointer(op: Op<'_>) -> bool {
    let args = op.regions().flat_map(Region::blocks).flat_map(Block::args);
    op.results()
        .chain(args)
        .any(|value| FunctionType::try_from(value.ty()).is_ok_and(type_has_tokens))
}

fn not_outlined(op: Op<'_>) -> PassError<'_> {
    PassError::new(op, "is not a plain function or call").note(op, "run --async-outline first")
}

/// Returns true if `function` stands between compiled code and the runtime, and fails as functions of the runtime do.
fn is_of_runtime(function: Op<'_>) -> bool {
    let name = function.str_attr(attr::SYM_NAME);
    name.is_some_and(|name| name.starts_with(rt::DEVICE_FUNCTIONS))
}
