//! The registers of accumulators: when they may be used, and when a fence has to come before a multiplication (PTX ISA,
//! `wgmma.fence` and `wgmma.wait_group`).
//!
//! SSA values stand for registers. A value that an operation computes is written there; one that is only handed on, or put
//! into a struct or taken out of it, stays in its registers.

use super::{Machine, Reason};
use crate::code::{Code, Op, Reg, VectorOp, Warpgroup};
use crate::report::Problem;
use crate::scalar::Scalar;
use crate::value::{Guard, Guarded, Pending, Value};
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::sync::Arc;

/// The registers whose numbers flow into accumulators unchanged, and those of accumulators.
pub(super) fn registers(code: &Code) -> FxHashSet<Reg> {
    let mut found = FxHashSet::default();
    for instr in &code.instrs {
        if let Op::Warpgroup(Warpgroup::Multiply(wgmma)) = &instr.op {
            found.extend([wgmma.accumulator, wgmma.to]);
        }
    }
    let mut before = 0;
    while found.len() > before {
        before = found.len();
        for instr in &code.instrs {
            match &instr.op {
                Op::Moves(moves) => {
                    let from = moves.iter().filter(|(to, _)| found.contains(to));
                    let from: Vec<Reg> = from.map(|(_, from)| *from).collect();
                    found.extend(from);
                }
                Op::Vector(VectorOp::Pick { to, from, .. }) if found.contains(to) => found.extend(from),
                Op::Scalar {
                    f: Scalar::Same,
                    to,
                    args,
                    ..
                } if found.contains(to) => found.extend(args),
                _ => {}
            }
        }
    }
    found
}

impl Machine<'_> {
    /// Values were handed on: they were written when they were.
    pub(super) fn accumulators_moved(&mut self, t: usize, moves: &[(Reg, Reg)]) {
        if self.accumulators.is_empty() {
            return;
        }
        let written = &mut self.threads[t].written;
        let times: Vec<Option<u64>> = moves.iter().map(|(_, from)| written.get(from).copied()).collect();
        for ((to, _), time) in moves.iter().zip(times) {
            match time.filter(|_| self.accumulators.contains(to)) {
                Some(time) => written.insert(*to, time),
                None => written.remove(to),
            };
        }
    }

    /// Numbers were put together, or taken apart: the youngest says when they were written.
    pub(super) fn accumulator_made(&mut self, t: usize, to: Reg, from: &[Reg]) {
        if !self.accumulators.contains(&to) {
            return;
        }
        let written = &mut self.threads[t].written;
        match from.iter().filter_map(|from| written.get(from)).max().copied() {
            Some(time) => written.insert(to, time),
            None => written.remove(&to),
        };
    }

    /// What [`Machine::pick`] makes if some of the numbers are an accumulator's that is not complete: the same of the
    /// result. `None` if none are.
    pub(super) fn pick_of_accumulators(
        &self,
        t: usize,
        from: &[Reg],
        picks: &[(u32, u32)],
        number: bool,
    ) -> Result<Option<Value>, Reason> {
        let mut guards = Vec::new();
        for (source, reg) in from.iter().enumerate() {
            let Some(accumulator) = self.accumulator(t, *reg) else {
                continue;
            };
            for guard in &accumulator.guards {
                let picked = picks.iter().map(|(of, i)| of_guard(guard, (*of, *i), source));
                let mut places = picked.enumerate().filter_map(|(i, of)| of.then_some(i));
                if let Some(first) = places.next() {
                    let range = first..places.next_back().unwrap_or(first) + 1;
                    guards.push(self.guard(guard, range));
                }
            }
        }
        let guards: Vec<Guard> = guards.into_iter().flatten().collect();
        if guards.is_empty() && from.iter().all(|reg| self.accumulator(t, *reg).is_none()) {
            return Ok(None);
        }
        let sources: Vec<&Value> = from
            .iter()
            .map(|reg| match self.accumulator(t, *reg) {
                Some(accumulator) => Ok(&accumulator.value),
                None => self.value_or_poison(t, *reg),
            })
            .collect::<Result<_, _>>()?;
        let value = Self::picked(&sources, picks, number)?;
        Ok(Some(guarded(value, guards)))
    }

    /// A guard for other numbers; `None` if all is done.
    fn guard(&self, guard: &Guard, range: Range<usize>) -> Option<Guard> {
        let done = guard.copies.iter().all(|pending| self.memory.is_done(*pending));
        (!done).then(|| Guard {
            accumulator: Some(range),
            ..guard.clone()
        })
    }

    /// An accumulator that a register holds.
    fn accumulator(&self, t: usize, reg: Reg) -> Option<&Guarded> {
        match &self.threads[t].regs[reg.0 as usize] {
            Value::Guarded(guarded) => guarded
                .guards
                .iter()
                .all(|guard| guard.accumulator.is_some())
                .then_some(guarded),
            _ => None,
        }
    }

    /// The numbers of an accumulator that a multiplication adds to, which may be in flight.
    pub(super) fn accumulated(&self, t: usize, reg: Reg) -> Result<Vec<u64>, Reason> {
        match self.accumulator(t, reg).map(|accumulator| &accumulator.value) {
            Some(Value::Vector(numbers)) => Ok(numbers.to_vec()),
            Some(Value::Bits(bits)) => Ok(vec![*bits]),
            Some(_) => Err(Reason::Poison),
            None => self.numbers(t, reg),
        }
    }

    /// A multiplication writes an accumulator, which is not to be used until it is done.
    pub(super) fn accumulate(&mut self, t: usize, to: Reg, numbers: Vec<u64>, pending: Pending) {
        let guard = Guard {
            copies: Arc::new([pending]),
            by: self.code.instrs[self.threads[t].pc].place.clone(),
            accumulator: Some(0..numbers.len()),
        };
        self.set(t, to, guarded(Value::Vector(numbers.into()), vec![guard]));
        // Multiplications are ordered among themselves.
        self.threads[t].written.remove(&to);
    }

    /// Reports if no fence lies between a write of an accumulator and a multiplication, or before the first of all.
    pub(super) fn check_fence(&mut self, t: usize, accumulator: Reg) {
        let thread = &self.threads[t];
        let written = thread.written.get(&accumulator);
        let missing = match thread.fenced {
            None => true,
            Some(fence) => written.is_some_and(|written| *written > fence),
        };
        if missing {
            let problem = Problem::unfenced_accumulator(self.spot(t), thread.fenced.is_none());
            self.memory.reports.problem(problem);
            // One fence here would do for what comes after.
            self.threads[t].fenced = Some(self.threads[t].steps);
        }
    }
}

/// Returns true if a number of source `source` is one that a guard is about.
fn of_guard(guard: &Guard, (of, i): (u32, u32), source: usize) -> bool {
    let range = guard.accumulator.clone().unwrap_or_default();
    of as usize == source && range.contains(&(i as usize))
}

fn guarded(value: Value, guards: Vec<Guard>) -> Value {
    if guards.is_empty() {
        return value;
    }
    Value::Guarded(Arc::new(Guarded { value, guards }))
}
