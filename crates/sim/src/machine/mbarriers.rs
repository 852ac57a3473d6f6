//! mbarriers, by the PTX ISA, "Parallel synchronization and communication instructions: mbarrier".
//!
//! A phase is complete when all its arrivals are there and its bytes have landed. When they land is up to the adversary,
//! and later is worse: they do when all threads stand still and one waits for them.

mod arrivals;
mod life;
mod waits;

use self::waits::Wait;
use super::{Machine, Next, Reason, State};
use crate::code::{MBarrierOp, Slot};
use crate::memory::{Actor, Array, Clock, Fault, Space};
use crate::report::{Problem, Spot};
use crate::value::{BufferId, CopyId, Pointer, Value};
use std::collections::BTreeMap;

/// The bytes of an mbarrier.
const BYTES: usize = 8;

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
        if self.memory.buffer(at.buffer).space != Space::Workgroup {
            return Err(Reason::Operand("the address of an mbarrier in workgroup memory"));
        }
        self.memory.check(at, 8, 8)?;
        Ok((at.buffer, at.offset))
    }

    /// What to call an mbarrier.
    fn called(&self, (buffer, offset): Key) -> String {
        let buffer = self.memory.buffer(buffer);
        let of_mbarriers = |array: &Array| array.element == BYTES;
        match &buffer.array {
            Some(array) if of_mbarriers(array) => {
                format!("number {} of {}", offset / 8, buffer.name)
            }
            _ => format!("the mbarrier at byte {offset} of {}", buffer.name),
        }
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
            MBarrierOp::Arrive(how) => self.arrive(t, key, how)?,
            MBarrierOp::ArriveAfterCopies { counted } => self.arrive_after_copies(t, key, counted),
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
}
