//! What is known of tokens within a block: the effect of instructions on claims.
//!
//! Ages of all tokens grow with each commit, and each wait completes those that are old enough. Both take constant time here: of an
//! operation it is remembered which group of the block it is in. With `c` groups closed since the block began, the operations of
//! group `g` have age `c - g` (those from before have negative groups), and a wait for `n` completes the groups below `c - n`.

use super::certificate::{Age, Claim};
use super::code::{Fifo, Instr, Token};

/// A group, counted from the beginning of a block.
type Group = i64;

/// What is known of one FIFO.
#[derive(Clone, Copy, Default)]
struct FifoState {
    /// How many groups were closed in this block.
    closed: Group,
    /// All groups below are complete.
    complete: Group,
}

/// What is known at a point of a block.
pub(super) struct State {
    fifos: Vec<FifoState>,
    /// By token, the time of the block for which `known` has its groups.
    valid: Vec<u32>,
    /// By token, the groups of its operations that may be in flight.
    known: Vec<Vec<(Fifo, Group)>>,
    /// How many blocks were begun.
    now: u32,
}

/// A place where a token may be in flight that has to be complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// The token.
    pub token: Token,
    /// The FIFO and the smallest age of its operations; `None` if nothing is known of the token.
    pub operation: Option<(Fifo, Age)>,
}

impl State {
    /// Makes room for tokens below `tokens`.
    pub fn new(tokens: usize) -> Self {
        Self {
            fifos: vec![FifoState { closed: 0, complete: Group::MIN }; usize::from(u8::MAX) + 1],
            valid: vec![0; tokens],
            known: vec![Vec::new(); tokens],
            now: 0,
        }
    }

    /// Begins a block where `claims` hold. Of several claims for a token or a FIFO of it, the first one counts.
    pub fn begin(&mut self, claims: &[Claim]) {
        self.now += 1;
        for fifo in &mut self.fifos {
            *fifo = FifoState { closed: 0, complete: Group::MIN };
        }
        for claim in claims {
            if self.is_known(claim.token) || claim.token.0 as usize >= self.valid.len() {
                continue;
            }
            let mut groups: Vec<(Fifo, Group)> = Vec::with_capacity(claim.in_flight.len());
            for &(fifo, age) in &claim.in_flight {
                if groups.iter().all(|(known, _)| *known != fifo) {
                    // No larger age makes a difference: no function closes so many groups.
                    groups.push((fifo, -Group::try_from(age).unwrap_or(Group::MAX)));
                }
            }
            self.define(claim.token, groups);
        }
    }

    fn is_known(&self, token: Token) -> bool {
        self.valid.get(token.0 as usize) == Some(&self.now)
    }

    fn define(&mut self, token: Token, groups: Vec<(Fifo, Group)>) {
        self.valid[token.0 as usize] = self.now;
        self.known[token.0 as usize] = groups;
    }

    /// The operations of `token` that may be in flight, as FIFOs and groups; `None` if nothing is known of it.
    fn groups(&self, token: Token) -> Option<impl Iterator<Item = (Fifo, Group)>> {
        let groups = self.is_known(token).then(|| &self.known[token.0 as usize])?;
        let in_flight = groups.iter().copied();
        Some(in_flight.filter(|(fifo, group)| *group >= self.fifos[usize::from(fifo.0)].complete))
    }

    /// The same, with ages.
    pub fn in_flight(&self, token: Token) -> Option<impl Iterator<Item = (Fifo, Age)>> {
        let age = |(fifo, group): (Fifo, Group)| {
            let closed = self.fifos[usize::from(fifo.0)].closed;
            (fifo, Age::try_from(closed.saturating_sub(group)).unwrap_or(0))
        };
        Some(self.groups(token)?.map(age))
    }

    /// Runs an instruction; returns a token that is not known to be complete where it has to be.
    pub fn run(&mut self, instr: &Instr) -> Result<(), InFlight> {
        match instr {
            Instr::Issue(fifo, token) => {
                let open = self.fifos[usize::from(fifo.0)].closed;
                self.define(*token, vec![(*fifo, open)]);
            }
            Instr::Commit(fifo) => self.fifos[usize::from(fifo.0)].closed += 1,
            Instr::Wait(fifo, n) => {
                let fifo = &mut self.fifos[usize::from(fifo.0)];
                let n = Group::try_from(*n).unwrap_or(Group::MAX);
                fifo.complete = fifo.complete.max(fifo.closed.saturating_sub(n));
            }
            Instr::Await(tokens) => {
                for &token in tokens {
                    let Some(mut in_flight) = self.in_flight(token) else {
                        return Err(InFlight { token, operation: None });
                    };
                    if let Some(operation) = in_flight.next() {
                        return Err(InFlight { token, operation: Some(operation) });
                    }
                }
            }
            Instr::Join(token, of) => self.join(*token, of),
        }
        Ok(())
    }

    fn join(&mut self, token: Token, of: &[Token]) {
        let mut all: Vec<(Fifo, Group)> = Vec::new();
        for &token in of {
            let Some(groups) = self.groups(token) else {
                all.clear();
                break;
            };
            for (fifo, group) in groups {
                match all.iter_mut().find(|(known, _)| *known == fifo) {
                    Some((_, youngest)) => *youngest = group.max(*youngest),
                    None => all.push((fifo, group)),
                }
            }
        }
        if of.iter().all(|token| self.is_known(*token)) {
            self.define(token, all);
        } else if let Some(valid) = self.valid.get_mut(token.0 as usize) {
            *valid = 0;
        }
    }
}
