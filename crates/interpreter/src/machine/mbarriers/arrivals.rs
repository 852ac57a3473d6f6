//! What phases are made of: arrivals, bytes, and copies that land.

use super::{Key, MBarrier, Machine, Reason};
use crate::code::{Arrival, Op};
use crate::memory::Actor;
use crate::report::{MAX_TX, PhaseOf, Problem, Spot, StaleWait};
use crate::value::{CopyId, Pending, Value};

impl Machine<'_> {
    /// Reports if a phase is added to that may be complete already. It is then.
    fn overrun(&mut self, t: usize, key: Key, arrives: bool) {
        let (spot, name) = (self.spot(t), self.called(key));
        let Some(live) = self.get(key).filter(|live| live.pending <= 0) else {
            return;
        };
        let problem = Problem::overrun(spot, live.armed, live.phase, arrives, &name);
        live.broken = true;
        self.memory.reports.problem_after_waits(problem);
        self.complete_phase(key);
    }

    /// Reports if an arrival may come before the last phase is complete, and then count for that one: it has to be after
    /// all its arrivals, and after somebody who has seen that its loads have landed.
    fn misplaced(&mut self, t: usize, key: Key) {
        let (actor, name) = (self.actor(t), self.called(key));
        let Some(MBarrier::Live(live)) = self.mbarriers.get(&key) else {
            return;
        };
        let missing = |before: &&Actor| self.memory.may_come_later(**before, actor);
        let arrival = live.arrivals[1].iter().find(missing);
        let lands = || !live.landed.is_empty() && live.waiters.iter().all(|wait| missing(&wait));
        let other = match arrival {
            Some(arrival) => Some(arrival.spot),
            None if lands() => live.landed.first().map(|id| self.memory.issuer(*id)),
            None => None,
        };
        // Threads that do the same at the same time, as all do that release a slot, mean one phase.
        let twin =
            |one: &Actor| (one.spot.instr, one.spot.iterations) == (actor.spot.instr, actor.spot.iterations);
        let twin = arrival.filter(|_| live.arrivals[1].iter().all(twin));
        let problem = match (twin, other) {
            (Some(twin), _) => Some(Problem::one_too_many(
                actor.spot,
                twin.spot,
                live.phase,
                live.expected,
                &name,
            )),
            (None, other) => {
                other.map(|other| Problem::misplaced(actor.spot, other, live.phase, &name).ranked(1))
            }
        };
        if let Some(problem) = problem {
            self.memory.reports.problem_after_waits(problem);
        }
    }

    /// Thread `t` arrives, unless a predicate says that it does not.
    pub(super) fn arrive(&mut self, t: usize, key: Key, how: Arrival) -> Result<(), Reason> {
        if !self.holds(t, how.predicate)? {
            return Ok(());
        }
        let count = how.count.map_or(Ok(1), |count| self.int(t, count))?;
        let bytes = how.bytes.map_or(Ok(0), |bytes| self.int(t, bytes))?;
        let actor = self.actor(t);
        self.live(t, key);
        self.overrun(t, key, true);
        self.misplaced(t, key);
        self.after_waits(t, key);
        self.check_count(t, key, count, how.leaves_open);
        let clock = self.memory.release(actor.spot.thread);
        let mut phase = 0;
        if let Some(live) = self.get(key) {
            phase = live.phase;
            live.arrivals[0].push(actor);
            live.pending = live.pending.saturating_sub(count);
            if how.drops {
                live.expected = live.expected.saturating_sub(count);
            }
            live.armed = actor.spot;
            crate::memory::join(&mut live.arriving, &clock);
        }
        self.more_bytes(t, key, bytes);
        if let Some(token) = how.token {
            self.set(t, token, Value::Bits(phase));
        }
        self.arrived(t, key);
        Ok(())
    }

    /// Reports an arrival that counts for more than is missing, or that is the last one and must not be.
    fn check_count(&mut self, t: usize, key: Key, count: i64, leaves_open: bool) {
        let (spot, name) = (self.spot(t), self.called(key));
        let Some(live) = self.get(key) else { return };
        let missing = (count, live.pending, live.expected);
        let problem = if !(0..=live.pending).contains(&count) {
            Problem::too_many_arrivals(spot, live.armed, live.phase, missing, &name)
        } else if leaves_open && count == live.pending {
            Problem::completes(spot, live.armed, live.phase, &name)
        } else {
            return;
        };
        live.broken = true;
        self.memory.reports.problem_after_waits(problem);
    }

    /// Thread `t` lets the mbarrier track all copies that it has issued: when they are complete, that is an arrival. It
    /// orders nothing else that the thread did before; but who learns of it comes after the thread's waits.
    pub(super) fn arrive_after_copies(&mut self, t: usize, key: Key, counted: bool) {
        let code = self.code;
        let spot = self.spot(t);
        self.live(t, key);
        self.overrun(t, key, true);
        self.misplaced(t, key);
        self.after_waits(t, key);
        let memory = &self.memory;
        let flies = |id: &CopyId| {
            let issue = &code.instrs[memory.issuer(*id).instr as usize].op;
            let pending = Pending::from(*id);
            matches!(issue, Op::Copy(copy) if !copy.bulk) && !memory.is_done(pending)
        };
        let queues = &mut self.threads[t].queues;
        queues.forget_open(|id| memory.is_done(id.into()));
        let copies: Vec<(CopyId, i64)> = queues.issued().filter(flies).map(|id| (id, 0)).collect();
        self.threads[t].issued += 1;
        for (id, _) in &copies {
            let copy = self.memory.issuer(*id);
            self.passed_already(key, copy);
        }
        let clock = self.memory.pass(spot.thread);
        self.tracks(key, copies.iter().map(|(id, _)| *id));
        if let Some(live) = self.get(key) {
            crate::memory::join(&mut live.arriving, &clock);
            live.pending -= i64::from(counted);
            live.armed = spot;
            live.flights.extend(copies);
        }
        self.arrived(t, key);
    }

    /// Thread `t` has arrived: if nothing is missing any more, the phase is complete.
    fn arrived(&mut self, t: usize, key: Key) {
        let at = self.spot(t).into();
        let Some(live) = self.get(key) else { return };
        let (phase, is_complete) = (
            live.phase,
            live.pending <= 0 && live.tx == 0 && live.flights.is_empty(),
        );
        if let Some(timeline) = self.timing() {
            timeline.arrive(t, key, phase, at);
        }
        if is_complete {
            self.complete_phase(key);
        }
    }

    pub(super) fn expect(&mut self, t: usize, key: Key, bytes: i64) {
        self.live(t, key);
        self.overrun(t, key, false);
        let spot = self.spot(t);
        if let Some(live) = self.get(key) {
            live.armed = spot;
        }
        self.more_bytes(t, key, bytes);
    }

    /// A phase expects more bytes.
    fn more_bytes(&mut self, t: usize, key: Key, bytes: i64) {
        let Some(live) = self.get(key) else { return };
        let before = live.tx;
        live.tx = before.saturating_add(bytes);
        let (phase, now) = (live.phase, live.tx);
        if now > MAX_TX && before <= MAX_TX {
            let problem = Problem::beyond_count(self.spot(t), phase, now, &self.called(key));
            self.memory.reports.problem(problem);
        }
    }

    /// Thread `t` has issued a load that completes on an mbarrier.
    pub(in crate::machine) fn flies(&mut self, t: usize, key: Key, id: CopyId, bytes: usize) {
        self.live(t, key);
        self.after_waits(t, key);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.threads[t].issued += 1;
        self.tracks(key, std::iter::once(id));
        if let Some(live) = self.get(key) {
            live.flights.push((id, bytes));
        }
    }

    /// Notes that copies complete on the phase of an mbarrier.
    fn tracks(&mut self, key: Key, copies: impl Iterator<Item = CopyId>) {
        let (buffer, offset) = key;
        if let Some(phase) = self.get(key).map(|live| live.phase) {
            let of = PhaseOf {
                buffer,
                offset,
                phase,
            };
            self.memory.completes_on(copies, of);
        }
    }

    /// Thread `t` is about to issue a load that completes on an mbarrier.
    pub(in crate::machine) fn will_fly(&mut self, t: usize, key: Key) {
        self.passed_already(key, self.spot(t));
    }

    /// An mbarrier is to track the copy `copy`: whoever has passed that already does not wait for it.
    fn passed_already(&mut self, key: Key, copy: Spot) {
        let Some(live) = self.get(key) else { return };
        let stale: Vec<StaleWait> = live.stale.values().cloned().collect();
        for wait in stale {
            self.memory.reports.stale_wait(&wait, copy);
        }
    }

    pub(super) fn complete_phase(&mut self, key: Key) {
        let name = self.called(key);
        let Some(live) = self.get(key) else { return };
        let armed = live.armed;
        let missed = live.complete();
        let phase = live.phase - 1;
        if let Some(wait) = missed {
            live.broken = true;
            let problem = Problem::overtaken(wait.spot, armed, phase, &name).ranked(1);
            self.memory.reports.problem(problem);
        }
    }
}
