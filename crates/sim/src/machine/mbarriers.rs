//! mbarriers, by the PTX ISA, "Parallel synchronization and communication instructions: mbarrier".
//!
//! A phase is complete when all its arrivals are there and its bytes have landed. When they land is up to the adversary,
//! and later is worse: they do when all threads stand still and one waits for them.

mod waits;

use self::waits::Wait;
use super::{Machine, Next, Reason, State, Stop};
use crate::code::{MBarrierOp, Slot};
use crate::memory::{Actor, Clock, Fault};
use crate::report::{MAX_TX, Problem, Spot};
use crate::value::{BufferId, CopyId, Pointer, Value};
use std::collections::BTreeMap;

/// The bytes of an mbarrier.
const BYTES: i64 = 8;

/// The address of an mbarrier.
pub(super) type Key = (BufferId, i64);

/// What is at an address that some thread has used as an mbarrier.
pub(super) enum MBarrier {
    Live(Box<Live>),
    /// It was invalidated there.
    Dead(Spot),
}

/// An mbarrier.
pub(super) struct Live {
    init: Actor,
    /// When its thread has executed a fence after the initialization.
    fenced: Option<Actor>,
    /// The arrivals that make a phase, and those that are missing.
    expected: i64,
    pending: i64,
    /// The bytes that the phase expects, less those that have landed.
    tx: i64,
    /// How many phases are complete.
    phase: u64,
    /// What will land in this phase, and how many bytes.
    flights: Vec<(CopyId, i64)>,
    /// What has landed in the last one.
    landed: Vec<CopyId>,
    /// What is known to those who see this phase complete, and the last one.
    arriving: Clock,
    arrived: Clock,
    /// The arrivals of this phase, and of the last one.
    arrivals: [Vec<Actor>; 2],
    /// Who has waited for the last phase.
    waiters: Vec<Actor>,
    /// Those of them who are not known to have done so to those who make this one complete.
    waits: Vec<Wait>,
    /// The last phase that each thread has seen complete.
    seen: BTreeMap<u32, u64>,
    /// The last use by each thread.
    uses: BTreeMap<u32, Actor>,
    /// What was done last for its phase, but for the loads.
    armed: Spot,
    /// True if something is wrong with its phases, and was reported.
    broken: bool,
}

impl Live {
    fn new(init: Actor, expected: i64) -> Self {
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
            uses: BTreeMap::new(),
            armed: init.spot,
            broken: false,
        }
    }

    /// The bytes that are in flight.
    fn flying(&self) -> i64 {
        self.flights.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Returns true if the phase is complete as soon as all that is in flight has landed.
    fn can_complete(&self) -> bool {
        self.pending == 0 && self.tx == self.flying()
    }

    /// Begins the next phase. Returns a thread that may miss that this one was complete before the last one it waited for.
    fn complete(&mut self) -> Option<Actor> {
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

impl Machine<'_> {
    /// The address of an mbarrier.
    pub(super) fn slot(&self, t: usize, slot: Slot) -> Result<Key, Reason> {
        let at = match slot {
            Slot::At(pointer) => self.pointer(t, pointer)?,
            Slot::Of { group, index } => {
                let (view, index) = (self.view(t, group)?, self.int(t, index)?);
                let size = view.sizes.first().copied().unwrap_or(1);
                if !(0..size).contains(&index) {
                    let buffer = view.buffer;
                    let dim = 0;
                    return Err(Reason::Fault(Fault::Index {
                        buffer,
                        index,
                        dim,
                        size,
                    }));
                }
                view.element(index)
            }
        };
        self.memory.check(at, 8, 8)?;
        Ok((at.buffer, at.offset))
    }

    /// What to call an mbarrier.
    fn called(&self, (buffer, offset): Key) -> String {
        let name = &self.memory.buffer(buffer).name;
        format!("number {} of {name}", offset / BYTES)
    }

    /// Does something with an mbarrier.
    pub(super) fn mbarrier(&mut self, t: usize, slot: Slot, does: MBarrierOp) -> Result<Next, Reason> {
        let key = self.slot(t, slot)?;
        match does {
            MBarrierOp::Get { to } => {
                let (buffer, offset) = key;
                self.set(t, to, Value::Pointer(Pointer { buffer, offset }));
            }
            MBarrierOp::Init { count, predicate } => {
                if self.holds(t, predicate)? {
                    let count = self.int(t, count)?;
                    self.init(t, key, count);
                }
            }
            MBarrierOp::Arrive {
                bytes,
                token,
                predicate,
            } => {
                if self.holds(t, predicate)? {
                    let bytes = bytes.map_or(Ok(0), |bytes| self.int(t, bytes))?;
                    let phase = self.arrive(t, key, bytes);
                    if let Some(token) = token {
                        self.set(t, token, Value::Bits(phase));
                    }
                }
            }
            MBarrierOp::ExpectTx { bytes } => {
                let bytes = self.int(t, bytes)?;
                self.expect(t, key, bytes);
            }
            MBarrierOp::Inval => self.inval(t, key),
            MBarrierOp::Wait { .. } | MBarrierOp::Test { .. } => {
                self.live(t, key);
                if !self.passes(t, key, does)? {
                    return Ok(Next::Waits(State::MBarrier));
                }
            }
        }
        Ok(Next::Goes)
    }

    fn holds(&self, t: usize, predicate: Option<crate::code::Reg>) -> Result<bool, Reason> {
        predicate.map_or(Ok(true), |predicate| Ok(self.bits(t, predicate)? & 1 == 1))
    }

    fn get(&mut self, key: Key) -> Option<&mut Live> {
        match self.mbarriers.get_mut(&key)? {
            MBarrier::Live(live) => Some(live),
            MBarrier::Dead(_) => None,
        }
    }

    /// An mbarrier that thread `t` uses, which has to be there.
    fn live(&mut self, t: usize, key: Key) -> Option<&mut Live> {
        let actor = self.actor(t);
        let problem = match self.mbarriers.get(&key) {
            None => Some(Problem::use_before_init(actor.spot, None, &self.called(key))),
            Some(MBarrier::Dead(there)) => {
                Some(Problem::use_after_inval(actor.spot, *there, &self.called(key)))
            }
            Some(MBarrier::Live(live)) => {
                let known = live
                    .fenced
                    .is_some_and(|fence| !self.memory.unordered(fence, actor));
                let unknown = live.init.spot.thread != actor.spot.thread && !known;
                unknown.then(|| Problem::use_before_init(actor.spot, Some(live.init.spot), &self.called(key)))
            }
        };
        if let Some(problem) = problem {
            self.memory.reports.problem(problem);
        }
        let live = self.get(key)?;
        live.uses.insert(actor.spot.thread, actor);
        Some(live)
    }

    fn init(&mut self, t: usize, key: Key, count: i64) {
        let actor = self.actor(t);
        if let Some(live) = self.get(key) {
            let before = live.init.spot;
            let problem = Problem::init_twice(actor.spot, before, &self.called(key));
            self.memory.reports.problem(problem);
        }
        let live = MBarrier::Live(Box::new(Live::new(actor, count)));
        self.mbarriers.insert(key, live);
        if let Some(timeline) = self.timing() {
            timeline.renew(key);
        }
    }

    /// Thread `t` makes what it has initialized known.
    pub(super) fn fence_init(&mut self, t: usize) {
        let actor = self.actor(t);
        for mbarrier in self.mbarriers.values_mut() {
            if let MBarrier::Live(live) = mbarrier
                && live.init.spot.thread == actor.spot.thread
            {
                live.fenced.get_or_insert(actor);
            }
        }
    }

    fn inval(&mut self, t: usize, key: Key) {
        let actor = self.actor(t);
        let Some(live) = self.live(t, key) else { return };
        let uses: Vec<Actor> = live.uses.values().copied().collect();
        let flight = live.flights.first().map(|(id, _)| *id);
        let user = uses.into_iter().find(|used| self.memory.unordered(*used, actor));
        let other = match flight {
            Some(id) => Some((self.memory.issuer(id), true)),
            None => user.map(|user| (user.spot, false)),
        };
        if let Some((other, flies)) = other {
            let problem = Problem::inval_in_use(actor.spot, other, flies, &self.called(key));
            self.memory.reports.problem(problem);
        }
        self.mbarriers.insert(key, MBarrier::Dead(actor.spot));
    }

    /// Reports if a phase is added to that may be complete already. It is then.
    fn overrun(&mut self, t: usize, key: Key, arrives: bool) {
        let (spot, name) = (self.spot(t), self.called(key));
        let Some(live) = self.get(key).filter(|live| live.pending <= 0) else {
            return;
        };
        let problem = Problem::overrun(spot, live.armed, live.phase, arrives, &name);
        live.broken = true;
        self.memory.reports.problem(problem);
        self.complete_phase(key);
    }

    /// Reports if an arrival may come before the last phase is complete, and then count for that one: it has to be after
    /// all its arrivals, and after somebody who has seen that its loads have landed.
    fn misplaced(&mut self, t: usize, key: Key) {
        let (actor, name) = (self.actor(t), self.called(key));
        let Some(MBarrier::Live(live)) = self.mbarriers.get(&key) else {
            return;
        };
        let missing = |before: &&Actor| self.memory.unordered(**before, actor);
        let arrival = live.arrivals[1].iter().find(missing);
        let lands = || !live.landed.is_empty() && live.waiters.iter().all(|wait| missing(&wait));
        let other = match arrival {
            Some(arrival) => Some(arrival.spot),
            None if lands() => live.landed.first().map(|id| self.memory.issuer(*id)),
            None => None,
        };
        let problem = other.map(|other| Problem::misplaced(actor.spot, other, live.phase, &name));
        if let Some(problem) = problem {
            self.memory.reports.problem(problem);
        }
        if let Some(live) = self.get(key) {
            live.arrivals[0].push(actor);
        }
    }

    /// Thread `t` arrives. Returns the number of the phase.
    fn arrive(&mut self, t: usize, key: Key, bytes: i64) -> u64 {
        let spot = self.spot(t);
        self.live(t, key);
        self.overrun(t, key, true);
        self.misplaced(t, key);
        self.after_waits(t, key);
        let clock = self.memory.release(spot.thread);
        let Some(live) = self.get(key) else { return 0 };
        live.pending -= 1;
        live.armed = spot;
        crate::memory::join(&mut live.arriving, &clock);
        self.more_bytes(t, key, bytes);
        let Some(live) = self.get(key) else { return 0 };
        let phase = live.phase;
        if let Some(timeline) = self.timing() {
            timeline.arrive(t, key, phase, spot.into());
        }
        let Some(live) = self.get(key) else { return 0 };
        if live.pending == 0 && live.tx == 0 && live.flights.is_empty() {
            self.complete_phase(key);
        }
        phase
    }

    fn expect(&mut self, t: usize, key: Key, bytes: i64) {
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
    pub(super) fn flies(&mut self, t: usize, key: Key, id: CopyId, bytes: usize) {
        self.live(t, key);
        self.after_waits(t, key);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if let Some(live) = self.get(key) {
            live.flights.push((id, bytes));
        }
    }

    fn complete_phase(&mut self, key: Key) {
        let name = self.called(key);
        let Some(live) = self.get(key) else { return };
        let armed = live.armed;
        let missed = live.complete();
        let phase = live.phase - 1;
        if let Some(wait) = missed {
            live.broken = true;
            let problem = Problem::overtaken(wait.spot, armed, phase, &name);
            self.memory.reports.problem(problem);
        }
    }

    /// What is left in the mbarriers of a block that ends.
    pub(super) fn drain_mbarriers(&mut self) {
        for (key, mbarrier) in std::mem::take(&mut self.mbarriers) {
            let MBarrier::Live(live) = mbarrier else { continue };
            let left = live.tx - live.flying();
            if left != 0 && !live.broken {
                let name = self.called(key);
                let problem = Problem::wrong_bytes(live.armed, live.init.spot, live.phase, left, &name);
                self.memory.reports.problem(problem);
            }
        }
    }
}
