//! Vector clocks: what threads know of each other's arrivals.
//!
//! A thread that learns of an arrival knows two things: that all the arriving thread did in memory before is done, and that this
//! thread has come so far, past all waits before. An arrival that is put off until copies have landed says the second alone.

use rustc_hash::FxHashMap;

/// How many arrivals of each thread of the block are known; nothing is known of the threads after the end of either list.
#[derive(Clone, Default, Debug)]
pub struct Clock {
    /// Those before which all is done.
    done: Vec<u32>,
    /// Those that the threads have come to; nothing where all are of the other kind.
    passed: Vec<u32>,
}

impl Clock {
    /// Nothing is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only how far threads have come.
    pub(super) fn without_memory(self) -> Self {
        let done = Vec::new();
        Self { done, ..self }
    }
}

/// Adds what another clock knows.
pub fn join(clock: &mut Clock, other: &Clock) {
    join_list(&mut clock.done, &other.done);
    join_list(&mut clock.passed, &other.passed);
}

fn join_list(list: &mut Vec<u32>, other: &[u32]) {
    if list.len() < other.len() {
        list.resize(other.len(), 0);
    }
    for (known, other) in list.iter_mut().zip(other) {
        *known = (*known).max(*other);
    }
}

/// The clocks of the block that runs.
#[derive(Clone, Default, Debug)]
pub(super) struct Clocks {
    releases: Vec<u32>,
    acquired: FxHashMap<u32, Clock>,
}

impl Clocks {
    /// How often a thread has arrived, by its number in the block.
    pub(super) fn releases(&self, inside: usize) -> u32 {
        self.releases.get(inside).copied().unwrap_or(0)
    }

    /// A thread arrives: returns what whoever learns of that knows. Where it `passes`, some arrivals are put off.
    pub(super) fn release(&mut self, thread: u32, inside: usize, passes: bool) -> Clock {
        if self.releases.len() <= inside {
            self.releases.resize(inside + 1, 0);
        }
        self.releases[inside] += 1;
        let mut clock = self.acquired.get(&thread).cloned().unwrap_or_default();
        let set = |list: &mut Vec<u32>| {
            if list.len() <= inside {
                list.resize(inside + 1, 0);
            }
            list[inside] = self.releases[inside];
        };
        set(&mut clock.done);
        if passes {
            set(&mut clock.passed);
        }
        clock
    }

    /// A thread learns of arrivals.
    pub(super) fn acquire(&mut self, thread: u32, clock: &Clock) {
        join(self.acquired.entry(thread).or_default(), clock);
    }

    /// The last arrival of a thread of which another one knows that all before it is done.
    pub(super) fn done(&self, by: u32, inside: usize) -> u32 {
        let clock = self.acquired.get(&by);
        clock
            .and_then(|clock| clock.done.get(inside).copied())
            .unwrap_or(0)
    }

    /// The last arrival of a thread of which another one knows that the thread has come to it.
    pub(super) fn passed(&self, by: u32, inside: usize) -> u32 {
        let clock = self.acquired.get(&by);
        clock
            .and_then(|clock| clock.passed.get(inside).copied())
            .unwrap_or(0)
    }
}
