//! Runs a counted program and a program with tokens in lockstep, on all executions, and compares what is
//! complete after each wait and the await in its place.

use crate::oracle::code::Code;
use crate::oracle::execute::Emitted;
use crate::oracle::follow::{Age, Event, Machine, State, oldest};
use std::collections::HashSet;
use tokenflow::{Await, Program, Queue, Token};

/// A copy that is complete on one side only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Difference {
    /// In the counted program.
    Counted,
    /// In the one with tokens.
    Tokens,
}

/// Where an execution is when the sides are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// After an await.
    Await(Await),
    /// At the end.
    End,
}

/// Something that differs: where, of which operation, and the choices that lead there.
pub type Found = (Difference, At, Option<Token>, Vec<usize>);

/// Runs `counted`, which is marked, and `tokens`, whose awaits complete what they name; or with `emitted`, what its waits do.
/// Returns what differs after an await, or at the end.
pub fn compare(counted: &Program, tokens: &Program, queue: Queue, emitted: Option<&Emitted>) -> Vec<Found> {
    let nothing = |program: &Program| Emitted {
        commits: vec![0; program.slots as usize],
        waits: vec![None; program.awaits as usize],
        reads: Vec::new(),
    };
    let sides = [
        nothing(counted),
        emitted.cloned().unwrap_or_else(|| nothing(tokens)),
    ];
    let codes = [Code::new(counted), Code::new(tokens)];
    let pair = [0, 1].map(|side| Machine {
        code: &codes[side],
        queue,
        emitted: &sides[side],
        waits: true,
        stops_at_waits: false,
        oldest: oldest(&codes[side], &sides[side]),
    });
    let runner = Runner {
        pair: &pair,
        tokens: &codes[1],
        complete: emitted.is_none(),
    };
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![Node {
        states: pair.each_ref().map(Machine::start),
        followed: None,
        choices: Vec::new(),
    }];
    while let Some(mut node) = open.pop() {
        if !seen.insert((node.states.clone(), node.followed)) {
            continue;
        }
        let (at, next) = runner.run(&mut node);
        if let Some(at) = at {
            match node.states.each_ref().map(is_complete) {
                [true, false] => found.push((Difference::Counted, at, node.followed, node.choices)),
                [false, true] => found.push((Difference::Tokens, at, node.followed, node.choices)),
                _ => {}
            }
        }
        for mut node in next {
            if !node.states.iter().all(is_complete) {
                (0..2).for_each(|side| pair[side].forget_dead(&mut node.states[side]));
                open.push(node);
            }
        }
    }
    found
}

/// Both sides of an execution.
#[derive(Clone)]
struct Node {
    states: [State; 2],
    /// The token of the operation that is followed.
    followed: Option<Token>,
    choices: Vec<usize>,
}

struct Runner<'a> {
    pair: &'a [Machine<'a>; 2],
    tokens: &'a Code,
    /// True if awaits complete what they name.
    complete: bool,
}

impl Runner<'_> {
    /// Goes on to the next event; returns where to compare, if that is there, and how the execution may go on.
    fn run(&self, node: &mut Node) -> (Option<At>, Vec<Node>) {
        let pair = self.pair;
        let events = [0, 1].map(|side| pair[side].advance(&mut node.states[side]));
        match &events {
            [Event::Halt, Event::Halt] => (Some(At::End), Vec::new()),
            [Event::Choice(edges), Event::Choice(other)] if edges == other => {
                let choose = |edge| {
                    let mut next = node.clone();
                    next.choices.extend((*edges > 1).then_some(edge));
                    (0..2).for_each(|side| pair[side].choose(&mut next.states[side], edge));
                    next
                };
                (None, (0..*edges).map(choose).collect())
            }
            [Event::New, Event::New] => {
                let token = self.tokens.steps[node.states[1].at].defines().first().copied();
                let new = |follow| {
                    let mut next = node.clone();
                    next.followed = if follow { token } else { node.followed };
                    (0..2).for_each(|side| pair[side].new_copy(&mut next.states[side], follow));
                    next
                };
                let follows =
                    [false, true]
                        .into_iter()
                        .take(if node.states[0].copy.is_some() { 1 } else { 2 });
                (None, follows.map(new).collect())
            }
            [Event::Await(_), Event::Await(site)] => {
                if self.complete && pair[1].awaits(&node.states[1]) {
                    complete(&mut node.states[1]);
                }
                for (machine, state) in pair.iter().zip(&mut node.states) {
                    machine.pass_await(state);
                }
                (Some(At::Await(*site)), vec![node.clone()])
            }
            other => panic!("after {:?}: {other:?}", node.choices),
        }
    }
}

fn complete(state: &mut State) {
    if let Some(copy) = &mut state.copy {
        copy.age = Age::Complete;
    }
}

fn is_complete(state: &State) -> bool {
    state.copy.as_ref().is_some_and(|copy| copy.age == Age::Complete)
}
