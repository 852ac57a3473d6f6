//! Partitions a buffer of bytes: groups its views at constant offsets so that different groups share no byte.

use super::views::LeftBuffers;
use async_mlir::ir::Op;
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::memref;
use async_mlir::types::{bit_width, memref_shape, vector_shape};

/// A view of a buffer of bytes.
#[derive(Clone, Copy, Debug)]
pub struct ByteView<'c> {
    /// The `memref.view`.
    pub op: Op<'c>,
    /// The first byte that it shows.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
}

impl<'c> ByteView<'c> {
    /// What `op` shows of its operand, if it is a view and all of that is constant.
    #[must_use]
    pub fn of(op: Op<'c>) -> Option<Self> {
        if !op.is(memref::VIEW) {
            return None;
        }
        let start = u64::try_from(op.operand(1).as_constant_int()?).ok()?;
        let end = start.checked_add(bytes_of(op.result(0).ty())?)?;
        Some(Self { op, start, end })
    }
}

/// Groups of `views`, all those of one buffer, that may share bytes, directly or through others, from the lowest to the highest: those
/// that overlap, or all of them if they may be `left`.
#[must_use]
pub fn parts<'c>(mut views: Vec<ByteView<'c>>, left: &LeftBuffers<'c>) -> Vec<Vec<ByteView<'c>>> {
    views.sort_by_key(|view| view.start);
    let is_left = views.first().is_some_and(|view| left.has(view.op.operand(0)));
    let mut groups: Vec<Vec<ByteView>> = Vec::new();
    let mut end = 0;
    for view in views {
        match groups.last_mut() {
            Some(group) if is_left || view.start < end => group.push(view),
            _ => groups.push(vec![view]),
        }
        end = end.max(view.end);
    }
    groups
}

/// The bytes of a row-major memref of type `ty`, if its size is static.
#[must_use]
pub fn bytes_of(ty: Type<'_>) -> Option<u64> {
    let shape = memref_shape(ty)?;
    let element = element_bytes(shape.element)?;
    shape.sizes.iter().try_fold(element, |bytes, size| {
        bytes.checked_mul(u64::try_from((*size)?).ok()?)
    })
}

/// The bytes from one element of type `ty` to the next.
#[must_use]
pub fn element_bytes(ty: Type<'_>) -> Option<u64> {
    const INDEX_BYTES: u64 = 8;
    if ty.is_index() {
        return Some(INDEX_BYTES);
    }
    let Some(vector) = vector_shape(ty) else {
        return Some(u64::from(bit_width(ty)?.div_ceil(8)).next_power_of_two());
    };
    let bits = u64::from(bit_width(vector.element)?);
    let bits = vector
        .sizes
        .iter()
        .try_fold(bits, |bits, size| bits.checked_mul(u64::try_from((*size)?).ok()?))?;
    bits.div_ceil(8).checked_next_power_of_two()
}
