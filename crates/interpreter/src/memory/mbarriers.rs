//! Memory that mbarriers are in: nothing else may access it before they are invalidated (PTX ISA, `mbarrier.inval`).

use super::{Actor, Memory};
use crate::memory::{Array, Buffer};
use crate::report::{PhaseOf, Problem, Spot};
use crate::value::{BufferId, CopyId, Pointer};
use std::ops::Range;

/// The bytes of an mbarrier.
const BYTES: usize = 8;

impl Buffer {
    /// What to call the mbarrier at a byte of the buffer.
    #[must_use]
    pub fn mbarrier(&self, byte: i64) -> String {
        let (name, number) = (&self.name, byte / 8);
        let of_mbarriers = |array: &Array| array.element == BYTES;
        let is_row = |array: &Array| array.sizes.len() == 1;
        let in_text = name.strip_prefix("workgroup buffer ").unwrap_or(name);
        match &self.array {
            Some(array) if of_mbarriers(array) && is_row(array) && in_text.starts_with('%') => {
                format!("{in_text}[{number}]")
            }
            Some(array) if of_mbarriers(array) => format!("number {number} of {name}"),
            _ => format!("the mbarrier at byte {byte} of {name}"),
        }
    }
}

impl Memory {
    /// Notes that copies complete on a phase.
    pub fn completes_on(&mut self, copies: impl Iterator<Item = CopyId>, phase: PhaseOf) {
        if self.phases.last() != Some(&phase) {
            self.phases.push(phase);
        }
        let number = u32::try_from(self.phases.len() - 1).ok();
        for id in copies {
            let copy = self.copy_mut(id);
            copy.phase = copy.phase.or(number);
        }
    }

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
