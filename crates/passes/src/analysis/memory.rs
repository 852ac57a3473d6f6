//! Which buffers of the workgroup an operation accesses, and how.
//!
//! Buffers are told apart by what they start as: attributions, globals and allocations share no byte. What is reached
//! through anything but views of one of these may be any of them. So may be, in a function that casts workgroup memory to
//! another memory space, what is in that space.

use async_dialects::gpu::{attributions, inputs, is_workgroup};
use async_dialects::ir::{Definition, Op, Value};
use async_dialects::names::{
    affine, arith, async_, attr, builtin, cf, gpu, gpux, index, math, memref, nvgpu, nvvm, ub, vector,
};
use async_dialects::types::{memref_shape, symbol};
use std::collections::HashMap;
use tokenflow::phases::{AccessKind, Buffer};

/// Numbers buffers of the workgroup.
pub struct Buffers<'c> {
    known: HashMap<Root<'c>, usize>,
    /// True if memory of the workgroup is also reached through other memory spaces.
    cast: bool,
}

/// What a buffer starts as.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Root<'c> {
    /// An argument of a function that is memory of its own, or the result of an allocation.
    Value(Value<'c>),
    /// A global, by name.
    Global(&'c str),
    /// The arguments that callers hand over: they may be the same.
    Arguments,
    /// Dynamic memory of the workgroup.
    Dynamic,
}

impl<'c> Buffers<'c> {
    /// The buffers of `function`, none of which has a number yet.
    #[must_use]
    pub fn new(function: Op<'c>) -> Self {
        let casts = |op: Op| op.is(memref::MEMORY_SPACE_CAST) && is_workgroup(op.operand(0).ty());
        Self {
            known: HashMap::new(),
            cast: function.nested().into_iter().any(casts),
        }
    }

    /// How many there are so far.
    #[must_use]
    pub fn number(&self) -> usize {
        self.known.len()
    }

    /// The buffer that `memref` is a view of.
    pub fn of(&mut self, memref: Value<'c>) -> Buffer {
        let Some(root) = root(memref) else {
            return Buffer::Any;
        };
        let next = self.known.len();
        Buffer::Known(*self.known.entry(root).or_insert(next))
    }

    /// What `op` itself accesses of the workgroup's memory.
    pub fn accesses(&mut self, op: Op<'c>) -> Vec<(Buffer, AccessKind)> {
        let kind = match op.name() {
            name if is_view(name) || op.is_pure() => return Vec::new(),
            memref::LOAD
            | vector::LOAD
            | vector::TRANSFER_READ
            | vector::MASKEDLOAD
            | vector::GATHER
            | nvgpu::LDMATRIX
            | affine::LOAD
            | affine::VECTOR_LOAD
            | memref::PREFETCH => AccessKind::Read,
            gpux::COPY | nvgpu::DEVICE_ASYNC_COPY => AccessKind::Copy,
            nvvm::CP_ASYNC_SHARED_GLOBAL => return vec![(Buffer::Any, AccessKind::Copy)],
            _ if is_harmless(op) => return Vec::new(),
            _ => AccessKind::Write,
        };
        let memrefs = op.operands().filter(|value| memref_shape(value.ty()).is_some());
        let mut any = false;
        let mut found = Vec::new();
        for memref in memrefs {
            any = true;
            if self.may_be_workgroup(memref) {
                found.push((self.of(memref), kind));
            }
        }
        // Nothing is known of what it accesses: a call, a pointer.
        if op.name().rsplit('.').next() == Some("call") || !any {
            return vec![(Buffer::Any, AccessKind::Write)];
        }
        found
    }
}

impl Buffers<'_> {
    fn may_be_workgroup(&self, memref: Value<'_>) -> bool {
        if is_workgroup(memref.ty()) || !self.cast {
            return is_workgroup(memref.ty());
        }
        let base = base(memref);
        is_workgroup(base.ty())
            || match base.definition() {
                Definition::Result(op, _) => !is_allocation(op.name()),
                Definition::Argument(block, _) => !block.parent_op().is_some_and(Op::is_function),
            }
    }
}

/// What `memref` is a view of.
fn base(mut memref: Value<'_>) -> Value<'_> {
    while let Definition::Result(op, _) = memref.definition()
        && is_view(op.name())
    {
        memref = op.operand(0);
    }
    memref
}

fn is_allocation(name: &str) -> bool {
    matches!(name, memref::ALLOC | memref::ALLOCA | memref::GET_GLOBAL)
}

/// What `memref` is a view of, if it can be told apart.
fn root(memref: Value<'_>) -> Option<Root<'_>> {
    let memref = base(memref);
    match memref.definition() {
        Definition::Result(op, _) => match op.name() {
            memref::ALLOC | memref::ALLOCA => Some(Root::Value(memref)),
            memref::GET_GLOBAL => Some(Root::Global(symbol(op.attr(attr::NAME)?)?)),
            gpu::DYNAMIC_SHARED_MEMORY => Some(Root::Dynamic),
            _ => None,
        },
        Definition::Argument(block, index) => {
            let function = block.parent_op().filter(|op| op.is_function())?;
            let is_entry = function.region(0).first() == Some(block);
            let inputs = inputs(function)?;
            match index {
                _ if !is_entry => None,
                _ if index < inputs => Some(Root::Arguments),
                _ if index < inputs + attributions(function) => Some(Root::Value(memref)),
                _ => None,
            }
        }
    }
}

/// Returns true if an operation of this name is another view of the bytes of its first operand.
fn is_view(name: &str) -> bool {
    matches!(
        name,
        memref::SUBVIEW
            | memref::CAST
            | memref::REINTERPRET_CAST
            | memref::COLLAPSE_SHAPE
            | memref::EXPAND_SHAPE
            | memref::VIEW
            | memref::TRANSPOSE
            | memref::MEMORY_SPACE_CAST
            | memref::ASSUME_ALIGNMENT
    )
}

/// Returns true if `op` has effects, but none on the memory of the workgroup. Of loads and stores in
/// issued form, whoever wrote them has seen to what comes before and behind: what they access is known to be complete by
/// waits and barriers that are there to be seen.
fn is_harmless(op: Op<'_>) -> bool {
    const DIALECTS: [&str; 6] = [
        arith::NAMESPACE,
        math::NAMESPACE,
        index::NAMESPACE,
        async_::NAMESPACE,
        ub::NAMESPACE,
        gpux::NAMESPACE,
    ];
    const NAMES: [&str; 30] = [
        gpu::BARRIER,
        gpu::PRINTF,
        gpu::SHUFFLE,
        gpu::SUBGROUP_REDUCE,
        gpu::RETURN,
        memref::ALLOC,
        memref::ALLOCA,
        memref::DEALLOC,
        memref::GET_GLOBAL,
        memref::DIM,
        memref::EXTRACT_ALIGNED_POINTER_AS_INDEX,
        memref::EXTRACT_STRIDED_METADATA,
        nvgpu::DEVICE_ASYNC_CREATE_GROUP,
        nvgpu::DEVICE_ASYNC_WAIT,
        nvgpu::MMA_SYNC,
        nvgpu::TMA_PREFETCH_DESCRIPTOR,
        nvgpu::TMA_FENCE_DESCRIPTOR,
        nvgpu::MBARRIER_CREATE,
        nvvm::BARRIER0,
        nvvm::BARRIER,
        nvvm::BAR_WARP_SYNC,
        nvvm::FENCE_PROXY,
        nvvm::FENCE_MBARRIER_INIT,
        nvvm::ELECT_SYNC,
        nvvm::CP_ASYNC_COMMIT_GROUP,
        nvvm::CP_ASYNC_WAIT_GROUP,
        nvvm::CP_ASYNC_BULK_COMMIT_GROUP,
        nvvm::CP_ASYNC_BULK_WAIT_GROUP,
        cf::ASSERT,
        builtin::UNREALIZED_CONVERSION_CAST,
    ];
    NAMES.contains(&op.name()) || DIALECTS.contains(&op.dialect())
}
