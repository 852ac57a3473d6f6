//! What attributes hold that are no single numbers.

use super::Unknown;
use async_mlir::gpu;
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

/// What a kernel calls the threads of a block, and the blocks of a grid.
pub(super) const BLOCK_SIZE: [&str; 2] = [attr::KNOWN_BLOCK_SIZE, attr::GPU_KNOWN_BLOCK_SIZE];
pub(super) const GRID_SIZE: [&str; 2] = [attr::KNOWN_GRID_SIZE, attr::GPU_KNOWN_GRID_SIZE];

/// The sizes that `function` has under one of two names, if it has; each has to be `least` at least.
pub(super) fn known_sizes<'c>(
    function: Op<'c>,
    names: &[&str; 2],
    least: u32,
) -> Result<Option<[u32; 3]>, Unknown<'c>> {
    let Some(name) = names.iter().find(|name| function.attr(name).is_some()) else {
        return Ok(None);
    };
    let sizes = gpu::sizes(function, *names);
    let sizes = sizes.filter(|sizes| sizes.iter().all(|size| *size >= least));
    let message = || format!("'{name}' has to be three numbers, each {least} or more");
    sizes.map(Some).ok_or_else(|| Unknown::new(function, message()))
}
