//! Gives tensors buffers.
//!
//! One-Shot Bufferize decides which tensors may share one. For some code its answer is wrong, with no diagnostic; such code is rewritten first.

use crate::Reported;
use crate::lower::run;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Definition, Op, OpBuilder, Region, Value, Walk};
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::IntegerAttribute;
use async_mlir::melior::ir::r#type::TypeLike as _;
use async_mlir::names::{arith, attr, bufferization, func, linalg, scf, tensor, ub};
use async_mlir::types::tensor_shape;
use rustc_hash::FxHashSet;

/// Gives tensors buffers, if there are any.
pub fn bufferize(module: Op<'_>) -> Result<(), Reported> {
    if !has_tensors(module) {
        return Ok(());
    }
    structure_blocks(module)?;
    separate_results(module);
    run(
        module,
        "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops function-boundary-type-conversion=identity-layout-map}",
    )
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

/// Copies tensors that a function or a loop hands on twice, whole or in part: One-Shot Bufferize takes results for different buffers.
fn separate_results(module: Op<'_>) {
    let mut terminators = Vec::new();
    module.walk(|op| {
        // Of an `scf.if` it is known that results may be one buffer.
        let is_looked_at = |parent: Op| !parent.is(scf::IF);
        if op.is_terminator() && op.parent().is_some_and(is_looked_at) {
            terminators.push(op);
        }
        Walk::Advance
    });
    // Operations of a dialect that is not loaded would be unregistered.
    module.context().get_or_load_dialect(bufferization::NAMESPACE);
    for op in terminators {
        let operands = op.operands().enumerate();
        let tensors: Vec<(usize, Value)> = operands.filter(|(_, value)| value.ty().is_tensor()).collect();
        if tensors.len() < 2 {
            continue;
        }
        let mut handed_on = FxHashSet::default();
        for (place, value) in tensors {
            let sources = sources(value);
            if sources.is_disjoint(&handed_on) {
                handed_on.extend(sources);
                continue;
            }
            let copy = OpBuilder::new(bufferization::ALLOC_TENSOR, op.location())
                .operand_groups(&[&[], &[value], &[]])
                .results(&[value.ty()])
                .before(op);
            op.set_operand(place, copy.result(0));
        }
    }
}

/// The values whose buffers may be that of `value`, or have it in them: those that `value` is made of, back to values that are made of no others.
fn sources<'c>(value: Value<'c>) -> FxHashSet<Value<'c>> {
    let mut sources = FxHashSet::default();
    let mut seen = FxHashSet::default();
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        let Definition::Result(op, _) = value.definition() else {
            sources.insert(value);
            continue;
        };
        let made_of = made_of(op);
        if made_of.is_empty() || op.num_regions() > 0 {
            sources.insert(value);
        }
        work.extend(made_of);
    }
    sources
}

/// The tensors whose buffers results of `op` may have.
fn made_of(op: Op<'_>) -> Vec<Value<'_>> {
    let is_tensor = |value: &Value| value.ty().is_tensor();
    if op.dialect() == linalg::NAMESPACE {
        // The last operands are what it writes.
        let operands: Vec<Value> = op.operands().collect();
        let outputs = operands.len().saturating_sub(op.num_results());
        return operands[outputs..].iter().copied().filter(is_tensor).collect();
    }
    let blocks = op.regions().flat_map(Region::blocks);
    let ends: Vec<Op> = blocks.filter_map(Block::terminator).collect();
    let handed_on = ends.iter().flat_map(|end| end.operands());
    op.operands().chain(handed_on).filter(is_tensor).collect()
}
