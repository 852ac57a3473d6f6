//! Compares the places of two accesses in a sequence of operations: their buffers, the bytes of views at constant offsets, and indices of
//! the first dimension.

use crate::alias::{Origin, Root};
use crate::buffer_parts::ByteView;
use crate::buffer_slices::BufferSlice;
use crate::buffer_slots::BufferSlot;
use crate::views::{chain, is_left};
use async_mlir::ir::{Op, Value};
use async_mlir::names::memref;

/// The place of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place<'c> {
    /// The buffer.
    pub root: Root<'c>,
    slice: BufferSlice<'c>,
    /// Where the index is computed, which slot of the buffer.
    slot: Option<BufferSlot<'c>>,
    /// Which bytes of its buffer it may touch: from the first, until before the second.
    bytes: Option<(u64, u64)>,
}

impl<'c> Place<'c> {
    /// The place that the access of `op` to `memory`, an operand, touches.
    #[must_use]
    pub fn of_operand(op: Op<'c>, memory: Value<'c>) -> Self {
        Self {
            root: Root::of(memory),
            slice: BufferSlice::of_operand(op, memory),
            slot: BufferSlot::of_operand(op, memory),
            bytes: bytes(memory),
        }
    }

    /// All of the buffer.
    #[must_use]
    pub fn whole(self) -> Self {
        Self {
            slice: self.slice.whole(),
            slot: None,
            bytes: None,
            ..self
        }
    }

    /// The place as it is in any iteration: a computed index says nothing of it.
    #[must_use]
    pub fn in_any_iteration(self) -> Self {
        Self { slot: None, ..self }
    }

    /// Returns true if an index tells it apart that is computed.
    #[must_use]
    pub fn has_slot(self) -> bool {
        self.slot.is_some()
    }

    /// The index of the first dimension of its buffer, if the place is known to be in there: two places of the same root at different ones
    /// share no byte.
    #[must_use]
    pub fn row(self) -> Option<i64> {
        match self.root.origin {
            Origin::Own(buffer) | Origin::Argument(buffer) if buffer == self.slice.base() => {
                self.slice.constant_index()
            }
            _ => None,
        }
    }

    /// Returns true unless both are known to share no byte. Computed indices are compared if both are taken `at_once`, in one iteration.
    #[must_use]
    pub fn may_overlap(self, other: Self, at_once: bool) -> bool {
        if !self.root.may_alias(other.root) {
            return false;
        }
        if self.slice.base() != other.slice.base() {
            return true;
        }
        let apart = |a: (u64, u64), b: (u64, u64)| a.1 <= b.0 || b.1 <= a.0;
        let are_apart = self.bytes.zip(other.bytes).is_some_and(|(a, b)| apart(a, b));
        let slots = self.slot.zip(other.slot).filter(|_| at_once);
        let slots_differ = slots.is_some_and(|(a, b)| a.differs(b));
        !are_apart && !slots_differ && self.slice.may_alias(other.slice)
    }
}

/// The bytes of its buffer that `memory` shows, if a view on the way is at a constant offset.
fn bytes(memory: Value<'_>) -> Option<(u64, u64)> {
    if is_left(memory) {
        return None;
    }
    // Of several, the one next to the buffer.
    let view = chain(memory).filter(|op| op.is(memref::VIEW)).last()?;
    ByteView::of(view).map(|view| (view.start, view.end))
}
