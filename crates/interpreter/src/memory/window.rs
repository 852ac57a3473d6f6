//! Addresses of workgroup memory as numbers, which matrix descriptors hold: the buffers of a block lie one after the other,
//! each at a multiple of its alignment and of 16.

use super::{Memory, Space};
use crate::value::{BufferId, Pointer};

/// What an address that a descriptor holds is a multiple of.
const CHUNK: u64 = 16;

/// The buffers of workgroup memory of the block that runs, and where each begins.
#[derive(Clone, Default)]
pub(super) struct Window {
    buffers: Vec<(BufferId, u64)>,
    end: u64,
    /// True if buffers of the host have addresses that are numbers.
    is_host: bool,
}

impl Window {
    /// Gives a buffer its place.
    pub fn add(&mut self, id: BufferId, bytes: usize, align: u32) {
        let start = self.end.next_multiple_of(u64::from(align).max(CHUNK));
        self.buffers.push((id, start));
        self.end = start + bytes as u64;
    }
}

impl Memory {
    /// From now on, addresses of all buffers are numbers, as the host has them.
    pub fn use_host_addresses(&mut self) {
        self.window.is_host = true;
    }

    /// The number that an address in workgroup memory is, or that of a buffer of the host; `None` elsewhere.
    #[must_use]
    pub fn address(&self, at: Pointer) -> Option<u64> {
        if self.window.is_host {
            // Each buffer has 4 GiB for itself; the first does not begin at 0.
            return ((u64::from(at.buffer.0) + 1) << 32).checked_add_signed(at.offset);
        }
        let is_there = self.buffer(at.buffer).space == Space::Workgroup;
        let mut buffers = self.window.buffers.iter().filter(|_| is_there);
        let (_, start) = buffers.find(|(id, _)| *id == at.buffer)?;
        start.checked_add_signed(at.offset)
    }

    /// The buffer of workgroup memory that a number is an address in, or behind it what no buffer has; `None` before the
    /// first.
    #[must_use]
    pub fn at_address(&self, address: u64) -> Option<Pointer> {
        let mut buffers = self.window.buffers.iter().rev();
        let (buffer, start) = *buffers.find(|(_, start)| *start <= address)?;
        let offset = i64::try_from(address - start).unwrap_or(i64::MAX);
        Some(Pointer { buffer, offset })
    }

    /// The bytes that the buffers of workgroup memory take.
    #[must_use]
    pub fn window_bytes(&self) -> u64 {
        self.window.end
    }
}
