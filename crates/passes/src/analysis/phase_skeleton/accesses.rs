//! Numbers the buffers of the workgroup, and collects which of them an operation accesses, and how.
//!
//! Buffers are told apart by what they start as: attributions, globals and allocations share no byte; and where all that is
//! done with one is to take views at constant offsets, by views that don't overlap. What is reached
//! through anything but views of one of these may be any of them. So may be, in a function that casts workgroup memory to
//! another memory space, what is in that space.

use crate::analysis::buffer_parts::{self, ByteView};
use crate::analysis::memory::{Access, BufferOrigin, Effects, buffer_origin, effects, is_descriptor};
use crate::analysis::views::{LeftBuffers, base, chain};
use async_dialects::completion::{Completion, ExecutionScope};
use async_dialects::names::gpux;
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::memref;
use rustc_hash::FxHashMap;
use tokenflow::phases::{AccessKind, Buffer};

/// Numbers buffers of the workgroup.
pub struct BufferNumbering<'c> {
    known: FxHashMap<Root<'c>, usize>,
    /// Views of parts of buffers, each with the first one of its part.
    parts: FxHashMap<Value<'c>, Value<'c>>,
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
    /// A part of a buffer, by the first view of it.
    Part(Value<'c>),
    /// The arguments that callers hand over: they may be the same.
    Arguments,
    /// Dynamic memory of the workgroup.
    Dynamic,
}

impl<'c> BufferNumbering<'c> {
    /// The buffers of `function`, none of which has a number yet.
    #[must_use]
    pub fn new(function: Op<'c>) -> Self {
        let casts = |op: Op| op.is(memref::MEMORY_SPACE_CAST) && is_workgroup(op.operand(0).ty());
        let ops = function.self_and_nested();
        Self {
            known: FxHashMap::default(),
            parts: parts(&ops),
            cast: ops.into_iter().any(casts),
        }
    }

    /// How many there are so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// The buffer that `memref` is a view of.
    pub fn of(&mut self, memref: Value<'c>) -> Buffer {
        let Some(root) = self.part(memref).map(Root::Part).or_else(|| root(memref)) else {
            return Buffer::Any;
        };
        let next = self.known.len();
        Buffer::Known(*self.known.entry(root).or_insert(next))
    }

    /// The part of a buffer that `memref` is a view of.
    fn part(&self, memref: Value<'c>) -> Option<Value<'c>> {
        let mut views = chain(memref).flat_map(Op::results);
        views.find_map(|view| self.parts.get(&view).copied())
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
                Access::AsyncRead if is_descriptor(effect.memory) => AccessKind::AsyncRead,
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

impl BufferNumbering<'_> {
    fn may_be_workgroup(&self, memory: Value<'_>) -> bool {
        if is_descriptor(memory) {
            return true;
        }
        let is_pointer = !memory.ty().is_mem_ref();
        if is_workgroup(memory.ty()) || !self.cast && !is_pointer {
            return is_workgroup(memory.ty());
        }
        let base = base(memory);
        let is_known = base.ty().is_mem_ref() && buffer_origin(base) != BufferOrigin::Unknown;
        is_workgroup(base.ty()) || !is_known
    }
}

/// The views of buffers in `ops` that are used for nothing but views at constant offsets, each with the first one that it
/// shares bytes with, directly or through others.
fn parts<'c>(ops: &[Op<'c>]) -> FxHashMap<Value<'c>, Value<'c>> {
    let mut views: FxHashMap<Root<'c>, Option<Vec<ByteView<'c>>>> = FxHashMap::default();
    for op in ops.iter().filter(|op| op.num_results() == 1) {
        let Some(root) = root(op.result(0)).filter(|_| op.result(0) == base(op.result(0))) else {
            continue;
        };
        let uses = op.result(0).uses().into_iter();
        let of_op: Option<Vec<_>> = uses.map(|it| ByteView::of(it.owner)).collect();
        let known = views.entry(root).or_insert_with(|| Some(Vec::new()));
        *known = known
            .take()
            .zip(of_op)
            .map(|(known, of_op)| [known, of_op].concat());
    }
    let left = LeftBuffers::of(ops);
    let groups = views.into_values().flatten();
    let mut parts = FxHashMap::default();
    for part in groups.flat_map(|views| buffer_parts::parts(views, &left)) {
        let first = part[0].op.result(0);
        parts.extend(part.iter().map(|view| (view.op.result(0), first)));
    }
    parts
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

/// Returns true if `op` is, if anything, a load or store of a whole block in issued form, or a multiplication in counted form. Whoever
/// wrote it has seen to what comes before and after: what it accesses is known to be complete by waits and barriers that are there
/// to be seen.
fn is_issued_by_hand(op: Op<'_>) -> bool {
    op.dialect() == gpux::NAMESPACE && !op.is(gpux::COPY) && !is_warpgroup_reader(op)
}

/// Returns true if `op` starts something for a warpgroup that reads until its token is complete.
pub(super) fn is_warpgroup_reader(op: Op<'_>) -> bool {
    Completion::of(op)
        .is_some_and(|completion| completion.scope == ExecutionScope::Warpgroup && completion.done.is_some())
}
