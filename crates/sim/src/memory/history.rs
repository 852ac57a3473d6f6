//! What is asked of copies so far where something is reported.

use super::copies::{destinations, start};
use super::{Memory, Space};
use crate::report::{Missed, Spot, Waited};
use crate::value::{BufferId, Pointer};

impl Memory {
    /// Returns whether `thread` has observed that its own instance of the copy `like` is complete, `None` if it has issued none;
    /// and what it last waited for.
    pub(super) fn waits(&self, thread: u32, like: Spot) -> (Option<bool>, Option<Waited>) {
        let own = Spot { thread, ..like };
        let mut copies = self.copies.iter().rev();
        let copy = copies.find(|copy| copy.actor.spot == own && !copy.what.shared);
        let missed = copy.map(|copy| copy.group.map_or(Missed::Uncommitted, Missed::Group));
        let waited = self.reports.last_wait(thread).map(|wait| Waited {
            at: wait.at,
            groups: wait.groups,
            copies: wait.copies.iter().map(|id| self.issuer(*id)).collect(),
            missed,
        });
        (copy.map(|copy| copy.complete), waited)
    }

    /// The copy to `buffer` that comes nearest to a byte which none has written, the last of several.
    pub(super) fn nearest_copy(&self, buffer: BufferId, byte: usize) -> Option<Spot> {
        let done = self.done_copies.iter().map(|(spot, pieces)| (*spot, pieces));
        let copies = self
            .copies
            .iter()
            .map(|copy| (copy.actor.spot, &copy.what.pieces));
        let near = done.chain(copies).rev().filter_map(|(spot, pieces)| {
            let there = destinations(pieces).filter(|(at, _)| at.buffer == buffer);
            let distances = there.map(|(at, bytes)| {
                let (first, end) = (start(at), start(at) + bytes);
                first.saturating_sub(byte).max((byte + 1).saturating_sub(end))
            });
            Some((distances.min()?, spot))
        });
        let nearest = near.min_by_key(|(distance, _)| *distance);
        nearest.map(|(_, spot)| spot)
    }

    /// A block has ended, and if it was not stuck with it all copies: those are kept to be named that wrote where something
    /// is left to be written.
    pub(super) fn forget_copies(&mut self) {
        if self.copies.iter().any(|copy| !copy.complete) {
            return;
        }
        let copies = std::mem::take(&mut self.copies);
        let count = u32::try_from(copies.len()).unwrap_or(u32::MAX);
        self.first_copy = self.first_copy.saturating_add(count);
        let buffers = &self.buffers;
        let unwritten = |at: Pointer| {
            let buffer = &buffers[at.buffer.0 as usize];
            buffer.space == Space::Global && !buffer.unwritten.is_empty()
        };
        let kept = copies
            .into_iter()
            .filter(|copy| destinations(&copy.what.pieces).any(|(at, _)| unwritten(at)));
        self.done_copies
            .extend(kept.map(|copy| (copy.actor.spot, copy.what.pieces)));
    }
}
