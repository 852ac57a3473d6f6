//! Explores all executions of a program for one copy at a time: which awaits pass while something
//! they await is not complete, and how many groups can lie between a copy and an await.

use super::code::Code;
use super::execute::Emitted;
use super::follow::{Age, Event, Machine, State, oldest};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};
use std::ops::ControlFlow;
use tokenflow::{Await, Queue};

/// The choices of an execution, one per branch of more than one edge.
pub type Choices = Vec<usize>;

/// What can be awaited, yet not complete, right after an await; each with an execution.
#[derive(Clone, Debug, Default)]
pub struct Incomplete {
    /// A copy that is in no group yet.
    pub open: Option<Choices>,
    /// A copy in a group in flight.
    pub in_flight: Option<Choices>,
}

/// Explores all executions; returns the awaits after which something that they await is not complete.
pub fn incomplete(code: &Code, queue: Queue, emitted: &Emitted) -> BTreeMap<Await, Incomplete> {
    let machine = Machine {
        code,
        queue,
        emitted,
        waits: true,
        stops_at_waits: false,
        oldest: oldest(code, emitted),
    };
    let mut found = BTreeMap::<Await, Incomplete>::new();
    explore(&machine, &mut |site, age, choices| {
        let incomplete = found.entry(site).or_default();
        let kind = match age {
            Age::Open => &mut incomplete.open,
            _ => &mut incomplete.in_flight,
        };
        kind.get_or_insert_with(choices);
        ControlFlow::Continue(())
    });
    found
}

/// The least age of anything in flight that the await waits for, if its own wait is left out and the
/// others stay; nothing where it awaits nothing in flight.
///
/// The wait of the await is exact, given the others, where it is this number: a smaller one is not
/// bound (the next larger covers the await too), a larger one is unsound.
pub fn own_age(code: &Code, queue: Queue, emitted: &Emitted, site: Await) -> Option<u32> {
    let mut without = emitted.clone();
    without.waits[site.0 as usize] = None;
    let machine = Machine {
        code,
        queue,
        emitted: &without,
        waits: true,
        stops_at_waits: false,
        oldest: oldest(code, &without).max(super::MOST),
    };
    let mut least = None;
    // States come by age, so the first is the least.
    explore(&machine, &mut |at, age, _| match age {
        Age::Groups(age) if at == site => {
            least = Some(age);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    least
}

/// The FIFO distance of every await: the least number of groups committed after something it awaits,
/// when nothing ever completes. `Open` where it may be in no group; nothing where there is nothing.
pub fn distances(code: &Code, queue: Queue, commits: &[u32], awaits: u32) -> Vec<Option<Age>> {
    let emitted = Emitted {
        commits: commits.to_vec(),
        waits: vec![None; awaits as usize],
        reads: Vec::new(),
    };
    let machine = Machine {
        code,
        queue,
        emitted: &emitted,
        waits: false,
        stops_at_waits: false,
        oldest: u32::MAX,
    };
    let mut distances = vec![None; awaits as usize];
    explore(&machine, &mut |site, age, _| {
        let least = &mut distances[site.0 as usize];
        *least = Some(least.map_or(age, |least: Age| least.min(age)));
        ControlFlow::Continue(())
    });
    distances
}

/// Returns true if some execution ends with a copy in the open group.
pub fn uncommitted_at_end(code: &Code, queue: Queue, emitted: &Emitted) -> bool {
    let machine = Machine {
        code,
        queue,
        emitted,
        waits: false,
        stops_at_waits: false,
        oldest: 0,
    };
    let mut seen = HashSet::new();
    let mut open = vec![machine.start()];
    while let Some(mut state) = open.pop() {
        match &mut state.copy {
            Some(copy) if copy.age != Age::Open => continue,
            Some(copy) => copy.held.clear(),
            None => {}
        }
        if !seen.insert(state.clone()) {
            continue;
        }
        match machine.advance(&mut state) {
            Event::Halt if state.copy.as_ref().is_some_and(|copy| copy.age == Age::Open) => return true,
            Event::Halt => {}
            Event::Choice(edges) => {
                for edge in 0..edges {
                    let mut state = state.clone();
                    machine.choose(&mut state, edge);
                    open.push(state);
                }
            }
            Event::New => {
                if state.copy.is_none() {
                    let mut followed = state.clone();
                    machine.new_copy(&mut followed, true);
                    open.push(followed);
                }
                machine.new_copy(&mut state, false);
                open.push(state);
            }
            Event::Await(_) => {
                machine.pass_await(&mut state);
                open.push(state);
            }
            Event::Waited => open.push(state),
        }
    }
    false
}

/// Returns the awaits that complete, on some execution, something that neither they nor earlier ones wait for.
pub fn wasteful(code: &Code, queue: Queue, emitted: &Emitted) -> BTreeSet<Await> {
    let machine = Machine {
        code,
        queue,
        emitted,
        waits: true,
        stops_at_waits: false,
        oldest: oldest(code, emitted),
    };
    let mut wasteful = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut open = vec![machine.start()];
    while let Some(mut state) = open.pop() {
        machine.forget_dead(&mut state);
        let age = |state: &State| state.copy.as_ref().map(|copy| copy.age);
        if age(&state) == Some(Age::Complete) || !seen.insert(state.clone()) {
            continue;
        }
        match machine.advance(&mut state) {
            Event::Halt => {}
            Event::Choice(edges) => {
                for edge in 0..edges {
                    let mut state = state.clone();
                    machine.choose(&mut state, edge);
                    open.push(state);
                }
            }
            Event::New => {
                if state.copy.is_none() {
                    let mut followed = state.clone();
                    machine.new_copy(&mut followed, true);
                    open.push(followed);
                }
                machine.new_copy(&mut state, false);
                open.push(state);
            }
            Event::Await(site) => {
                let awaited = machine.awaits(&state);
                machine.pass_await(&mut state);
                if !awaited && age(&state) == Some(Age::Complete) {
                    wasteful.insert(site);
                }
                open.push(state);
            }
            Event::Waited => open.push(state),
        }
    }
    wasteful
}

/// Told where an await passes while something that it awaits is not complete, lowest ages first.
type Found<'a> = &'a mut dyn FnMut(Await, Age, &dyn Fn() -> Choices) -> ControlFlow<()>;

fn explore(machine: &Machine, found: Found) {
    // How each state was reached: from which, by which edge.
    let mut reached: Vec<(usize, Option<usize>)> = Vec::new();
    let mut states: Vec<Option<State>> = Vec::new();
    let mut seen: HashSet<State> = HashSet::new();
    // By age, which never falls: with no waits, only the first visit of a place matters.
    let mut open: BinaryHeap<Reverse<(Age, usize)>> = BinaryHeap::new();
    let age = |state: &State| state.copy.as_ref().map_or(Age::Open, |copy| copy.age);
    states.push(Some(machine.start()));
    reached.push((0, None));
    open.push(Reverse((Age::Open, 0)));
    while let Some(Reverse((_, from))) = open.pop() {
        let mut state = states[from].take().expect("a state is visited once");
        let mut key = state.clone();
        match &mut key.copy {
            Some(copy) if !machine.waits && copy.age != Age::Open => copy.age = Age::Groups(0),
            _ => {}
        }
        if !seen.insert(key) {
            continue;
        }
        let mut next: Vec<(State, Option<usize>)> = Vec::new();
        match machine.advance(&mut state) {
            Event::Halt => {}
            Event::Choice(1) => {
                machine.choose(&mut state, 0);
                next.push((state, None));
            }
            Event::Choice(edges) => {
                for edge in 0..edges {
                    let mut state = state.clone();
                    machine.choose(&mut state, edge);
                    next.push((state, Some(edge)));
                }
            }
            Event::New => {
                if state.copy.is_none() {
                    let mut followed = state.clone();
                    machine.new_copy(&mut followed, true);
                    next.push((followed, None));
                }
                machine.new_copy(&mut state, false);
                next.push((state, None));
            }
            Event::Waited => next.push((state, None)),
            Event::Await(site) => {
                if machine.pass_await(&mut state)
                    && found(site, age(&state), &|| choices(&reached, from)).is_break()
                {
                    return;
                }
                next.push((state, None));
            }
        }
        for (mut state, edge) in next {
            machine.forget_dead(&mut state);
            let gone = |copy: &super::follow::Followed| copy.age == Age::Complete || copy.held.is_empty();
            if state.copy.as_ref().is_some_and(gone) {
                continue; // no await can tell any more
            }
            open.push(Reverse((age(&state), states.len())));
            states.push(Some(state));
            reached.push((from, edge));
        }
    }
}

fn choices(reached: &[(usize, Option<usize>)], mut at: usize) -> Choices {
    let mut choices = Vec::new();
    while at != 0 {
        let (from, edge) = reached[at];
        choices.extend(edge);
        at = from;
    }
    choices.reverse();
    choices
}
