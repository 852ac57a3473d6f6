//! What reports say of races, and what to do about them.

use crate::report::Hazard;

/// What is said of a race: its message, and what to do.
pub(super) type Text = (&'static str, &'static str);

/// Nothing orders two blocks of a kernel.
pub(super) const ORDER_BLOCKS: &str =
    "blocks are not ordered: let one block alone touch these bytes, use atomics, or split the kernel in two";
pub(super) const WAIT_EARLIER: &str =
    "wait for the copy before this, or let the wait there leave fewer groups in flight";
pub(super) const WAIT_FOR_WRITES: &str = "wait for the copy before this: the wait there waits until sources are read (`read`), and not for what is written";
pub(super) const WAIT: &str = "wait for the copy before this";
pub(super) const TRACK: &str = "wait for the copy's group before its thread arrives, or let that arrive by nvvm.cp.async.mbarrier.arrive: the phase \
     that is waited for there does not track the copy";
pub(super) const AWAIT_TOKEN: &str =
    "await the token of that copy before this: the await there is of other tokens";
pub(super) const COMMIT: &str =
    "commit a group between the copy and the wait: the wait is for groups, and the copy was in none";
pub(super) const WAIT_AFTER: &str = "wait for the copy between it and this: the wait there comes before the copy. If this is to read what an earlier copy \
     has brought, let it, or the copy, go to another slot";
pub(super) const BARRIER_AFTER_WAIT: &str = "put a gpu.barrier after the wait for the copy, before this";
pub(super) const BARRIER_OR_SLOT: &str = "put a gpu.barrier between the two, or give the buffer another slot";

/// Returns true if an advice is to wait for the copy, and can be said better where more is known of it.
pub(super) fn is_to_wait(advice: &str) -> bool {
    [WAIT_EARLIER, WAIT, TRACK].contains(&advice)
}

/// What is said of two threads that write one place together.
pub(super) const OVERLAP: Text = (
    "writes where another thread writes by the same operation: the addresses of the two overlap",
    "let an index tell the threads apart (thread, row, column), or let one thread alone write here",
);

/// What is said of one thread that does so.
pub(super) const TWICE: Text = (
    "writes these bytes twice, in no order: two of its matrices go to the same place",
    "give each matrix rows of its own: lane 8m + r has the address of row r of matrix m",
);

/// What is said of a copy that took the place of an earlier one.
pub(super) const WRONG_SLOT: Text = (
    "reads where a later copy writes already: what an earlier copy brought there has not been read",
    "let one of the copies go to another slot: compare its index, and what that is taken modulo, with the index here",
);

/// What to do where either may be meant to come first.
pub(super) const EITHER_ORDER: &str = "put a gpu.barrier between the two, after the one that is to come first; if that is the read, another slot does, too";

/// What is said where the reader ran first.
pub(super) const READ_EARLY: Text = (
    "writes what another thread has read before, when nothing was there, and no block barrier lies between",
    "put a gpu.barrier after the write, before the read",
);
pub(super) const COPIED_LATE: Text = (
    "copies to where another thread has read before, when nothing was there, and nothing orders the two",
    "wait for the copy and put a gpu.barrier after that wait, before the read",
);

/// What is said where a wait passed too early.
pub(super) const PARITY: Text = (
    "accesses what a bulk copy writes, and the wait for it passed on a phase that was complete before: it waits for the \
     parity of the last phase",
    "wait for the other parity: 0 for the first phase of an mbarrier, and the other one each time it is used again",
);

/// What is said of a bulk copy to a slot that is still read.
pub(super) const FILLED_EARLY: Text = (
    "writes what another thread reads, and nothing orders the two",
    "let whoever issues it know that this was read: by a gpu.barrier, or an mbarrier on which readers arrive after they \
     have read; or give the buffer another slot",
);

/// What is said of those who come after a copy that several threads may wait for.
pub(super) fn after_shared(hazard: Hazard) -> Option<Text> {
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
pub(super) fn after_multiplication(hazard: Hazard) -> Option<Text> {
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

pub(super) fn between_blocks(hazard: Hazard) -> Text {
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

pub(super) fn between_tasks(hazard: Hazard) -> Text {
    let message = match hazard.kind() {
        "RAW" => "reads what another task writes, and nothing orders the two",
        "WAR" => "writes what another task reads, and nothing orders the two",
        _ => "writes what another task writes, and nothing orders the two",
    };
    (
        message,
        "await the token of the one that is to come first, or make it a dependency of the other",
    )
}

pub(super) fn plain(hazard: Hazard) -> Text {
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
