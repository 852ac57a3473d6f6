//! Looks at every state that code can be in.
//!
//! What is known at a point is one of few states: slots, parities and what a program counts are small numbers, and of iterations a few
//! low bits are told apart. So all are visited, for loops of any trip count. Of conditions that are not known, both outcomes are looked at.
//! Tokens and variables that are not used later are not part of a state.
//!
//! Cost: (instructions) x (states that a block is entered in), which are at most a few for each slot of the ring in the code that
//! `--gpux-tokens-to-mbarriers` writes.

use super::code::{BlockId, Code, Instr, Who};
use super::int::Int;
use super::liveness::{Live, liveness};
use super::slot::{Fault, Slot};
use super::state::{Slots, State, Taken};
use rustc_hash::FxHashSet;

/// The most states that a block is looked at in.
const MOST_STATES: usize = 1 << 16;

/// A rule that code breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The place among all instructions; `None` where the function ends.
    pub instr: Option<usize>,
    /// The rule.
    pub fault: Fault,
}

/// What is true of all executions of code that breaks no rule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// For each instruction that is a wait, and not of the thread that issues, how many times threads may have gathered since the phase that
    /// it waits for was armed, but for those times that were over then; `None` if it is never reached.
    pub ages: Vec<Option<u8>>,
}

/// What is known where a block begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Known {
    slots: Box<[Slot]>,
    /// Of live variables.
    vars: Box<[Int]>,
    /// Of live tokens.
    tokens: Box<[Slots]>,
    gathered: u8,
}

impl Known {
    fn entry(state: &State, live: &Live, roles: usize) -> Self {
        let tokens = live.tokens.iter();
        Self {
            slots: state.slots.as_slice().into(),
            vars: live.vars.iter().map(|var| state.var(*var)).collect(),
            tokens: tokens
                .flat_map(|token| (0..roles).map(|role| state.in_flight(*token, role)))
                .collect(),
            gathered: state.gathered,
        }
    }

    fn after(state: &State, taken: &Taken, live: &Live, roles: usize) -> Self {
        let tokens = live.tokens.iter();
        Self {
            slots: state.slots.as_slice().into(),
            vars: live.vars.iter().map(|var| taken.var(*var)).collect(),
            tokens: tokens
                .flat_map(|token| (0..roles).map(|role| taken.in_flight(*token, role)))
                .collect(),
            gathered: state.gathered,
        }
    }

    fn restore(&self, state: &mut State, live: &Live, roles: usize) {
        state.slots.copy_from_slice(&self.slots);
        for (var, value) in live.vars.iter().zip(&self.vars) {
            state.set(*var, *value);
        }
        let names = live
            .tokens
            .iter()
            .flat_map(|token| (0..roles).map(move |role| (*token, role)));
        for ((token, role), slots) in names.zip(&self.tokens) {
            state.set_token(token, role, *slots);
        }
        state.gathered = self.gathered;
    }
}

/// Checks that no execution of `code` breaks a rule: each phase has the arrivals and bytes that it expects, each wait is for the phase of its
/// parity and ends, no thread is two phases behind, mbarriers are initialized before they are used, and loads have landed where
/// their tokens are awaited.
///
/// # Errors
///
/// A rule that may be broken.
pub fn check(code: &Code) -> Result<Outcome, Refusal> {
    let live = liveness(code);
    let mut outcome = Outcome {
        ages: vec![None; code.instrs.len()],
    };
    let mut seen: Vec<FxHashSet<Known>> = vec![FxHashSet::default(); code.blocks.len()];
    let roles = code.threads.len();
    let mut state = State::new(code);
    let mut work = Vec::new();
    if let Some(first) = live.first() {
        let known = Known::entry(&state, first, roles);
        seen[0].insert(known.clone());
        work.push((BlockId(0), known));
    }
    while let Some((at, known)) = work.pop() {
        let block = code.blocks[at.0 as usize];
        known.restore(&mut state, &live[at.0 as usize], roles);
        for place in block.instrs.range() {
            run(code, place, &mut state, &mut outcome)?;
        }
        for edge in block.edges.of(&code.edges) {
            let Some(taken) = state.take(edge) else {
                continue;
            };
            let Some(to) = edge.to else {
                leave(&state)?;
                continue;
            };
            let known = Known::after(&state, &taken, &live[to.0 as usize], roles);
            let seen = &mut seen[to.0 as usize];
            if seen.insert(known.clone()) {
                if seen.len() > MOST_STATES {
                    let fault = Fault::TooMany;
                    return Err(Refusal { instr: None, fault });
                }
                work.push((to, known));
            }
        }
    }
    Ok(outcome)
}

fn run(code: &Code, place: usize, state: &mut State, outcome: &mut Outcome) -> Result<(), Refusal> {
    let instr = code.instrs[place];
    let refusal = |fault| Refusal {
        instr: Some(place),
        fault,
    };
    state.waited = None;
    state.run(instr, code).map_err(refusal)?;
    if let (
        Instr::Wait {
            by: Who::Roles(_), ..
        },
        Some(waited),
    ) = (instr, state.waited)
    {
        let age = &mut outcome.ages[place];
        *age = Some(waited.age.max(age.unwrap_or(0)));
    }
    Ok(())
}

/// Looks at the state where the function ends: nothing may be in flight.
fn leave(state: &State) -> Result<(), Refusal> {
    if state.slots.iter().any(Slot::is_in_flight) {
        let fault = Fault::InUse;
        return Err(Refusal { instr: None, fault });
    }
    Ok(())
}
