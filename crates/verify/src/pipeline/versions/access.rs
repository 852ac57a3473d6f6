//! Accesses of a buffer, and which of two is of all that the other one is of.

use super::super::accesses::{Conditions, Spans};
use super::Checked;
use super::path::Path;
use async_dialects::completion::Completion;
use async_locations::access_shapes::{elements, is_same_operation};
use async_locations::memory::{self, Effect, Effects, effects};
use async_locations::views::base;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{affine, memref, vector};
use async_mlir::types::memref_shape;
use async_overlap::Footprint;

/// An access of the buffer.
pub(super) struct Access<'c> {
    pub op: Op<'c>,
    pub effect: Effect<'c>,
    pub path: Path<'c>,
    pub conditions: Conditions<'c>,
    /// What all it accesses of the memref depends on.
    pub address: Vec<Value<'c>>,
    pub footprint: Option<Footprint>,
    /// Whether it is a version that a loop inside has made for itself.
    pub is_own: bool,
}

impl<'c> Access<'c> {
    pub fn writes(&self) -> bool {
        self.effect.access.writes()
    }

    /// The buffer.
    pub fn base(&self) -> Value<'c> {
        base(self.effect.memory)
    }

    /// Returns true if this write, executed by the same thread where values are the same, is of all that `other` accesses.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.address == other.address && is_as_wide(self, other)
    }
}

/// The accesses of `op`, which is in `root`.
pub(super) fn accesses_of<'c>(
    op: Op<'c>,
    root: Op<'c>,
    spans: &mut Spans<'c>,
    checked: &Checked<'c>,
) -> Vec<Access<'c>> {
    let Effects::Known(known) = effects(op) else {
        return Vec::new();
    };
    let path = Path::of(root, op);
    let known = known
        .into_iter()
        .filter(|effect| effect.access != memory::Access::Free);
    let accesses = known.map(|effect| Access {
        op,
        effect,
        conditions: path.conditions(),
        path: path.clone(),
        address: address(op, effect),
        footprint: spans.footprint(op, effect),
        is_own: checked.is_own(effect.memory),
    });
    accesses.collect()
}

/// Returns true if it is known that no two threads touch the same byte, the first by `one` and the second by `other`.
pub(super) fn is_of_one_thread(one: &Access<'_>, other: &Access<'_>) -> bool {
    let (Some(one), Some(other)) = (&one.footprint, &other.footprint) else {
        return false;
    };
    let (Some(a), Some(b)) = (&one.bytes, &other.bytes) else {
        return false;
    };
    let shift = other.offset.constant.checked_sub(one.offset.constant);
    one.offset.terms == other.offset.terms && shift.is_some_and(|shift| !a.overlaps_across_threads(b, shift))
}

/// Returns true if `write`, at the address of `other`, writes as many bytes as that accesses.
fn is_as_wide(write: &Access<'_>, other: &Access<'_>) -> bool {
    let [a, b] = [write, other].map(|access| elements(access.op, access.effect.memory));
    a.is_some() && a == b || is_same_operation(write.op, other.op)
}

/// The operands that say what `op` accesses of a memref: the memref itself, and indices.
fn address<'c>(op: Op<'c>, effect: Effect<'c>) -> Vec<Value<'c>> {
    let operands: Vec<Value> = op.operands().collect();
    let Some(place) = operands.iter().rposition(|operand| *operand == effect.memory) else {
        return operands;
    };
    let rank = memref_shape(effect.memory.ty()).map_or(0, |shape| shape.sizes.len());
    let last = operands.len();
    let end = match op.name() {
        memref::STORE
        | memref::LOAD
        | vector::STORE
        | vector::LOAD
        | vector::TRANSFER_WRITE
        | affine::STORE
        | affine::LOAD => last,
        // What is stored comes last.
        vector::MASKEDSTORE => last - 1,
        _ if effect.access.writes() && Completion::of(op).is_some() => last.min(place + 1 + rank),
        _ => return operands,
    };
    operands[place..end].to_vec()
}
