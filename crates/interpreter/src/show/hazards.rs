//! What is wrong between two operations that race, and which words say it.

use super::Cause;
use super::words::{
    AWAIT_TOKEN, BARRIER_AFTER_WAIT, BARRIER_OR_SLOT, COMMIT, COPIED_LATE, EITHER_ORDER, FILLED_EARLY,
    OVERLAP, PARITY, READ_EARLY, TRACK, TWICE, Text, WAIT, WAIT_AFTER, WAIT_EARLIER, WAIT_FOR_WRITES,
    WRONG_SLOT, after_multiplication, after_shared, between_blocks, between_tasks, plain,
};
use crate::report::{Hazard, Own};

/// What a message and a cause depend on besides the hazard.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not exclude each other.
pub(super) struct Sides {
    /// True if two threads execute one operation in the same iteration.
    pub same: bool,
    /// True if it is one thread.
    pub alone: bool,
    /// True if the earlier access read what nobody had written, and somebody wrote later.
    pub found_nothing: bool,
    /// True if the earlier access is of a copy that overwrites what another copy had brought and nobody had read, and was issued
    /// before this.
    pub unread: bool,
    /// True if the last wait comes after the earlier copy, which was in no group then.
    pub uncommitted: bool,
    /// True if the earlier copy comes after the last wait.
    pub comes_after_wait: bool,
    /// True if other threads alone come to the waits for the earlier copy, which was issued before this.
    pub others_wait: bool,
    /// Whether the later access is a copy's.
    pub now: Copied,
    /// Whether the earlier one is.
    pub before: Copied,
    /// True if they are threads of different blocks.
    pub blocks: bool,
    /// What the later thread has done about its own instance of the earlier copy.
    pub own: Own,
    /// What is wrong with the wait for the phase that the earlier copy completes on.
    pub phase: PhaseWait,
    /// What the last wait of the later thread waits for.
    pub wait: Waits,
    /// True if some threads meet without the others.
    pub roles: bool,
    /// True if they are tasks of the host.
    pub tasks: bool,
}

/// How a phase is waited for that a copy completes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PhaseWait {
    /// Rightly, as far as is known, or there is none.
    Right,
    /// The later thread's wait passed on a phase before that.
    Stale,
    /// Nobody waits for the mbarrier.
    Nobody,
}

/// What a wait waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    /// There is none.
    Nothing,
    /// Groups, or nothing is known of it.
    Groups,
    /// A phase of an mbarrier, and the copy completes on none.
    Phase,
    /// That groups have read their sources.
    Reads,
    /// Tokens.
    Tokens,
}

/// Whether an access is a copy's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Copied {
    /// It is none.
    No,
    /// The thread that issues it waits for it.
    Alone,
    /// Other threads wait for it, too.
    Together,
    /// It is that of a matrix multiplication of a warpgroup.
    Multiplied,
}

impl Sides {
    /// What is wrong.
    pub fn cause(self, hazard: Hazard) -> Cause {
        match hazard {
            Hazard::Unwritten => Cause::Uninitialized,
            Hazard::UnfencedWrite | Hazard::UnfencedRead => Cause::Fence,
            _ if self.tasks => Cause::Order,
            _ if self.blocks => Cause::Barrier,
            _ if self.is_overlap(hazard) => Cause::Addresses,
            _ if self.phase == PhaseWait::Stale => Cause::Parity,
            _ if self.took_wrong_slot(hazard) => Cause::WrongSlot,
            Hazard::WriteAfterRead if self.found_nothing => Cause::Barrier,
            _ if self.phase == PhaseWait::Nobody && hazard.kind() == "RAW" => Cause::Unawaited,
            Hazard::ReadBesideCopy if self.is_overwritten() => Cause::Slot,
            Hazard::ReadAfterWrite if self.is_overwritten() && self.own == Own::Later => Cause::Slot,
            Hazard::ReadInFlight
            | Hazard::ReadBesideCopy
            | Hazard::WriteInFlight
            | Hazard::SourceInFlight => match self.own {
                Own::Complete => Cause::Barrier,
                _ if self.uncommitted => Cause::Commit,
                _ => Cause::Wait,
            },
            Hazard::SourceBesideCopy => Cause::Barrier,
            Hazard::CopyOverCopy => Cause::Slot,
            Hazard::WriteAfterRead if self.before == Copied::Multiplied => Cause::Barrier,
            Hazard::WriteAfterRead | Hazard::WriteAfterWrite if self.now != Copied::No => Cause::Slot,
            Hazard::ReadAfterWrite | Hazard::WriteAfterRead | Hazard::WriteAfterWrite => {
                if self.is_unawaited() && self.uncommitted {
                    Cause::Commit
                } else if self.is_unawaited() {
                    Cause::Wait
                } else {
                    Cause::Barrier
                }
            }
        }
    }

    /// Returns true if one execution of an operation writes the same place twice.
    fn is_overlap(self, hazard: Hazard) -> bool {
        // What one thread copies twice, it has issued twice: iterations of a loop of branches have no number.
        let is_reissued = self.alone && self.now != Copied::No;
        self.same && !self.blocks && !is_reissued && hazard.kind() == "WAW"
    }

    /// Returns true if a copy that was issued before has taken the place of what the later thread is about to read.
    fn took_wrong_slot(self, hazard: Hazard) -> bool {
        let is_copy = matches!(self.before, Copied::Alone | Copied::Together);
        self.unread && is_copy && hazard.kind() == "RAW"
    }

    /// Returns true if the later thread has not waited for what all threads have to wait for.
    fn is_unawaited(self) -> bool {
        self.before == Copied::Together || self.before == Copied::Alone && self.own == Own::InFlight
    }

    /// Returns true if the earlier copy belongs to a later iteration: the later thread has not come to it.
    fn is_overwritten(self) -> bool {
        self.before == Copied::Alone && matches!(self.own, Own::Never | Own::Later)
    }

    /// Who does what, and what to do about it.
    pub fn text(self, hazard: Hazard) -> Text {
        if self.tasks && hazard != Hazard::Unwritten {
            return between_tasks(hazard);
        }
        if self.blocks && hazard != Hazard::Unwritten {
            return between_blocks(hazard);
        }
        if self.is_overlap(hazard) {
            return if self.alone { TWICE } else { OVERLAP };
        }
        if self.took_wrong_slot(hazard) && self.phase != PhaseWait::Stale {
            return WRONG_SLOT;
        }
        if hazard == Hazard::WriteAfterRead && self.found_nothing && self.phase != PhaseWait::Stale {
            return if self.now == Copied::No {
                READ_EARLY
            } else {
                COPIED_LATE
            };
        }
        let special = match self.before {
            _ if matches!(
                hazard,
                Hazard::Unwritten | Hazard::UnfencedWrite | Hazard::UnfencedRead
            ) =>
            {
                None
            }
            Copied::Multiplied => after_multiplication(hazard),
            _ if self.phase == PhaseWait::Stale => Some(PARITY),
            Copied::No
                if hazard == Hazard::WriteAfterRead
                    && (self.now == Copied::Together || self.now == Copied::Alone && self.roles) =>
            {
                Some(FILLED_EARLY)
            }
            Copied::Together => after_shared(hazard),
            Copied::Alone => self.after_copy(hazard),
            Copied::No => None,
        };
        let (message, advice) = special.unwrap_or_else(|| plain(hazard));
        match self.wait {
            _ if self.uncommitted
                && self.before != Copied::Multiplied
                && self.cause(hazard) == Cause::Commit =>
            {
                (message, COMMIT)
            }
            _ if self.comes_after_wait && advice == WAIT_EARLIER => (message, WAIT_AFTER),
            Waits::Reads if advice == WAIT_EARLIER => (message, WAIT_FOR_WRITES),
            Waits::Tokens if advice == WAIT_EARLIER => (message, AWAIT_TOKEN),
            Waits::Phase if advice == WAIT_EARLIER => (message, TRACK),
            Waits::Nothing if advice == WAIT_EARLIER => (message, WAIT),
            _ if hazard == Hazard::WriteAfterRead && self.now == Copied::No && advice == BARRIER_OR_SLOT => {
                (message, EITHER_ORDER)
            }
            _ => (message, advice),
        }
    }

    /// What is said of those who come after a copy that each thread waits for itself.
    fn after_copy(self, hazard: Hazard) -> Option<Text> {
        Some(match (hazard, self.own) {
            (Hazard::ReadAfterWrite, Own::InFlight) => (
                "reads what another thread copied, and the waits before it leave that copy in flight",
                WAIT_EARLIER,
            ),
            (Hazard::ReadAfterWrite, Own::Later) => (
                "reads where another thread has copied already, and no block barrier lies between",
                BARRIER_OR_SLOT,
            ),
            (Hazard::ReadBesideCopy, Own::InFlight) if self.comes_after_wait => (
                "reads where a copy of another thread writes, and no block barrier lies between",
                "wait for the copy and put a gpu.barrier after that wait, before this: the wait there comes before the copy. If \
                 this is to read what an earlier copy has brought, let it, or the copy, go to another slot",
            ),
            (Hazard::ReadBesideCopy, Own::Never | Own::Later) => (
                "reads where a copy of another thread writes already, and no block barrier lies between",
                BARRIER_OR_SLOT,
            ),
            (Hazard::ReadAfterWrite, Own::Never) if self.others_wait => (
                "reads what another thread copied, and no block barrier lies between that copy's wait and this",
                "put a gpu.barrier after the wait for the copy, before this; where one is, let the wait before it leave fewer \
                 groups in flight",
            ),
            (Hazard::ReadAfterWrite, _) | (Hazard::ReadInFlight | Hazard::ReadBesideCopy, Own::Complete) => (
                "reads what another thread copied, and no block barrier lies between that copy's wait and this",
                BARRIER_AFTER_WAIT,
            ),
            (Hazard::WriteAfterRead, Own::InFlight) => (
                "writes what another thread's copy reads, and the waits before it leave that copy in flight",
                WAIT_EARLIER,
            ),
            (Hazard::WriteAfterWrite, Own::InFlight) => (
                "writes where another thread copied, and the waits before it leave that copy in flight",
                WAIT_EARLIER,
            ),
            (Hazard::WriteAfterRead, Own::Never) if self.others_wait => (
                "writes what another thread's copy reads, and no block barrier lies between that copy's wait and this",
                "put a gpu.barrier after the wait for the copy, before this; where one is, let the wait before it leave fewer \
                 groups in flight",
            ),
            (Hazard::WriteAfterRead, _) => (
                "writes what another thread's copy reads, and no block barrier lies between that copy's wait and this",
                "put a gpu.barrier after the wait for the copy, before the write (or before the copy, if it is to read what \
                 is written here), or give the buffer another slot",
            ),
            (Hazard::WriteAfterWrite, _) => (
                "writes where another thread copied, and no block barrier lies between that copy's wait and this",
                "put a gpu.barrier after the wait for the copy, before the write, or give the buffer another slot",
            ),
            _ => return None,
        })
    }
}
