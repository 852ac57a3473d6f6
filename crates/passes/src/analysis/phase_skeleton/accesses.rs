//! Which buffers of the workgroup an operation accesses, and how.
//!
//! Buffers are told apart by what they start as: attributions, globals and allocations share no byte. What is reached
//! through anything but views of one of these may be any of them. So may be, in a function that casts workgroup memory to
//! another memory space, what is in that space.

use crate::analysis::memory::{Access, BufferOrigin, Effects, base, buffer_origin, effects};
use async_dialects::names::gpux;
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::memref;
use rustc_hash::FxHashMap;
use tokenflow::phases::{AccessKind, Buffer};

/// Numbers buffers of the workgroup.
pub struct Buffers<'c> {
    known: FxHashMap<Root<'c>, usize>,
    /// True if memory of the workgroup is also reached through other memory spaces.
    cast: bool,
}

/// What a buffer starts as.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Root<'c> {
    /// An attribution, or the result of an allocation.
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
            known: FxHashMap::default(),
            cast: function.self_and_nested().into_iter().any(casts),
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
        if is_issued_by_hand(op) {
            return Vec::new();
        }
        let Effects::Known(effects) = effects(op) else {
            return vec![(Buffer::Any, AccessKind::Write)];
        };
        let mut found = Vec::new();
        for effect in effects {
            let kind = match effect.access {
                Access::Read | Access::AsyncRead => AccessKind::Read,
                Access::Write => AccessKind::Write,
                Access::AsyncWrite => AccessKind::Copy,
                Access::Free => continue,
            };
            if self.may_be_workgroup(effect.memory) {
                found.push((self.of(effect.memory), kind));
            }
        }
        found
    }
}

impl Buffers<'_> {
    fn may_be_workgroup(&self, memory: Value<'_>) -> bool {
        let is_pointer = !memory.ty().is_mem_ref();
        if is_workgroup(memory.ty()) || !self.cast && !is_pointer {
            return is_workgroup(memory.ty());
        }
        let base = base(memory);
        let is_known = base.ty().is_mem_ref() && buffer_origin(base) != BufferOrigin::Unknown;
        is_workgroup(base.ty()) || !is_known
    }
}

/// What `memref` is a view of, if it can be told apart.
fn root(memref: Value<'_>) -> Option<Root<'_>> {
    let memref = base(memref);
    match buffer_origin(memref) {
        BufferOrigin::Allocation | BufferOrigin::Attribution(_) => Some(Root::Value(memref)),
        BufferOrigin::Global(name) => Some(Root::Global(name)),
        BufferOrigin::Argument(_) => Some(Root::Arguments),
        BufferOrigin::Dynamic => Some(Root::Dynamic),
        BufferOrigin::Unknown => None,
    }
}

/// Returns true if `op` is, if anything, a load or store of a whole block in issued form. Whoever wrote it has seen to what comes before and
/// after: what it accesses is known to be complete by waits and barriers that are there to be seen.
fn is_issued_by_hand(op: Op<'_>) -> bool {
    op.dialect() == gpux::NAMESPACE && !op.is(gpux::COPY)
}
