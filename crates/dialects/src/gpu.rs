//! What functions and memory of device code say of themselves.

use crate::ir::Op;
use crate::types::memory_space;
use melior::ir::Type;
use melior::ir::attribute::{DenseI32ArrayAttribute, IntegerAttribute, TypeAttribute};
use melior::ir::r#type::FunctionType;

/// Returns true if `ty` is a memref in memory of the workgroup.
#[must_use]
pub fn is_workgroup(ty: Type<'_>) -> bool {
    /// What LLVM's NVPTX backend calls it.
    const SHARED: i64 = 3;
    memory_space(ty).is_some_and(|space| {
        IntegerAttribute::try_from(space).is_ok_and(|space| space.value() == SHARED)
            || space.to_string() == "#gpu.address_space<workgroup>"
    })
}

/// How many arguments of the entry block of `function` callers hand over. Behind them come its own buffers.
#[must_use]
pub fn inputs(function: Op<'_>) -> Option<usize> {
    let ty = TypeAttribute::try_from(function.attr("function_type")?).ok()?;
    Some(FunctionType::try_from(ty.value()).ok()?.input_count())
}

/// How many buffers of the workgroup a `gpu.func` declares.
#[must_use]
pub fn attributions(function: Op<'_>) -> usize {
    let count = function
        .int_attr("workgroup_attributions")
        .filter(|_| function.is("gpu.func"));
    count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

/// How many threads a block of `function` has in each dimension, if it says so.
#[must_use]
pub fn block_size(function: Op<'_>) -> Option<[u32; 3]> {
    let sizes = function
        .attr("known_block_size")
        .or_else(|| function.attr("gpu.known_block_size"))?;
    let sizes = DenseI32ArrayAttribute::try_from(sizes).ok()?;
    let sizes = (0..sizes.len()).map(|i| u32::try_from(sizes.element(i).ok()?).ok());
    sizes.collect::<Option<Vec<u32>>>()?.try_into().ok()
}

/// How many threads a block of `function` has, if it says so and there can be as many.
#[must_use]
pub fn block_threads(function: Op<'_>) -> Option<u64> {
    let sizes = block_size(function)?.into_iter();
    sizes.map(u64::from).try_fold(1, u64::checked_mul)
}
