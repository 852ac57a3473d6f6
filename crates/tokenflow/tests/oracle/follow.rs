//! Follows one copy through all executions.
//!
//! Whether a copy is complete depends on the commits and waits after it and on no other copy, so the
//! executions of a program need not be enumerated: it is enough to pick any one copy instance and to
//! explore where control is, which tokens hold that copy, and how many groups were committed after
//! it. Groups older than every wait of the program are alike, so there are finitely many states.

use super::code::{Code, Step};
use super::execute::Emitted;
use std::collections::BTreeSet;
use tokenflow::{Await, Queue, Token};

/// A program and what is emitted for one of its queues.
pub struct Machine<'a> {
    pub code: &'a Code,
    pub queue: Queue,
    pub emitted: &'a Emitted,
    /// False to ignore all waits, also the program's own.
    pub waits: bool,
    /// True if waits of the program itself are events.
    pub stops_at_waits: bool,
    /// Ages from here on are alike.
    pub oldest: u32,
}

/// Where the followed copy is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Age {
    /// In the open group.
    Open,
    /// In a group in flight, with this many groups committed after it.
    Groups(u32),
    /// Complete.
    Complete,
}

/// The followed copy.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Followed {
    pub age: Age,
    /// The tokens that hold it.
    pub held: BTreeSet<Token>,
}

/// A point of an execution, and the copy that is followed, once there is one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub at: usize,
    pub counters: Vec<u64>,
    pub copy: Option<Followed>,
    /// How many groups were committed, if that is of interest.
    pub commits: Option<u32>,
}

/// What an execution does next, as far as others can tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A copy is issued on the queue, or a group with a token of its own is made.
    New,
    /// An await has been reached.
    Await(Await),
    /// A wait of the program itself has been passed.
    Waited,
    /// One of the edges is taken.
    Choice(usize),
    /// The program has ended.
    Halt,
}

impl Machine<'_> {
    /// The start of every execution.
    pub fn start(&self) -> State {
        State {
            at: 0,
            counters: vec![0; self.code.counters],
            copy: None,
            commits: None,
        }
    }

    /// Goes on to the next event.
    pub fn advance(&self, state: &mut State) -> Event {
        loop {
            match &self.code.steps[state.at] {
                Step::Issue { queue, .. }
                | Step::Commit {
                    queue,
                    token: Some(_),
                } if *queue == self.queue => {
                    return Event::New;
                }
                Step::Issue { token, .. } | Step::Commit { token, .. } => {
                    let token = *token;
                    self.pass(state, token);
                }
                Step::Slot(slot) => {
                    for _ in 0..self.emitted.commits[slot.0 as usize] {
                        self.commit(state);
                    }
                    state.at += 1;
                }
                Step::Wait { queue, n, own } => {
                    if *queue == self.queue {
                        self.wait(state, *n);
                    }
                    state.at += 1;
                    if *own && *queue == self.queue && self.stops_at_waits {
                        return Event::Waited;
                    }
                }
                Step::Await { site, .. } => return Event::Await(*site),
                Step::Bind(pairs) => {
                    if let Some(copy) = &mut state.copy {
                        let holds =
                            |(_, of): &&(Token, Vec<Token>)| of.iter().any(|token| copy.held.contains(token));
                        let now: Vec<Token> = pairs.iter().filter(holds).map(|pair| pair.0).collect();
                        for (token, _) in pairs {
                            copy.held.remove(token);
                        }
                        copy.held.extend(now);
                    }
                    state.at += 1;
                }
                Step::Jump(to) => state.at = *to,
                Step::Choice(to) => return Event::Choice(to.len()),
                Step::Count { counter, trip } => {
                    state.counters[*counter] = *trip;
                    state.at += 1;
                }
                Step::Next { counter, done } => match &mut state.counters[*counter] {
                    0 => state.at = *done,
                    left => {
                        *left -= 1;
                        state.at += 1;
                    }
                },
                Step::Halt => return Event::Halt,
            }
        }
    }

    /// Passes what defines a token at [`Event::New`]; follows the new copy if told so.
    pub fn new_copy(&self, state: &mut State, follow: bool) {
        let step = &self.code.steps[state.at];
        let token = step.defines().first().copied();
        let group = matches!(step, Step::Commit { .. });
        if follow {
            assert!(state.copy.is_none(), "one copy is followed");
            state.copy = Some(Followed {
                age: Age::Open,
                held: BTreeSet::new(),
            });
        }
        let joins = match &state.copy {
            Some(copy) => follow || group && copy.age == Age::Open,
            None => false,
        };
        self.pass(state, token);
        if let (true, Some(copy)) = (joins, &mut state.copy) {
            copy.held.extend(token);
        }
    }

    /// Passes a copy or commit that defines `token` as something other than the followed copy.
    fn pass(&self, state: &mut State, token: Option<Token>) {
        if let (Some(copy), Some(token)) = (&mut state.copy, token) {
            copy.held.remove(&token);
        }
        if matches!(&self.code.steps[state.at], Step::Commit { queue, .. } if *queue == self.queue) {
            self.commit(state);
        }
        state.at += 1;
    }

    /// Passes an await; returns true if the followed copy is awaited, and not complete.
    pub fn pass_await(&self, state: &mut State) -> bool {
        let Step::Await { site, .. } = &self.code.steps[state.at] else {
            panic!("not at an await");
        };
        if let Some(n) = self.emitted.waits[site.0 as usize] {
            self.wait(state, n);
        }
        let awaited = self.awaits(state);
        state.at += 1;
        awaited && state.copy.as_ref().is_some_and(|copy| copy.age != Age::Complete)
    }

    /// Returns true if the followed copy is awaited by the await at hand.
    pub fn awaits(&self, state: &State) -> bool {
        let Step::Await { tokens, .. } = &self.code.steps[state.at] else {
            panic!("not at an await");
        };
        let held = |copy: &Followed| tokens.iter().any(|token| copy.held.contains(token));
        state.copy.as_ref().is_some_and(held)
    }

    /// Takes an edge.
    pub fn choose(&self, state: &mut State, edge: usize) {
        let Step::Choice(to) = &self.code.steps[state.at] else {
            panic!("not at a choice");
        };
        state.at = to[edge];
    }

    /// Forgets which dead tokens hold the copy.
    pub fn forget_dead(&self, state: &mut State) {
        if let Some(copy) = &mut state.copy {
            let live = &self.code.live[state.at];
            copy.held.retain(|token| live.contains(token));
        }
    }

    fn commit(&self, state: &mut State) {
        if let Some(copy) = &mut state.copy {
            copy.age = match copy.age {
                Age::Open => Age::Groups(0),
                Age::Groups(age) => Age::Groups((age + 1).min(self.oldest)),
                Age::Complete => Age::Complete,
            };
        }
        if let Some(commits) = &mut state.commits {
            *commits += 1;
        }
    }

    fn wait(&self, state: &mut State, n: u32) {
        match &mut state.copy {
            Some(copy) if self.waits && matches!(copy.age, Age::Groups(age) if age >= n) => {
                copy.age = Age::Complete;
            }
            _ => {}
        }
    }
}

/// An age that no wait lets stay in flight.
pub fn oldest(code: &Code, emitted: &Emitted) -> u32 {
    let own = code.steps.iter().filter_map(|step| match step {
        Step::Wait { n, .. } => Some(*n),
        _ => None,
    });
    let ours = emitted.waits.iter().flatten().copied();
    own.chain(ours).max().unwrap_or(0)
}
