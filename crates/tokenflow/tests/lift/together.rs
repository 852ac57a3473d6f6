//! Runs a counted program and a program with tokens side by side, on all executions, and compares what is complete after each
//! wait and the await in its place.

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
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![(pair.each_ref().map(Machine::start), None, Vec::new())];
    while let Some((mut states, followed, choices)) = open.pop() {
        if !seen.insert((states.clone(), followed)) {
            continue;
        }
        let events = [0, 1].map(|side| pair[side].advance(&mut states[side]));
        let mut next = Vec::new();
        let mut at = None;
        match &events {
            [Event::Halt, Event::Halt] => at = Some(At::End),
            [Event::Choice(edges), Event::Choice(other)] if edges == other => {
                for edge in 0..*edges {
                    let mut states = states.clone();
                    let mut choices: Vec<usize> = choices.clone();
                    choices.extend((*edges > 1).then_some(edge));
                    (0..2).for_each(|side| pair[side].choose(&mut states[side], edge));
                    next.push((states, followed, choices));
                }
            }
            [Event::New, Event::New] => {
                for follow in [false, true] {
                    if follow && states[0].copy.is_some() {
                        continue;
                    }
                    let mut states = states.clone();
                    let token = codes[1].steps[states[1].at].defines().first().copied();
                    let followed = if follow { token } else { followed };
                    (0..2).for_each(|side| pair[side].new_copy(&mut states[side], follow));
                    next.push((states, followed, choices.clone()));
                }
            }
            [Event::Await(_), Event::Await(site)] => {
                if emitted.is_none() && pair[1].awaits(&states[1]) {
                    complete(&mut states[1]);
                }
                (0..2).for_each(|side| {
                    pair[side].pass_await(&mut states[side]);
                });
                at = Some(At::Await(*site));
                next.push((states.clone(), followed, choices.clone()));
            }
            other => panic!("after {choices:?}: {other:?}"),
        }
        if let Some(at) = at {
            match states.each_ref().map(is_complete) {
                [true, false] => found.push((Difference::Counted, at, followed, choices)),
                [false, true] => found.push((Difference::Tokens, at, followed, choices)),
                _ => {}
            }
        }
        for (mut states, followed, choices) in next {
            if !states.iter().all(is_complete) {
                (0..2).for_each(|side| pair[side].forget_dead(&mut states[side]));
                open.push((states, followed, choices));
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
