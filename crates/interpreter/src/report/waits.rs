//! What the waits of a thread have done, so that a report can say why one was not enough.

use super::{Problem, Race, Reports, Spot};
use crate::value::{BufferId, CopyId};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The last wait of a thread.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Where.
    pub at: Spot,
    /// The groups of its queue, if it waits for groups.
    pub groups: Option<Groups>,
    /// The copies of the youngest group that is complete, or all that the wait is for.
    pub copies: Arc<[CopyId]>,
    /// The number that the next copy of any thread gets.
    pub next_copy: CopyId,
}

/// The groups of a queue of one thread, after a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Groups {
    /// How many the thread has committed so far.
    pub committed: u32,
    /// How many of them are complete; with `read`, how many have read their sources.
    pub complete: u32,
}

/// The last wait of a thread that comes too early for a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waited {
    /// The wait.
    pub at: Spot,
    /// The groups of its queue, if it waits for groups.
    pub groups: Option<Groups>,
    /// The copies of the youngest group that is complete, or all that the wait is for.
    pub copies: Vec<Spot>,
    /// The thread's own instance of the copy, if it has issued one; else the copy itself, where all threads count the same groups.
    pub missed: Option<Missed>,
    /// True if the thread had issued its own instance before that.
    pub is_after_copy: bool,
}

/// A phase of an mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhaseOf {
    /// Where the mbarrier is.
    pub buffer: BufferId,
    /// At which byte.
    pub offset: i64,
    /// Which phase it is, from 0 on.
    pub phase: u64,
}

/// What a thread has done about its own instance of a copy that another thread has issued, or it itself: what one thread has waited
/// for, all have. Of a copy that it has no instance of and that was issued before what it does, its waits tell: it has, or has not,
/// come to the one by which the copy's thread has seen it complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// It issues none, and does not come to that wait.
    Never,
    /// It issues one later.
    Later,
    /// It has issued one, and not observed that it is complete.
    InFlight,
    /// It has observed that.
    Complete,
}

/// A wait of a thread: its operation, and how often the thread had come to it by then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NthWait {
    /// The instruction.
    pub instr: u32,
    /// 1 for the first time.
    pub times: u32,
}

/// What is known of the waits of a thread for a copy.
#[derive(Clone, Debug)]
pub struct CopyWaits {
    /// What it has done about its own instance.
    pub own: Own,
    /// Its last wait.
    pub last: Option<Waited>,
    /// The wait by which the thread of the copy has seen it complete, if the copy was issued before what the thread does now.
    pub completed_by: Option<NthWait>,
    /// The phase that the copy completes on.
    pub phase: Option<PhaseOf>,
    /// The instruction that had written what the copy overwrites, if nobody had read that, and the copy was issued before what the
    /// thread does now.
    pub over: Option<u32>,
}

/// Where a copy is that a wait does not complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missed {
    /// In the group of this number of its queue, from 0 on.
    Group(u32),
    /// In no group.
    Uncommitted,
}

/// A wait for an mbarrier that waited for nothing: the last phase was complete, and the thread went on after it before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaleWait {
    /// The wait.
    pub at: Spot,
    /// The wait of the same thread that has passed on the same phase before, if there is one.
    pub before: Option<Spot>,
    /// The phase that was complete; the one before the first is none.
    pub phase: Option<u64>,
    /// What to call the mbarrier.
    pub mbarrier: Arc<str>,
}

impl Waited {
    pub(super) fn in_iterations(self, entries: &[u32]) -> Self {
        let copies = self.copies.into_iter();
        Self {
            at: self.at.in_iterations(entries),
            copies: copies.map(|copy| copy.in_iterations(entries)).collect(),
            ..self
        }
    }
}

/// The waits of all threads of the block that runs.
#[derive(Clone, Default, Debug)]
pub(super) struct Waits {
    /// The last wait of each thread.
    last: HashMap<u32, Wait>,
    /// How often each thread has come to each operation that waits: by thread and instruction.
    times: FxHashMap<(u32, u32), u32>,
    /// By the operation of a copy, and a thread that should have waited for it.
    stale: BTreeMap<(u32, u32), StaleWait>,
    /// The threads whose last wait for an mbarrier let them go on once more after a phase.
    relying: HashMap<u32, StaleWait>,
    /// The operations that such threads have executed.
    relied: HashMap<(u32, u32), StaleWait>,
}

impl Reports {
    /// Notes that a thread passes a wait or an await.
    pub fn wait(&mut self, wait: Wait) {
        *self
            .waits
            .times
            .entry((wait.at.thread, wait.at.instr))
            .or_default() += 1;
        self.waits.last.insert(wait.at.thread, wait);
    }

    /// How often a thread has come to a wait.
    pub(crate) fn times_waited(&self, thread: u32, instr: u32) -> u32 {
        self.waits.times.get(&(thread, instr)).copied().unwrap_or(0)
    }

    /// The last wait of a thread.
    pub(crate) fn last_wait(&self, thread: u32) -> Option<&Wait> {
        self.waits.last.get(&thread)
    }

    /// Notes that the thread of `wait` has not waited for the copy `copy`.
    pub fn stale_wait(&mut self, wait: &StaleWait, copy: Spot) {
        let key = (copy.instr, wait.at.thread);
        self.waits.stale.entry(key).or_insert_with(|| wait.clone());
    }

    /// Notes that a thread has seen a copy land: waits before are of no account.
    pub fn seen(&mut self, thread: u32, copy: Spot) {
        self.waits.stale.remove(&(copy.instr, thread));
    }

    /// Notes that `thread` passes a wait for an mbarrier, and goes on once more after the same phase if it is `stale`.
    pub fn pass(&mut self, thread: u32, stale: Option<StaleWait>) {
        match stale {
            Some(stale) => self.waits.relying.insert(thread, stale),
            None => self.waits.relying.remove(&thread),
        };
    }

    /// The threads of the block pass a barrier, which orders them whatever they have waited for.
    pub fn block_barrier(&mut self) {
        self.waits.relying.clear();
    }

    /// Notes what a thread does, if the wait before it waited for nothing.
    pub fn rely(&mut self, spot: Spot) {
        // Nobody does in a correct kernel.
        if self.waits.relying.is_empty() && self.waits.relied.is_empty() {
            return;
        }
        let key = (spot.instr, spot.thread);
        match self.waits.relying.get(&spot.thread) {
            Some(stale) => self.waits.relied.insert(key, stale.clone()),
            None => self.waits.relied.remove(&key),
        };
    }

    /// The wait that waited for nothing, and that what a thread does now relies on.
    pub fn relies_on(&self, thread: u32) -> Option<&StaleWait> {
        self.waits.relying.get(&thread)
    }

    /// The wait that waited for nothing, and that lets `now` come too early or too late to `before`.
    pub(super) fn blame(&self, now: Spot, before: Spot) -> Option<&StaleWait> {
        let Waits { stale, relied, .. } = &self.waits;
        let should_have_waited = stale
            .get(&(before.instr, now.thread))
            .or_else(|| stale.get(&(now.instr, before.thread)));
        should_have_waited
            .or_else(|| self.relies_on(now.thread))
            .or_else(|| relied.get(&(before.instr, before.thread)))
    }

    /// Adds a problem of what a thread does now with an mbarrier, and the wait that it relies on and that waited for nothing.
    pub fn problem_after_waits(&mut self, problem: Problem) {
        if let Some(stale) = self.relies_on(problem.at.thread).cloned() {
            self.problem(Problem::passes_at_once(&stale));
        }
        self.problem(problem);
    }

    /// Notes of races what the later thread has done about its own instance of the copy, where that shows afterwards.
    pub fn note_behind(&mut self, behind: impl Fn(&Race) -> Option<Own>) {
        let waits = std::mem::take(&mut self.waits.times);
        for race in self.races.values_mut().filter(|race| race.own == Own::Never) {
            let comes_to = |wait: NthWait| {
                let times = waits.get(&(race.now.thread, wait.instr));
                times.is_some_and(|times| *times >= wait.times)
            };
            if let Some(own) = behind(race) {
                race.own = own;
            } else if race.completed_by.is_some_and(comes_to) {
                race.own = Own::InFlight;
            }
        }
    }

    /// A block has ended, and nobody has waited for the mbarrier at a byte of `buffer`.
    pub fn nobody_waits(&mut self, buffer: BufferId, offset: i64) {
        for race in self.races.values_mut() {
            let phase = race.phase.as_ref();
            race.unawaited |= phase.is_some_and(|of| (of.buffer, of.offset) == (buffer, offset));
        }
    }

    /// A block has ended: its threads access nothing any more.
    pub fn forget_waits(&mut self) {
        self.waits = Waits::default();
    }
}
