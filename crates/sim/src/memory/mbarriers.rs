//! Memory that mbarriers are in: nothing else may access it before they are invalidated (PTX ISA, `mbarrier.inval`).

use super::{Actor, Memory};
use crate::report::{Problem, Spot};
use crate::value::{BufferId, Pointer};
use std::ops::Range;

/// The bytes of an mbarrier.
const BYTES: usize = 8;

impl Memory {
    /// From now on, there is an mbarrier at a checked address.
    pub fn place_mbarrier(&mut self, at: Pointer, init: Spot) {
        self.remove_mbarrier(at);
        let start = usize::try_from(at.offset).unwrap_or(0);
        self.buffers[at.buffer.0 as usize].mbarriers.push((start, init));
    }

    /// The mbarrier at an address is invalid.
    pub fn remove_mbarrier(&mut self, at: Pointer) {
        let start = usize::try_from(at.offset).unwrap_or(0);
        let mbarriers = &mut self.buffers[at.buffer.0 as usize].mbarriers;
        mbarriers.retain(|&(other, _)| other != start);
    }

    /// Reports an access of bytes that an mbarrier has.
    pub(super) fn note_mbarriers(&mut self, actor: Actor, buffer: BufferId, range: &Range<usize>) {
        let buffer = &self.buffers[buffer.0 as usize];
        let overlaps = |&(start, _): &(usize, Spot)| start < range.end && range.start < start + BYTES;
        if let Some(&(start, init)) = buffer.mbarriers.iter().find(|mbarrier| overlaps(mbarrier)) {
            let problem = Problem::mbarrier_accessed(actor.spot, init, start, &buffer.name);
            self.reports.problem(problem);
        }
    }
}
