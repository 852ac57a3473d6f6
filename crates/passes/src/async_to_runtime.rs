//! `--async-to-runtime`: regions of host code become tasks of the runtime.
//!
//! **Condition.** A module of host code after `--async-outline` and `--convert-scf-to-cf`: the body of each
//! region is a call.
//!
//! **Effect.** No operation or type of `async` is left outside of device code. Tokens are pointers, counted
//! exactly on each path; tasks never wait (`docs/runtime.md`).
//!
//! **Refusals.** Regions with other bodies, asynchronous operations inside of others, values without a
//! counterpart in LLVM, and allocations on the stack of a task that is suspended, in a loop or of a size that
//! is not constant.
//!
//! The steps: [`functions`] finds functions and the bodies of regions; [`futures`], with what
//! [`completion_analysis`] knows, which values are handed on before they are available; [`regions_to_tasks`]
//! makes tasks of regions, with [`frames`] and where their members lie ([`layout`]). [`instances`] decides in which forms each function is needed, and
//! [`calling_convention`] lowers what they take, return and do when something fails. [`references`] counts,
//! with [`frame_owners`] of addresses; and [`coroutines`] suspends.

mod calling_convention;
mod completion_analysis;
mod coroutines;
mod frame_owners;
mod frames;
mod functions;
mod futures;
mod instances;
mod layout;
mod references;
mod regions_to_tasks;

use self::functions::Functions;
use self::futures::PendingValues;
use crate::utils::llvm_builder::LlvmBuilder;
use crate::utils::verify_result::{VERIFY_RESULT, check_references, checks};
use async_dialects::names::async_;
use async_dialects::registry::GPUX;
use async_dialects::types::is_token;
use async_mlir::gpu::function_type;
use async_mlir::ir::{Block, Op, Region, Walk};
use async_mlir::llvm::{AddressSpace, pointer};
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::melior::ir::r#type::FunctionType;
use async_mlir::names::{attr, builtin, func, gpu};
use async_mlir::pass::{Anchor, CheckTimer, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo};

/// An option that the pipeline has, too.
pub(crate) const ON_ERROR: OptionInfo = OptionInfo::choice(
    "on-error",
    "abort",
    &[
        ("abort", "an await of what has failed prints the error and aborts"),
        (
            "status",
            "functions that may fail return one more value, an i32: 0, or 1 after an error, which asyncopt_rt_last_error_message tells",
        ),
    ],
    "what code outside of tasks does with errors",
);

/// The pass.
pub struct AsyncToRuntime;

impl Pass for AsyncToRuntime {
    const INFO: PassInfo = PassInfo {
        description: include_str!("async_to_runtime/description.md"),
        anchor: Anchor::Ops(&[builtin::MODULE]),
        options: &[ON_ERROR, VERIFY_RESULT],
        dependent_dialects: &[GPUX, Dialect::LLVM, Dialect::FUNC, Dialect::CF, Dialect::ARITH],
        ..PassInfo::new(
            "async-to-runtime",
            "lowers regions and tokens of host code to tasks of the runtime",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let status = cx.str("on-error") == "status";
        let mut modules = vec![root];
        root.walk(|op| {
            if op.is(gpu::MODULE) {
                return Walk::Skip;
            }
            if op.is(builtin::MODULE) && op != root {
                modules.push(op);
            }
            Walk::Advance
        });
        // Each has a symbol table of its own, for all that is made.
        for module in modules {
            lower_module(module, status, checks(cx))?;
        }
        lower_types(root, pointer(root.context(), AddressSpace::Generic))
    }
}

/// Lowers the functions directly in a module; has them checked if there are `checks`.
fn lower_module<'c>(
    module: Op<'c>,
    status: bool,
    checks: Option<CheckTimer<'c>>,
) -> Result<(), PassError<'c>> {
    let functions = Functions::of(module)?;
    let builder = LlvmBuilder::new(module);
    let pending = PendingValues::of(&functions)?;
    let rewritten = regions_to_tasks::rewrite(&functions, &pending, &builder)?;
    let unused_name = |base: &str| builder.unused_name(base);
    let mut instances = instances::instantiate(&functions, status, &rewritten.owners, unused_name)?;
    calling_convention::lower(&mut instances, rewritten.frames, &builder)?;
    for instance in &instances.list {
        references::count(instance, &instances.owners, &builder);
        if let Some(timer) = checks {
            let owner = |address| instances.owners.get(address);
            timer.time(|| check_references(instance.function, &owner))?;
        }
        if instance.suspends {
            coroutines::expand(instance, &builder)?;
        }
    }
    builder.check_declarations()
}

/// Makes pointers of all tokens of host code.
fn lower_types<'c>(root: Op<'c>, ptr: Type<'c>) -> Result<(), PassError<'c>> {
    let mut fault = None;
    root.walk(|op| {
        if op.is(gpu::MODULE) || op.is(gpu::LAUNCH) {
            return Walk::Skip;
        }
        if op.dialect() == async_::NAMESPACE {
            fault = Some(
                PassError::new(op, "is in code that is not lowered")
                    .note(op, "host code is in functions of a module"),
            );
        }
        let tokens = op.operands().any(|operand| is_token(operand.ty()))
            || op.results().any(|result| is_token(result.ty()));
        if tokens && op.dialect() == async_dialects::names::gpux::NAMESPACE {
            fault = Some(PassError::new(op, "is not lowered for the host").note(
                op,
                "run --gpux-host-to-runtime first; copies and groups are for kernels alone",
            ));
        }
        for result in op.results().filter(|result| is_token(result.ty())) {
            result.set_type(ptr);
        }
        for arg in op.regions().flat_map(Region::blocks).flat_map(Block::args) {
            if is_token(arg.ty()) {
                arg.set_type(ptr);
            }
        }
        if op.is(func::FUNC)
            && let Some(ty) = function_type(op)
        {
            let lower = |ty: Type<'c>| if is_token(ty) { ptr } else { ty };
            let inputs: Vec<Type> = (0..ty.input_count())
                .filter_map(|i| ty.input(i).ok())
                .map(lower)
                .collect();
            let results: Vec<Type> = (0..ty.result_count())
                .filter_map(|i| ty.result(i).ok())
                .map(lower)
                .collect();
            let ty = FunctionType::new(op.context(), &inputs, &results);
            op.set_attr(attr::FUNCTION_TYPE, TypeAttribute::new(ty.into()).into());
        }
        Walk::Advance
    });
    fault.map_or(Ok(()), Err)
}
