//! Which buffers of the workgroup an operation accesses, and how.
//!
//! Buffers are told apart by what they start as: attributions, globals and allocations share no byte. What is reached
//! through anything but views of one of these may be any of them. So may be, in a function that casts workgroup memory to
//! another memory space, what is in that space.

use async_dialects::gpu::{attributions, inputs, is_workgroup};
use async_dialects::ir::{Definition, Op, Value};
use async_dialects::types::memref_shape;
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
    Global(String),
    /// The arguments that callers hand over: they may be the same.
    Arguments,
    /// Dynamic memory of the workgroup.
    Dynamic,
}

impl<'c> Buffers<'c> {
    /// The buffers of `function`, none of which has a number yet.
    #[must_use]
    pub fn new(function: Op<'c>) -> Self {
        let casts = |op: Op| op.is("memref.memory_space_cast") && is_workgroup(op.operand(0).ty());
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
            "memref.load"
            | "vector.load"
            | "vector.transfer_read"
            | "vector.maskedload"
            | "vector.gather"
            | "nvgpu.ldmatrix"
            | "affine.load"
            | "affine.vector_load"
            | "memref.prefetch" => AccessKind::Read,
            "gpux.copy" | "nvgpu.device_async_copy" => AccessKind::Copy,
            "nvvm.cp.async.shared.global" => return vec![(Buffer::Any, AccessKind::Copy)],
            name if is_harmless(name) => return Vec::new(),
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
    matches!(name, "memref.alloc" | "memref.alloca" | "memref.get_global")
}

/// What `memref` is a view of, if it can be told apart.
fn root(memref: Value<'_>) -> Option<Root<'_>> {
    let memref = base(memref);
    match memref.definition() {
        Definition::Result(op, _) => match op.name() {
            "memref.alloc" | "memref.alloca" => Some(Root::Value(memref)),
            "memref.get_global" => Some(Root::Global(op.attr("name")?.to_string())),
            "gpu.dynamic_shared_memory" => Some(Root::Dynamic),
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
        "memref.subview"
            | "memref.cast"
            | "memref.reinterpret_cast"
            | "memref.collapse_shape"
            | "memref.expand_shape"
            | "memref.view"
            | "memref.transpose"
            | "memref.memory_space_cast"
            | "memref.assume_alignment"
    )
}

/// Returns true if an operation of this name has effects, but none on the memory of the workgroup. Of loads and stores in
/// issued form, whoever wrote them has seen to what comes before and behind: what they access is known to be complete by
/// waits and barriers that are there to be seen.
fn is_harmless(name: &str) -> bool {
    const PREFIXES: [&str; 6] = ["arith.", "math.", "index.", "async.", "ub.", "gpux."];
    const NAMES: [&str; 30] = [
        "gpu.barrier",
        "gpu.printf",
        "gpu.shuffle",
        "gpu.subgroup_reduce",
        "gpu.return",
        "memref.alloc",
        "memref.alloca",
        "memref.dealloc",
        "memref.get_global",
        "memref.dim",
        "memref.extract_aligned_pointer_as_index",
        "memref.extract_strided_metadata",
        "nvgpu.device_async_create_group",
        "nvgpu.device_async_wait",
        "nvgpu.mma.sync",
        "nvgpu.tma.prefetch.descriptor",
        "nvgpu.tma.fence.descriptor",
        "nvgpu.mbarrier.create",
        "nvvm.barrier0",
        "nvvm.barrier",
        "nvvm.bar.warp.sync",
        "nvvm.fence.proxy",
        "nvvm.fence.mbarrier.init",
        "nvvm.elect.sync",
        "nvvm.cp.async.commit.group",
        "nvvm.cp.async.wait.group",
        "nvvm.cp.async.bulk.commit.group",
        "nvvm.cp.async.bulk.wait_group",
        "cf.assert",
        "builtin.unrealized_conversion_cast",
    ];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
