//! Explores all states of all executions, by brute force, for unit tests.

use crate::oracle::code::{Code, Step};
use crate::program::{Commits, Program, Queue, Site};
use rustc_hash::FxHashMap;
use rustc_hash::FxHashSet;
use std::hash::Hash;

/// Runs all executions, from a state at the start. `step` returns the states after a step: none if nothing more is asked
/// of this execution.
pub(crate) fn explore<S: Clone + Eq + Hash>(
    code: &Code,
    start: S,
    mut step: impl FnMut(usize, &Step, S) -> Vec<S>,
) {
    let mut seen = FxHashSet::default();
    let mut work = vec![(0, vec![0_u64; code.counters], start)];
    while let Some(point) = work.pop() {
        if !seen.insert(point.clone()) {
            continue;
        }
        let (at, mut counters, state) = point;
        let mut next = vec![at + 1];
        match &code.steps[at] {
            Step::Count { counter, trip } => counters[*counter] = *trip,
            Step::Next { counter, done } if counters[*counter] == 0 => next = vec![*done],
            Step::Next { counter, .. } => counters[*counter] -= 1,
            Step::Jump(to) => next = vec![*to],
            Step::Choice(to) => next.clone_from(to),
            Step::Halt => next.clear(),
            _ => {}
        }
        for state in step(at, &code.steps[at], state) {
            work.extend(next.iter().map(|&to| (to, counters.clone(), state.clone())));
        }
    }
}

/// The operation of each step that issues one, and whether it has a slot.
pub(crate) fn issues(program: &Program, code: &Code) -> FxHashMap<usize, (Site, bool)> {
    let mut issues = Vec::new();
    program.body.visit(&mut |item| {
        if let crate::program::Item::Issue { site, slot, .. } = item {
            issues.push((*site, slot.is_some()));
        }
    });
    let steps = code.steps.iter().enumerate();
    let steps = steps.filter(|(_, step)| matches!(step, Step::Issue { .. }));
    steps.map(|(at, _)| at).zip(issues).collect()
}

/// Some commits; without a seed, one group for each operation.
pub(crate) fn commits(program: &Program, queue: Queue, seed: u64) -> Commits {
    if seed == 0 {
        return program.one_group_each(queue);
    }
    (0..program.slots)
        .map(|slot| u32::from(seed.rotate_right(slot) & 3 == 3))
        .collect()
}

/// The queues of a program.
pub(crate) fn queues(program: &Program) -> impl Iterator<Item = Queue> + use<> {
    (0..program.queues).map(Queue)
}
