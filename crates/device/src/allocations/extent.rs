//! Where memory ends, and what was freed so long ago that somebody else may have it.

use super::{Allocation, Allocations, ZONE};
use crate::device::Device;
use crate::findings::Call;
use crate::memory::Memory;
use std::ops::Range;

/// So many allocations are known whose room was given back.
const KNOWN: usize = 1 << 16;

impl Allocations {
    /// Where that ends which is there of the bytes, as far as the device knows: where an allocation does, or the bytes. What was freed
    /// counts as there as long as its room is kept.
    ///
    /// # Errors
    ///
    /// A message that goes on from whoever uses the bytes, if their room was given back.
    pub(crate) fn extent(&self, bytes: &Range<u64>) -> Result<u64, String> {
        let before = self.by_start.range(..=bytes.start).next_back();
        let after = self.by_start.range(bytes.start..).next();
        let around = |(&start, allocation): (&u64, &Allocation)| {
            let end = start + allocation.bytes;
            let near = start - ZONE <= bytes.start && bytes.start < end + ZONE;
            near.then_some(end)
        };
        if let Some(end) = before.and_then(around).or_else(|| after.and_then(around)) {
            return Ok(bytes.end.min(end.max(bytes.start)));
        }
        match self.gone.range(..=bytes.start).next_back() {
            Some((_, (end, freed))) if bytes.start < *end => Err(format!(
                "uses {} bytes of an allocation that {freed} has freed",
                bytes.end - bytes.start
            )),
            _ => Ok(bytes.end),
        }
    }

    /// The room of an allocation was given back, or is the device's again.
    pub(super) fn note_gone(&mut self, bytes: Range<u64>, freed: Option<Call>) {
        let overlaps = |(&start, &(end, _)): (&u64, &(u64, Call))| start < bytes.end && bytes.start < end;
        while let Some((&start, _)) = self
            .gone
            .range(..bytes.end)
            .next_back()
            .filter(|gone| overlaps(*gone))
        {
            self.gone.remove(&start);
        }
        if let Some(freed) = freed {
            if self.gone.len() == KNOWN {
                self.gone.clear();
            }
            self.gone.insert(bytes.start, (bytes.end, freed));
        }
    }
}

impl<M: Memory> Device<M> {
    /// Where that ends which is there of some bytes, as far as the device knows: where an allocation does, or the bytes.
    ///
    /// # Errors
    ///
    /// A message that goes on from whoever uses the bytes, if they were freed so long ago that somebody else may have them.
    pub fn extent(&self, bytes: &Range<u64>) -> Result<u64, String> {
        self.allocations.extent(bytes)
    }
}
