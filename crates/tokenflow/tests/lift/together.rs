//! Runs a counted program and a program with tokens side by side, on all executions, and compares what is complete after each
//! wait and the await in its place.

use crate::oracle::code::Code;
use crate::oracle::execute::Emitted;
use crate::oracle::follow::{Age, Event, Machine, State, oldest};
use std::collections::HashSet;
use tokenflow::{Program, Queue};

/// A copy that is complete on one side only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Difference {
    /// In the counted program.
    Counted,
    /// In the one with tokens.
    Tokens,
}

/// Runs `counted`, which is marked, and `tokens`, whose awaits complete what they name; or with `emitted`, what its waits do.
/// Returns what differs after an await, with the choices that lead there.
pub fn compare(
    counted: &Program,
    tokens: &Program,
    queue: Queue,
    emitted: Option<&Emitted>,
) -> Vec<(Difference, Vec<usize>)> {
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
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![(pair.each_ref().map(Machine::start), Vec::new())];
    while let Some((mut states, choices)) = open.pop() {
        if !seen.insert(states.clone()) {
            continue;
        }
        let events = [0, 1].map(|side| pair[side].advance(&mut states[side]));
        let mut next = Vec::new();
        match &events {
            [Event::Halt, Event::Halt] => {}
            [Event::Choice(edges), Event::Choice(other)] if edges == other => {
                for edge in 0..*edges {
                    let mut states = states.clone();
                    let mut choices: Vec<usize> = choices.clone();
                    choices.extend((*edges > 1).then_some(edge));
                    (0..2).for_each(|side| pair[side].choose(&mut states[side], edge));
                    next.push((states, choices));
                }
            }
            [Event::New, Event::New] => {
                for follow in [false, true] {
                    if follow && states[0].copy.is_some() {
                        continue;
                    }
                    let mut states = states.clone();
                    (0..2).for_each(|side| pair[side].new_copy(&mut states[side], follow));
                    next.push((states, choices.clone()));
                }
            }
            [Event::Await(_), Event::Await(_)] => {
                if emitted.is_none() && pair[1].awaits(&states[1]) {
                    complete(&mut states[1]);
                }
                (0..2).for_each(|side| {
                    pair[side].pass_await(&mut states[side]);
                });
                match states.each_ref().map(is_complete) {
                    [true, false] => found.push((Difference::Counted, choices.clone())),
                    [false, true] => found.push((Difference::Tokens, choices.clone())),
                    _ => {}
                }
                next.push((states, choices));
            }
            other => panic!("after {choices:?}: {other:?}"),
        }
        for (mut states, choices) in next {
            if !states.iter().all(is_complete) {
                (0..2).for_each(|side| pair[side].forget_dead(&mut states[side]));
                open.push((states, choices));
            }
        }
    }
    found
}

fn complete(state: &mut State) {
    if let Some(copy) = &mut state.copy {
        copy.age = Age::Complete;
    }
}

fn is_complete(state: &State) -> bool {
    state.copy.as_ref().is_some_and(|copy| copy.age == Age::Complete)
}
