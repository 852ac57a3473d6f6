//! What is known of tokens within a block: the effect of instructions on claims.
//!
//! Ages of all tokens grow with each commit, and each wait completes those that are old enough. Both take constant time here: of an
//! operation it is remembered which group of the block it is in. With `c` groups closed since the block began, the operations of
//! group `g` have age `c - g` (those from before have negative groups), and a wait for `n` completes the groups below `c - n`.

use super::certificate::{Age, Certificate, Claim};
use super::code::{Code, Fifo, Instr, Token};

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

impl FifoState {
    /// The age of an operation of `group`, if it may be in flight.
    fn age(self, group: Group) -> Option<Age> {
        (group >= self.complete).then(|| Age::try_from(self.closed - group).unwrap_or(Age::MAX))
    }
}

/// Where nothing is closed yet, and nothing is known to be complete.
const BEGINNING: FifoState = FifoState {
    closed: 0,
    complete: NOTHING + 1,
};

/// The group of a token that has nothing in flight in a FIFO: it is complete.
const NOTHING: Group = Group::MIN;

/// What is known at a point of a block.
pub(super) struct State {
    fifos: Vec<FifoState>,
    /// When each token was defined: what is not of the current block is not known.
    defined: Vec<u32>,
    /// For each token and FIFO the youngest group of its operations.
    groups: Vec<Group>,
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
    /// The state for blocks of `code`, and claims of `certificate`.
    pub fn new(code: &Code, certificate: &Certificate) -> Self {
        let (tokens, fifos) = code.num_tokens_and_fifos();
        let claimed = certificate.claims.iter().map(|claim| claim.token.0 as usize + 1);
        let tokens = claimed.fold(tokens, usize::max);
        let claimed = certificate
            .in_flight
            .iter()
            .map(|(fifo, _)| usize::from(fifo.0) + 1);
        let fifos = claimed.fold(fifos.max(1), usize::max);
        Self {
            fifos: vec![BEGINNING; fifos],
            defined: vec![0; tokens],
            groups: vec![0; tokens * fifos],
            block: 0,
        }
    }

    /// One more than the largest token.
    pub fn num_tokens(&self) -> usize {
        self.defined.len()
    }

    /// One more than the largest FIFO, and at least 1.
    pub fn num_fifos(&self) -> usize {
        self.fifos.len()
    }

    /// Begins a block of which nothing is known.
    pub fn begin(&mut self) {
        self.block += 1;
        self.fifos.fill(BEGINNING);
    }

    /// Adds a claim for the beginning of the block. Of several claims for a token, the first one counts.
    pub fn claim(&mut self, token: Token, in_flight: impl Iterator<Item = (Fifo, Age)>) {
        if !self.is_known(token) {
            let groups = self.define(token);
            for (fifo, age) in in_flight {
                let youngest = &mut groups[usize::from(fifo.0)];
                *youngest = (-Group::from(age)).max(*youngest);
            }
        }
    }

    /// Adds a claim of an age, or of nothing in flight, for each FIFO.
    pub fn claim_ages(&mut self, token: Token, ages: impl Iterator<Item = Option<Age>>) {
        let n = self.fifos.len();
        self.defined[token.0 as usize] = self.block;
        let groups = &mut self.groups[token.0 as usize * n..][..n];
        for (group, age) in groups.iter_mut().zip(ages) {
            *group = age.map_or(NOTHING, |age| -Group::from(age));
        }
    }

    /// Adds all claims of a node.
    pub fn claim_all(&mut self, claims: &[Claim], certificate: &Certificate) {
        for claim in claims {
            let in_flight = claim.in_flight.of(&certificate.in_flight);
            self.claim(claim.token, in_flight.iter().copied());
        }
    }

    fn is_known(&self, token: Token) -> bool {
        self.defined.get(token.0 as usize) == Some(&self.block)
    }

    /// The groups of `token`.
    fn groups(&self, token: Token) -> &[Group] {
        let n = self.fifos.len();
        &self.groups[token.0 as usize * n..][..n]
    }

    /// Defines `token`; returns its groups, of which none is in flight.
    fn define(&mut self, token: Token) -> &mut [Group] {
        let n = self.fifos.len();
        self.defined[token.0 as usize] = self.block;
        let groups = &mut self.groups[token.0 as usize * n..][..n];
        groups.fill(NOTHING);
        groups
    }

    /// By FIFO, the age of the youngest operation of `token` that may be in flight; `None` if nothing is known of the token.
    pub fn ages(&self, token: Token) -> Option<impl Iterator<Item = Option<Age>>> {
        let groups = self.is_known(token).then(|| self.groups(token))?;
        let ages = self.fifos.iter().zip(groups);
        Some(ages.map(|(fifo, group)| fifo.age(*group)))
    }

    /// The age of the youngest operation of `token` in `fifo`, if any may be in flight.
    pub fn age(&self, token: Token, fifo: Fifo) -> Option<Age> {
        self.ages(token)?.nth(usize::from(fifo.0))?
    }

    /// Refuses a token of which operations may be in flight.
    fn is_complete(&self, token: Token) -> Result<(), InFlight> {
        let operation = match self.ages(token) {
            Some(ages) => {
                let mut in_flight = (0..)
                    .map(Fifo)
                    .zip(ages)
                    .filter_map(|(fifo, age)| Some((fifo, age?)));
                let Some(first) = in_flight.next() else {
                    return Ok(());
                };
                Some(first)
            }
            None => None,
        };
        Err(InFlight { token, operation })
    }

    /// Runs an instruction; returns a token that is not known to be complete where it has to be.
    pub fn run(&mut self, instr: Instr, code: &Code) -> Result<(), InFlight> {
        match instr {
            Instr::Issue(fifo, token) => {
                let open = self.fifos[usize::from(fifo.0)].closed;
                self.define(token)[usize::from(fifo.0)] = open;
            }
            Instr::Commit(fifo) => self.fifos[usize::from(fifo.0)].closed += 1,
            Instr::Wait(fifo, n) => {
                let fifo = &mut self.fifos[usize::from(fifo.0)];
                fifo.complete = fifo.complete.max(fifo.closed - Group::from(n));
            }
            Instr::Await(tokens) => {
                for &token in tokens.of(&code.tokens) {
                    self.is_complete(token)?;
                }
            }
            Instr::Join(token, of) => self.join(token, of.of(&code.tokens)),
        }
        Ok(())
    }

    fn join(&mut self, token: Token, of: &[Token]) {
        if !of.iter().all(|token| self.is_known(*token)) {
            self.defined[token.0 as usize] = 0;
            return;
        }
        let n = self.fifos.len();
        // A token may be joined to itself, where order does not matter.
        let is_own = of.contains(&token);
        if !is_own {
            self.define(token);
        }
        for from in of {
            for fifo in 0..n {
                let group = self.groups[from.0 as usize * n + fifo];
                let youngest = &mut self.groups[token.0 as usize * n + fifo];
                *youngest = group.max(*youngest);
            }
        }
    }
}
