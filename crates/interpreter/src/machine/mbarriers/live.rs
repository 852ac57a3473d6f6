//! What is known of an mbarrier between its initialization and its end.

use super::waits::Wait;
use crate::memory::{Actor, Clock, Moment};
use crate::report::{Spot, StaleWait};
use crate::value::CopyId;
use std::collections::BTreeMap;

/// That a thread has gone on after a phase.
#[derive(Clone, Copy)]
pub(in crate::machine) struct Seen {
    /// Which one; the one before the first is none.
    pub phase: Option<u64>,
    /// The wait.
    pub at: Spot,
    /// How far the thread was.
    pub progress: Progress,
}

/// How far a thread is, as far as others may know: what it has passed, arrived on, and issued.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::machine) struct Progress {
    pub moment: Moment,
    pub issued: u32,
}

/// An mbarrier.
pub(in crate::machine) struct Live {
    pub init: Actor,
    /// When its thread has executed a fence after the initialization.
    pub fenced: Option<Actor>,
    /// The arrivals that make a phase, and those that are missing.
    pub expected: i64,
    pub pending: i64,
    /// The bytes that the phase expects, less those that have landed.
    pub tx: i64,
    /// How many phases are complete.
    pub phase: u64,
    /// What will land in this phase, and how many bytes.
    pub flights: Vec<(CopyId, i64)>,
    /// What has landed in the last one.
    pub landed: Vec<CopyId>,
    /// What is known to those who see this phase complete, and the last one.
    pub arriving: Clock,
    pub arrived: Clock,
    /// The arrivals of this phase, and of the last one.
    pub arrivals: [Vec<Actor>; 2],
    /// Who has waited for the last phase.
    pub waiters: Vec<Actor>,
    /// Those of them who are not known to have done so to those who make this one complete.
    pub waits: Vec<Wait>,
    /// The last phase that each thread has seen complete.
    pub seen: BTreeMap<u32, Seen>,
    /// Each thread's last wait, if it waited for nothing.
    pub stale: BTreeMap<u32, StaleWait>,
    /// The last use by each thread.
    pub uses: BTreeMap<u32, Actor>,
    /// What was done last for its phase, but for the loads.
    pub armed: Spot,
    /// True if anybody has waited for it, or tested it.
    pub awaited: bool,
    /// True if something is wrong with its phases, and was reported.
    pub broken: bool,
}

impl Live {
    pub fn new(init: Actor, expected: i64) -> Self {
        Self {
            init,
            fenced: None,
            expected,
            pending: expected,
            tx: 0,
            phase: 0,
            flights: Vec::new(),
            landed: Vec::new(),
            arriving: Clock::new(),
            arrived: Clock::new(),
            arrivals: [Vec::new(), Vec::new()],
            waiters: Vec::new(),
            waits: Vec::new(),
            seen: BTreeMap::new(),
            stale: BTreeMap::new(),
            uses: BTreeMap::new(),
            armed: init.spot,
            awaited: false,
            broken: false,
        }
    }

    /// The bytes that are in flight.
    pub fn flying(&self) -> i64 {
        self.flights.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The bytes that the phase expects and that are not in flight; less than 0 if more are.
    pub fn left(&self) -> i64 {
        self.tx - self.flying()
    }

    /// Returns true if the phase is complete as soon as all that is in flight has landed.
    pub fn can_complete(&self) -> bool {
        self.pending == 0 && self.tx == self.flying()
    }

    /// Begins the next phase. Returns a thread that may miss that this one was complete before the last one it waited for.
    pub fn complete(&mut self) -> Option<Actor> {
        self.landed = self.flights.drain(..).map(|(id, _)| id).collect();
        self.arrived = std::mem::take(&mut self.arriving);
        (self.pending, self.tx) = (self.expected, 0);
        self.phase += 1;
        self.arrivals.swap(0, 1);
        self.arrivals[0].clear();
        self.waiters.clear();
        self.waits.drain(..).next().map(|wait| wait.by)
    }
}
