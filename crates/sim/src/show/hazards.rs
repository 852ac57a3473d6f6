//! Words for races: what is wrong between two operations, and what to do about it.

use super::Cause;
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

/// What is said of a race: its message, and what to do.
type Text = (&'static str, &'static str);

/// Nothing orders two blocks of a kernel.
const ORDER_BLOCKS: &str =
    "blocks are not ordered: let one block alone touch these bytes, use atomics, or split the kernel in two";
const WAIT_EARLIER: &str =
    "wait for the copy before this, or let the wait there leave fewer groups in flight";
const WAIT_FOR_WRITES: &str = "wait for the copy before this: the wait there waits until sources are read (`read`), and not for what is written";
const WAIT: &str = "wait for the copy before this";
const TRACK: &str = "wait for the copy's group before its thread arrives, or let that arrive by nvvm.cp.async.mbarrier.arrive: the phase \
     that is waited for there does not track the copy";
const AWAIT_TOKEN: &str = "await the token of that copy before this: the await there is of other tokens";
const COMMIT: &str =
    "commit a group between the copy and the wait: the wait is for groups, and the copy was in none";
const WAIT_AFTER: &str = "wait for the copy between it and this: the wait there comes before the copy. If this is to read what an earlier copy \
     has brought, let it, or the copy, go to another slot";
const BARRIER_AFTER_WAIT: &str = "put a gpu.barrier after the wait for the copy, before this";
const BARRIER_OR_SLOT: &str = "put a gpu.barrier between the two, or give the buffer another slot";

impl Sides {
    /// What is wrong.
    pub fn cause(self, hazard: Hazard) -> Cause {
        match hazard {
            Hazard::Unwritten => Cause::Uninitialized,
            Hazard::UnfencedWrite | Hazard::UnfencedRead => Cause::Fence,
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

    /// Returns true if two threads write the same place together.
    fn is_overlap(self, hazard: Hazard) -> bool {
        self.same && !self.blocks && hazard.kind() == "WAW"
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
            _ if self.uncommitted && self.cause(hazard) == Cause::Commit => (message, COMMIT),
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

/// Returns true if an advice is to wait for the copy, and can be said better where more is known of it.
pub(super) fn is_to_wait(advice: &str) -> bool {
    [WAIT_EARLIER, WAIT, TRACK].contains(&advice)
}

/// What is said of two threads that write one place together.
const OVERLAP: Text = (
    "writes where another thread writes by the same operation: the addresses of the two overlap",
    "let an index tell the threads apart (thread, row, column), or let one thread alone write here",
);

/// What is said of one thread that does so.
const TWICE: Text = (
    "writes these bytes twice, in no order: two of its matrices go to the same place",
    "give each matrix rows of its own: lane 8m + r has the address of row r of matrix m",
);

/// What is said of a copy that took the place of an earlier one.
const WRONG_SLOT: Text = (
    "reads where a later copy writes already: what an earlier copy brought there has not been read",
    "let one of the copies go to another slot: compare its index, and what that is taken modulo, with the index here",
);

/// What to do where either may be meant to come first.
const EITHER_ORDER: &str = "put a gpu.barrier between the two, after the one that is to come first; if that is the read, another slot does, too";

/// What is said where the reader ran first.
const READ_EARLY: Text = (
    "writes what another thread has read before, when nothing was there, and no block barrier lies between",
    "put a gpu.barrier after the write, before the read",
);
const COPIED_LATE: Text = (
    "copies to where another thread has read before, when nothing was there, and nothing orders the two",
    "wait for the copy and put a gpu.barrier after that wait, before the read",
);

/// What is said where a wait passed too early.
const PARITY: Text = (
    "accesses what a bulk copy writes, and the wait for it passed on a phase that was complete before: it waits for the \
     parity of the last phase",
    "wait for the other parity: 0 for the first phase of an mbarrier, and the other one each time it is used again",
);

/// What is said of a bulk copy to a slot that is still read.
const FILLED_EARLY: Text = (
    "writes what another thread reads, and nothing orders the two",
    "let whoever issues it know that this was read: by a gpu.barrier, or an mbarrier on which readers arrive after they \
     have read; or give the buffer another slot",
);

/// What is said of those who come after a copy that several threads may wait for.
fn after_shared(hazard: Hazard) -> Option<Text> {
    let advice = "wait for the copy in this thread, too, or put a gpu.barrier after another thread's wait";
    match hazard {
        Hazard::ReadAfterWrite => Some((
            "reads what a bulk copy has written, and this thread has not seen that it is complete",
            advice,
        )),
        Hazard::WriteAfterWrite => Some((
            "writes where a bulk copy has written, and this thread has not seen that it is complete",
            advice,
        )),
        Hazard::WriteAfterRead => Some((
            "writes what a bulk copy has read, and this thread has not seen that it is done",
            advice,
        )),
        Hazard::ReadBesideCopy => Some((
            "reads where a bulk copy writes that another thread has issued, and nothing orders the two",
            "wait for the copy before reading, if this is to read what is copied; else let the issuing thread know \
             that this was read: by a gpu.barrier, or an mbarrier on which this thread arrives",
        )),
        _ => None,
    }
}

/// What is said of those who come after a matrix multiplication.
fn after_multiplication(hazard: Hazard) -> Option<Text> {
    match hazard {
        Hazard::SourceInFlight => Some((
            "writes what a matrix multiplication may still read",
            "wait for the multiplication's group before this, let the wait there leave fewer groups in flight, or give the \
             operand another slot",
        )),
        Hazard::SourceBesideCopy => Some((
            "writes what a matrix multiplication may still read, and nothing orders the two",
            "let this thread know that the multiplication's group was waited for, by a gpu.barrier after the wait, or an \
             mbarrier on which its threads arrive then; or give the operand another slot",
        )),
        Hazard::WriteAfterRead => Some((
            "writes what a matrix multiplication has read, and this thread has not seen that it is done",
            "let this thread know that the multiplication's group was waited for, by a gpu.barrier after the wait, or an \
             mbarrier on which its threads arrive then; or give the operand another slot",
        )),
        _ => None,
    }
}

fn between_blocks(hazard: Hazard) -> Text {
    let message = match hazard {
        Hazard::ReadInFlight | Hazard::ReadBesideCopy => "reads what a copy of another block writes",
        Hazard::WriteInFlight | Hazard::CopyOverCopy => "writes where a copy of another block writes",
        Hazard::SourceInFlight | Hazard::SourceBesideCopy => "writes what a copy of another block reads",
        Hazard::ReadAfterWrite | Hazard::Unwritten => "reads what another block writes",
        Hazard::WriteAfterRead | Hazard::UnfencedRead => "writes what another block reads",
        Hazard::WriteAfterWrite | Hazard::UnfencedWrite => "writes what another block writes",
    };
    (message, ORDER_BLOCKS)
}

fn plain(hazard: Hazard) -> Text {
    match hazard {
        Hazard::ReadInFlight => (
            "reads what an asynchronous copy has not been seen to write",
            WAIT_EARLIER,
        ),
        Hazard::ReadBesideCopy => (
            "reads where a copy of another thread writes, and no block barrier lies between",
            "put a gpu.barrier between the copy's wait and this, if it is to read what is copied; else between this \
             and the copy",
        ),
        Hazard::WriteInFlight => ("writes where an asynchronous copy may still write", WAIT_EARLIER),
        Hazard::CopyOverCopy => (
            "copies to where another asynchronous copy may still write",
            "let it go to another slot (look at its index, and what that is taken modulo), or wait for the earlier copy first",
        ),
        Hazard::SourceInFlight => (
            "writes what an asynchronous copy may still read",
            "wait for the copy before its source changes, or give the buffer another slot",
        ),
        Hazard::SourceBesideCopy => (
            "writes what a copy of another thread reads, and no block barrier lies between",
            "put a gpu.barrier between this and the copy, if the copy is to read what is written here; else wait for the \
             copy and put a gpu.barrier after that wait, or give the buffer another slot",
        ),
        Hazard::ReadAfterWrite => (
            "reads what another thread wrote, and no block barrier lies between",
            "put a gpu.barrier between the write and the read",
        ),
        Hazard::WriteAfterRead => (
            "writes what another thread reads, and no block barrier lies between",
            BARRIER_OR_SLOT,
        ),
        Hazard::WriteAfterWrite => (
            "writes what another thread writes, and no block barrier lies between",
            "put a gpu.barrier between the two writes, or let one thread write",
        ),
        Hazard::Unwritten => (
            "reads memory that nothing has written",
            "write these bytes before: let a copy or store reach as far as they are read (tile, halo, slot, guard)",
        ),
        Hazard::UnfencedWrite => (
            "goes through the asynchronous proxy to what was written through the generic one, and the writing thread \
             has executed no proxy fence between",
            "put nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>} after the \
             write (or after the wait, if it is a copy), before the barrier",
        ),
        Hazard::UnfencedRead => (
            "writes through the asynchronous proxy what was read through the generic one, and the reading thread has \
             executed no proxy fence between",
            "put nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>} after the \
             read, before the barrier",
        ),
    }
}
