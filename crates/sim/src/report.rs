//! What was found.

mod bulk;
pub use bulk::MAX_TX;

use crate::value::BufferId;
use std::collections::BTreeMap;

/// A dynamic instance of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// The instruction, by number.
    pub instr: u32,
    /// The thread, counted over all blocks.
    pub thread: u32,
    /// Which iterations of the loops around it: an entry of the machine's table.
    pub iterations: u32,
}

/// What is wrong between two operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Hazard {
    /// A read of what a copy in flight writes (RAW).
    ReadInFlight,
    /// The same where the copy is another thread's, and no block barrier orders the two: it may be meant for later.
    ReadBesideCopy,
    /// A write to what a copy in flight writes (WAW).
    WriteInFlight,
    /// A copy to where a copy in flight writes (WAW).
    CopyOverCopy,
    /// A write to what a copy in flight reads (WAR).
    SourceInFlight,
    /// A read of what another thread has written, with no block barrier between (RAW).
    ReadAfterWrite,
    /// A write to what another thread has read, with no block barrier between (WAR).
    WriteAfterRead,
    /// A write to what another thread has written, with no block barrier between (WAW).
    WriteAfterWrite,
    /// A bulk copy of what a thread has written, without a proxy fence.
    UnfencedWrite,
    /// A bulk copy to where a thread has read, without a proxy fence.
    UnfencedRead,
}

impl Hazard {
    /// The short name of its kind.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::ReadInFlight | Self::ReadBesideCopy | Self::ReadAfterWrite => "RAW",
            Self::WriteInFlight | Self::CopyOverCopy | Self::WriteAfterWrite => "WAW",
            Self::SourceInFlight | Self::WriteAfterRead => "WAR",
            Self::UnfencedWrite | Self::UnfencedRead => "missing-fence",
        }
    }

    /// Who does what, and what to do about it; `blocks` says whether they are threads of different blocks, `copy` whether
    /// the earlier one is a copy.
    #[must_use]
    pub fn text(self, blocks: bool, copy: Copied) -> (&'static str, &'static str) {
        if blocks {
            return self.between_blocks();
        }
        if let Some(text) = self.behind_shared().filter(|_| copy == Copied::Together) {
            return text;
        }
        let copy = copy == Copied::Alone;
        match self {
            Self::ReadAfterWrite if copy => (
                "reads what another thread copied, and no block barrier lies between that copy's wait and this",
                "put a gpu.barrier behind the wait for the copy, before the read",
            ),
            Self::WriteAfterRead if copy => (
                "writes what another thread's copy reads, and no block barrier lies between that copy's wait and this",
                "put a gpu.barrier behind the wait for the copy, before the write, or give the buffer another slot",
            ),
            Self::WriteAfterWrite if copy => (
                "writes where another thread copied, and no block barrier lies between that copy's wait and this",
                "put a gpu.barrier behind the wait for the copy, before the write, or give the buffer another slot",
            ),
            Self::ReadInFlight => (
                "reads what an asynchronous copy has not been seen to write",
                "wait for the copy (and pass a block barrier, if another thread issued it) before reading",
            ),
            Self::ReadBesideCopy => (
                "reads where a copy of another thread writes, and no block barrier lies between",
                "put a gpu.barrier between the copy's wait and this, if it is to read what is copied; else between this \
                 and the copy",
            ),
            Self::WriteInFlight => (
                "writes where an asynchronous copy may still write",
                "wait for the copy before writing",
            ),
            Self::CopyOverCopy => (
                "copies to where another asynchronous copy may still write",
                "wait for the earlier copy first, or give the buffer another slot",
            ),
            Self::SourceInFlight => (
                "writes what an asynchronous copy may still read",
                "wait for the copy before its source changes, or give the buffer another slot",
            ),
            Self::ReadAfterWrite => (
                "reads what another thread wrote, and no block barrier lies between",
                "put a gpu.barrier between the write and the read",
            ),
            Self::WriteAfterRead => (
                "writes what another thread reads, and no block barrier lies between",
                "put a gpu.barrier between the read and the write, or give the buffer another slot",
            ),
            Self::WriteAfterWrite => (
                "writes what another thread writes, and no block barrier lies between",
                "put a gpu.barrier between the two writes, or let one thread write",
            ),
            Self::UnfencedWrite => (
                "goes through the asynchronous proxy to what was written through the generic one, and the writing thread \
                 has executed no proxy fence between",
                "put nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>} behind the \
                 write (or behind the wait, if it is a copy), before the barrier",
            ),
            Self::UnfencedRead => (
                "writes through the asynchronous proxy what was read through the generic one, and the reading thread has \
                 executed no proxy fence between",
                "put nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>} behind the \
                 read, before the barrier",
            ),
        }
    }
}

/// Nothing orders two blocks of a kernel.
const ORDER_BLOCKS: &str =
    "blocks are not ordered: let one block alone touch these bytes, use atomics, or split the kernel in two";

/// Whether an access is a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copied {
    /// It is none.
    No,
    /// The thread that issues it waits for it.
    Alone,
    /// Other threads wait for it, too.
    Together,
}

impl Hazard {
    /// What is said of those who come behind a copy that several threads may wait for.
    fn behind_shared(self) -> Option<(&'static str, &'static str)> {
        let advice =
            "wait for the copy in this thread, too, or put a gpu.barrier behind another thread's wait";
        match self {
            Self::ReadAfterWrite => Some((
                "reads what a bulk copy has written, and this thread has not seen that it is complete",
                advice,
            )),
            Self::WriteAfterWrite => Some((
                "writes where a bulk copy has written, and this thread has not seen that it is complete",
                advice,
            )),
            Self::WriteAfterRead => Some((
                "writes what a bulk copy has read, and this thread has not seen that it is done",
                advice,
            )),
            Self::ReadBesideCopy => Some((
                "reads where a bulk copy writes that another thread has issued, and nothing orders the two",
                "wait for the copy before reading, if this is to read what is copied; else let the issuing thread know \
                 that this was read: by a gpu.barrier, or an mbarrier on which this thread arrives",
            )),
            _ => None,
        }
    }

    fn between_blocks(self) -> (&'static str, &'static str) {
        let message = match self {
            Self::ReadInFlight | Self::ReadBesideCopy => "reads what a copy of another block writes",
            Self::WriteInFlight | Self::CopyOverCopy => "writes where a copy of another block writes",
            Self::SourceInFlight => "writes what a copy of another block reads",
            Self::ReadAfterWrite => "reads what another block writes",
            Self::WriteAfterRead | Self::UnfencedRead => "writes what another block reads",
            Self::WriteAfterWrite | Self::UnfencedWrite => "writes what another block writes",
        };
        (message, ORDER_BLOCKS)
    }
}

/// A race: the same two operations are reported once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// What is wrong.
    pub hazard: Hazard,
    /// The access that makes it one, the first time.
    pub now: Spot,
    /// What it collides with.
    pub before: Spot,
    /// The buffer.
    pub buffer: BufferId,
    /// The bytes, from the first to the last one of the first time.
    pub bytes: (usize, usize),
    /// How many bytes collided, in all.
    pub count: u64,
    /// The iterations in which the later access collided, the first few that differ.
    pub iterations: Vec<u32>,
    /// True if there were more of them.
    pub more: bool,
}

/// So many iterations are kept of a race.
const ITERATIONS: usize = 8;

/// Something else that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Its name, for tools.
    pub kind: &'static str,
    /// True if it does no harm.
    pub note: bool,
    /// Where.
    pub at: Spot,
    /// What else has to do with it.
    pub other: Option<Spot>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub advice: &'static str,
}

impl Problem {
    /// Threads of a block stand at a barrier that others don't come to.
    #[must_use]
    pub fn divergent_barrier(at: Spot, other: Spot, ended: bool) -> Self {
        let message = if ended {
            "some threads of the block wait at this barrier, and others have ended"
        } else if at.instr == other.instr {
            "some threads of the block wait at this barrier, and others there in another iteration"
        } else {
            "some threads of the block wait at this barrier, and others at another one"
        };
        Self {
            kind: "divergent-barrier",
            note: false,
            at,
            other: Some(other),
            message: message.into(),
            advice: "let all threads of the block reach the same barriers: take it out of the condition",
        }
    }

    /// Threads of a warp stand at an operation of the whole warp that others don't come to.
    #[must_use]
    pub fn divergent_warp(at: Spot, other: Option<Spot>) -> Self {
        Self {
            kind: "divergent-warp",
            note: false,
            at,
            other,
            message: "this is an operation of a whole warp, and not all of its threads come to it".into(),
            advice: "let all threads of the warp reach it: take it out of the condition",
        }
    }

    /// An asynchronous operation that nobody has waited for when its thread ends; `harmless` if only whoever wants to see
    /// what it writes has to.
    #[must_use]
    pub fn undrained(at: Spot, harmless: bool, committed: bool, has_token: bool) -> Self {
        let (kind, message, advice) = match (committed, harmless) {
            (false, _) if has_token => (
                "undrained",
                "the kernel ends and nobody has awaited this",
                "await its token, if anybody is to see what it copies",
            ),
            (false, _) => (
                "never-committed",
                "no group is committed behind this, so that no wait waits for it",
                "commit a group behind it, if anybody is to see what it copies",
            ),
            (true, true) => (
                "undrained",
                "the kernel ends and nobody has waited for this",
                "nothing, if nobody reads what it copies: then the copy can go",
            ),
            (true, false) => (
                "undrained",
                "the kernel ends and nobody has waited for this",
                "wait for the queue before the kernel ends",
            ),
        };
        Self {
            kind,
            note: harmless,
            at,
            other: None,
            message: message.into(),
            advice,
        }
    }

    /// A value of a region that is used before its token is complete.
    #[must_use]
    pub fn early_use(at: Spot, copy: Spot, region: &crate::code::OpLocation) -> Self {
        Self {
            kind: "early-use",
            note: false,
            at,
            other: Some(copy),
            message: format!(
                "a value of the {} at {} is used before its token is complete",
                region.op, region.location
            ),
            advice: "await the token first, or make it a dependency",
        }
    }
}

/// All that was found.
#[derive(Clone, Default, Debug)]
pub struct Reports {
    races: BTreeMap<(Hazard, u32, u32), Race>,
    problems: BTreeMap<(&'static str, u32, u32), Problem>,
}

impl Reports {
    /// Adds one byte of a race.
    pub fn race(&mut self, hazard: Hazard, now: Spot, before: Spot, buffer: BufferId, byte: usize) {
        let race = self
            .races
            .entry((hazard, now.instr, before.instr))
            .or_insert(Race {
                hazard,
                now,
                before,
                buffer,
                bytes: (byte, byte),
                count: 0,
                iterations: Vec::new(),
                more: false,
            });
        race.count += 1;
        if !race.iterations.contains(&now.iterations) {
            if race.iterations.len() < ITERATIONS {
                race.iterations.push(now.iterations);
            } else {
                race.more = true;
            }
        }
        if race.now == now && race.before == before && byte == race.bytes.1 + 1 {
            race.bytes.1 = byte;
        }
    }

    /// Adds a problem, unless it is known of the same operations.
    pub fn problem(&mut self, problem: Problem) {
        let other = problem.other.map_or(u32::MAX, |other| other.instr);
        let key = (problem.kind, problem.at.instr, other);
        self.problems.entry(key).or_insert(problem);
    }

    /// The problems, by kind and place.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.values()
    }

    /// The races, by kind and place.
    pub fn races(&self) -> impl Iterator<Item = &Race> {
        self.races.values()
    }

    /// Returns true if nothing harmful was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.races.is_empty() && self.problems.values().all(|problem| problem.note)
    }
}
