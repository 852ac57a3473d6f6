//! Compares how much of a memref two accesses at the same address take.

use async_dialects::names::gpux_attr;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{memref, vector};
use async_mlir::types::{memref_shape, vector_shape};

/// The elements of `memory` that a plain load or store of one thread accesses, in the order of its last dimensions; `None` unless it is sure to
/// access all of them.
#[must_use]
pub fn elements(op: Op<'_>, memory: Value<'_>) -> Option<Vec<i64>> {
    let vector = match op.name() {
        memref::LOAD | memref::STORE => return Some(vec![1]),
        vector::LOAD => op.result(0),
        vector::STORE => op.operand(0),
        _ => return None,
    };
    let shape = vector_shape(vector.ty())?;
    let is_of_elements = memref_shape(memory.ty())?.element == shape.element;
    is_of_elements.then(|| shape.sizes.into_iter().collect())?
}

/// Returns true if two operations are of one name, with operands of the same types and the same attributes but for stages: at the same
/// address they access as many bytes.
#[must_use]
pub fn is_same_operation<'c>(one: Op<'c>, other: Op<'c>) -> bool {
    let attributes = |op: Op<'c>| {
        let mut all = op.attrs();
        all.retain(|(name, _)| ![gpux_attr::STAGE, gpux_attr::ORDER].contains(name));
        all
    };
    one.name() == other.name()
        && one.operands().map(Value::ty).eq(other.operands().map(Value::ty))
        && attributes(one) == attributes(other)
}
