//! Mbarriers as the PTX ISA defines them, and threads that are as fast or slow as they like: all of their executions.

use async_verify::mbarriers::code::Who;
use std::collections::HashSet;

/// What threads do in turn, all of them the same; what one does alone is nothing to the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    Init(usize, i64),
    Inval(usize),
    Expect(usize, i64),
    Arrive(usize, Who),
    /// A load of so many bytes.
    Load(usize, u8),
    Wait(usize, bool, Who),
    Barrier,
    /// Everybody comes by here.
    Gather,
    /// The one that issues goes on once all have come by the last [`Step::Gather`].
    Gathered,
    /// Goes on once all have come by all but so many of the last arrivals of everybody.
    Learn(usize),
    /// Loads, by number, that have to have landed.
    Await(Vec<usize>),
}

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A mbarrier is used that is not initialized, or initialized again.
    NotInitialized,
    /// More threads arrive than a phase counts.
    TooManyArrivals,
    /// A load is in flight where it has to have landed.
    InFlight,
    /// Nobody can go on.
    Stuck,
    /// There is no end of it.
    TooLong,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Mbarrier {
    phase: u8,
    count: i64,
    pending: i64,
    bytes: i64,
}

impl Mbarrier {
    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.count;
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Where each thread is; the first one issues.
    at: Vec<usize>,
    mbarriers: Vec<Option<Mbarrier>>,
    /// The bytes that are left of each load that was issued.
    left: Vec<(usize, u8)>,
}

/// A machine with a program.
pub struct Machine<'a> {
    pub steps: &'a [Step],
    pub depth: usize,
    pub threads: usize,
}

impl Machine<'_> {
    /// A fault of some execution. At most `budget` states are looked at.
    pub fn fault(&self, budget: usize) -> Option<Fault> {
        let first = State {
            at: vec![0; self.threads],
            mbarriers: vec![None; self.depth],
            left: Vec::new(),
        };
        let mut seen = HashSet::from([first.clone()]);
        let mut work = vec![first];
        while let Some(state) = work.pop() {
            let mut next = Vec::new();
            for thread in 0..self.threads {
                match self.step(&state, thread) {
                    Ok(moved) => next.extend(moved),
                    Err(fault) => return Some(fault),
                }
            }
            for load in 0..state.left.len() {
                match land(&state, load) {
                    Ok(moved) => next.extend(moved),
                    Err(fault) => return Some(fault),
                }
            }
            let is_over = state.at.iter().all(|at| *at == self.steps.len());
            if is_over && state.left.iter().any(|(_, left)| *left > 0) {
                return Some(Fault::InFlight);
            }
            if next.is_empty() && !is_over {
                return Some(Fault::Stuck);
            }
            for state in next {
                if seen.insert(state.clone()) {
                    work.push(state);
                }
            }
            if seen.len() > budget {
                return Some(Fault::TooLong);
            }
        }
        None
    }

    /// What becomes of `state` if `thread` goes on; `None` if it has to wait.
    fn step(&self, state: &State, thread: usize) -> Result<Option<State>, Fault> {
        let at = state.at[thread];
        let Some(step) = self.steps.get(at) else {
            return Ok(None);
        };
        let mut next = state.clone();
        next.at[thread] += 1;
        let issues = thread == 0;
        let takes_part = |who: Who| who != Who::Issuer || issues;
        let mbarrier = |next: &mut State, slot: usize| next.mbarriers[slot].ok_or(Fault::NotInitialized);
        match *step {
            Step::Init(slot, count) if issues => {
                let new = Mbarrier {
                    phase: 0,
                    count,
                    pending: count,
                    bytes: 0,
                };
                if next.mbarriers[slot].replace(new).is_some() {
                    return Err(Fault::NotInitialized);
                }
            }
            Step::Inval(slot) if issues => {
                next.mbarriers[slot].take().ok_or(Fault::NotInitialized)?;
            }
            Step::Expect(slot, bytes) if issues => {
                let mut it = mbarrier(&mut next, slot)?;
                it.bytes += bytes;
                next.mbarriers[slot] = Some(it);
            }
            Step::Arrive(slot, who) if takes_part(who) => {
                let mut it = mbarrier(&mut next, slot)?;
                if it.pending == 0 {
                    return Err(Fault::TooManyArrivals);
                }
                it.pending -= 1;
                it.settle();
                next.mbarriers[slot] = Some(it);
            }
            Step::Load(slot, bytes) if issues => {
                mbarrier(&mut next, slot)?;
                next.left.push((slot, bytes));
            }
            Step::Wait(slot, parity, who) if takes_part(who) => {
                let it = mbarrier(&mut next, slot)?;
                if (it.phase % 2 == 1) == parity {
                    return Ok(None);
                }
            }
            Step::Barrier if state.at.iter().any(|other| *other < at) => return Ok(None),
            Step::Gathered if issues => {
                let last = self.steps[..at].iter().rposition(|step| *step == Step::Gather);
                if !has_passed(state, last) {
                    return Ok(None);
                }
            }
            Step::Learn(ages) => {
                let arrivals = (0..at)
                    .rev()
                    .filter(|i| matches!(self.steps[*i], Step::Arrive(_, Who::Roles(_))));
                if !has_passed(state, arrivals.skip(ages).max()) {
                    return Ok(None);
                }
            }
            Step::Await(ref loads) => {
                // A thread does not come so far before the loads that it awaits are issued, or it is a fault.
                let in_flight = |load: &usize| next.left.get(*load).is_none_or(|(_, left)| *left > 0);
                if loads.iter().any(in_flight) {
                    return Err(Fault::InFlight);
                }
            }
            _ => {}
        }
        Ok(Some(next))
    }
}

/// Returns true if all threads have passed `step`.
fn has_passed(state: &State, step: Option<usize>) -> bool {
    step.is_none_or(|step| state.at.iter().all(|at| *at > step))
}

/// What becomes of `state` if a byte of `load` lands.
fn land(state: &State, load: usize) -> Result<Option<State>, Fault> {
    let (slot, left) = state.left[load];
    if left == 0 {
        return Ok(None);
    }
    let mut next = state.clone();
    next.left[load].1 -= 1;
    let it = next.mbarriers[slot].as_mut().ok_or(Fault::NotInitialized)?;
    it.bytes -= 1;
    it.settle();
    Ok(Some(next))
}
