//! Lists whose capacities let the allocator reuse memory. The first touch of a page takes longer than all else that is done to most lists here,
//! and allocators keep separate pages for each size class.

/// Lists of up to so many bytes have a power of two of elements, for few size classes.
const SMALL: usize = 64 << 10;

/// Others have at least so many bytes: mimalloc puts blocks of up to 512 KiB into pages of 4 MiB for their size class, and larger ones
/// wherever enough memory is free. What is not used is not touched.
const LARGE: usize = 576 << 10;

/// An empty list that is to have `len` elements.
pub(super) fn list_for<T>(len: usize) -> Vec<T> {
    let size = size_of::<T>().max(1);
    let is_small = len.saturating_mul(size) <= SMALL;
    Vec::with_capacity(match len {
        0 => 0,
        _ if is_small => len.next_power_of_two(),
        _ => len.max(LARGE / size),
    })
}

/// A list that has `value` so often.
pub(super) fn filled<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut list = list_for(len);
    list.resize(len, value);
    list
}
