//! mbarriers, by the PTX ISA, "Parallel synchronization and communication instructions: mbarrier".
//!
//! A phase is complete when all its arrivals are there and its bytes have landed. When they land is up to the adversary,
//! and later is worse: they do when all threads stand still and one waits for them.

mod arrivals;
mod life;
mod live;
mod waits;

use self::live::{Live, Progress, Seen};
use super::{Machine, Next, Reason, State};
use crate::code::{MBarrierOp, Slot};
use crate::memory::{Fault, Space};
use crate::report::{Problem, Spot};
use crate::value::{BufferId, Pointer, Value};

/// The address of an mbarrier.
pub(super) type Key = (BufferId, i64);

/// What is at an address that some thread has used as an mbarrier.
pub(super) enum MBarrier {
    Live(Box<Live>),
    /// It was invalidated there.
    Dead(Spot),
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
        self.memory.buffer(buffer).mbarrier(offset)
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
                if let Some(live) = self.live(t, key) {
                    live.awaited = true;
                }
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
