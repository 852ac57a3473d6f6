//! Computes the memory effects of an operation: which buffers it accesses, and how.
//!
//! MLIR's interfaces tell what an operation does to memory, what is a view of what, and what is a call; those of ours what is
//! read and written asynchronously. What upstream's operations don't say of themselves stands in two tables here. Nothing is
//! guessed: what is not known is [`Effects::Unknown`], or [`BufferOrigin::Unknown`].

use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::{async_, gpux};
use async_mlir::calls::is_call;
use async_mlir::control_flow::entry_edges;
use async_mlir::gpu::{is_workgroup, num_inputs};
use async_mlir::ir::{Definition, Op, Value};
use async_mlir::llvm::is_pointer;
use async_mlir::melior::ir::TypeLike;
use async_mlir::memory_effects::{EffectKind, memory_effects};
use async_mlir::names::{
    affine, arith, attr, builtin, cf, gpu, index, linalg, llvm, math, memref, nvgpu, nvvm, scf, ub, vector,
};
use async_mlir::nvgpu::described_matrix;
use async_mlir::types::symbol;

/// How an operation accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes, and may read.
    Write,
    /// It starts something that reads until it is complete.
    AsyncRead,
    /// It starts something that writes until it is complete.
    AsyncWrite,
    /// It ends the life of a buffer.
    Free,
}

impl Access {
    /// Returns true if it changes what is in the buffer, now or later.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AsyncWrite)
    }
}

/// An access to a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Effect<'c> {
    /// The memref or pointer, or the descriptor of a matrix.
    pub memory: Value<'c>,
    /// How it is accessed.
    pub access: Access,
}

/// What an operation accesses.
#[derive(Clone, Debug)]
pub enum Effects<'c> {
    /// These, and nothing else.
    Known(Vec<Effect<'c>>),
    /// Perhaps anything.
    Unknown,
}

/// Operations that order accesses or show something, and access no buffer themselves.
const NO_EFFECTS: &[&str] = &[
    async_::AWAIT,
    builtin::UNREALIZED_CONVERSION_CAST,
    cf::ASSERT,
    gpu::BARRIER,
    gpu::PRINTF,
    gpux::ELECT,
    gpux::READ_FRAGMENT,
    gpux::WRITE_FRAGMENT,
    nvgpu::TMA_FENCE_DESCRIPTOR,
    nvgpu::TMA_PREFETCH_DESCRIPTOR,
    nvgpu::WARPGROUP_GENERATE_DESCRIPTOR,
    nvvm::BARRIER,
    nvvm::BARRIER0,
    nvvm::BAR_WARP_SYNC,
    nvvm::ELECT_SYNC,
    nvvm::FENCE_MBARRIER_INIT,
    nvvm::FENCE_PROXY,
    nvvm::SETMAXREGISTER,
    nvvm::WGMMA_FENCE_ALIGNED,
];

/// Operations that order accesses of threads, or wait for asynchronous ones, and access no buffer themselves: barriers of any threads,
/// fences, and mbarriers that somebody uses by hand.
const ORDERS_ACCESSES: &[&str] = &[
    gpu::BARRIER,
    nvgpu::MBARRIER_ARRIVE,
    nvgpu::MBARRIER_ARRIVE_EXPECT_TX,
    nvgpu::MBARRIER_ARRIVE_NOCOMPLETE,
    nvgpu::MBARRIER_INIT,
    nvgpu::MBARRIER_TEST_WAIT,
    nvgpu::MBARRIER_TRY_WAIT_PARITY,
    nvvm::BARRIER,
    nvvm::BARRIER0,
    nvvm::BAR_WARP_SYNC,
    nvvm::FENCE_MBARRIER_INIT,
    nvvm::FENCE_PROXY,
];

/// Returns true if `op` orders accesses before it and after it, whatever they are.
#[must_use]
pub fn orders_accesses(op: Op<'_>) -> bool {
    ORDERS_ACCESSES.contains(&op.name())
}

/// Dialects whose operations access nothing but what their operands name, even where they don't say how.
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

/// Operations that hold text in the language of the hardware.
const INLINE_ASSEMBLY: &[&str] = &[llvm::INLINE_ASM, nvvm::INLINE_PTX];

/// Returns true if `op` runs code that is not shown here: it is a call, or holds text in the language of the hardware.
#[must_use]
pub fn runs_other_code(op: Op<'_>) -> bool {
    is_call(op) || op.is(gpu::LAUNCH_FUNC) || INLINE_ASSEMBLY.contains(&op.name())
}

/// Returns true if `op`, of which it may not be known what it accesses, may access memory: an instruction that is handed no address
/// does not.
#[must_use]
pub fn may_access_memory(op: Op<'_>) -> bool {
    op.dialect() != nvvm::NAMESPACE || runs_other_code(op) || op.operands().any(is_memory)
}

/// What `op` itself accesses; what its regions do is up to the operations in there.
#[must_use]
pub fn effects(op: Op<'_>) -> Effects<'_> {
    let none = Effects::Known(Vec::new());
    if NO_EFFECTS.contains(&op.name()) || op.is_function() || op.view_source().is_some() {
        return none;
    }
    if is_call(op) || op.is(gpu::LAUNCH_FUNC) {
        return Effects::Unknown;
    }
    if let Some(completion) = Completion::of(op) {
        let read = completion
            .matrices
            .into_iter()
            .chain([completion.source])
            .flatten();
        let read = read.map(|memory| (memory, Access::AsyncRead));
        let written = completion.destination.map(|memory| (memory, Access::AsyncWrite));
        let effects = read.chain(written);
        let effects: Vec<Effect> = effects
            .map(|(memory, access)| Effect { memory, access })
            .collect();
        if !effects.is_empty() || completion.effect != GroupEffect::Issue {
            return Effects::Known(effects);
        }
    }
    if let Some(effects) = stated_effects(op) {
        return effects;
    }
    if op.num_regions() > 0 && entry_edges(op).is_some() {
        return none;
    }
    if !BY_OPERANDS.contains(&op.dialect()) {
        return Effects::Unknown;
    }
    // What upstream multiplies it only reads.
    let (access, is_accessed): (_, fn(Value) -> bool) = if op.is(nvgpu::WARPGROUP_MMA) {
        (Access::Read, is_descriptor)
    } else {
        (Access::Write, is_memory)
    };
    let memrefs = op.operands().filter(|value| is_accessed(*value));
    Effects::Known(memrefs.map(|memory| Effect { memory, access }).collect())
}

/// What `op` says of itself; `None` if it says nothing.
fn stated_effects(op: Op<'_>) -> Option<Effects<'_>> {
    let stated = memory_effects(op)?;
    let mut known = Vec::new();
    for &(kind, memory) in &stated {
        let access = match kind {
            EffectKind::Read => Access::Read,
            EffectKind::Write => Access::Write,
            EffectKind::Free => Access::Free,
            EffectKind::Allocate => continue,
        };
        match memory {
            Some(memory) if is_memory(memory) => known.push(Effect { memory, access }),
            // Descriptors and the like are no buffers.
            Some(_) => {}
            // In these dialects it is a summary of operands that are named as well.
            None if BY_OPERANDS.contains(&op.dialect())
                && stated
                    .iter()
                    .any(|(other, memory)| *other == kind && memory.is_some()) => {}
            None => return Some(Effects::Unknown),
        }
    }
    Some(Effects::Known(known))
}

/// Returns true if `value` is a memref or a pointer.
fn is_memory(value: Value<'_>) -> bool {
    value.ty().is_mem_ref() || is_pointer(value.ty())
}

/// The memref that `memory` is, or that it is the descriptor of; a descriptor that comes from elsewhere is returned as it is.
#[must_use]
pub fn described(memory: Value<'_>) -> Value<'_> {
    let by = memory.defining_op();
    by.filter(|op| op.is(nvgpu::WARPGROUP_GENERATE_DESCRIPTOR))
        .map_or(memory, |op| op.operand(0))
}

/// Returns true if `value` is the descriptor of a matrix in memory of the workgroup.
#[must_use]
pub fn is_descriptor(value: Value<'_>) -> bool {
    described_matrix(value.ty()).is_some()
}

/// Returns true if `op` does nothing but to compute, and may be executed anywhere. Upstream says of a descriptor that it is made by
/// reading the matrix, which only happens when it is used.
#[must_use]
pub fn only_computes(op: Op<'_>) -> bool {
    op.is_pure() || op.is(nvgpu::WARPGROUP_GENERATE_DESCRIPTOR)
}

/// Where a buffer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferOrigin<'c> {
    /// An operation in the function allocates it; each a buffer of its own.
    Allocation,
    /// A kernel declares it; each a buffer of its own.
    Attribution(Op<'c>),
    /// A global of this name.
    Global(&'c str),
    /// Callers of the function hand it over.
    Argument(Op<'c>),
    /// Dynamic memory of the workgroup, which is the same in every view.
    Dynamic,
    /// That is not known.
    Unknown,
}

/// Where `base`, which is no view, comes from.
#[must_use]
pub fn buffer_origin(base: Value<'_>) -> BufferOrigin<'_> {
    if is_descriptor(base) {
        return BufferOrigin::Unknown;
    }
    match base.definition() {
        Definition::Result(op, _) => match op.name() {
            memref::ALLOC | memref::ALLOCA => BufferOrigin::Allocation,
            memref::GET_GLOBAL => {
                let name = op.attr(attr::NAME).and_then(symbol);
                name.map_or(BufferOrigin::Unknown, BufferOrigin::Global)
            }
            gpu::DYNAMIC_SHARED_MEMORY => BufferOrigin::Dynamic,
            _ => BufferOrigin::Unknown,
        },
        Definition::Argument(block, index) => {
            let function = block.parent_op().filter(|op| op.is_function());
            let Some(function) = function.filter(|op| op.region(0).first() == Some(block)) else {
                return BufferOrigin::Unknown;
            };
            match num_inputs(function) {
                // The attributions of a `gpu.func` come after its arguments.
                Some(inputs) if index >= inputs => BufferOrigin::Attribution(function),
                _ => BufferOrigin::Argument(function),
            }
        }
    }
}

/// Returns true if `op` allocates memory of the workgroup.
#[must_use]
pub fn is_workgroup_alloc(op: Op<'_>) -> bool {
    matches!(op.name(), memref::ALLOC | memref::ALLOCA) && is_workgroup(op.result(0).ty())
}
