//! From what a user has to the LLVM dialect.
//!
//! **Effect.** A module of the LLVM dialect, without the kernels, which the interpreter has read before.
//!
//! **Refusals.** An entry that takes arguments or returns something else than an exit code, and operations that nothing lowers: each is
//! an error at its operation.

use crate::Reported;
use async_dialects::names::gpux_attr;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Op, Walk};
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::names::{attr, builtin, gpu, llvm};
use async_mlir::text::{collect_text, string_ref};
use mlir_sys::{
    mlirOpPassManagerAddPipeline, mlirPassManagerCreate, mlirPassManagerDestroy,
    mlirPassManagerGetAsOpPassManager, mlirPassManagerRunOnOp,
};

/// What an entry returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returns {
    Nothing,
    /// An `i32`.
    ExitCode,
    /// An `i32` that says whether something has failed.
    Status,
    /// The one and the other.
    ExitCodeAndStatus,
}

/// Looks up the function to call, and says what is wrong with it.
pub fn check_entry(module: Op<'_>, name: &str) -> Result<Returns, Reported> {
    let has_body = |op: &Op<'_>| op.is_function() && op.num_regions() == 1 && op.region(0).first().is_some();
    let functions: Vec<_> = top_level(module)
        .into_iter()
        .filter(has_body)
        .filter_map(|op| Some((op.str_attr(attr::SYM_NAME)?, op)))
        .collect();
    let Some((_, function)) = functions.iter().find(|(other, _)| *other == name) else {
        let names: Vec<_> = functions.iter().map(|(name, _)| *name).collect();
        let others = if names.is_empty() {
            "the module has no function with a body".to_owned()
        } else {
            format!("--entry=NAME calls another one: {}", names.join(", "))
        };
        return refuse(
            module,
            &format!("there is no function '{name}' to call: {others}"),
        );
    };
    let ty = function
        .attr(attr::FUNCTION_TYPE)
        .and_then(|ty| TypeAttribute::try_from(ty).ok())
        .map(|ty| ty.value().to_string())
        .unwrap_or_default();
    match (ty.as_str(), function.has_attr(gpux_attr::RETURNS_STATUS)) {
        ("() -> ()" | "!llvm.func<void ()>", false) => Ok(Returns::Nothing),
        ("() -> i32" | "!llvm.func<i32 ()>", false) => Ok(Returns::ExitCode),
        ("() -> i32" | "!llvm.func<i32 ()>", true) => Ok(Returns::Status),
        ("() -> (i32, i32)" | "!llvm.func<struct<(i32, i32)> ()>", true) => Ok(Returns::ExitCodeAndStatus),
        _ => {
            let message = format!(
                "'{name}' can't be called as an entry, being of type {ty}: that takes no arguments, and returns nothing or an i32, \
                 which is the exit code"
            );
            refuse(*function, &message)
        }
    }
}

fn refuse<T>(op: Op<'_>, message: &str) -> Result<T, Reported> {
    Diagnostic::error(op.location(), message).emit();
    Err(Reported)
}

/// The operations directly in a module.
pub fn top_level(module: Op<'_>) -> Vec<Op<'_>> {
    module.region(0).first().map_or(Vec::new(), Block::ops)
}

/// The pipeline that lowers asynchronous host code.
const LOWER_TO_CPU: &str = "async-lower-to-cpu";

/// Refuses what upstream's host code asks of a device: no pass here lowers it.
fn refuse_upstream(module: Op<'_>) -> Result<(), Reported> {
    let mut found = None;
    module.walk(|op| match op.name() {
        gpu::MODULE => Walk::Skip,
        gpu::LAUNCH_FUNC | gpu::ALLOC | gpu::DEALLOC | gpu::MEMCPY | gpu::MEMSET | gpu::WAIT => {
            found = Some(op);
            Walk::Stop
        }
        _ => Walk::Advance,
    });
    let Some(op) = found else { return Ok(()) };
    Diagnostic::error(op, "is upstream's host code for a device")
        .note(
            op,
            "run with --async-import-gpu; what --gpu-to-llvm has lowered is run by mlir-runner",
        )
        .emit();
    Err(Reported)
}

/// Lowers host code, and removes the kernels.
pub fn to_llvm(module: Op<'_>) -> Result<(), Reported> {
    refuse_upstream(module)?;
    run(module, LOWER_TO_CPU)?;
    let mut left = Vec::new();
    module.walk(|op| {
        // Dialects that MLIR translates to LLVM IR, besides.
        let is_known = matches!(
            op.dialect(),
            llvm::NAMESPACE | "omp" | "x86vector" | "amx" | "arm_neon" | "arm_sve"
        );
        if !is_known && !op.is(builtin::MODULE) {
            left.push(op);
        }
        Walk::Advance
    });
    // A cast is between what was lowered and what was not.
    let is_cast = |op: &&Op<'_>| op.is(builtin::UNREALIZED_CONVERSION_CAST);
    let culprit = left.iter().find(|op| !is_cast(op)).or(left.first());
    let Some(culprit) = culprit else { return Ok(()) };
    refuse(
        *culprit,
        &format!(
            "nothing here lowers '{}' to the CPU: run a pass before that does, as in async-opt run --PASS FILE",
            culprit.name()
        ),
    )
}

/// Runs a list of passes over a module.
///
/// # Errors
///
/// If there is no such pass, or one fails; either was printed.
pub fn run(module: Op<'_>, passes: &str) -> Result<(), Reported> {
    let result = with_passes(module, passes, |passes| {
        // SAFETY: a live pass manager, and a live operation.
        unsafe { mlirPassManagerRunOnOp(passes, module.to_raw()) }.value != 0
    });
    match result {
        Ok(true) => Ok(()),
        // It has said why.
        Ok(false) => Err(Reported),
        Err(message) => refuse(module, &message),
    }
}

/// Calls `work` with passes, or returns what is wrong with their list.
fn with_passes<T>(
    module: Op<'_>,
    passes: &str,
    work: impl FnOnce(mlir_sys::MlirPassManager) -> T,
) -> Result<T, String> {
    let mut message = String::new();
    // SAFETY: a live context; a live pass manager until the end; the callback gets the pointer to `message`.
    unsafe {
        let manager = mlirPassManagerCreate(module.context().to_raw());
        let added = mlirOpPassManagerAddPipeline(
            mlirPassManagerGetAsOpPassManager(manager),
            string_ref(passes),
            Some(collect_text),
            (&raw mut message).cast(),
        );
        let result = if added.value != 0 {
            Ok(work(manager))
        } else {
            Err(message)
        };
        mlirPassManagerDestroy(manager);
        result
    }
}
