//! Alias analysis: buffers of different memory spaces share no bytes, nor do those that are known to be
//! different.
//!
//! Arguments of a function may be the same buffer, unless one of them is `llvm.noalias`.

use super::memory::{BufferOrigin, buffer_origin};
use super::views::base;
use async_mlir::gpu::MemorySpace;
use async_mlir::ir::{Definition, Value};
use async_mlir::melior::ir::TypeLike;
use async_mlir::melior::ir::attribute::{ArrayAttribute, DictionaryAttribute};
use async_mlir::names::{attr, memref};
use async_mlir::types::memory_space;

/// What a memref is a view of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Root<'c> {
    /// Where the memory is, if that is known.
    pub space: Option<MemorySpace>,
    /// What it is.
    pub origin: Origin<'c>,
}

/// What memory starts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin<'c> {
    /// It is allocated in the function, or an attribution of it: nothing else is this buffer.
    Own(Value<'c>),
    /// A global of this name.
    Global(&'c str),
    /// Callers hand it over.
    Argument(Value<'c>),
    /// Dynamic memory of the workgroup.
    Dynamic,
    /// Any of them.
    Unknown(Value<'c>),
}

impl<'c> Root<'c> {
    /// Of `memory`, a memref or a pointer.
    #[must_use]
    pub fn of(memory: Value<'c>) -> Self {
        let base = base(memory);
        let origin = match buffer_origin(base) {
            BufferOrigin::Allocation | BufferOrigin::Attribution(_) => Origin::Own(base),
            BufferOrigin::Global(name) => Origin::Global(name),
            BufferOrigin::Argument(_) => Origin::Argument(base),
            BufferOrigin::Dynamic => Origin::Dynamic,
            BufferOrigin::Unknown => Origin::Unknown(base),
        };
        Self {
            space: space(base, origin),
            origin,
        }
    }

    /// Returns true unless both are known to share no byte.
    #[must_use]
    pub fn may_alias(self, other: Self) -> bool {
        if let (Some(a), Some(b)) = (self.space, other.space)
            && a != b
        {
            return false;
        }
        match (self.origin, other.origin) {
            (Origin::Unknown(_), _) | (_, Origin::Unknown(_)) | (Origin::Dynamic, Origin::Dynamic) => true,
            (Origin::Own(a), Origin::Own(b)) => a == b,
            (Origin::Global(a), Origin::Global(b)) => a == b,
            (Origin::Argument(a), Origin::Argument(b)) => a == b || !(is_noalias(a) || is_noalias(b)),
            (Origin::Own(_), _)
            | (_, Origin::Own(_))
            | (Origin::Global(_), Origin::Dynamic)
            | (Origin::Dynamic, Origin::Global(_)) => false,
            (Origin::Argument(a), _) | (_, Origin::Argument(a)) => !is_noalias(a),
        }
    }
}

/// Where the memory of `base`, which is no view, is. What says nothing is global memory, or of a stack.
fn space(base: Value<'_>, origin: Origin<'_>) -> Option<MemorySpace> {
    let ty = base.ty();
    if !ty.is_mem_ref() {
        return None;
    }
    if memory_space(ty).is_some() {
        return MemorySpace::of(ty);
    }
    match origin {
        Origin::Unknown(_) => None,
        Origin::Dynamic => Some(MemorySpace::Workgroup),
        Origin::Own(_) if base.defining_op().is_some_and(|op| op.is(memref::ALLOCA)) => {
            Some(MemorySpace::Private)
        }
        Origin::Own(_) | Origin::Global(_) | Origin::Argument(_) => Some(MemorySpace::Global),
    }
}

/// Returns true if `argument` of a function says that nothing else is its buffer.
fn is_noalias(argument: Value<'_>) -> bool {
    let Definition::Argument(block, index) = argument.definition() else {
        return false;
    };
    let all = block
        .parent_op()
        .and_then(|function| ArrayAttribute::try_from(function.attr(attr::ARG_ATTRS)?).ok());
    let own = all.and_then(|all| DictionaryAttribute::try_from(all.element(index).ok()?).ok());
    own.is_some_and(|own| own.element_by_name(attr::LLVM_NOALIAS).is_some())
}
