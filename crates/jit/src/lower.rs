//! From what a user has to the LLVM dialect.
//!
//! **Effect.** A module of the LLVM dialect, without the kernels, which the interpreter has read before.
//!
//! **Refusals.** An entry that takes arguments or returns something else than an exit code, and operations that nothing lowers: each is
//! an error at its operation.

use crate::Reported;
use async_dialects::names::gpux_attr;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value, Walk};
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::{IntegerAttribute, TypeAttribute};
use async_mlir::melior::ir::r#type::TypeLike as _;
use async_mlir::names::{arith, attr, builtin, func, gpu, llvm, tensor, ub};
use async_mlir::text::{collect_text, string_ref};
use async_mlir::types::tensor_shape;
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

/// Returns true if `op`, or an operation in it, has to do with a tensor.
fn has_tensors(op: Op<'_>) -> bool {
    let found = op.walk(|op| {
        let blocks = op.regions().flat_map(Region::blocks);
        let arguments = blocks.flat_map(|block| block.args().collect::<Vec<_>>());
        let mut values = op.results().chain(op.operands()).chain(arguments);
        if values.any(|value| value.ty().is_tensor()) {
            Walk::Stop
        } else {
            Walk::Advance
        }
    });
    found == Walk::Stop
}

/// The outermost operations that have tensors in a region of several blocks.
fn with_tensors_in_blocks(module: Op<'_>) -> Vec<Op<'_>> {
    let mut found = Vec::new();
    module.walk(|op| {
        if op.regions().any(|region| region.blocks().len() > 1) && has_tensors(op) {
            found.push(op);
            return Walk::Skip;
        }
        Walk::Advance
    });
    found
}

/// Makes branches between blocks that have tensors structured: One-Shot Bufferize takes a write behind a loop of blocks for one that no
/// later read sees, so it writes in place where it must not.
fn structure_blocks(module: Op<'_>) -> Result<(), Reported> {
    let functions = with_tensors_in_blocks(module);
    for function in functions.into_iter().filter(|op| op.is(func::FUNC)) {
        // Lifting has each branch hand on everything, which the other pass tidies up.
        run(function, "lift-cf-to-scf,canonicalize")?;
        define_poison(function);
    }
    let left = with_tensors_in_blocks(module);
    let Some(left) = left.first() else { return Ok(()) };
    Diagnostic::error(
        *left,
        "has tensors in several blocks, and can't be bufferized like that",
    )
    .note(
        *left,
        "make the branches structured (scf.if, scf.while), or give it buffers instead of tensors",
    )
    .emit();
    Err(Reported)
}

/// Makes tensors without a value empty ones, which have buffers: it is what is handed on along branches that nobody reads it after.
fn define_poison(function: Op<'_>) {
    let mut poison = Vec::new();
    function.walk(|op| {
        if op.is(ub::POISON) {
            poison.push(op);
        }
        Walk::Advance
    });
    for op in poison {
        let ty = op.result(0).ty();
        let Some(shape) = tensor_shape(ty) else { continue };
        let index = Type::index(op.context());
        let unknown = shape.sizes.iter().filter(|size| size.is_none());
        let sizes: Vec<Value> = unknown
            .map(|_| {
                OpBuilder::new(arith::CONSTANT, op.location())
                    .results(&[index])
                    .attr(attr::VALUE, IntegerAttribute::new(index, 0).into())
                    .before(op)
                    .result(0)
            })
            .collect();
        let empty = OpBuilder::new(tensor::EMPTY, op.location())
            .operands(&sizes)
            .results(&[ty])
            .before(op);
        op.replace_with(&[empty.result(0)]);
    }
}

/// Gives tensors buffers, if there are any.
pub fn bufferize(module: Op<'_>) -> Result<(), Reported> {
    if !has_tensors(module) {
        return Ok(());
    }
    structure_blocks(module)?;
    run(
        module,
        "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops function-boundary-type-conversion=identity-layout-map}",
    )
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
