//! Looks at every state that code can be in.
//!
//! What is known at a point is one of few states: slots, parities and what a program counts are small numbers, and of iterations a few
//! low bits are told apart. So all are visited, for loops of any trip count. Of conditions that are not known, both outcomes are looked at.
//! Tokens and variables that are not used later are not part of a state.
//!
//! What was found is an [`Invariant`], which is checked ([`check_invariant()`]): nobody has to believe the search.
//!
//! Cost: (instructions) x (states that a block is entered in), which are at most a few for each slot of the ring in the code that
//! `--gpux-tokens-to-mbarriers` writes.

use super::certificate::NodeId;
use super::check_invariant::{Outcome, check_invariant, leave};
use super::code::{BlockId, Code, Token, Var};
use super::int::{Int, UNKNOWN};
use super::invariant::{Ages, Invariant, Node};
use super::liveness::{Live, liveness};
use super::slot::{Fault, Slot};
use super::state::{Slots, State};
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

/// What is known where a block begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Known {
    slots: Box<[Slot]>,
    /// Of live variables.
    vars: Box<[Int]>,
    /// Of live tokens, by role.
    tokens: Box<[Slots]>,
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
    /// For each state the ones that come next.
    successors: Vec<Vec<Option<NodeId>>>,
    work: Vec<(BlockId, Known)>,
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
        let ages = Ages::of(state);
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
        let node = NodeId::try_from(self.successors.len()).unwrap_or(NodeId::MAX);
        self.successors.push(Vec::new());
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
            ages.restore(state);
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

    /// Goes on from a state, which has been left at the end of block `at`.
    fn take_edges(&mut self, node: NodeId, at: BlockId, state: &State) -> Result<(), Refusal> {
        let mut successors = Vec::new();
        for edge in self.code.blocks[at.0 as usize].edges.of(&self.code.edges) {
            let taken = state.take(edge);
            successors.push(match (taken, edge.to) {
                (None, _) => None,
                (Some(_), None) => {
                    leave(state).map_err(|fault| Refusal { instr: None, fault })?;
                    None
                }
                (Some(taken), Some(to)) => Some(self.arrive(
                    to,
                    state,
                    |var| taken.var(var),
                    |token, role| taken.in_flight(token, role),
                )?),
            });
        }
        if let Some(place) = self.successors.get_mut(node as usize) {
            *place = successors;
        }
        Ok(())
    }

    /// What was found.
    fn finish(self) -> Invariant {
        let roles = self.code.threads.len();
        let mut nodes = Vec::new();
        for ((block, live), seen) in (0..).map(BlockId).zip(&self.live).zip(self.seen) {
            for (known, Seen { ages, node }) in seen {
                let tokens = known.tokens.chunks(roles.max(1)).map(<[Slots]>::to_vec);
                let known = Node {
                    block,
                    slots: ages.with(&known.slots),
                    gathered: ages.gathered(),
                    vars: live.vars.iter().copied().zip(known.vars).collect(),
                    tokens: live.tokens.iter().copied().zip(tokens).collect(),
                    successors: Vec::new(),
                };
                nodes.push((node, known));
            }
        }
        nodes.sort_unstable_by_key(|(node, _)| *node);
        let nodes = nodes.into_iter().zip(self.successors);
        let nodes = nodes.map(|((_, node), successors)| Node { successors, ..node });
        Invariant {
            nodes: nodes.collect(),
        }
    }
}

/// Finds what is known where blocks of `code` begin.
///
/// # Errors
///
/// A rule that may be broken.
pub fn explore(code: &Code) -> Result<Invariant, Refusal> {
    let mut explorer = Explorer {
        code,
        live: liveness(code),
        seen: code.blocks.iter().map(|_| FxHashMap::default()).collect(),
        successors: Vec::new(),
        work: Vec::new(),
    };
    let mut state = State::new(code);
    if !code.blocks.is_empty() {
        explorer.arrive(BlockId(0), &state, |_| UNKNOWN, |_, _| 0)?;
    }
    while let Some((at, known)) = explorer.work.pop() {
        let node = explorer.restore(at, &known, &mut state);
        for place in code.blocks[at.0 as usize].instrs.range() {
            let run = state.run(code.instrs[place], code);
            run.map_err(|fault| Refusal {
                instr: Some(place),
                fault,
            })?;
        }
        explorer.take_edges(node, at, &state)?;
    }
    Ok(explorer.finish())
}

/// Checks that no execution of `code` breaks a rule; see [`check_invariant()`].
///
/// # Errors
///
/// A rule that may be broken.
pub fn check(code: &Code) -> Result<(Invariant, Outcome), Refusal> {
    let invariant = explore(code)?;
    let outcome = check_invariant(code, &invariant).map_err(|_| Refusal {
        instr: None,
        fault: Fault::Unproven,
    })?;
    Ok((invariant, outcome))
}
