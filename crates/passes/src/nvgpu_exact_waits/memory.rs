//! Which operations may access a buffer that a copy writes.
//!
//! What is asked is only ever "may it?", and the answer is yes wherever nothing below says no.

use super::escape::is_private;
use async_dialects::control_flow::entry_edges;
use async_dialects::ir::{Definition, Op, Value};
use async_dialects::melior::ir::{ShapedTypeLike, TypeLike, r#type::MemRefType};

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
    "memref.subview",
    "memref.cast",
    "memref.reinterpret_cast",
    "memref.expand_shape",
    "memref.collapse_shape",
    "memref.view",
    "memref.transpose",
    "memref.memory_space_cast",
    "memref.assume_alignment",
    "memref.extract_strided_metadata",
    "memref.extract_aligned_pointer_as_index",
    "builtin.unrealized_conversion_cast",
    "arith.index_cast",
    "llvm.inttoptr",
    "llvm.addrspacecast",
    "llvm.getelementptr",
];

/// Operations that order accesses or show something, and access no buffer themselves.
pub(super) const HARMLESS: &[&str] = &[
    "gpu.barrier",
    "gpu.printf",
    "cf.assert",
    "nvgpu.device_async_copy",
    "nvgpu.device_async_create_group",
    "nvgpu.device_async_wait",
    "nvvm.barrier",
    "nvvm.barrier0",
    "nvvm.bar.warp.sync",
    "nvvm.cp.async.shared.global",
    "nvvm.cp.async.commit.group",
    "nvvm.cp.async.wait.group",
    "nvvm.cp.async.bulk.commit.group",
    "nvvm.cp.async.bulk.wait_group",
    "nvvm.wgmma.commit.group.sync.aligned",
    "nvvm.wgmma.wait.group.sync.aligned",
];

/// Dialects whose operations access nothing but what their operands point to.
const BY_OPERANDS: &[&str] = &[
    "affine", "arith", "cf", "gpu", "index", "linalg", "math", "memref", "nvgpu", "scf", "ub", "vector",
];

/// Returns what `op` itself may access; what its regions do is up to the operations in there.
pub(super) fn access<'c>(op: Op<'c>) -> Access<'c> {
    let known_regions = op.num_regions() > 0 && entry_edges(op).is_some();
    if HARMLESS.contains(&op.name()) || op.is_function() || known_regions || op.is_pure() {
        return Access::Nothing;
    }
    if matches!(op.name(), "llvm.load" | "llvm.store") {
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
    let dialect = op.name().split('.').next().unwrap_or_default();
    BY_OPERANDS.contains(&dialect) && !op.is("gpu.launch_func")
}

/// Returns true if `op` runs code that is not shown here and that may issue copies: it is handed memory to copy to.
pub(super) fn may_copy(op: Op) -> bool {
    let is_call = op.name().rsplit('.').next() == Some("call");
    let calls = is_call || op.name().contains(".inline_") || op.is("gpu.launch_func");
    let address = |value: Value| value.ty().is_mem_ref() || value.ty().to_string().starts_with("!llvm.ptr");
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
                "memref.cast" | "memref.memory_space_cast" | "memref.assume_alignment" => index,
                "memref.subview" => row_of_subview(op),
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
            Origin::Argument(function) => !function.has_attr("gpu.kernel") && !function.has_attr("kernel"),
            Origin::Global(_) | Origin::Unknown => {
                let function = parent_function(self.base);
                function.is_none_or(|op| !op.has_attr("gpu.kernel") && !op.has_attr("kernel"))
            }
        }
    }
}

/// Where a buffer comes from. Different allocations, globals and function arguments are different buffers.
#[derive(PartialEq, Eq)]
enum Origin<'c> {
    Allocation,
    Global(String),
    Argument(Op<'c>),
    Unknown,
}

fn origin<'c>(base: Value<'c>) -> Origin<'c> {
    match base.definition() {
        Definition::Result(op, _) => match op.name() {
            "memref.alloc" | "memref.alloca" => Origin::Allocation,
            "memref.get_global" => op
                .attr("name")
                .map_or(Origin::Unknown, |name| Origin::Global(name.to_string())),
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
fn spaces_differ(a: Value, b: Value) -> bool {
    let space = |value: Value| {
        MemRefType::try_from(value.ty())
            .ok()
            .map(|ty| ty.memory_space().map(|s| s.to_string()))
    };
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
        "memref.load" | "memref.store" => 0,
        "nvgpu.device_async_copy" | "nvgpu.ldmatrix" => 1,
        "vector.load" => rank_of_vector(op.result(0)),
        "vector.store" => rank_of_vector(op.operand(0)),
        "gpu.subgroup_mma_load_matrix" | "gpu.subgroup_mma_store_matrix" => 2,
        "vector.transfer_read" if skips_first_dimension(op) => 0,
        _ => return None,
    };
    if rank <= spanned {
        return None;
    }
    constant(op.operand(operand + 1))
}

/// Returns the offset in the first dimension of a subview that is one element wide there.
fn row_of_subview(op: Op<'_>) -> Option<i64> {
    let list = |name: &str| -> Option<Vec<i64>> {
        let text = op.attr(name)?.to_string();
        let inner = text.strip_prefix("array<i64:")?.strip_suffix('>')?;
        inner.split(',').map(|n| n.trim().parse().ok()).collect()
    };
    let offset = *list("static_offsets")?.first()?;
    if *list("static_sizes")?.first()? != 1 {
        return None;
    }
    if offset == i64::MIN {
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
    let text = value.ty().to_string();
    let shape = text.strip_prefix("vector<").filter(|shape| !shape.contains('['));
    shape.map_or(usize::MAX, |shape| shape.matches('x').count().max(1))
}

/// Returns true if the vector that `op` reads spans no first dimension.
fn skips_first_dimension(op: Op<'_>) -> bool {
    let Some(map) = op.attr("permutation_map").map(|map| map.to_string()) else {
        return false;
    };
    map.split("->")
        .nth(1)
        .is_some_and(|results| !results.contains("d0"))
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
        .filter(|op| depth < 16 && op.name().starts_with("arith."))?;
    let operand = |i: usize| fold(op.operand(i), depth + 1);
    match op.name() {
        "arith.index_cast" => operand(0),
        "arith.addi" => operand(0)?.checked_add(operand(1)?),
        "arith.subi" => operand(0)?.checked_sub(operand(1)?),
        "arith.muli" => operand(0)?.checked_mul(operand(1)?),
        "arith.divui" | "arith.divsi" => positive(operand(0)?)?.checked_div(positive(operand(1)?)?),
        "arith.remui" | "arith.remsi" => positive(operand(0)?)?.checked_rem(positive(operand(1)?)?),
        _ => None,
    }
}

fn positive(n: i64) -> Option<i64> {
    (n >= 0).then_some(n)
}
