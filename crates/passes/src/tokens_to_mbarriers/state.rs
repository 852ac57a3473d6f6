//! Tracks the SSA values of counters, open phases and tokens at the place that is written to.

use super::builder::Builder;
use super::carried_values::Carried;
use super::mbarrier_ring::{MbarrierRing, Number, OpenPhase};
use async_mlir::ir::{Op, Value};
use async_mlir::pass::PassError;
use tokenflow::phases::{IndexVec, PhaseId, PhaseValue, PhiId, Plan, RingId};

/// The values of what changes while the program runs.
pub(super) struct State<'c> {
    /// How often each ring with a counter has been armed, modulo twice its depth.
    pub counters: IndexVec<RingId, Option<Value<'c>>>,
    /// How often threads have met at each ring of mbarriers, modulo twice their number, if that is counted.
    pub rendezvous_counters: Vec<Option<Value<'c>>>,
    /// The phases that are open.
    pub opened: IndexVec<PhaseId, Option<OpenPhase<'c>>>,
    /// The number of each phi of a ring with a counter.
    pub phis: IndexVec<PhiId, Option<Value<'c>>>,
}

impl<'c> State<'c> {
    pub fn new(plan: &Plan) -> Self {
        Self {
            counters: IndexVec::filled(None, plan.rings.len()),
            rendezvous_counters: vec![None; plan.rendezvous_rings.len()],
            opened: IndexVec::filled(None, plan.phases.len()),
            phis: IndexVec::filled(None, plan.phis.len()),
        }
    }

    /// A counter; `None` for the number of a token.
    pub fn counter(&self, carried: &Carried) -> Option<Value<'c>> {
        match carried {
            Carried::Counter(ring) => self.counters[*ring],
            Carried::RendezvousCounter(ring) => self.rendezvous_counters[*ring],
            Carried::Token { .. } => None,
        }
    }

    /// Sets the counters among `all` to what they were.
    pub fn restore(&mut self, all: &[Carried], counters: &[Option<Value<'c>>]) {
        for (carried, &counter) in all.iter().zip(counters) {
            match carried {
                Carried::Counter(ring) => self.counters[*ring] = counter,
                Carried::RendezvousCounter(ring) => self.rendezvous_counters[*ring] = counter,
                Carried::Token { .. } => {}
            }
        }
    }

    /// Sets a value where a block of an operation starts, or after the operation.
    pub fn set(&mut self, carried: &Carried, block: Option<usize>, value: Value<'c>) {
        match carried {
            Carried::Counter(ring) => self.counters[*ring] = Some(value),
            Carried::RendezvousCounter(ring) => self.rendezvous_counters[*ring] = Some(value),
            Carried::Token { blocks, result } => {
                if let Some(phi) = block.map_or(*result, |block| blocks[block]) {
                    self.phis[phi] = Some(value);
                }
            }
        }
    }

    /// Counts one more.
    pub fn count(
        &mut self,
        builder: &mut Builder<'c>,
        ring: RingId,
        mbarriers: MbarrierRing<'c>,
        before: Op<'c>,
    ) {
        if let Some(counter) = self.counters[ring] {
            self.counters[ring] = Some(mbarriers.next(builder, counter, before));
        }
    }

    /// The slot of a phase that is open.
    pub fn slot_of(&self, phase: PhaseId, at: Op<'c>) -> Result<Value<'c>, PassError<'c>> {
        let opened = self.opened[phase].as_ref();
        opened
            .map(|opened| opened.slot)
            .ok_or_else(|| bug(at, "comes before its phase is opened"))
    }

    /// The number that stands for a phase of a ring with a counter, which `at` passes on.
    pub fn number_of(&self, phase: PhaseValue, at: Op<'c>) -> Result<Value<'c>, PassError<'c>> {
        let number = match phase {
            PhaseValue::Opened(phase) => match self.opened[phase].as_ref().map(|opened| &opened.number) {
                Some(Number::Counted(number)) => Some(*number),
                _ => None,
            },
            PhaseValue::Phi(phi) => self.phis[phi],
        };
        number.ok_or_else(|| bug(at, "hands on a phase without a number"))
    }
}

/// An error that only a plan that does not fit its program makes.
pub(super) fn bug<'c>(op: Op<'c>, what: &str) -> PassError<'c> {
    PassError::new(op, format!("{what} (this is a bug in async-opt)"))
}
