//! The host's memory, as kernels have it.

use async_sim::embed::Outside;
use asyncopt_rt::device;
use std::ops::Range;
use std::ptr;

/// All of it.
pub struct Host(());

impl Host {
    /// The memory of this process.
    ///
    /// # Safety
    ///
    /// What is read and written until this is dropped is there.
    pub unsafe fn new() -> Self {
        Self(())
    }
}

fn at(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or_default())
}

impl Outside for Host {
    fn read(&self, from: u64, into: &mut [u8]) {
        // No reference: others may write bytes that the kernel leaves alone.
        // SAFETY: as whoever has made this promises.
        unsafe { ptr::copy(at(from), into.as_mut_ptr(), into.len()) };
    }

    fn extent(&self, bytes: &Range<u64>) -> Result<u64, String> {
        device::extent(bytes)
    }

    fn write(&mut self, to: u64, bytes: &[u8]) {
        // SAFETY: as whoever has made this promises.
        unsafe { ptr::copy(bytes.as_ptr(), at(to), bytes.len()) };
    }
}
