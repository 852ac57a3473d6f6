//! What is asked of copies so far where something is reported.

use super::cells::Cell;
use super::copies::{Copy, destinations, start};
use super::{Actor, Memory, Space};
use crate::report::{CopyWaits, Hazard, Missed, NthWait, Own, Race, Spot, Waited};
use crate::value::{BufferId, Pointer};
use rustc_hash::FxHashMap;

impl Memory {
    /// What is known of the waits of the thread of `now` for the copy `like`, which it comes too early for.
    pub(super) fn waits(&self, hazard: Hazard, now: Actor, like: Spot) -> CopyWaits {
        let thread = now.spot.thread;
        let mut copies = self.copies.iter().rev().zip((0..self.next_copy().0).rev());
        let mine = Spot { thread, ..like };
        let own = copies.find(|(copy, _)| copy.actor.spot == mine && !copy.what.shared);
        let other = self.issued_by(like);
        let before = other.filter(|other| self.is_issued_before(other, now));
        let completed_by =
            before.and_then(|other| other.seen_by[usize::from(hazard == Hazard::WriteAfterRead)]);
        let has_come = |wait: NthWait| match self.reports.times_waited(thread, wait.instr) {
            0 => Own::Never,
            times if times < wait.times => Own::InFlight,
            _ => Own::Complete,
        };
        let state = match (own, completed_by) {
            (Some((own, _)), _) if own.complete => Own::Complete,
            (Some(_), _) => Own::InFlight,
            (None, Some(wait)) => has_come(wait),
            (None, None) => Own::Never,
        };
        let waited = self.reports.last_wait(thread).map(|wait| {
            let committed = wait.groups.map_or(0, |groups| groups.committed);
            let group = before.and_then(|other| other.group);
            // Whether it has committed as many as the copy's thread.
            let like_other = group.filter(|group| *group < committed).map(Missed::Group);
            Waited {
                at: wait.at,
                groups: wait.groups,
                copies: wait.copies.iter().map(|id| self.issuer(*id)).collect(),
                missed: match own {
                    Some((own, _)) => Some(own.group.map_or(Missed::Uncommitted, Missed::Group)),
                    None => like_other,
                },
                is_after_copy: own.is_some_and(|(_, number)| number < wait.next_copy.0),
            }
        });
        CopyWaits {
            own: state,
            last: waited,
            completed_by: completed_by.filter(|_| own.is_none()),
            over: before.and_then(|other| self.overwritten(other)),
            phase: other
                .and_then(|other| other.phase)
                .and_then(|phase| self.phases.get(phase as usize).copied()),
        }
    }

    /// The instruction that had written what a copy overwrites, if nobody had read that.
    fn overwritten(&self, copy: &Copy) -> Option<u32> {
        let over = copy.over?;
        // Who has read it too early has read it: while it was in flight, or with no barrier after the wait for it.
        let in_flight = self.issued_by(over).is_some_and(|earlier| earlier.read_early);
        let unordered = self.reports.races().any(|race| {
            let of_it = race.before.is_some_and(|before| before.instr == over.instr);
            of_it && race.hazard == Hazard::ReadAfterWrite && race.own != Own::Never
        });
        (!in_flight && !unordered).then_some(over.instr)
    }

    /// The last copy that was issued there.
    fn issued_by(&self, spot: Spot) -> Option<&Copy> {
        self.copies.iter().rev().find(|copy| copy.actor.spot == spot)
    }

    /// Returns true if what orders threads says that a copy was issued before what `now` does.
    fn is_issued_before(&self, copy: &Copy, now: Actor) -> bool {
        !now.is_of_warpgroup() && !self.order.unordered(copy.actor, now)
    }

    /// Who has written a granule last, or may still, and whether nobody has read it since; nothing if nobody has.
    pub(super) fn last_write(&self, cell: &Cell) -> Option<(Spot, bool)> {
        if let Some(landing) = cell.landing {
            return Some((self.copy(landing).actor.spot, true));
        }
        let write = cell.write?;
        let is_read = cell.reads.all().any(|read| self.accesses.is_later(read, write));
        Some((self.accesses.actor(write).spot, !is_read))
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

    /// A block has ended: notes of races with copies whether the later thread has come to its own instance of the copy after that, or
    /// to the wait for it.
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
        for copy in self.copies.iter().filter(|copy| !copy.what.shared) {
            if let Some(came) = later.get_mut(&copy.actor.spot) {
                *came = true;
            }
        }
        self.reports.note_behind(|race| {
            let later = own(race).is_some_and(|own| later[&own]);
            later.then_some(Own::Later)
        });
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
