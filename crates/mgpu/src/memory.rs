//! The memory of the process, which is the device's, too.

use async_device::Memory;
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr;

/// What the program says is where it says: it is trusted as much as it would be by a device.
#[derive(Clone, Copy, Debug)]
pub struct Process;

const ALIGN: usize = 256;

fn layout(bytes: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(bytes).ok()?, ALIGN).ok()
}

fn at(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or_default())
}

impl Memory for Process {
    fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let layout = layout(bytes).filter(|layout| layout.size() > 0)?;
        // SAFETY: it has a byte or more.
        let pointer = unsafe { alloc(layout) };
        (!pointer.is_null()).then(|| pointer.expose_provenance() as u64)
    }

    fn deallocate(&mut self, address: u64, bytes: u64) {
        if let Some(layout) = layout(bytes) {
            // SAFETY: `allocate` has returned it for as many bytes.
            unsafe { dealloc(at(address), layout) };
        }
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) {
        if let Ok(bytes) = usize::try_from(bytes) {
            // SAFETY: the program has memory there.
            unsafe { ptr::copy(at(from), at(to), bytes) };
        }
    }

    fn read(&self, from: u64, into: &mut [u8]) {
        // SAFETY: the program has memory there.
        unsafe { ptr::copy(at(from), into.as_mut_ptr(), into.len()) };
    }

    fn write(&mut self, to: u64, bytes: &[u8]) {
        // SAFETY: the program has memory there.
        unsafe { ptr::copy(bytes.as_ptr(), at(to), bytes.len()) };
    }
}

/// Where the elements of a memref begin, and how many bytes they have, if they lie in a row.
///
/// # Safety
///
/// It is a descriptor of a memref of that rank: two pointers, an offset, sizes, strides.
pub unsafe fn memref(rank: i64, descriptor: *const i64, element_bytes: i64) -> Option<(u64, u64)> {
    let rank = usize::try_from(rank).ok()?;
    // SAFETY: as the caller promises.
    let words = unsafe { std::slice::from_raw_parts(descriptor, 3 + 2 * rank) };
    let (sizes, strides) = words[3..].split_at(rank);
    let mut elements = 1_i64;
    for (size, stride) in sizes.iter().zip(strides).rev() {
        if *stride != elements && *size != 1 {
            return None;
        }
        elements = elements.checked_mul(*size)?;
    }
    let bytes = elements.checked_mul(element_bytes)?;
    let offset = words[2].checked_mul(element_bytes)?;
    let start = words[1].cast_unsigned().wrapping_add(offset.cast_unsigned());
    Some((start, u64::try_from(bytes).ok()?))
}

/// The pointers of an array.
///
/// # Safety
///
/// There are so many.
pub unsafe fn addresses(pointers: *const *mut c_void, count: usize) -> Vec<u64> {
    if count == 0 || pointers.is_null() {
        return Vec::new();
    }
    // SAFETY: as the caller promises.
    let pointers = unsafe { std::slice::from_raw_parts(pointers, count) };
    pointers
        .iter()
        .map(|pointer| pointer.expose_provenance() as u64)
        .collect()
}
