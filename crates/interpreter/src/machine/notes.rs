//! Who and where a thread is, and what is noted of what it does: reports, the timeline, the trace.

use super::{Machine, Reason, Stop};
use crate::memory::{Actor, Moment};
use crate::refine::Kind;
use crate::report::{Problem, Spot};
use crate::timeline::{At, Recorder};
use crate::value::Pointer;

impl From<Spot> for At {
    fn from(spot: Spot) -> Self {
        Self {
            instr: spot.instr,
            iterations: spot.iterations,
        }
    }
}

impl Machine<'_> {
    /// The timeline, while the block that it is of runs.
    pub(super) fn timing(&mut self) -> Option<&mut Recorder> {
        self.timeline.as_mut().filter(|_| self.block == [0; 3])
    }

    /// Tells the timeline which copies thread `t` has just read the destination of.
    pub(super) fn note_reads(&mut self, t: usize) {
        let seen = std::mem::take(&mut self.memory.seen);
        let spot = self.spot(t);
        if let Some(timeline) = self.timing() {
            for id in seen {
                timeline.read(t, id, spot.into());
            }
        }
    }

    /// Tells the trace what thread `t` does.
    pub(super) fn note_step(&mut self, t: usize, kind: Kind, at: Option<(Pointer, usize)>) {
        let spot = self.spot(t);
        if let Some(trace) = &mut self.trace {
            trace.step(kind, at, spot);
        }
    }

    /// Reports the values that thread `t` has just used too early.
    pub(super) fn note_early(&mut self, t: usize) {
        if self.early.get_mut().is_empty() {
            return;
        }
        self.settle(t);
        for (copy, guard) in std::mem::take(self.early.get_mut()) {
            let spot = self.spot(t);
            let is_done = !self.code.is_host && self.memory.is_done(copy.into());
            if let Some(first) = self.added_by.get(&copy).filter(|_| is_done) {
                let problem = self.copied_accumulator(t, *first);
                self.memory.reports.problem(problem);
                continue;
            }
            let copy = if self.code.is_host {
                self.tasks.started_at(copy)
            } else {
                self.memory.issuer(copy)
            };
            let problem = match guard.accumulator {
                None => Problem::early_use(spot, copy, &guard.by),
                Some(_) => {
                    let awaitable = self.code.instrs[copy.instr as usize].op.is_awaitable();
                    Problem::early_accumulator(spot, copy, awaitable)
                }
            };
            self.memory.reports.problem(problem);
        }
    }

    /// Looks up the iterations that thread `t` is in, so that [`Machine::spot`] names them.
    pub(super) fn settle(&mut self, t: usize) {
        let thread = &mut self.threads[t];
        // Loops that the thread has left say nothing of where it is.
        let depth = self.code.instrs[thread.pc].loops.len();
        if thread.counters.len() > depth {
            thread.counters.truncate(depth);
            thread.moved = true;
        }
        if !std::mem::replace(&mut thread.moved, false) {
            return;
        }
        let counters = std::mem::take(&mut thread.counters);
        let entry = self.entry(&counters);
        let thread = &mut self.threads[t];
        (thread.counters, thread.iterations) = (counters, entry);
    }

    /// The number of iterations in the table of them.
    pub(super) fn entry(&mut self, counters: &[u32]) -> u32 {
        if let Some(known) = self.entries.get(counters) {
            return *known;
        }
        let entry = u32::try_from(self.iterations.len()).unwrap_or(u32::MAX);
        self.iterations.push(counters.into());
        self.entries.insert(counters.into(), entry);
        entry
    }

    pub(super) fn stop(&mut self, t: usize, reason: Reason) -> Stop {
        self.settle(t);
        Stop {
            spot: self.spot(t),
            reason,
            after_misread: false,
        }
    }

    /// Where a thread is.
    pub(super) fn spot(&self, t: usize) -> Spot {
        Spot {
            instr: u32::try_from(self.threads[t].pc).unwrap_or(u32::MAX),
            thread: self.first_thread + u32::try_from(t).unwrap_or(u32::MAX),
            iterations: self.threads[t].iterations,
        }
    }

    pub(super) fn moment(&self, t: usize) -> Moment {
        self.memory.moment(self.spot(t).thread, self.era)
    }

    pub(super) fn actor(&self, t: usize) -> Actor {
        Actor::plain(self.spot(t), self.moment(t))
    }
}
