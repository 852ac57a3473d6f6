//! Lists in memory that is warm. A page that is touched for the first time has to be cleared, which takes longer than all else that is done
//! to most lists here, and allocators have pages of their own for each size of blocks.

/// Smaller lists are of few sizes. Larger ones are at least so large, in bytes: then mimalloc takes memory that anything else has freed, while
/// blocks of up to 512 KiB are in pages of 4 MiB for blocks of about their size. What is not used is not touched.
const SMALL: usize = 64 << 10;
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
