//! What is known of tokens within a block: the effect of instructions on claims.
//!
//! Ages of all tokens grow with each commit, and each wait completes those that are old enough. Both take constant time here: of an
//! operation it is remembered which group of the block it is in. With `c` groups closed since the block began, the operations of
//! group `g` have age `c - g` (those from before have negative groups), and a wait for `n` completes the groups below `c - n`.

use super::certificate::{Age, Certificate, Claim};
use super::code::{Code, Fifo, Instr, Token};
use super::lists::filled;
use std::ops::Range;

/// A group, counted from the beginning of a block.
type Group = i32;

/// Groups are counted up to here. Of those that were closed before, ages are less than they are: an operation is taken for a younger one.
const MOST: Group = 1 << 30;

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
        (group >= self.complete).then(|| self.closed.saturating_sub(group).unsigned_abs())
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
    /// For each token the number of the block where it was defined, which is [`Self::block`] or nothing is known of it; then for each FIFO
    /// the youngest group of its operations.
    tokens: Vec<Group>,
    /// How many blocks were begun.
    block: Group,
}

/// The group of an operation of this age, where a block begins.
fn before(age: Age) -> Group {
    -Group::try_from(age).map_or(MOST, |age| age.min(MOST))
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
            tokens: filled(0, tokens * (1 + fifos)),
            block: 0,
        }
    }

    /// One more than the largest token.
    pub fn num_tokens(&self) -> usize {
        self.tokens.len() / (1 + self.fifos.len())
    }

    /// One more than the largest FIFO, and at least 1.
    pub fn num_fifos(&self) -> usize {
        self.fifos.len()
    }

    /// Begins a block of which nothing is known.
    pub fn begin(&mut self) {
        self.block = self.block.checked_add(1).unwrap_or_else(|| {
            self.tokens.fill(0);
            1
        });
        self.fifos.fill(BEGINNING);
    }

    /// Adds a claim for the beginning of the block. Of several claims for a token, the first one counts.
    pub fn claim(&mut self, token: Token, in_flight: impl Iterator<Item = (Fifo, Age)>) {
        if !self.is_known(token) {
            let groups = self.define(token);
            for (fifo, age) in in_flight {
                let youngest = &mut groups[usize::from(fifo.0)];
                *youngest = before(age).max(*youngest);
            }
        }
    }

    /// Adds a claim of an age, or of nothing in flight, for each FIFO.
    pub fn claim_ages(&mut self, token: Token, ages: impl Iterator<Item = Option<Age>>) {
        for (group, age) in self.define(token).iter_mut().zip(ages) {
            *group = age.map_or(NOTHING, before);
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
        self.tokens.get(self.row(token).start) == Some(&self.block)
    }

    /// The places of what is known of `token`.
    fn row(&self, token: Token) -> Range<usize> {
        let len = 1 + self.fifos.len();
        let start = token.0 as usize * len;
        start..start + len
    }

    /// The groups of `token`.
    fn groups(&self, token: Token) -> &[Group] {
        &self.tokens[self.row(token)][1..]
    }

    /// Defines `token`; returns its groups, of which none is in flight.
    fn define(&mut self, token: Token) -> &mut [Group] {
        let row = self.row(token);
        let row = &mut self.tokens[row];
        row[0] = self.block;
        row[1..].fill(NOTHING);
        &mut row[1..]
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
            Instr::Commit(fifo) => {
                let closed = &mut self.fifos[usize::from(fifo.0)].closed;
                *closed = MOST.min(*closed + 1);
            }
            Instr::Wait(fifo, n) => {
                // Of what is older than that, the age is not known.
                if let Some(n) = Group::try_from(n).ok().filter(|n| *n < MOST) {
                    let fifo = &mut self.fifos[usize::from(fifo.0)];
                    fifo.complete = fifo.complete.max(fifo.closed - n);
                }
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
            let row = self.row(token);
            self.tokens[row.start] = 0;
            return;
        }
        // A token may be joined to itself, where order does not matter.
        let is_own = of.contains(&token);
        if !is_own {
            self.define(token);
        }
        let to = self.row(token);
        for from in of {
            for (from, to) in self.row(*from).zip(to.clone()).skip(1) {
                self.tokens[to] = self.tokens[from].max(self.tokens[to]);
            }
        }
    }
}
