//! What is known of tokens within a block: the effect of instructions on claims.
//!
//! Ages of all tokens grow with each commit, and each wait completes those that are old enough. Both take constant time here: of an
//! operation it is remembered which group of the block it is in. With `c` groups closed since the block began, the operations of
//! group `g` have age `c - g` (those from before have negative groups), and a wait for `n` completes the groups below `c - n`.

use super::certificate::{Age, Certificate, Claim};
use super::code::{Code, Fifo, Instr, Span, Token};

/// A group, counted from the beginning of a block.
type Group = i64;

/// What is known of one FIFO.
#[derive(Clone, Copy)]
struct FifoState {
    /// How many groups were closed in this block.
    closed: Group,
    /// All groups below are complete.
    complete: Group,
}

/// Where nothing is closed yet, and nothing is known to be complete.
const BEGINNING: FifoState = FifoState {
    closed: 0,
    complete: Group::MIN,
};

/// What is known of one token.
#[derive(Clone, Copy, Default)]
struct TokenState {
    /// When it was defined: what is not of the current block is not known.
    block: u32,
    /// The groups of its operations that may be in flight.
    groups: Span,
}

/// What is known at a point of a block.
pub(super) struct State {
    fifos: Vec<FifoState>,
    tokens: Vec<TokenState>,
    groups: Vec<(Fifo, Group)>,
    /// How many blocks were begun.
    block: u32,
}

/// A token that may be in flight where it has to be complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// The token.
    pub token: Token,
    /// A FIFO of its operations and their smallest age there; `None` if nothing is known of the token.
    pub operation: Option<(Fifo, Age)>,
}

impl State {
    /// The state for blocks of `code`, and claims of some tokens.
    pub fn new(code: &Code, claims: &[Claim]) -> Self {
        let claimed = claims.iter().map(|claim| claim.token.0 as usize + 1);
        let tokens = claimed.chain([code.num_tokens()]).max().unwrap_or(0);
        let fifos = code.instrs.iter().map(|instr| match instr {
            Instr::Issue(fifo, _) | Instr::Commit(fifo) | Instr::Wait(fifo, _) => usize::from(fifo.0) + 1,
            _ => 0,
        });
        Self {
            fifos: vec![BEGINNING; fifos.max().unwrap_or(0)],
            tokens: vec![TokenState::default(); tokens],
            groups: Vec::new(),
            block: 0,
        }
    }

    /// One more than the largest FIFO of the code.
    pub fn num_fifos(&self) -> usize {
        self.fifos.len()
    }

    /// Begins a block of which nothing is known.
    pub fn begin(&mut self) {
        self.block += 1;
        self.groups.clear();
        self.fifos.fill(BEGINNING);
    }

    /// Adds a claim for the beginning of the block. Of several claims for a token, the first one counts.
    pub fn claim(&mut self, token: Token, in_flight: &[(Fifo, Age)]) {
        if !self.is_known(token) {
            let start = self.groups.len();
            let groups = in_flight.iter().map(|&(fifo, age)| (fifo, -Group::from(age)));
            self.groups.extend(groups);
            self.define(token, start);
        }
    }

    /// Adds all claims of a node.
    pub fn claim_all(&mut self, claims: &[Claim], certificate: &Certificate) {
        for claim in claims {
            self.claim(claim.token, claim.in_flight.of(&certificate.in_flight));
        }
    }

    fn is_known(&self, token: Token) -> bool {
        let state = self.tokens.get(token.0 as usize);
        state.is_some_and(|state| state.block == self.block)
    }

    /// Makes the groups since `start` those of `token`.
    fn define(&mut self, token: Token, start: usize) {
        let groups = Span::since(start, &self.groups);
        if let Some(state) = self.tokens.get_mut(token.0 as usize) {
            *state = TokenState {
                block: self.block,
                groups,
            };
        }
    }

    fn fifo(&self, fifo: Fifo) -> FifoState {
        // No instruction is about a FIFO beyond the end.
        self.fifos.get(usize::from(fifo.0)).copied().unwrap_or(BEGINNING)
    }

    /// The operations of `token` that may be in flight, as FIFOs and ages; `None` if nothing is known of it.
    pub fn in_flight(&self, token: Token) -> Option<impl Iterator<Item = (Fifo, Age)>> {
        let state = self.tokens.get(token.0 as usize)?;
        let groups = (state.block == self.block).then(|| state.groups.of(&self.groups))?;
        Some(groups.iter().filter_map(|&(fifo, group)| {
            let FifoState { closed, complete } = self.fifo(fifo);
            (group >= complete).then(|| (fifo, Age::try_from(closed - group).unwrap_or(Age::MAX)))
        }))
    }

    /// Runs an instruction; returns a token that is not known to be complete where it has to be.
    pub fn run(&mut self, instr: Instr, code: &Code) -> Result<(), InFlight> {
        match instr {
            Instr::Issue(fifo, token) => {
                let start = self.groups.len();
                self.groups.push((fifo, self.fifo(fifo).closed));
                self.define(token, start);
            }
            Instr::Commit(fifo) => self.fifos[usize::from(fifo.0)].closed += 1,
            Instr::Wait(fifo, n) => {
                let fifo = &mut self.fifos[usize::from(fifo.0)];
                fifo.complete = fifo.complete.max(fifo.closed - Group::from(n));
            }
            Instr::Await(tokens) => {
                for &token in tokens.of(&code.tokens) {
                    let known = self.in_flight(token).map(|mut in_flight| in_flight.next());
                    if known != Some(None) {
                        let operation = known.flatten();
                        return Err(InFlight { token, operation });
                    }
                }
            }
            Instr::Join(token, of) => self.join(token, of.of(&code.tokens)),
        }
        Ok(())
    }

    fn join(&mut self, token: Token, of: &[Token]) {
        if !of.iter().all(|token| self.is_known(*token)) {
            if let Some(state) = self.tokens.get_mut(token.0 as usize) {
                state.block = 0;
            }
            return;
        }
        let start = self.groups.len();
        for from in of {
            for i in 0..self.tokens[from.0 as usize].groups.of(&self.groups).len() {
                let (fifo, group) = self.tokens[from.0 as usize].groups.of(&self.groups)[i];
                if group < self.fifo(fifo).complete {
                    continue;
                }
                match self.groups[start..].iter_mut().find(|(known, _)| *known == fifo) {
                    Some((_, youngest)) => *youngest = group.max(*youngest),
                    None => self.groups.push((fifo, group)),
                }
            }
        }
        self.define(token, start);
    }
}
