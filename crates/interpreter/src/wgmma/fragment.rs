//! Who has which element of a matrix in registers, by the PTX ISA, section "Register fragments" of `wgmma.mma_async`.

/// The threads of a warpgroup.
pub const THREADS: usize = 128;

/// The rows of an accumulator, and of A.
pub const ROWS: usize = 64;

/// The row and column of element `i` of a thread's fragment of D; a thread has N/2 of them. Each warp has 16 rows. Of every
/// 8 columns, a thread has two neighbors in one row, and the two that are 8 rows below.
#[must_use]
pub fn place_d(thread: usize, i: usize) -> (usize, usize) {
    place(thread, i, 2)
}

/// The same of A, of which a register holds `pack` neighbors. Its registers go down first, then right.
#[must_use]
pub fn place_a(thread: usize, i: usize, pack: usize) -> (usize, usize) {
    place(thread, i, pack)
}

/// A thread has `neighbors` elements of a row at a time, and as many 8 rows below; four threads have a row.
fn place(thread: usize, i: usize, neighbors: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    let (group, within) = (i / neighbors, i % neighbors);
    let row = 16 * warp + lane / 4 + 8 * (group % 2);
    let column = neighbors * (4 * (group / 2) + lane % 4) + within;
    (row, column)
}
