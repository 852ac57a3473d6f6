//! Explains why a wait has the count it has: finds an execution on which one more would be too many.
//!
//! The search runs the program with its waits, following one instance of an awaited operation at a
//! time, breadth first over (place, iterations of the constant-trip loops around it, the token that
//! holds the instance, its age). It ends at the await with that instance in flight and exactly as
//! old as the count: the wait is *bound* there. Cost: the states met, of which there are at most
//! [`STATES`] before the search gives up.

mod interpreter;

use self::interpreter::{Interpreter, Next, State};
use crate::age::Age;
use crate::compare::read_counts;
use crate::counts::{QueueSolution, counts};
use crate::program::{Await, Graph, Item, Program, Queue, Site};
use rustc_hash::{FxHashMap, FxHashSet};

const STATES: usize = 200_000;

/// A block's end on an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Which graph, in program order from outside in; the body is 0.
    pub graph: usize,
    /// Which block of it.
    pub block: usize,
    /// Which of the block's edges is taken.
    pub edge: usize,
}

/// An execution that allows a wait no larger count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The awaited operation that would still be in flight if the count were one more.
    pub site: Site,
    /// The edges taken until the await.
    pub steps: Vec<Step>,
    /// The operations in flight when the await is reached, oldest first, each with the number of
    /// groups committed after it (none while its own group is open).
    pub in_flight: Vec<(Site, Option<u8>)>,
}

/// Finds an execution that allows the wait of `goal`, or its wait for reads, no larger count; `None` if it has no such
/// wait, or only an earlier instance of itself allows none, or the search gave up.
#[must_use]
pub fn witness(
    program: &Program,
    queue: Queue,
    solution: &QueueSolution,
    goal: Await,
    reads: bool,
) -> Option<Witness> {
    let waits = if reads { &solution.reads } else { &solution.waits };
    let wait = waits[goal.0 as usize]?;
    let interpreter = Interpreter {
        queue,
        reads,
        commits: &solution.commits,
        counts: if reads {
            read_counts(solution)
        } else {
            counts(&solution.waits)
        },
        goal,
        goal_count: wait.n,
        numbers: numbers(program),
    };
    let (site, steps) = interpreter.search(&program.body)?;
    let in_flight = interpreter.replay(&program.body, &steps);
    Some(Witness {
        site,
        steps,
        in_flight: in_flight
            .into_iter()
            .map(|(site, age)| (site, age.groups()))
            .collect(),
    })
}

fn numbers(program: &Program) -> FxHashMap<*const Graph, usize> {
    let mut numbers = FxHashMap::from_iter([(std::ptr::from_ref(&program.body), 0)]);
    program.body.visit(&mut |item| {
        if let Some(graph) = item.graph() {
            numbers.insert(std::ptr::from_ref(graph), numbers.len());
        }
    });
    numbers
}

impl Interpreter<'_> {
    /// Runs the program along `steps` and on to the await; returns what is in flight there.
    fn replay(&self, body: &Graph, steps: &[Step]) -> Vec<(Site, Age)> {
        let mut state = Self::start(body);
        state.in_flight = Some(Vec::new());
        let mut steps = steps.iter();
        loop {
            let edge = match self.step(&state) {
                Some(_) => match steps.next() {
                    Some(step) => step.edge,
                    None => break,
                },
                None if steps.len() == 0 && self.at_goal(&state) => break,
                None => 0,
            };
            let Next::States(next) = self.next(state.clone()) else {
                break;
            };
            match next.into_iter().find(|(_, e)| *e == edge) {
                Some((next, _)) => state = next,
                None => break,
            }
        }
        state.in_flight.unwrap_or_default()
    }

    fn at_goal(&self, state: &State) -> bool {
        let item = state.places.last().and_then(|place| {
            let block = &place.graph.blocks[place.block];
            block.items.get(place.item)
        });
        matches!(item, Some(Item::Await { site, .. }) if *site == self.goal)
    }

    fn search(&self, body: &Graph) -> Option<(Site, Vec<Step>)> {
        let start = Self::start(body);
        let mut seen = FxHashSet::from_iter([start.key()]);
        // Each state with the one before it and the block's end between them.
        let mut states: Vec<(State, usize, Option<Step>)> = vec![(start, 0, None)];
        let mut at = 0;
        while at < states.len() && states.len() < STATES {
            let state = states[at].0.clone();
            let step = self.step(&state);
            match self.next(state) {
                Next::Goal(site) => {
                    let mut steps = Vec::new();
                    while at != 0 {
                        steps.extend(states[at].2);
                        at = states[at].1;
                    }
                    steps.reverse();
                    return Some((site, steps));
                }
                Next::States(next) => {
                    for (state, edge) in next {
                        if seen.insert(state.key()) {
                            let step = step.map(|step| Step { edge, ..step });
                            states.push((state, at, step));
                        }
                    }
                }
            }
            at += 1;
        }
        None
    }

    /// The block's end that `state` is at, if it is at one.
    fn step(&self, state: &State) -> Option<Step> {
        let place = state.places.last()?;
        (place.item == place.graph.blocks[place.block].items.len()).then(|| Step {
            graph: self.numbers[&std::ptr::from_ref(place.graph)],
            block: place.block,
            edge: 0,
        })
    }
}
