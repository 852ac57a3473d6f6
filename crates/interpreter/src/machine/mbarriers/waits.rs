//! Who waits for phases: who goes on, and who never will.

use super::{Key, MBarrier, Machine, Progress, Reason, Seen, State};
use crate::code::{MBarrierOp, Op, Phase};
use crate::machine::Stop;
use crate::machine::Thread;
use crate::memory::Actor;
use crate::report::{Problem, StaleWait};
use crate::value::{CopyId, Pending, Value};
use std::ops::Range;
use std::sync::Arc;

/// So often threads may test phases in vain while nobody else can go on: then they wait.
const TESTS: u32 = 1 << 14;

/// A thread that has waited for a phase.
pub(in crate::machine) struct Wait {
    pub by: Actor,
    /// The threads of its warpgroup where they came to one instruction after that: whoever comes after one of them there comes
    /// after the wait, though not after what the thread did in memory.
    met: Option<Arc<[Actor]>>,
}

impl Machine<'_> {
    /// The threads of a warpgroup come to one instruction.
    pub(in crate::machine) fn waits_meet(&mut self, all: &Range<usize>) {
        if self.mbarriers.is_empty() {
            return;
        }
        let actors: Arc<[Actor]> = all.clone().map(|t| self.actor(t)).collect();
        let first = actors[0].spot.thread;
        let members = first..first + u32::try_from(actors.len()).unwrap_or(0);
        for mbarrier in self.mbarriers.values_mut() {
            let MBarrier::Live(live) = mbarrier else { continue };
            let waits = live.waits.iter_mut();
            for wait in waits.filter(|wait| members.contains(&wait.by.spot.thread)) {
                wait.met.get_or_insert_with(|| Arc::clone(&actors));
            }
        }
    }

    /// What comes next for a phase lies after these waits for the last one.
    pub(super) fn after_waits(&mut self, t: usize, key: Key) {
        let actor = self.actor(t);
        let Some(live) = self.get(key) else { return };
        let mut waits = std::mem::take(&mut live.waits);
        // Many waits have met at one instruction.
        let mut last: Option<(Arc<[Actor]>, bool)> = None;
        waits.retain(|wait| {
            if !self.memory.may_come_later(wait.by, actor) {
                return false;
            }
            let Some(met) = &wait.met else { return true };
            let known = last.as_ref().filter(|(actors, _)| Arc::ptr_eq(actors, met));
            let after = known.map_or_else(
                || met.iter().any(|one| !self.memory.may_come_later(*one, actor)),
                |(_, after)| *after,
            );
            last = Some((Arc::clone(met), after));
            !after
        });
        if let Some(live) = self.get(key) {
            live.waits = waits;
        }
    }

    /// Lets thread `t` pass what it stands at, if it may. Returns false if not.
    pub(super) fn passes(&mut self, t: usize, key: Key, does: MBarrierOp) -> Result<bool, Reason> {
        let (parity, token) = match does {
            MBarrierOp::Wait { parity } => (Some(self.bits(t, parity)? & 1), None),
            MBarrierOp::Test { phase, .. } => match phase {
                Phase::Parity(parity) => (Some(self.bits(t, parity)? & 1), None),
                Phase::Token(token) => (None, Some(self.bits(t, token)?)),
            },
            _ => (None, None),
        };
        if let MBarrierOp::Test { to, .. } = does {
            self.set(t, to, Value::flag(true));
        }
        let thread = self.spot(t).thread;
        let Some(live) = self.get(key) else {
            return Ok(true);
        };
        if Some(live.phase & 1) == parity || token.is_some_and(|token| live.phase <= token) {
            return Ok(false);
        }
        // The phase before the first counts as complete.
        let phase = live.phase.checked_sub(1);
        let last = live.seen.get(&thread).filter(|seen| seen.phase == phase).copied();
        if phase.is_some() {
            self.see(t, key);
        }
        self.judge(t, key, (phase, last), parity.is_some());
        Ok(true)
    }

    /// Thread `t` has passed a wait after `phase`, as it had before in `last`: notes if that may have waited for nothing.
    /// That is not known of tests of a token, which says what phase is meant.
    fn judge(&mut self, t: usize, key: Key, (phase, last): (Option<u64>, Option<Seen>), by_parity: bool) {
        let (at, progress) = (self.spot(t), self.progress(t));
        // A thread that has done nothing since waits for the same once more.
        let again = last.filter(|last| last.progress != progress);
        let stale = (by_parity && (phase.is_none() || again.is_some())).then(|| StaleWait {
            at,
            before: again.map(|last| last.at),
            phase,
            mbarrier: self.called(key).into(),
        });
        self.memory
            .reports
            .pass(at.thread, stale.clone().filter(|_| again.is_some()));
        let Some(live) = self.get(key) else { return };
        if again.is_some() || last.is_none() {
            live.seen.insert(at.thread, Seen { phase, at, progress });
        }
        let flights: Vec<CopyId> = live.flights.iter().map(|(id, _)| *id).collect();
        match &stale {
            Some(stale) => live.stale.insert(at.thread, stale.clone()),
            None => live.stale.remove(&at.thread),
        };
        for (stale, id) in stale
            .iter()
            .flat_map(|stale| flights.iter().map(move |id| (stale, id)))
        {
            let copy = self.memory.issuer(*id);
            self.memory.reports.stale_wait(stale, copy);
        }
    }

    /// How far thread `t` is, as other threads may know.
    fn progress(&self, t: usize) -> Progress {
        Progress {
            moment: self.moment(t),
            issued: self.threads[t].issued,
        }
    }

    /// Thread `t` sees that the last phase is complete.
    fn see(&mut self, t: usize, key: Key) {
        let thread = self.spot(t).thread;
        let Some(live) = self.get(key) else { return };
        let (landed, clock) = (live.landed.clone(), live.arrived.clone());
        let phase = live.phase - 1;
        self.memory.acquire(thread, &clock);
        let spot = self.spot(t);
        if let Some(timeline) = self.timing() {
            timeline.phase_seen(t, key, phase, &landed, spot.into());
        }
        for &id in &landed {
            let copy = self.memory.issuer(id);
            self.memory.reports.seen(thread, copy);
        }
        let landed: Vec<Pending> = landed.into_iter().map(Pending::from).collect();
        self.observe(t, &landed, None);
        let actor = self.actor(t);
        if let Some(live) = self.get(key) {
            live.waits.retain(|wait| wait.by.spot.thread != thread);
            live.waits.push(Wait { by: actor, met: None });
            live.waiters.push(actor);
        }
    }

    /// Threads whose phase is complete go on; if there are none, what they wait for lands. Whoever only tests goes on in any case,
    /// unless all did so too often. Returns false if nothing helps.
    pub(in crate::machine) fn wake(&mut self) -> Result<bool, Stop> {
        let mut any = false;
        let waiting = self.standing();
        for &(t, key, does) in &waiting {
            let passes = self.passes(t, key, does).map_err(|reason| self.stop(t, reason))?;
            if passes {
                self.goes_on(t);
                any = true;
            }
        }
        if any {
            self.vain_tests = 0;
            return Ok(true);
        }
        for &(_, key, _) in &waiting {
            if self.get(key).is_some_and(|live| live.can_complete()) {
                self.complete_phase(key);
                any = true;
            }
        }
        if any {
            self.vain_tests = 0;
            return Ok(true);
        }
        if self.vain_tests >= TESTS {
            return Ok(false);
        }
        self.vain_tests += 1;
        // Whoever only tests may do something else now.
        for (t, _, does) in waiting {
            if let MBarrierOp::Test { to, .. } = does {
                self.set(t, to, Value::flag(false));
                self.goes_on(t);
                any = true;
            }
        }
        Ok(any)
    }

    fn goes_on(&mut self, t: usize) {
        self.threads[t].state = State::Running;
        self.threads[t].pc += 1;
    }

    /// The threads that stand at an mbarrier, which one, and what for.
    fn standing(&self) -> Vec<(usize, Key, MBarrierOp)> {
        let code = self.code;
        let threads = (0..self.threads.len()).filter(|&t| self.threads[t].state == State::MBarrier);
        threads
            .filter_map(|t| match code.instrs[self.threads[t].pc].op {
                Op::MBarrier { slot, does } => Some((t, self.slot(t, slot).ok()?, does)),
                _ => None,
            })
            .collect()
    }

    /// Reports the threads that wait for phases that nothing can complete. Returns true if there are any.
    pub(in crate::machine) fn deadlock(&mut self) -> bool {
        let waiting = self.standing();
        for &(t, key, does) in &waiting {
            let (spot, name) = (self.spot(t), self.called(key));
            let named = match does {
                MBarrierOp::Wait { parity } => Phase::Parity(parity),
                MBarrierOp::Test { phase, .. } => phase,
                _ => continue,
            };
            let (Phase::Parity(number) | Phase::Token(number)) = named;
            let number = self.bits(t, number).unwrap_or(0);
            let opposite = self.opposite(key);
            let Some(live) = self.get(key) else { continue };
            let seen = live.seen.get(&spot.thread).and_then(|seen| seen.phase);
            let next = seen.map_or(0, |seen| seen + 1);
            let meant = match named {
                Phase::Parity(_) => next + (next + (number & 1)) % 2,
                Phase::Token(_) => number,
            };
            live.broken = true;
            let phase = live.phase;
            let problem = if meant == next + 1 && live.phase == meant && live.pending == live.expected {
                // Nobody has come to the phase that it waits for, and it never waited for the one before.
                Problem::wrong_parity(spot, live.armed, next, &name)
            } else if meant < live.phase {
                Problem::overtaken(spot, live.armed, meant + 1, &name)
            } else if live.pending == 0 {
                let spots = (spot, live.armed);
                Problem::wrong_bytes(spots, live.left(), (live.phase, &name), opposite.as_ref())
            } else {
                let missing = (live.pending, live.expected, live.left());
                Problem::deadlock(spot, live.armed, live.phase, missing, &name)
            };
            // Threads that stand early in their loops may keep those from arriving that stand later.
            let iteration = self.iterations[spot.iterations as usize].first().copied();
            let rank = phase.saturating_mul(1 << 32) + u64::from(iteration.unwrap_or(0));
            self.memory.reports.problem_after_waits(problem.ranked(rank));
        }
        let at_barrier = |thread: &Thread| matches!(thread.state, State::Barrier | State::Block);
        if let (Some(&(t, ..)), Some(other)) = (waiting.first(), self.threads.iter().position(at_barrier)) {
            self.settle(other);
            let problem = Problem::barrier_beside_mbarrier(self.spot(other), self.spot(t));
            self.memory.reports.problem(problem);
        }
        !waiting.is_empty()
    }
}
