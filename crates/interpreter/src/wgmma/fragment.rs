//! Who has which element of an accumulator, by the PTX ISA, section "Register fragments" of `wgmma.mma_async`.

/// The threads of a warpgroup.
pub const THREADS: usize = 128;

/// The rows of an accumulator.
pub const ROWS: usize = 64;

/// The row and column of element `i` of a thread's fragment of D; a thread has N/2 of them. Each warp has 16 rows. Of every
/// 8 columns, a thread has two neighbors in one row, and the two that are 8 rows below.
#[must_use]
pub fn place_d(thread: usize, i: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    let row = 16 * warp + lane / 4 + 8 * (i / 2 % 2);
    let column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
    (row, column)
}
