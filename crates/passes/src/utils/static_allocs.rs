//! Checks which allocations of workgroup memory can be one static buffer for the whole block.

mod loop_allocs;

use async_mlir::calls::UsedSymbols;
use async_mlir::ir::Op;
use async_mlir::melior::ir::Type;
use async_mlir::names::gpu;
use async_mlir::pass::PassError;
use async_mlir::types::{memref_layout, memref_shape};

/// What orders the iterations of a loop that allocates memory in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IterationOrder {
    /// A barrier that is there.
    ExistingBarriers,
    /// Barriers that are inserted when the memory is one buffer.
    InsertedBarriers,
}

/// Returns an error if `alloc` in `function`, whose symbol table refers to `used`, is not one buffer for the whole block.
pub(crate) fn check<'c>(
    function: Op<'c>,
    alloc: Op<'c>,
    used: &UsedSymbols,
    iterations: IterationOrder,
) -> Result<(), PassError<'c>> {
    if alloc.num_operands() > 0 {
        let message = "allocates workgroup memory of a size that is not known before the kernel runs";
        let help = "give it a static size, or take a view of gpu.dynamic_shared_memory";
        return Err(PassError::new(alloc, message).note(alloc, help));
    }
    if !is_row_by_row(alloc.result(0).ty()) {
        let message = "allocates workgroup memory with a layout that is not row-major";
        return Err(PassError::new(alloc, message).note(alloc, "allocate it row-major, and take a view"));
    }
    if function.is(gpu::LAUNCH) {
        let message = "allocates workgroup memory in a gpu.launch, which is not a function yet";
        return Err(PassError::new(alloc, message).note(function, "run --gpu-kernel-outlining first"));
    }
    if used.has(function) {
        let message =
            "allocates workgroup memory in a function that is called, and each call would need its own";
        let help = "run --gpux-inline-calls first, or pass the buffer to this function as an argument";
        return Err(PassError::new(alloc, message).note(function, help));
    }
    loop_allocs::check(alloc, iterations)
}

/// Returns true if what `alloc` makes of a static size can be the same buffer each time, if barriers keep the threads together.
pub(crate) fn may_be_shared(alloc: Op<'_>) -> bool {
    alloc.num_operands() == 0 && loop_allocs::check(alloc, IterationOrder::InsertedBarriers).is_ok()
}

/// Returns true if the elements of a memref of type `ty` are row by row, without gaps.
pub(crate) fn is_row_by_row(ty: Type<'_>) -> bool {
    let (Some(shape), Some(layout)) = (memref_shape(ty), memref_layout(ty)) else {
        return false;
    };
    let mut stride = Some(1);
    layout.offset == Some(0)
        && shape
            .sizes
            .iter()
            .zip(&layout.strides)
            .rev()
            .all(|(&size, &given)| {
                let matches = given == stride;
                stride = stride
                    .zip(size)
                    .and_then(|(stride, size)| stride.checked_mul(size));
                matches
            })
}
