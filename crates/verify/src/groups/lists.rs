//! Lists in memory for a power of two of elements. Allocators have pages for each size of blocks, and a page that is touched for the first time has
//! to be cleared, which takes longer than all else that is done to most lists here. Lists of few sizes are in few pages.

/// An empty list that is to have `len` elements.
pub(super) fn list_for<T>(len: usize) -> Vec<T> {
    Vec::with_capacity(len.next_power_of_two())
}

/// A list that has `value` so often.
pub(super) fn filled<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut list = list_for(len);
    list.resize(len, value);
    list
}
