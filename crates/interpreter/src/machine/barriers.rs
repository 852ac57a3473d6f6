//! Barriers of the block: those that all threads come to, and those with a number, which some of them come to.
//!
//! The latter count warps, as the PTX ISA has it: all threads of a warp come to one together, and count for 32. Who waits at one
//! is ordered after all who have come to it, waiting or not.

use super::{Machine, Reason, State, Stop, WARP};
use crate::code::NamedBarrier as Instruction;
use crate::memory::{Actor, Clock, join};
use crate::refine::Kind;
use crate::report::{Problem, Spot};
use crate::value::BufferId;

/// How many barriers a block has (PTX ISA, `barrier`: "value 0 through 15").
pub(super) const BARRIERS: usize = 16;

/// A barrier that has a number.
#[derive(Default)]
pub(super) struct NamedBarrier {
    /// How many threads a round is of, and how many have come.
    expected: usize,
    arrived: usize,
    /// The first threads of the warps that have come in this round, and in the last one.
    here: Vec<Actor>,
    last: Vec<Actor>,
    /// The threads that wait.
    waiting: Vec<usize>,
    /// What is known to those who wait.
    clock: Clock,
    /// How many rounds are complete.
    round: u64,
}

impl Machine<'_> {
    pub(super) fn next_era(&mut self) {
        self.memory.block_barrier();
        self.era = self.era.saturating_add(1);
    }

    /// Passes the barrier if all threads of the block stand at it. Returns false if nobody can go on.
    pub(super) fn pass_barrier(&mut self) -> bool {
        let named = self.named_deadlock();
        if self.deadlock() {
            return false;
        }
        let waiting: Vec<usize> = (0..self.threads.len())
            .filter(|&t| matches!(self.threads[t].state, State::Barrier | State::Block))
            .collect();
        if self.divergent_warp() || self.divergent_warpgroup() {
            return false;
        }
        if named {
            return false;
        }
        let Some(&first) = waiting.first() else {
            return false;
        };
        // Threads that have ended, or stand at another barrier, never come to this one.
        let place = |t: usize| (self.threads[t].pc, &self.threads[t].counters);
        let elsewhere = (0..self.threads.len()).find(|&t| place(t) != place(first));
        if let Some(other) = elsewhere {
            let ended = self.threads[other].state == State::Done;
            self.settle(other);
            let (at, other) = (self.spot(first), self.spot(other));
            let problem = if self.code.instrs[self.threads[first].pc].op.is_block_wide() {
                Problem::divergent_block(
                    at,
                    other,
                    ended,
                    self.code.instrs[self.threads[first].pc].op.is_bulk(),
                )
            } else {
                Problem::divergent_barrier(at, other, ended)
            };
            self.memory.reports.problem(problem);
            return false;
        }
        for &t in &waiting {
            self.check_rounds(t, 0);
        }
        let spot = self.spot(first);
        if let Some(timeline) = self.timing() {
            timeline.barrier(spot.into());
        }
        for t in waiting {
            self.note_step(t, Kind::Barrier, None);
            self.threads[t].state = State::Running;
            self.threads[t].pc += 1;
        }
        self.all_have_met();
        true
    }

    /// All threads of the block have met.
    fn all_have_met(&mut self) {
        let threads = self.first_thread..self.first_thread + self.launch.block.iter().product::<u32>();
        if let Some(trace) = &mut self.trace {
            trace.spread(threads);
        }
        self.next_era();
    }

    /// Returns true if a thread can go on.
    pub(super) fn runs(&self) -> bool {
        self.threads.iter().any(|thread| thread.state == State::Running)
    }

    /// A warp comes to a barrier that has a number: `lanes` are those of its threads that have not ended.
    pub(super) fn come_to_barrier(&mut self, lanes: &[usize], barrier: Instruction) -> Result<(), Stop> {
        let leader = lanes[0];
        let named = self.same_barrier(lanes, barrier);
        let (number, count) = named.map_err(|(t, reason)| self.stop(t, reason))?;
        let actor = self.actor(leader);
        for &t in lanes {
            self.note_step(t, Kind::Barrier, None);
            let clock = self.memory.release(self.spot(t).thread);
            join(&mut self.barriers[number].clock, &clock);
        }
        self.check_rounds(leader, number);
        let here = &mut self.barriers[number];
        let other = here.here.first().map(|other| other.spot);
        if let Some(other) = other.filter(|_| here.expected != count) {
            let problem = Problem::other_count(actor.spot, other, number, [count, here.expected]);
            self.memory.reports.problem(problem);
        } else {
            here.expected = count;
        }
        let here = &mut self.barriers[number];
        here.here.push(actor);
        here.arrived += WARP;
        let round = here.round;
        if barrier.waits {
            here.waiting.extend(lanes);
        }
        for &t in lanes {
            let thread = &mut self.threads[t];
            thread.state = if barrier.waits {
                State::Named
            } else {
                State::Running
            };
            thread.pc += usize::from(!barrier.waits);
        }
        if let Some(timeline) = self.timing() {
            timeline.arrive(leader, timeline_key(number), round, actor.spot.into());
        }
        if self.barriers[number].arrived >= self.barriers[number].expected {
            self.complete_round(number);
        }
        Ok(())
    }

    /// The number of a barrier, and how many threads a round of it is of; all threads of the warp have to name the same.
    fn same_barrier(&self, lanes: &[usize], barrier: Instruction) -> Result<(usize, usize), (usize, Reason)> {
        let all = self.threads.len().next_multiple_of(WARP);
        let named = |t: usize| {
            let number = barrier.number.map_or(Ok(0), |number| self.bits(t, number));
            let count = barrier.count.map_or(Ok(all as u64), |count| self.bits(t, count));
            Ok((
                number.map_err(|reason| (t, reason))?,
                count.map_err(|reason| (t, reason))?,
            ))
        };
        let (number, count) = named(lanes[0])?;
        for &t in lanes {
            if named(t)? != (number, count) {
                return Err((t, Reason::OtherBarrier));
            }
        }
        let place = usize::try_from(number).ok().filter(|&number| number < BARRIERS);
        let place = place.ok_or((lanes[0], Reason::BarrierNumber(number)))?;
        let threads = usize::try_from(count)
            .ok()
            .filter(|&count| count > 0 && count % WARP == 0);
        Ok((place, threads.ok_or((lanes[0], Reason::BarrierCount(count)))?))
    }

    /// Reports if thread `t`, which comes to a barrier, may be counted for its last round: it has to be after all who came then.
    fn check_rounds(&mut self, t: usize, number: usize) {
        let actor = self.actor(t);
        let warp = |actor: &Actor| (actor.spot.thread - self.first_thread) as usize / WARP;
        let mut last = self.barriers[number].last.iter();
        let unordered = last.find(|other| warp(other) != t / WARP && self.memory.unordered(**other, actor));
        if let Some(other) = unordered {
            let problem = Problem::other_round(actor.spot, other.spot, number);
            self.memory.reports.problem(problem);
        }
    }

    /// All have come to a barrier: those who wait go on.
    fn complete_round(&mut self, number: usize) {
        let barrier = &mut self.barriers[number];
        let waiting = std::mem::take(&mut barrier.waiting);
        let clock = std::mem::take(&mut barrier.clock);
        barrier.last = std::mem::take(&mut barrier.here);
        barrier.arrived = 0;
        barrier.round += 1;
        let round = barrier.round - 1;
        for &t in &waiting {
            let spot: Spot = self.spot(t);
            self.memory.acquire(spot.thread, &clock);
            if let Some(timeline) = self.timing() {
                timeline.phase_seen(t, timeline_key(number), round, &[], spot.into());
            }
            self.threads[t].state = State::Running;
            self.threads[t].pc += 1;
        }
        // What threads have done that arrived and went on is ordered after nothing.
        if waiting.len() == self.threads.len() {
            self.all_have_met();
        }
    }

    /// Reports the barriers with numbers that threads wait at, when nobody can go on. Returns true if there are any.
    fn named_deadlock(&mut self) -> bool {
        let mut any = false;
        for number in 0..BARRIERS {
            let NamedBarrier {
                waiting,
                arrived,
                expected,
                ..
            } = &self.barriers[number];
            let Some(&first) = waiting.first() else { continue };
            let (came, all) = (*arrived, *expected);
            let elsewhere = |t: &usize| !waiting.contains(t);
            let alive = |t: &usize| self.threads[*t].state != State::Done;
            let others = || (0..self.threads.len()).filter(elsewhere);
            let other = others().find(alive).or_else(|| others().next());
            if let Some(other) = other {
                self.settle(other);
            }
            let ended = other.is_some_and(|other| self.threads[other].state == State::Done);
            let other = other.map(|other| self.spot(other));
            let problem = Problem::named_deadlock(self.spot(first), other, ended, number, [came, all]);
            self.memory.reports.problem(problem);
            any = true;
        }
        any
    }
}

/// A barrier's rounds are phases on the timeline, of what is no mbarrier.
fn timeline_key(number: usize) -> (BufferId, i64) {
    (BufferId(u32::MAX), i64::try_from(number).unwrap_or(0))
}
