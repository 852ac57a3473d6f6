//! Looks at every state that code can be in.
//!
//! What is known at a point is one of few states: slots, parities and what a program counts are small numbers, and of iterations a few
//! low bits are told apart. So all are visited, for loops of any trip count. Of conditions that are not known, both outcomes are looked at.
//! Tokens and variables that are not used later are not part of a state.
//!
//! Cost: (instructions) x (states that a block is entered in), which are at most a few for each slot of the ring in the code that
//! `--gpux-tokens-to-mbarriers` writes.

use super::certificate::{Certificate, NodeId};
use super::check_certificate::check_certificate;
use super::code::{BlockId, Code, Instr, Token, Var, Who};
use super::int::{Int, UNKNOWN};
use super::liveness::{Live, liveness};
use super::slot::{Fault, Slot};
use super::state::{Slots, State};
use super::unfold::Unfolding;
use rustc_hash::FxHashMap;

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
    /// What proves it; `None` if others than the thread that issues arrive, or if warps have roles.
    pub certificate: Option<Certificate>,
}

/// What is known where a block begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Known {
    slots: Box<[Slot]>,
    /// Of live variables.
    vars: Box<[Int]>,
    /// Of live tokens, by role.
    tokens: Box<[Slots]>,
}

/// How many times threads have gathered since what is said of the slots, and since the thread that issues has waited for them. These tell
/// no states apart: of several, the largest count, which say least.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Ages {
    slots: Box<[u8]>,
    gathered: u8,
}

impl Ages {
    /// Takes the larger ones; returns true if that changes any.
    fn join(&mut self, other: &Self) -> bool {
        let all = self.slots.iter_mut().chain([&mut self.gathered]);
        let others = other.slots.iter().chain([&other.gathered]);
        let mut changed = false;
        for (age, other) in all.zip(others) {
            changed |= *age < *other;
            *age = (*age).max(*other);
        }
        changed
    }
}

/// What goes with a state.
#[derive(Debug)]
struct Seen {
    ages: Ages,
    /// Its number among all states.
    node: NodeId,
}

/// What is looked at.
struct Explorer<'a> {
    code: &'a Code,
    live: Vec<Live>,
    /// The states in which each block begins.
    seen: Vec<FxHashMap<Known, Seen>>,
    num_seen: NodeId,
    work: Vec<(BlockId, Known)>,
    outcome: Outcome,
    unfolding: Option<Unfolding>,
}

impl Explorer<'_> {
    fn roles(&self) -> usize {
        self.code.threads.len()
    }

    /// Comes to block `to`, where variables and tokens are what these say; returns the number of the state.
    fn arrive(
        &mut self,
        to: BlockId,
        state: &State,
        var: impl Fn(Var) -> Int,
        token: impl Fn(Token, usize) -> Slots,
    ) -> Result<NodeId, Refusal> {
        let live = &self.live[to.0 as usize];
        let roles = self.roles();
        let names = live
            .tokens
            .iter()
            .flat_map(|token| (0..roles).map(move |role| (*token, role)));
        // Where threads gather, ages are those of slots, which take turns.
        let is_told_apart = self.code.is_gathering;
        let age = |slot: &Slot| if is_told_apart { slot.age() } else { 0 };
        let known = Known {
            slots: state.slots.iter().map(|slot| slot.with_age(age(slot))).collect(),
            vars: live.vars.iter().map(|name| var(*name)).collect(),
            tokens: names.map(|(name, role)| token(name, role)).collect(),
        };
        let ages = Ages {
            slots: state.slots.iter().map(Slot::age).collect(),
            gathered: state.gathered,
        };
        let seen = &mut self.seen[to.0 as usize];
        if let Some(before) = seen.get_mut(&known) {
            let node = before.node;
            if before.ages.join(&ages) {
                self.work.push((to, known));
            }
            return Ok(node);
        }
        if seen.len() == MOST_STATES {
            let fault = Fault::TooMany;
            return Err(Refusal { instr: None, fault });
        }
        let node = self.num_seen;
        self.num_seen += 1;
        if let Some(unfolding) = &mut self.unfolding {
            // There is one role.
            let tokens = live.tokens.iter().zip(&known.tokens);
            unfolding.enter(&known.slots, tokens.map(|(token, slots)| (*token, *slots)));
        }
        seen.insert(known.clone(), Seen { ages, node });
        self.work.push((to, known));
        Ok(node)
    }

    /// Makes `state` what is known where block `at` begins; returns its number.
    fn restore(&self, at: BlockId, known: &Known, state: &mut State) -> NodeId {
        let live = &self.live[at.0 as usize];
        state.slots.copy_from_slice(&known.slots);
        let seen = self.seen[at.0 as usize].get(known);
        if let Some(Seen { ages, .. }) = seen {
            for (slot, age) in state.slots.iter_mut().zip(&ages.slots) {
                *slot = slot.with_age(*age);
            }
            state.gathered = ages.gathered;
        }
        for (var, value) in live.vars.iter().zip(&known.vars) {
            state.set(*var, *value);
        }
        let roles = self.roles();
        let names = live
            .tokens
            .iter()
            .flat_map(|token| (0..roles).map(move |role| (*token, role)));
        for ((token, role), slots) in names.zip(&known.tokens) {
            state.set_token(token, role, *slots);
        }
        seen.map_or(NodeId::MAX, |seen| seen.node)
    }

    fn run(&mut self, node: NodeId, place: usize, state: &mut State) -> Result<(), Refusal> {
        let instr = self.code.instrs[place];
        if let Some(unfolding) = &mut self.unfolding {
            unfolding.push(node, instr, state, self.code);
        }
        let refusal = |fault| Refusal {
            instr: Some(place),
            fault,
        };
        state.waited = None;
        state.run(instr, self.code).map_err(refusal)?;
        if let (
            Instr::Wait {
                by: Who::Roles(_), ..
            },
            Some(waited),
        ) = (instr, state.waited)
        {
            let age = &mut self.outcome.ages[place];
            *age = Some(waited.age.max(age.unwrap_or(0)));
        }
        Ok(())
    }

    /// Goes on from a state, which has been left at the end of block `at`.
    fn take_edges(&mut self, node: NodeId, at: BlockId, state: &State) -> Result<(), Refusal> {
        for edge in self.code.blocks[at.0 as usize].edges.of(&self.code.edges) {
            let Some(taken) = state.take(edge) else {
                continue;
            };
            let Some(to) = edge.to else {
                leave(state)?;
                if let Some(unfolding) = &mut self.unfolding {
                    unfolding.leave(node, &state.slots);
                }
                continue;
            };
            let next = self.arrive(
                to,
                state,
                |var| taken.var(var),
                |token, role| taken.in_flight(token, role),
            )?;
            if let Some(unfolding) = &mut self.unfolding {
                let live = &self.live[to.0 as usize].tokens;
                let binds = edge.tokens.iter().copied();
                unfolding.connect(
                    node,
                    next,
                    binds.filter(|(token, _)| live.binary_search(token).is_ok()),
                );
            }
        }
        Ok(())
    }

    /// What was found, whose certificate holds.
    fn finish(self) -> Result<Outcome, Refusal> {
        let certificate = self.unfolding.map(Unfolding::finish);
        if certificate
            .as_ref()
            .is_some_and(|known| check_certificate(known).is_err())
        {
            let fault = Fault::Unproven;
            return Err(Refusal { instr: None, fault });
        }
        Ok(Outcome {
            certificate,
            ..self.outcome
        })
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
    let mut explorer = Explorer {
        code,
        live: liveness(code),
        seen: code.blocks.iter().map(|_| FxHashMap::default()).collect(),
        num_seen: 0,
        work: Vec::new(),
        outcome: Outcome {
            ages: vec![None; code.instrs.len()],
            certificate: None,
        },
        unfolding: Unfolding::new(code),
    };
    let mut state = State::new(code);
    if !code.blocks.is_empty() {
        explorer.arrive(BlockId(0), &state, |_| UNKNOWN, |_, _| 0)?;
    }
    while let Some((at, known)) = explorer.work.pop() {
        let node = explorer.restore(at, &known, &mut state);
        if let Some(unfolding) = &mut explorer.unfolding {
            unfolding.begin(node);
        }
        for place in code.blocks[at.0 as usize].instrs.range() {
            explorer.run(node, place, &mut state)?;
        }
        explorer.take_edges(node, at, &state)?;
    }
    explorer.finish()
}

/// Looks at the state where the function ends: nothing may be in flight.
fn leave(state: &State) -> Result<(), Refusal> {
    if state.slots.iter().any(Slot::is_in_flight) {
        let fault = Fault::InUse;
        return Err(Refusal { instr: None, fault });
    }
    Ok(())
}
