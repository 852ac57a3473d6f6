//! The registers of accumulators, and of A: when they may be used, and when a fence has to come before a multiplication (PTX ISA,
//! `wgmma.fence` and `wgmma.wait_group`).
//!
//! SSA values stand for registers. A value that an operation computes is written there; one that is only handed on, or put
//! into a struct or taken out of it, stays in its registers. So the registers of A are overwritten where a value that a
//! multiplication reads is computed again, or takes another value's place at the end of an iteration.

use super::{Machine, Reason};
use crate::code::{Code, Left, Op, Reg, VectorOp, Warpgroup, Wgmma};
use crate::report::{Problem, Unfenced};
use crate::scalar::Scalar;
use crate::value::{CopyId, Guard, Guarded, Pending, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;

/// The registers whose numbers flow into accumulators unchanged, and those of accumulators.
pub(super) fn registers(code: &Code) -> FxHashSet<Reg> {
    let mut found = FxHashSet::default();
    for instr in &code.instrs {
        if let Op::Warpgroup(Warpgroup::Multiply(wgmma)) = &instr.op {
            found.extend([wgmma.accumulator, wgmma.to]);
            found.extend(wgmma.fragment());
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

/// The registers that multiplications read as A, each with those that its numbers are taken from.
pub(super) fn fragments(code: &Code) -> FxHashMap<Reg, Box<[Reg]>> {
    let mut picked: FxHashMap<Reg, Vec<Reg>> = FxHashMap::default();
    let mut read: Vec<Reg> = Vec::new();
    for instr in &code.instrs {
        match &instr.op {
            Op::Warpgroup(Warpgroup::Multiply(wgmma)) => read.extend(wgmma.fragment()),
            Op::Vector(VectorOp::Pick { to, from, .. }) => {
                picked.entry(*to).or_default().extend(from);
            }
            _ => {}
        }
    }
    let sources = |reg: Reg| {
        let mut all = vec![reg];
        let mut known: FxHashSet<Reg> = [reg].into_iter().collect();
        let mut next = 0;
        while next < all.len() {
            let from = picked.get(&all[next]).into_iter().flatten();
            let from: Vec<Reg> = from.copied().filter(|from| known.insert(*from)).collect();
            all.extend(from);
            next += 1;
        }
        all.into()
    };
    read.into_iter().map(|reg| (reg, sources(reg))).collect()
}

impl Wgmma {
    /// The registers of A.
    fn fragment(&self) -> &[Reg] {
        match &self.a {
            Left::Memory(_) => &[],
            Left::Registers(fragment) => &fragment.regs,
        }
    }
}

impl Machine<'_> {
    /// A register that a multiplication may still read as A is written. What is only put together, or taken apart, is not.
    pub(super) fn fragment_written(&mut self, t: usize, to: Reg) {
        let pc = self.threads[t].pc;
        if matches!(self.code.instrs[pc].op, Op::Vector(VectorOp::Pick { .. })) {
            return;
        }
        let reads = self.threads[t].reads.remove(&to).unwrap_or_default();
        let Some(pending) = reads.iter().find(|pending| !self.memory.is_done(**pending)) else {
            return;
        };
        let copy = self.memory.issuer(pending.copy);
        let awaitable = self.code.instrs[copy.instr as usize].op.is_awaitable();
        self.settle(t);
        let problem = Problem::overwritten_fragment(self.spot(t), copy, awaitable);
        self.memory.reports.problem(problem);
    }

    /// Values were handed on: they were written when they were.
    pub(super) fn accumulators_moved(&mut self, t: usize, moves: &[(Reg, Reg)]) {
        if self.accumulators.is_empty() {
            return;
        }
        for (to, from) in moves {
            if to != from {
                self.fragment_written(t, *to);
            }
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

    /// A guard for other numbers; `None` if they may be used.
    fn guard(&self, guard: &Guard, range: Range<usize>) -> Option<Guard> {
        let is_free =
            |pending: &Pending| self.memory.is_done(*pending) && !self.added_by.contains_key(&pending.copy);
        (!guard.copies.iter().all(is_free)).then(|| Guard {
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

    /// Multiplication `id` adds to what others have written. Where that is in flight, it takes their registers: for a second
    /// one, they would have to be copied, which is reported.
    pub(super) fn add_in_place(&mut self, t: usize, wgmma: &Wgmma, id: CopyId) {
        let Some(accumulator) = self.accumulator(t, wgmma.accumulator) else {
            return;
        };
        let copies = accumulator.guards.iter().flat_map(|guard| guard.copies.iter());
        let copies: Vec<Pending> = copies.copied().collect();
        for pending in copies {
            let in_flight = !self.memory.is_done(pending);
            if in_flight {
                self.added_to.entry(id).or_insert(pending.copy);
            }
            if wgmma.zero {
                continue;
            }
            match self.added_by.get(&pending.copy).copied() {
                // Registers that are named one by one have a guard each.
                Some(first) if first == id => {}
                Some(first) => {
                    let problem = self.copied_accumulator(t, first);
                    self.memory.reports.problem(problem);
                }
                None if in_flight => {
                    self.added_by.insert(pending.copy, id);
                }
                None => {}
            }
        }
    }

    /// Thread `t` uses an accumulator whose registers multiplication `first` has taken.
    pub(super) fn copied_accumulator(&self, t: usize, first: CopyId) -> Problem {
        let first = self.memory.issuer(first);
        let awaitable = self.code.instrs[first.instr as usize].op.is_awaitable();
        Problem::copied_accumulator(self.spot(t), first, awaitable)
    }

    /// Returns true if a multiplication has added to the result of another one in its registers: nobody else has that result.
    pub(super) fn is_added_to(&self, guard: &Guard, pending: Pending) -> bool {
        guard.accumulator.is_some() && self.added_by.contains_key(&pending.copy)
    }

    /// Registers are chosen from by data: accumulators in flight would be copied.
    pub(super) fn chosen_from(&self, t: usize, regs: &[Reg]) {
        if self.accumulators.is_empty() {
            return;
        }
        for reg in regs.iter().filter(|reg| self.accumulator(t, **reg).is_some()) {
            // What is early is noted; what may be poison need not be chosen.
            let _ = self.value_or_poison(t, *reg);
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

    /// A multiplication reads and adds to registers. Reports if no fence lies between a write of them and it, or before the first
    /// of all.
    pub(super) fn check_fence(&mut self, t: usize, wgmma: &Wgmma, pending: Pending) {
        for reg in wgmma.fragment() {
            let sources = self.fragments.get(reg).into_iter().flatten();
            for source in sources {
                let reads = self.threads[t].reads.entry(*source).or_default();
                reads.retain(|pending| !self.memory.is_done(*pending));
                reads.push(pending);
            }
        }
        let thread = &self.threads[t];
        let last = |regs: &[Reg]| regs.iter().filter_map(|reg| thread.written.get(reg)).max();
        let written = [last(&[wgmma.accumulator]), last(wgmma.fragment())];
        let Some(fence) = thread.fenced else {
            return self.unfenced(t, Unfenced::First);
        };
        let unfenced = written.map(|written| written.is_some_and(|written| *written > fence));
        match unfenced {
            [true, _] => self.unfenced(t, Unfenced::Accumulator),
            [_, true] => self.unfenced(t, Unfenced::Fragment),
            _ => {}
        }
    }

    fn unfenced(&mut self, t: usize, what: Unfenced) {
        let problem = Problem::unfenced_registers(self.spot(t), what);
        self.memory.reports.problem(problem);
        // One fence here would do for what comes after.
        self.threads[t].fenced = Some(self.threads[t].steps);
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
