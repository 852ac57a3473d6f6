//! Computes which buffer each operation may access, and, where known, which index of its first dimension (a
//! *slice*).
//!
//! What is asked is only ever "may it?", and the answer is yes wherever nothing says no.

use crate::escape::is_non_escaping;
use crate::integers;
use crate::memory::{self, BufferOrigin, Effects, buffer_origin};
use crate::views;
use async_dialects::completion::Completion;
use async_dialects::names::gpux;
use async_mlir::gpu::is_kernel;
use async_mlir::ir::{Definition, Op, Value};
use async_mlir::llvm::is_pointer;
use async_mlir::melior::ir::r#type::MemRefType;
use async_mlir::melior::ir::{ShapedTypeLike, TypeLike};
use async_mlir::names::{attr, gpu, memref, nvgpu, vector};
use async_mlir::types::{DYNAMIC, MapResult, dense_numbers, map_results, memory_space, vector_rank};

/// The place that an operation accesses: a buffer, and where it is known which index of the buffer's first dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferSlice<'c> {
    base: Value<'c>,
    first_index: Option<i64>,
}

/// What an operation may access.
pub enum Access<'c> {
    /// None of them.
    Nothing,
    /// These slices.
    Slices(Vec<BufferSlice<'c>>),
    /// Perhaps any.
    Anything,
}

/// Returns what `op` itself may access, but for what asynchronous copies write (`nvgpu_exact_waits/relax.rs` says why).
pub fn access<'c>(op: Op<'c>) -> Access<'c> {
    let Effects::Known(effects) = memory::effects(op) else {
        return Access::Anything;
    };
    let accesses = effects
        .iter()
        .filter(|effect| effect.access != memory::Access::AsyncWrite);
    let slices: Vec<BufferSlice> = accesses
        .map(|effect| BufferSlice::of_operand(op, effect.memory))
        .collect();
    if slices.is_empty() {
        Access::Nothing
    } else {
        Access::Slices(slices)
    }
}

/// Returns true if `op` runs code that is not shown here and that may issue copies: it is handed memory to copy to.
pub fn may_issue_copies(op: Op) -> bool {
    let address = |value: Value| value.ty().is_mem_ref() || is_pointer(value.ty());
    memory::runs_other_code(op) && op.operands().any(address)
}

/// Returns what an asynchronous copy writes; `None` for other operations.
pub fn destination(op: Op<'_>) -> Option<BufferSlice<'_>> {
    Some(BufferSlice::of_operand(op, Completion::of(op)?.destination?))
}

impl<'c> BufferSlice<'c> {
    /// The place that the access of `op` to `memory`, an operand, touches.
    pub fn of_operand(op: Op<'c>, memory: Value<'c>) -> Self {
        let (base, index) = base_and_first_index(op, memory);
        let first_index = index.and_then(|index| match index {
            FirstIndex::Constant(index) => Some(index),
            FirstIndex::Value(value) => integers::constant(value),
        });
        Self { base, first_index }
    }

    /// All of the buffer.
    pub fn whole(self) -> Self {
        Self {
            first_index: None,
            ..self
        }
    }

    /// The buffer.
    pub fn base(self) -> Value<'c> {
        self.base
    }

    /// The index of the first dimension, if it is a constant.
    pub fn constant_index(self) -> Option<i64> {
        self.first_index
    }

    /// Returns true if nothing but operations that are handed the buffer can access it.
    pub fn is_non_escaping(self) -> bool {
        is_non_escaping(self.base)
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
        match (buffer_origin(self.base), buffer_origin(other.base)) {
            (BufferOrigin::Unknown, _)
            | (_, BufferOrigin::Unknown)
            | (BufferOrigin::Dynamic, BufferOrigin::Dynamic) => true,
            (BufferOrigin::Global(a), BufferOrigin::Global(b)) => a == b,
            // Arguments are taken to be different buffers.
            _ => false,
        }
    }

    /// Returns true if the buffer may be used when the function has returned.
    pub fn outlives_function(self) -> bool {
        match buffer_origin(self.base) {
            BufferOrigin::Allocation => false,
            BufferOrigin::Argument(function) | BufferOrigin::Attribution(function) => !is_kernel(function),
            BufferOrigin::Global(_) | BufferOrigin::Dynamic | BufferOrigin::Unknown => {
                parent_function(self.base).is_none_or(|op| !is_kernel(op))
            }
        }
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

/// Returns true if both are memrefs of different memory spaces. One of the default memory space may lead to any memory, if it is not known where
/// it comes from.
fn spaces_differ<'c>(a: Value<'c>, b: Value<'c>) -> bool {
    let space = |value: Value<'c>| {
        let is_any = memory_space(value.ty()).is_none() && buffer_origin(value) == BufferOrigin::Unknown;
        let memref = MemRefType::try_from(value.ty()).ok();
        Some(memref.filter(|_| !is_any)?.memory_space())
    };
    match (space(a), space(b)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    }
}

/// The index of a buffer's first dimension that an access is bound to.
#[derive(Clone, Copy, Debug)]
pub enum FirstIndex<'c> {
    /// A number.
    Constant(i64),
    /// What is known when the kernel runs.
    Value(Value<'c>),
}

/// The buffer that the access of `op` to `memory`, an operand, touches, and which index of its first dimension, if it is one.
pub fn base_and_first_index<'c>(op: Op<'c>, memory: Value<'c>) -> (Value<'c>, Option<FirstIndex<'c>>) {
    let operand = op.operands().position(|value| value == memory);
    let mut index = operand.and_then(|i| first_index(op, i));
    for view in views::chain(memory) {
        index = match view.name() {
            memref::CAST | memref::MEMORY_SPACE_CAST | memref::ASSUME_ALIGNMENT => index,
            memref::SUBVIEW => row_of_subview(view),
            _ => None,
        };
    }
    (views::base(memory), index.filter(|_| !views::is_left(memory)))
}

/// Returns the index in the first dimension that the access of `op` to the memref at operand `operand` is bound to.
fn first_index(op: Op<'_>, operand: usize) -> Option<FirstIndex<'_>> {
    let rank = rank(op.operand(operand))?;
    // How many trailing dimensions the access spans.
    let spanned = match op.name() {
        memref::LOAD | memref::STORE => 0,
        gpux::COPY | nvgpu::DEVICE_ASYNC_COPY | nvgpu::LDMATRIX => 1,
        vector::LOAD => rank_of_vector(op.result(0)),
        vector::STORE => rank_of_vector(op.operand(0)),
        gpu::SUBGROUP_MMA_LOAD_MATRIX | gpu::SUBGROUP_MMA_STORE_MATRIX => 2,
        vector::TRANSFER_READ if skips_first_dimension(op) => 0,
        _ => return None,
    };
    if rank <= spanned {
        return None;
    }
    Some(FirstIndex::Value(op.operand(operand + 1)))
}

/// Returns the offset in the first dimension of a subview that is one element wide there.
fn row_of_subview(op: Op<'_>) -> Option<FirstIndex<'_>> {
    let first = |name| op.attr(name).and_then(dense_numbers)?.first().copied();
    let offset = first(attr::STATIC_OFFSETS)?;
    if first(attr::STATIC_SIZES)? != 1 {
        return None;
    }
    Some(if offset == DYNAMIC {
        FirstIndex::Value(op.operand(1))
    } else {
        FirstIndex::Constant(offset)
    })
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
