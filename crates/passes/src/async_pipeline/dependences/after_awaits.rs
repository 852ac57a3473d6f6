//! Checks that what comes after an await of something that is in flight where the loop is entered stays after it, as far as the two
//! may meet.
//!
//! Let the await be in iteration `w`, and an access in iteration `w + d`: it comes after the await if `d > 0`, or if `d = 0` and the
//! await is earlier in the body. A schedule executes it first if its stage is so much earlier; so `d` is at most the last stage.

use super::super::accesses::{Access, Accesses, AwaitedEntry, footprint, is_same_buffer};
use super::super::in_flight::Issued;
use super::{Checker, MAX_PAIRED};
use crate::analysis::memory::{Access as Kind, Effect, Effects, effects, is_descriptor};
use crate::analysis::views::base;
use async_mlir::ir::{Op, Value};
use async_mlir::pass::PassError;
use tokenflow::barriers::Span;
use tokenflow::pipeline::StatementId;

/// What something in flight may still do until it is awaited.
enum Pending<'c> {
    /// These accesses, of an operation.
    Known(Op<'c>, Vec<Effect<'c>>),
    /// Perhaps any.
    Unknown,
}

impl<'c> Pending<'c> {
    fn of(issued: Issued<'c>) -> Self {
        let Issued::Op { op, only_read } = issued else {
            return Self::Unknown;
        };
        let Effects::Known(mut effects) = effects(op) else {
            return Self::Unknown;
        };
        effects.retain(|effect| !only_read || effect.access == Kind::AsyncRead);
        if effects.iter().any(|effect| is_descriptor(base(effect.memory))) {
            return Self::Unknown;
        }
        Self::Known(op, effects)
    }

    /// Those of its accesses that are to `buffer`.
    fn of_buffer(&self, buffer: Value<'c>) -> Vec<Effect<'c>> {
        let Self::Known(_, effects) = self else {
            return Vec::new();
        };
        let own = effects
            .iter()
            .filter(|effect| is_same_buffer(base(effect.memory), buffer));
        own.copied().collect()
    }
}

impl<'c> Checker<'_, 'c> {
    pub(super) fn check_after_awaits(&mut self, accesses: &Accesses<'c>) -> Result<(), PassError<'c>> {
        for awaited in &accesses.in_flight {
            let fences = accesses.fences.iter();
            let mut fences = fences.filter(|fence| {
                !self
                    .executed_first(awaited, fence.statement, fence.place)
                    .is_empty()
            });
            if let Some(fence) = fences.next() {
                return Err(overtakes(fence.op, awaited));
            }
            let pending = Pending::of(awaited.what.issued);
            for buffer in &accesses.buffers {
                let effects = pending.of_buffer(buffer.base);
                // Beyond so many, they are taken to meet.
                let is_paired = buffer.accesses.len() <= MAX_PAIRED && awaited.what.same_values;
                for access in &buffer.accesses {
                    let first = self.executed_first(awaited, access.statement, access.place);
                    let meets = match pending {
                        Pending::Unknown => !first.is_empty(),
                        Pending::Known(op, _) => first.into_iter().any(|distance| {
                            let iteration = awaited.what.iteration.map(|iteration| iteration + distance);
                            effects.iter().any(|effect| {
                                (effect.access.writes() || access.writes)
                                    && (!is_paired || self.meets_in_flight(op, *effect, access, iteration))
                            })
                        }),
                    };
                    if meets {
                        return Err(overtakes(access.op, awaited));
                    }
                }
            }
        }
        Ok(())
    }

    /// How many iterations after an await something at `place`, in a statement, comes after it and is executed before it: each number.
    fn executed_first(&self, awaited: &AwaitedEntry<'c>, statement: StatementId, place: usize) -> Vec<u32> {
        let wait = self.key(awaited.statement, 0);
        let nearest = u32::from(place < awaited.place);
        let distances = self.distances(nearest, self.body.problem.last_stage());
        distances
            .filter(|distance| self.key(statement, *distance) < wait)
            .collect()
    }

    /// Whether `effect` of `op`, which is issued before the loop, may touch a byte that `access` does in this iteration, or in any.
    fn meets_in_flight(
        &mut self,
        op: Op<'c>,
        effect: Effect<'c>,
        access: &Access<'c>,
        iteration: Option<u32>,
    ) -> bool {
        let Some(first) = self.footprints.buffer(effect.memory) else {
            return true;
        };
        let first = self.footprints.of(op, effect, first, &self.threads);
        let Some(second) = footprint(&mut self.footprints, access, &self.threads) else {
            return true;
        };
        let [Some(a), Some(b)] = [first, second].map(|footprint| Span::of(&footprint, &self.trips)) else {
            return true;
        };
        // If it varies from iteration to iteration, this loop has issued it, when it was executed before.
        if a.step != 0 || !a.periods.is_empty() || a.fixed != b.fixed {
            return true;
        }
        let turns = match iteration {
            Some(iteration) => {
                let turn = (iteration as usize).checked_rem(b.periods.len());
                turn.map_or(&[][..], |turn| &b.periods[turn..=turn])
            }
            None if b.step != 0 => return true,
            None => &b.periods,
        };
        let turns = if turns.is_empty() { &[0] } else { turns };
        let ahead = i64::from(iteration.unwrap_or(0))
            .checked_mul(b.step)
            .and_then(|steps| steps.checked_add(b.constant.checked_sub(a.constant)?));
        let Some(ahead) = ahead else { return true };
        turns.iter().any(|turn| {
            let shift = ahead.saturating_add(*turn);
            a.bounds.0 < b.bounds.1.saturating_add(shift) && b.bounds.0.saturating_add(shift) < a.bounds.1
        })
    }
}

/// An error about `op`, which the schedule executes before what is in flight where the loop is entered has been awaited.
fn overtakes<'c>(op: Op<'c>, awaited: &AwaitedEntry<'c>) -> PassError<'c> {
    let message = "may access memory that is still in use where the loop is entered, but the schedule executes this before the await of \
                   that";
    let error = PassError::new(op, message);
    let help = "it is awaited here; await it before the loop";
    match awaited.what.issued {
        Issued::Op { op, .. } => error.note(op, "what uses it").note(awaited.what.wait, help),
        Issued::Unknown => error.note(awaited.what.wait, help),
    }
}
