//! Follows views to the buffers that they show. **The policy for views that are left** stands here, and every analysis
//! asks for it here.
//!
//! A view shows part of what it is made of, its *source*. What is accessed through a chain of views lies in all of them, but for those
//! that are **left**: a `memref.reinterpret_cast` counts from the start of the buffer, whatever the view is that it is applied to;
//! `memref.extract_strided_metadata` and `memref.extract_aligned_pointer_as_index` lead to that start, too; and with a pointer anything
//! may be computed. Such an operation may show **any byte of the buffer, and of no other**. The operations that stay in their source are
//! listed, so that one which is not known here is taken to leave it.
//!
//! So the buffer ([`base`]) of an access is known through any chain; that it is in a view, only as far as no view on the way is left
//! ([`enclosing`], [`is_left`]). Where a cast says by how many elements it is from the pointer of its source,
//! [`footprints`](super::footprints) computes which bytes those are. And two parts of one buffer are buffers of their own only if no
//! view of it is left ([`LeftBuffers`]).

use super::alias::Root;
use async_mlir::calls::is_call;
use async_mlir::ir::{Op, Value};
use async_mlir::llvm::is_pointer;
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{arith, builtin, llvm, memref, nvgpu};

/// Operations that compute an address from that of their first operand, or hold one in another form, and don't say so by MLIR's interface.
const ADDRESSES: &[&str] = &[
    arith::INDEX_CAST,
    builtin::UNREALIZED_CONVERSION_CAST,
    llvm::ADDRSPACECAST,
    llvm::GETELEMENTPTR,
    llvm::INTTOPTR,
    memref::EXTRACT_ALIGNED_POINTER_AS_INDEX,
    memref::TRANSPOSE,
    nvgpu::WARPGROUP_GENERATE_DESCRIPTOR,
];

/// Views that show nothing but what is in their source.
const IN_SOURCE: &[&str] = &[
    memref::ASSUME_ALIGNMENT,
    memref::CAST,
    memref::COLLAPSE_SHAPE,
    memref::EXPAND_SHAPE,
    memref::MEMORY_SPACE_CAST,
    memref::RESHAPE,
    memref::SUBVIEW,
    memref::TRANSPOSE,
    memref::VIEW,
    nvgpu::WARPGROUP_GENERATE_DESCRIPTOR,
];

/// What the results of `op` are views of, or addresses in.
#[must_use]
pub fn view_source(op: Op<'_>) -> Option<Value<'_>> {
    let is_address = ADDRESSES.contains(&op.name()) && op.num_operands() > 0;
    op.view_source().or_else(|| is_address.then(|| op.operand(0)))
}

/// Returns true if `op` makes a view, or an address, that may be anywhere in the buffer, also outside of its source.
#[must_use]
pub fn leaves_source(op: Op<'_>) -> bool {
    view_source(op).is_some() && !IN_SOURCE.contains(&op.name())
}

/// The operations that make `memory`, view by view, from the last one to the first, whose source is the buffer.
pub fn chain(memory: Value<'_>) -> impl Iterator<Item = Op<'_>> {
    std::iter::successors(view(memory), |op| view_source(*op).and_then(view))
}

/// The operation that makes `value`, if that is a view.
fn view(value: Value<'_>) -> Option<Op<'_>> {
    value.defining_op().filter(|op| view_source(*op).is_some())
}

/// The views that what is accessed of `memory` is sure to lie in, from the smallest on.
pub fn enclosing(memory: Value<'_>) -> impl Iterator<Item = Op<'_>> {
    chain(memory).take_while(|op| !leaves_source(*op))
}

/// Returns true if `memory` may be anywhere in its buffer, as far as views say.
#[must_use]
pub fn is_left(memory: Value<'_>) -> bool {
    chain(memory).any(leaves_source)
}

/// What `memory` is a view of, or an address in.
#[must_use]
pub fn base(memory: Value<'_>) -> Value<'_> {
    chain(memory).last().and_then(view_source).unwrap_or(memory)
}

/// The buffers of a function whose views may be left.
pub struct LeftBuffers<'c>(Vec<Root<'c>>);

impl<'c> LeftBuffers<'c> {
    /// Those in `ops`, which are all operations of the function. What is called may leave what it is handed.
    #[must_use]
    pub fn of(ops: &[Op<'c>]) -> Self {
        let mut roots = Vec::new();
        for op in ops {
            let left: Vec<Value> = if is_call(*op) {
                op.operands()
                    .filter(|value| value.ty().is_mem_ref() || is_pointer(value.ty()))
                    .collect()
            } else if leaves_source(*op) {
                view_source(*op).into_iter().collect()
            } else {
                continue;
            };
            roots.extend(left.into_iter().map(Root::of));
        }
        Self(roots)
    }

    /// Returns true if views of `buffer` may be left.
    #[must_use]
    pub fn has(&self, buffer: Value<'c>) -> bool {
        let root = Root::of(buffer);
        self.0.iter().any(|left| left.may_alias(root))
    }
}
