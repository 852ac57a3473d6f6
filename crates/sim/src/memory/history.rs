//! What is asked of copies so far where something is reported.

use super::cells::Cell;
use super::copies::{destinations, start};
use super::{Memory, Space};
use crate::report::{CopyWaits, Missed, Own, Race, Spot, Waited};
use crate::value::{BufferId, Pointer};
use rustc_hash::FxHashMap;

impl Memory {
    /// What is known of the waits of `thread` for the copy `like`.
    pub(super) fn waits(&self, thread: u32, like: Spot) -> CopyWaits {
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
        let other = self.copies.iter().rev().find(|copy| copy.actor.spot == like);
        let phase = other.and_then(|other| other.phase);
        let over = other.and_then(|other| other.over);
        CopyWaits {
            own: match copy {
                None => Own::Never,
                Some(copy) if copy.complete => Own::Complete,
                Some(_) => Own::InFlight,
            },
            last: waited,
            over,
            phase: phase.and_then(|phase| self.phases.get(phase as usize).copied()),
        }
    }

    /// The instruction that has written a granule last, or may still, if nobody has read it since.
    pub(super) fn unread(&self, cell: &Cell) -> Option<u32> {
        if let Some(landing) = cell.landing {
            return Some(self.copy(landing).actor.spot.instr);
        }
        let write = cell.write?;
        let is_read = cell.reads.all().any(|read| self.accesses.is_later(read, write));
        (!is_read).then(|| self.accesses.actor(write).spot.instr)
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

    /// A block has ended: notes of races with copies whether the later thread has come to its own instance of the copy after that.
    pub(super) fn note_behind(&mut self) {
        let block = |spot: Spot| spot.thread / self.order.threads_per_block;
        let own = |race: &Race| {
            let before = race.before.filter(|before| block(*before) == block(race.now))?;
            let own = Spot {
                thread: race.now.thread,
                ..before
            };
            (race.own == Own::Never && own != before).then_some(own)
        };
        let mut later: FxHashMap<Spot, bool> = self
            .reports
            .races()
            .filter_map(own)
            .map(|own| (own, false))
            .collect();
        if later.is_empty() {
            return;
        }
        for copy in self.copies.iter().filter(|copy| !copy.what.shared) {
            if let Some(came) = later.get_mut(&copy.actor.spot) {
                *came = true;
            }
        }
        self.reports
            .note_behind(|race| own(race).is_some_and(|own| later[&own]));
    }

    /// A block has ended, and if it was not stuck with it all copies: those are kept to be named that wrote where something
    /// is left to be written.
    pub(super) fn forget_copies(&mut self) {
        if self.copies.iter().any(|copy| !copy.complete) {
            return;
        }
        let copies = std::mem::take(&mut self.copies);
        self.phases.clear();
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
