//! What attributes hold that are no single numbers.

use async_mlir::ir::Op;
use async_mlir::melior::ir::attribute::{
    ArrayAttribute, DenseI32ArrayAttribute, DenseI64ArrayAttribute, DictionaryAttribute, IntegerAttribute,
};
use async_mlir::names::attr;
use async_mlir::types;

/// The alignment that an attribution is given.
pub(super) fn attribution_align(function: Op<'_>, index: usize) -> Option<u32> {
    let all = ArrayAttribute::try_from(function.attr(attr::WORKGROUP_ATTRIB_ATTRS)?).ok()?;
    let dictionary = DictionaryAttribute::try_from(all.element(index).ok()?).ok()?;
    let align = IntegerAttribute::try_from(dictionary.element_by_name(attr::LLVM_ALIGN)?).ok()?;
    u32::try_from(align.value()).ok()
}

/// The numbers of an array attribute: dense, or of integers.
pub(super) fn ints(op: Op<'_>, name: &str) -> Option<Vec<i64>> {
    let attribute = op.attr(name)?;
    if let Ok(array) = DenseI64ArrayAttribute::try_from(attribute) {
        return (0..array.len()).map(|i| array.element(i).ok()).collect();
    }
    if let Ok(array) = DenseI32ArrayAttribute::try_from(attribute) {
        return (0..array.len())
            .map(|i| array.element(i).ok().map(i64::from))
            .collect();
    }
    let array = ArrayAttribute::try_from(attribute).ok()?;
    (0..array.len())
        .map(|i| {
            let numbers = types::constant_numbers(array.element(i).ok()?)?;
            numbers.first().map(|bits| bits.cast_signed())
        })
        .collect()
}
