//! What was found.

mod adopt;
mod bulk;
mod waits;
mod warpgroup;
mod warps;

pub use self::bulk::MAX_TX;
use self::waits::Waits;
pub use self::waits::{CopyWaits, Groups, Missed, NthWait, Own, PhaseOf, StaleWait, Wait, Waited};
pub use self::warpgroup::Unfenced;

use crate::value::BufferId;
use std::collections::BTreeMap;
use std::ops::Range;

/// A dynamic instance of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Spot {
    /// The instruction, by number.
    pub instr: u32,
    /// The thread, counted over all blocks.
    pub thread: u32,
    /// Which iterations of the loops around it: an entry of the machine's table.
    pub iterations: u32,
}

impl Spot {
    /// The same where entry `i` of the table of iterations is `entries[i]`.
    pub(crate) fn in_iterations(self, entries: &[u32]) -> Self {
        Self {
            iterations: entries[self.iterations as usize],
            ..self
        }
    }
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
    /// The same where the copy is another thread's, and no block barrier orders the two: it may be meant for this.
    SourceBesideCopy,
    /// A read of what another thread has written, with no block barrier between (RAW).
    ReadAfterWrite,
    /// A write to what another thread has read, with no block barrier between (WAR).
    WriteAfterRead,
    /// A write to what another thread has written, with no block barrier between (WAW).
    WriteAfterWrite,
    /// A read of what nobody has written.
    Unwritten,
    /// A bulk copy of what a thread has written, without a proxy fence.
    UnfencedWrite,
    /// A bulk copy to where a thread has read, without a proxy fence.
    UnfencedRead,
}

impl Hazard {
    /// Returns true if what is read may be anything.
    fn is_of_read(self) -> bool {
        self.kind() == "RAW" || self == Self::Unwritten
    }

    /// The short name of its kind.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::ReadInFlight | Self::ReadBesideCopy | Self::ReadAfterWrite => "RAW",
            Self::WriteInFlight | Self::CopyOverCopy | Self::WriteAfterWrite => "WAW",
            Self::SourceInFlight | Self::SourceBesideCopy | Self::WriteAfterRead => "WAR",
            Self::Unwritten => "uninitialized-read",
            Self::UnfencedWrite | Self::UnfencedRead => "missing-fence",
        }
    }
}

/// A race: the same two operations are reported once.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not exclude each other.
pub struct Race {
    /// What is wrong.
    pub hazard: Hazard,
    /// The access that makes it one, the first time.
    pub now: Spot,
    /// What it collides with; of a read of what nobody has written, the copy that comes nearest to it, if there is one.
    pub before: Option<Spot>,
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
    /// What the later thread has done about its own instance of the earlier copy.
    pub own: Own,
    /// The phase that the earlier copy completes on.
    pub phase: Option<PhaseOf>,
    /// The wait by which the thread of the earlier copy has seen it complete, if the copy was issued before the later access.
    pub completed_by: Option<NthWait>,
    /// The instruction that had written what the earlier copy overwrites, if nobody had read that, and the copy was issued before the
    /// later access.
    pub over: Option<u32>,
    /// True if the earlier access read what nobody had written.
    pub found_nothing: bool,
    /// True if nobody waits for the mbarrier of that phase.
    pub unawaited: bool,
    /// The last wait of the later thread before that, the first time.
    pub last_wait: Option<Waited>,
    /// A wait of one of the two threads that waited for nothing, and should have kept them apart.
    pub stale_wait: Option<StaleWait>,
    /// Of a read of what nobody had written: true if nobody wrote it after that, either.
    pub never_written: bool,
}

/// So many iterations are kept of a race.
const ITERATIONS: usize = 8;

impl Race {
    /// Notes iterations in which the later access collided.
    fn seen_in(&mut self, iterations: u32) {
        if self.iterations.contains(&iterations) {
            return;
        }
        if self.iterations.len() < ITERATIONS {
            self.iterations.push(iterations);
        } else {
            self.more = true;
        }
    }
}

/// Something else that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Its name, for tools.
    pub kind: &'static str,
    /// True if it does no harm.
    pub note: bool,
    /// Of problems with one cause, those with less are more fundamental.
    pub rank: u64,
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
            rank: 0,
            at,
            other: Some(other),
            message: message.into(),
            advice: "let all threads of the block reach the same barriers: take it out of the condition",
        }
    }

    /// Threads of a block stand at a barrier, and others wait for an mbarrier forever.
    #[must_use]
    pub fn barrier_beside_mbarrier(at: Spot, other: Spot) -> Self {
        Self {
            kind: "divergent-barrier",
            note: false,
            rank: 0,
            at,
            other: Some(other),
            message: "some threads of the block wait at this barrier, and others for an mbarrier".into(),
            advice: "if only some threads come to the barrier, as in a role, take it out; else complete the phase that the \
                     others wait for",
        }
    }

    /// An operation of host code that is not for such a buffer.
    #[must_use]
    pub fn misuse(at: Spot, message: String, advice: &'static str) -> Self {
        Self {
            kind: "misuse",
            note: false,
            rank: 0,
            at,
            other: None,
            message,
            advice,
        }
    }

    /// A device operation that was to fail, and where that ends the program.
    #[must_use]
    pub fn failed_call(at: Spot, call: u64, awaited: Option<Spot>) -> Self {
        Self {
            kind: "failed-call",
            note: false,
            rank: 0,
            at,
            other: awaited,
            message: format!("fails as call {call} of the device, as it was told to"),
            advice: "",
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
                "no group is committed after this, so that no wait waits for it",
                "commit a group after it, if anybody is to see what it copies",
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
            rank: 0,
            at,
            other: None,
            message: message.into(),
            advice,
        }
    }

    /// The life of a buffer that ends while another task may still access it.
    #[must_use]
    pub fn freed_early(at: Spot, access: Spot, buffer: &str) -> Self {
        Self {
            kind: "use-after-free",
            note: false,
            rank: 0,
            at,
            other: Some(access),
            message: format!(
                "ends the life of {buffer}, and nothing orders the access of another task before that"
            ),
            advice: "await the token of that task before this",
        }
    }

    /// A value of a region that is used before its token is complete.
    #[must_use]
    pub fn early_use(at: Spot, copy: Spot, region: &crate::code::OpLocation) -> Self {
        Self {
            kind: "early-use",
            note: false,
            rank: 0,
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
    races: BTreeMap<(Hazard, u32, Option<u32>), Race>,
    problems: BTreeMap<(&'static str, u32, u32), Problem>,
    waits: Waits,
    /// The last thread that has read something too early, or that nobody had written.
    misread: Option<u32>,
}

impl Reports {
    /// Adds some bytes of a race. Returns true if it is the first one between the two operations.
    pub fn race(
        &mut self,
        hazard: Hazard,
        now: Spot,
        before: Option<Spot>,
        buffer: BufferId,
        bytes: &Range<usize>,
    ) -> bool {
        let mut first = false;
        if hazard.is_of_read() {
            self.misread = Some(now.thread);
        }
        let race = self
            .races
            .entry((hazard, now.instr, before.map(|before| before.instr)))
            .or_insert_with(|| {
                first = true;
                Race {
                    hazard,
                    now,
                    before,
                    buffer,
                    bytes: (bytes.start, bytes.end - 1),
                    count: 0,
                    iterations: Vec::new(),
                    more: false,
                    own: Own::Never,
                    phase: None,
                    completed_by: None,
                    over: None,
                    found_nothing: false,
                    unawaited: false,
                    last_wait: None,
                    stale_wait: None,
                    never_written: true,
                }
            });
        race.count += bytes.len() as u64;
        race.seen_in(now.iterations);
        if race.now == now && race.before == before && bytes.start == race.bytes.1 + 1 {
            race.bytes.1 = bytes.end - 1;
        }
        first
    }

    /// Notes of a race whether the later thread has observed its own instance of the earlier copy, and what it last waited for.
    /// Only threads of the same block can wait for each other.
    pub fn note_waits(
        &mut self,
        hazard: Hazard,
        (now, before): (Spot, Spot),
        waits: CopyWaits,
        same_block: bool,
    ) {
        let fence = matches!(hazard, Hazard::UnfencedWrite | Hazard::UnfencedRead);
        let stale_wait = self.blame(now, before).filter(|_| same_block && !fence).cloned();
        if let Some(stale) = &stale_wait {
            self.problem(Problem::passes_at_once(stale));
        }
        if let Some(race) = self.races.get_mut(&(hazard, now.instr, Some(before.instr))) {
            (race.own, race.last_wait) = (waits.own, waits.last);
            (race.phase, race.over) = (waits.phase, waits.over);
            race.completed_by = waits.completed_by;
            race.stale_wait = stale_wait;
        }
    }

    /// Notes of a race that what was read before had been written by nobody.
    pub fn found_nothing(&mut self, hazard: Hazard, now: Spot, before: Spot) {
        if let Some(race) = self.races.get_mut(&(hazard, now.instr, Some(before.instr))) {
            race.found_nothing = true;
        }
    }

    /// The reads of what nobody had written in `buffer`.
    pub fn unwritten_in(&mut self, buffer: BufferId) -> impl Iterator<Item = &mut Race> {
        let races = self.races.values_mut();
        races.filter(move |race| race.hazard == Hazard::Unwritten && race.buffer == buffer)
    }

    /// Returns true if a thread of the last block, whose first one this is, has read something too early, or that nobody had written.
    #[must_use]
    pub fn misread(&self, first_thread: u32) -> bool {
        self.misread.is_some_and(|thread| thread >= first_thread)
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

    /// What is known of reads by the operation of `now` of what nobody has written.
    #[must_use]
    pub fn unwritten(&self, now: Spot) -> Option<&Race> {
        let of_op = (Hazard::Unwritten, now.instr, None)..=(Hazard::Unwritten, now.instr, Some(u32::MAX));
        self.races.range(of_op).map(|(_, race)| race).next()
    }

    /// The races, by kind and place.
    pub fn races(&self) -> impl Iterator<Item = &Race> {
        self.races.values()
    }

    /// Returns true if nothing was found at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.races.is_empty() && self.problems.is_empty()
    }

    /// Returns true if nothing harmful was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.races.is_empty() && self.problems.values().all(|problem| problem.note)
    }
}
