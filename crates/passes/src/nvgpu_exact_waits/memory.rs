//! Which operations may access a buffer that a copy writes.
//!
//! What is asked is only ever "may it?", and the answer is yes wherever nothing below says no.

use super::escape::is_private;
use async_dialects::control_flow::entry_edges;
use async_dialects::ir::{Definition, Op, Value};
use async_dialects::llvm::is_pointer;
use async_dialects::melior::ir::{ShapedTypeLike, TypeLike, r#type::MemRefType};
use async_dialects::names::{
    affine, arith, attr, builtin, cf, gpu, index, linalg, llvm, math, memref, nvgpu, nvvm, scf, ub, vector,
};
use async_dialects::types::{DYNAMIC, MapResult, dense_numbers, map_results, symbol, vector_rank};

/// The place that an operation accesses: a buffer, and where it is known which index of the buffer's first dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'c> {
    base: Value<'c>,
    first_index: Option<i64>,
}

/// What an operation may access.
pub(super) enum Access<'c> {
    Nothing,
    Places(Vec<Place<'c>>),
    Anything,
}

/// Operations that make a view of their first operand, or its address.
pub(super) const VIEWS: &[&str] = &[
    memref::SUBVIEW,
    memref::CAST,
    memref::REINTERPRET_CAST,
    memref::EXPAND_SHAPE,
    memref::COLLAPSE_SHAPE,
    memref::VIEW,
    memref::TRANSPOSE,
    memref::MEMORY_SPACE_CAST,
    memref::ASSUME_ALIGNMENT,
    memref::EXTRACT_STRIDED_METADATA,
    memref::EXTRACT_ALIGNED_POINTER_AS_INDEX,
    builtin::UNREALIZED_CONVERSION_CAST,
    arith::INDEX_CAST,
    llvm::INTTOPTR,
    llvm::ADDRSPACECAST,
    llvm::GETELEMENTPTR,
];

/// Operations that order accesses or show something, and access no buffer themselves.
pub(super) const HARMLESS: &[&str] = &[
    gpu::BARRIER,
    gpu::PRINTF,
    cf::ASSERT,
    nvgpu::DEVICE_ASYNC_COPY,
    nvgpu::DEVICE_ASYNC_CREATE_GROUP,
    nvgpu::DEVICE_ASYNC_WAIT,
    nvvm::BARRIER,
    nvvm::BARRIER0,
    nvvm::BAR_WARP_SYNC,
    nvvm::CP_ASYNC_SHARED_GLOBAL,
    nvvm::CP_ASYNC_COMMIT_GROUP,
    nvvm::CP_ASYNC_WAIT_GROUP,
    nvvm::CP_ASYNC_BULK_COMMIT_GROUP,
    nvvm::CP_ASYNC_BULK_WAIT_GROUP,
    nvvm::WGMMA_COMMIT_GROUP_SYNC_ALIGNED,
    nvvm::WGMMA_WAIT_GROUP_SYNC_ALIGNED,
];

/// Dialects whose operations access nothing but what their operands point to.
const BY_OPERANDS: &[&str] = &[
    affine::NAMESPACE,
    arith::NAMESPACE,
    cf::NAMESPACE,
    gpu::NAMESPACE,
    index::NAMESPACE,
    linalg::NAMESPACE,
    math::NAMESPACE,
    memref::NAMESPACE,
    nvgpu::NAMESPACE,
    scf::NAMESPACE,
    ub::NAMESPACE,
    vector::NAMESPACE,
];

/// Returns what `op` itself may access; what its regions do is up to the operations in there.
pub(super) fn access<'c>(op: Op<'c>) -> Access<'c> {
    let known_regions = op.num_regions() > 0 && entry_edges(op).is_some();
    if HARMLESS.contains(&op.name()) || op.is_function() || known_regions || op.is_pure() {
        return Access::Nothing;
    }
    if matches!(op.name(), llvm::LOAD | llvm::STORE) {
        return Access::Places(vec![Place::of(op.operand(op.num_operands() - 1), None)]);
    }
    if !only_accesses_operands(op) {
        return Access::Anything;
    }
    let places: Vec<Place> = op
        .operands()
        .enumerate()
        .filter(|(_, value)| value.ty().is_mem_ref())
        .map(|(i, value)| Place::of(value, first_index(op, i)))
        .collect();
    if places.is_empty() {
        Access::Nothing
    } else {
        Access::Places(places)
    }
}

/// Returns true if `op` accesses nothing but what its operands point to.
pub(super) fn only_accesses_operands(op: Op) -> bool {
    BY_OPERANDS.contains(&op.dialect()) && !op.is(gpu::LAUNCH_FUNC)
}

/// Returns true if `op` runs code that is not shown here and that may issue copies: it is handed memory to copy to.
pub(super) fn may_copy(op: Op) -> bool {
    let is_call = op.name().rsplit('.').next() == Some("call");
    let calls = is_call || op.name().contains(".inline_") || op.is(gpu::LAUNCH_FUNC);
    let address = |value: Value| value.ty().is_mem_ref() || is_pointer(value.ty());
    calls && op.operands().any(address)
}

/// Returns what an asynchronous copy writes; `None` for other operations.
pub(super) fn destination(op: Op<'_>) -> Option<Place<'_>> {
    let destination = op.completion()?.destination?;
    let operand = op.operands().position(|value| value == destination)?;
    Some(Place::of(destination, first_index(op, operand)))
}

impl<'c> Place<'c> {
    /// The place that an access at `first_index` of `memory` touches.
    fn of(memory: Value<'c>, first_index: Option<i64>) -> Self {
        let (mut base, mut index) = (memory, first_index);
        while let Some(op) = base.defining_op() {
            if !VIEWS.contains(&op.name()) || op.num_operands() == 0 {
                break;
            }
            index = match op.name() {
                memref::CAST | memref::MEMORY_SPACE_CAST | memref::ASSUME_ALIGNMENT => index,
                memref::SUBVIEW => row_of_subview(op),
                _ => None,
            };
            base = op.operand(0);
        }
        Self {
            base,
            first_index: index,
        }
    }

    /// The buffer.
    pub fn base(self) -> Value<'c> {
        self.base
    }

    /// Returns true if nothing but operations that are handed the buffer can access it.
    pub fn is_private(self) -> bool {
        is_private(self.base)
    }

    /// Returns true if both may be the same memory.
    pub fn may_alias(self, other: Self) -> bool {
        if self.base == other.base {
            return match (self.first_index, other.first_index) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            };
        }
        if spaces_differ(self.base, other.base) {
            return false;
        }
        match (origin(self.base), origin(other.base)) {
            (Origin::Unknown, _) | (_, Origin::Unknown) => true,
            (Origin::Global(a), Origin::Global(b)) => a == b,
            _ => false,
        }
    }

    /// Returns true if the buffer may be used when the function has returned.
    pub fn outlives_function(self) -> bool {
        match origin(self.base) {
            Origin::Allocation => false,
            Origin::Argument(function) => {
                !function.has_attr(attr::GPU_KERNEL) && !function.has_attr(attr::KERNEL)
            }
            Origin::Global(_) | Origin::Unknown => {
                let function = parent_function(self.base);
                function.is_none_or(|op| !op.has_attr(attr::GPU_KERNEL) && !op.has_attr(attr::KERNEL))
            }
        }
    }
}

/// Where a buffer comes from. Different allocations, globals and function arguments are different buffers.
#[derive(PartialEq, Eq)]
enum Origin<'c> {
    Allocation,
    Global(&'c str),
    Argument(Op<'c>),
    Unknown,
}

fn origin<'c>(base: Value<'c>) -> Origin<'c> {
    match base.definition() {
        Definition::Result(op, _) => match op.name() {
            memref::ALLOC | memref::ALLOCA => Origin::Allocation,
            memref::GET_GLOBAL => op
                .attr(attr::NAME)
                .and_then(symbol)
                .map_or(Origin::Unknown, Origin::Global),
            _ => Origin::Unknown,
        },
        Definition::Argument(block, _) => match block.parent_op() {
            Some(op) if op.is_function() && op.region(0).first() == Some(block) && base.ty().is_mem_ref() => {
                Origin::Argument(op)
            }
            _ => Origin::Unknown,
        },
    }
}

fn parent_function<'c>(value: Value<'c>) -> Option<Op<'c>> {
    let op = match value.definition() {
        Definition::Result(op, _) => Some(op),
        Definition::Argument(block, _) => block.parent_op(),
    }?;
    std::iter::once(op)
        .chain(op.ancestors())
        .find(|op| op.is_function())
}

/// Returns true if both are memrefs of different memory spaces.
fn spaces_differ<'c>(a: Value<'c>, b: Value<'c>) -> bool {
    let space = |value: Value<'c>| Some(MemRefType::try_from(value.ty()).ok()?.memory_space());
    match (space(a), space(b)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    }
}

/// Returns the index in the first dimension that the access of `op` to the memref at operand `operand` is bound to.
fn first_index(op: Op<'_>, operand: usize) -> Option<i64> {
    let rank = rank(op.operand(operand))?;
    // How many trailing dimensions the access spans.
    let spanned = match op.name() {
        memref::LOAD | memref::STORE => 0,
        nvgpu::DEVICE_ASYNC_COPY | nvgpu::LDMATRIX => 1,
        vector::LOAD => rank_of_vector(op.result(0)),
        vector::STORE => rank_of_vector(op.operand(0)),
        gpu::SUBGROUP_MMA_LOAD_MATRIX | gpu::SUBGROUP_MMA_STORE_MATRIX => 2,
        vector::TRANSFER_READ if skips_first_dimension(op) => 0,
        _ => return None,
    };
    if rank <= spanned {
        return None;
    }
    constant(op.operand(operand + 1))
}

/// Returns the offset in the first dimension of a subview that is one element wide there.
fn row_of_subview(op: Op<'_>) -> Option<i64> {
    let first = |name| op.attr(name).and_then(dense_numbers)?.first().copied();
    let offset = first(attr::STATIC_OFFSETS)?;
    if first(attr::STATIC_SIZES)? != 1 {
        return None;
    }
    if offset == DYNAMIC {
        constant(op.operand(1))
    } else {
        Some(offset)
    }
}

fn rank(value: Value) -> Option<usize> {
    let ty = MemRefType::try_from(value.ty()).ok()?;
    Some(ShapedTypeLike::rank(&ty))
}

/// The rank of a vector type; large for anything else.
fn rank_of_vector(value: Value) -> usize {
    vector_rank(value.ty()).map_or(usize::MAX, |rank| rank.max(1))
}

/// Returns true if the vector that `op` reads spans no first dimension.
fn skips_first_dimension(op: Op<'_>) -> bool {
    let results = op.attr(attr::PERMUTATION_MAP).and_then(map_results);
    let other = |result| !matches!(result, MapResult::Dim(0) | MapResult::Computed);
    results.is_some_and(|results| results.into_iter().all(other))
}

/// Returns the value of an index that is computed from constants only.
fn constant(value: Value) -> Option<i64> {
    fold(value, 0)
}

fn fold(value: Value, depth: usize) -> Option<i64> {
    if let Some(constant) = value.as_constant_int() {
        return Some(constant);
    }
    let op = value
        .defining_op()
        .filter(|op| depth < 16 && op.dialect() == arith::NAMESPACE)?;
    let operand = |i: usize| fold(op.operand(i), depth + 1);
    match op.name() {
        arith::INDEX_CAST => operand(0),
        arith::ADDI => operand(0)?.checked_add(operand(1)?),
        arith::SUBI => operand(0)?.checked_sub(operand(1)?),
        arith::MULI => operand(0)?.checked_mul(operand(1)?),
        arith::DIVUI | arith::DIVSI => positive(operand(0)?)?.checked_div(positive(operand(1)?)?),
        arith::REMUI | arith::REMSI => positive(operand(0)?)?.checked_rem(positive(operand(1)?)?),
        _ => None,
    }
}

fn positive(n: i64) -> Option<i64> {
    (n >= 0).then_some(n)
}
