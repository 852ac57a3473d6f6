//! Clones functions into the forms that they are called in: as they are, for code that may block, and others
//! for what tasks call.

use super::frame_owners::{FrameOwners, FrameOwnersOfFunctions};
use super::functions::Functions;
use crate::utils::llvm_builder::rt;
use async_dialects::names::async_;
use async_mlir::calls::callee_name;
use async_mlir::ir::{Block, Mapping, Op, str_attr};
use async_mlir::melior::ir::attribute::FlatSymbolRefAttribute;
use async_mlir::names::{attr, cf, func};
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// How the code of a function is run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Form {
    /// By a thread that may block. It aborts when something fails.
    Blocking,
    /// The same, but it returns whether something has failed.
    BlockingStatus,
    /// As the body of a region.
    Task,
    /// As a call in a task that does not wait; it returns whether something has failed, and the task's token says what.
    InTask,
    /// As a task of its own, which whoever calls it waits for.
    Coroutine,
}

/// A function in one of its forms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instance<'c> {
    pub(super) function: Op<'c>,
    pub(super) form: Form,
    /// True if it awaits something as a coroutine.
    pub(super) suspends: bool,
}

/// What a function does.
#[derive(Clone, Copy, Default)]
struct Effects {
    awaits: bool,
    fails: bool,
}

/// All forms of all functions, after [`instantiate`].
pub(super) struct Instances<'c> {
    pub(super) list: Vec<Instance<'c>>,
    /// For an address in a frame, the token that keeps the frame.
    pub(super) owners: FrameOwners<'c>,
    by_name: FxHashMap<String, Instance<'c>>,
}

impl<'c> Instances<'c> {
    /// The instance that `call` calls, if it is a call of a function of this module with a body.
    pub(super) fn callee(&self, call: Op<'c>) -> Option<Instance<'c>> {
        let name = callee_name(call).filter(|_| call.is(func::CALL))?;
        self.by_name.get(name).copied()
    }
}

/// Makes the forms that are needed, and has each call the right ones. With `status`, what runs outside of tasks returns whether something has failed.
pub(super) fn instantiate<'c>(
    functions: &Functions<'c>,
    status: bool,
    owners: &FrameOwnersOfFunctions<'c>,
    unused_name: impl Fn(&str) -> String,
) -> Result<Instances<'c>, PassError<'c>> {
    let effects = effects(functions);
    let mut list = Vec::new();
    let mut by_name = FxHashMap::default();
    let mut all_owners = FrameOwners::default();
    for &(address, token) in owners.values().flatten() {
        all_owners.insert(address, token);
    }
    let mut copies: FxHashMap<(Op, Form), String> = FxHashMap::default();
    let mut work: Vec<Instance> = Vec::new();
    for &function in &functions.list {
        let effects = effects[&function];
        let form = if functions.is_task(function) {
            Form::Task
        } else if status && effects.fails && !functions.address_taken.contains(&function) {
            Form::BlockingStatus
        } else {
            Form::Blocking
        };
        let suspends = form == Form::Task && effects.awaits;
        work.push(Instance {
            function,
            form,
            suspends,
        });
    }
    while let Some(instance) = work.pop() {
        list.push(instance);
        let name = instance.function.str_attr(attr::SYM_NAME).unwrap_or_default();
        by_name.insert(name.to_owned(), instance);
        for block in instance.function.region(0).blocks() {
            for call in block.ops() {
                let Some(callee) = functions.callee(call) else {
                    continue;
                };
                if functions.is_task(callee) {
                    let message = "calls the body of a region";
                    return Err(PassError::new(call, message).note(
                        callee,
                        "run --async-outline, which makes a function of its own for each region",
                    ));
                }
                let Some(form) = instance.form.of_callee(effects[&callee]) else {
                    continue;
                };
                let name = copies.entry((callee, form)).or_insert_with(|| {
                    let mut mapping = Mapping::new();
                    let (function, name) = copy(callee, form, &mut mapping, &unused_name);
                    for (address, token) in owners.get(&callee).into_iter().flatten() {
                        all_owners.insert(mapping.lookup(*address), mapping.lookup(*token));
                    }
                    let suspends = form == Form::Coroutine;
                    work.push(Instance {
                        function,
                        form,
                        suspends,
                    });
                    name
                });
                let symbol = FlatSymbolRefAttribute::new(call.context(), name).into();
                call.set_attr(attr::CALLEE, symbol);
            }
        }
    }
    Ok(Instances {
        list,
        owners: all_owners,
        by_name,
    })
}

impl Form {
    /// The form in which code in this form calls a function, if that is a copy.
    fn of_callee(self, effects: Effects) -> Option<Self> {
        match self {
            Self::Blocking | Self::BlockingStatus => None,
            Self::Task | Self::InTask | Self::Coroutine if effects.awaits => Some(Self::Coroutine),
            Self::Task | Self::InTask | Self::Coroutine => effects.fails.then_some(Self::InTask),
        }
    }

    /// Returns true if it is run by `asyncopt_rt_type.run`.
    pub(super) fn has_frame(self) -> bool {
        matches!(self, Self::Task | Self::Coroutine)
    }

    /// Returns true if it returns a status before its results.
    pub(super) fn has_status(self) -> bool {
        matches!(self, Self::BlockingStatus | Self::InTask)
    }
}

fn copy<'c>(
    function: Op<'c>,
    form: Form,
    mapping: &mut Mapping<'c>,
    unused_name: impl Fn(&str) -> String,
) -> (Op<'c>, String) {
    let suffix = if form == Form::Coroutine {
        "coroutine"
    } else {
        "in_task"
    };
    let base = function.str_attr(attr::SYM_NAME).unwrap_or("function");
    let name = unused_name(&format!("{base}_{suffix}"));
    let copy = function.clone_mapped(mapping);
    copy.move_after(function);
    copy.set_attr(attr::SYM_NAME, str_attr(function.context(), &name));
    copy.set_attr(attr::SYM_VISIBILITY, str_attr(function.context(), "private"));
    copy.remove_attr(attr::LLVM_EMIT_C_INTERFACE);
    (copy, name)
}

/// What each function does, what it calls included.
fn effects<'c>(functions: &Functions<'c>) -> FxHashMap<Op<'c>, Effects> {
    let mut effects: FxHashMap<Op, Effects> = FxHashMap::default();
    let mut callers: FxHashMap<Op, Vec<Op>> = FxHashMap::default();
    for &function in &functions.list {
        let own = effects.entry(function).or_default();
        for op in function.region(0).blocks().into_iter().flat_map(Block::ops) {
            match op.name() {
                async_::AWAIT => (own.awaits, own.fails) = (true, true),
                cf::ASSERT => own.fails = true,
                func::CALL if is_device_call(op) => own.fails = true,
                _ => {}
            }
            if let Some(callee) = functions.callee(op) {
                callers.entry(callee).or_default().push(function);
            }
        }
    }
    let mut work: Vec<Op> = functions.list.clone();
    let mut waiting: FxHashSet<Op> = work.iter().copied().collect();
    while let Some(function) = work.pop() {
        waiting.remove(&function);
        let of_callee = effects[&function];
        for &caller in callers.get(&function).map_or(&[][..], Vec::as_slice) {
            let own = effects.entry(caller).or_default();
            let before = (own.awaits, own.fails);
            own.awaits |= of_callee.awaits;
            own.fails |= of_callee.fails;
            if before != (own.awaits, own.fails) && waiting.insert(caller) {
                work.push(caller);
            }
        }
    }
    effects
}

/// Returns true if `op` calls a function of the runtime that takes a task's token first, and fails with it.
pub(super) fn is_device_call(op: Op<'_>) -> bool {
    let callee = callee_name(op).filter(|_| op.is(func::CALL));
    callee.is_some_and(|name| name.starts_with(rt::DEVICE_FUNCTIONS) || name.starts_with(rt::HOST_FUNCTIONS))
}
