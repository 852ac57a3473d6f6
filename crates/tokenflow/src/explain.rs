//! Why a wait has the count it has: an execution on which one more would be too many.
//!
//! The search runs the program with its waits, following one instance of an awaited operation at a
//! time, breadth first over (place, iterations of the constant-trip loops around it, the token that
//! holds the instance, its age). It ends at the await with that instance in flight and exactly as
//! old as the count: the wait is *bound* there. Cost: the states met, of which there are at most
//! [`STATES`] before the search gives up.

use crate::age::Age;
use crate::compare::read_counts;
use crate::eval::{N, NO_WAIT, count};
use crate::program::{Await, Commits, Graph, Item, Program, Queue, Site, Slot, Target, Token};
use crate::solve::{QueueSolution, counts};
use std::collections::{HashMap, HashSet};

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

/// An execution that binds a wait.
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

/// Finds an execution that binds the wait of `goal`, or its wait for reads; `None` if it has no such wait,
/// or is bound only by an earlier instance of itself, or the search gave up.
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
    let machine = Machine {
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
    let (site, steps) = machine.search(&program.body)?;
    let flight = machine.replay(&program.body, &steps);
    Some(Witness {
        site,
        steps,
        in_flight: flight
            .into_iter()
            .map(|(site, age)| (site, age.groups()))
            .collect(),
    })
}

fn numbers(program: &Program) -> HashMap<*const Graph, usize> {
    let mut numbers = HashMap::from([(std::ptr::from_ref(&program.body), 0)]);
    program.body.visit(&mut |item| {
        if let Some(graph) = item.graph() {
            numbers.insert(std::ptr::from_ref(graph), numbers.len());
        }
    });
    numbers
}

/// A place in a graph: an item of a block that is run next.
#[derive(Clone)]
struct Place<'p> {
    graph: &'p Graph,
    block: usize,
    item: usize,
    /// Iterations done, in the body of a constant-trip loop.
    iteration: u64,
}

/// An execution so far.
#[derive(Clone)]
struct State<'p> {
    /// The places in the graphs around, outermost first.
    places: Vec<Place<'p>>,
    /// The instance that is followed, once it is issued: who holds it, what it is, how old.
    traced: Option<(Token, Site, Age)>,
    /// All instances in flight, where they are asked for; none is followed then.
    flight: Option<Vec<(Site, Age)>>,
}

type Key = (Vec<(*const Graph, usize, usize, u64)>, Option<(Token, Age)>);

impl State<'_> {
    fn key(&self) -> Key {
        let place = |p: &Place| (std::ptr::from_ref(p.graph), p.block, p.item, p.iteration);
        let traced = self.traced.map(|(token, _, age)| (token, age));
        (self.places.iter().map(place).collect(), traced)
    }

    /// Changes the age of every instance; returns false if the one followed is complete.
    fn age(&mut self, change: impl Fn(Age) -> Age) -> bool {
        if let Some(flight) = &mut self.flight {
            for (_, age) in flight.iter_mut() {
                *age = change(*age);
            }
            flight.retain(|(_, age)| *age != Age::DONE);
        }
        if let Some((_, _, age)) = &mut self.traced {
            *age = change(*age);
            return *age != Age::DONE;
        }
        true
    }

    /// The states in which the instance is held by what `from` is bound to, and by what holds it now
    /// if that is not bound anew.
    fn bind(self, from: &[Token], to: &[Token]) -> Vec<Self> {
        let Some((held, site, age)) = self.traced else {
            return vec![self];
        };
        let mut states: Vec<Self> = from
            .iter()
            .zip(to)
            .filter(|(from, _)| **from == held)
            .map(|(_, &to)| Self {
                traced: Some((to, site, age)),
                ..self.clone()
            })
            .collect();
        if !to.contains(&held) {
            states.push(self);
        }
        states
    }
}

struct Machine<'a> {
    queue: Queue,
    /// True if it is reads that are followed.
    reads: bool,
    commits: &'a Commits,
    counts: Vec<N>,
    goal: Await,
    goal_count: N,
    numbers: HashMap<*const Graph, usize>,
}

enum Next<'p> {
    Goal(Site),
    States(Vec<(State<'p>, usize)>),
}

impl Machine<'_> {
    fn start(body: &Graph) -> State<'_> {
        State {
            places: vec![Place {
                graph: body,
                block: 0,
                item: 0,
                iteration: 0,
            }],
            traced: None,
            flight: None,
        }
    }

    /// Runs the program along `steps` and on to the await; returns what is in flight there.
    fn replay(&self, body: &Graph, steps: &[Step]) -> Vec<(Site, Age)> {
        let mut state = Self::start(body);
        state.flight = Some(Vec::new());
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
        state.flight.unwrap_or_default()
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
        let mut seen = HashSet::from([start.key()]);
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

    fn commit(&self, state: &mut State, slot: Option<Slot>) {
        if let Some(slot) = slot {
            for _ in 0..self.commits[slot.0 as usize] {
                state.age(Age::commit);
            }
        }
    }

    fn next<'p>(&self, mut state: State<'p>) -> Next<'p> {
        let Some(place) = state.places.last_mut() else {
            return Next::States(Vec::new());
        };
        let block = &place.graph.blocks[place.block];
        let first = place.item == 0;
        let Some(item) = block.items.get(place.item) else {
            return Next::States(self.leave_block(&state));
        };
        place.item += 1;
        if first {
            self.commit(&mut state, block.start);
        }
        let plain = |states: Vec<State<'p>>| Next::States(states.into_iter().map(|s| (s, 0)).collect());
        plain(match item {
            Item::Issue { .. } | Item::Commit { .. } => self.issue(state, item),
            Item::Wait { queue, n, read } => {
                let n = N::try_from(*n).unwrap_or(NO_WAIT);
                let here = *queue == self.queue && (self.reads || !*read);
                let alive = !here || n == NO_WAIT || state.age(|age| age.wait(n));
                if alive { vec![state] } else { Vec::new() }
            }
            Item::Await { site, tokens, .. } => {
                if let Some((held, awaited, age)) = state.traced
                    && *site == self.goal
                    && tokens.contains(&held)
                    && count(age) == self.goal_count
                {
                    return Next::Goal(awaited);
                }
                let n = self.counts[site.0 as usize];
                let alive = n == NO_WAIT || state.age(|age| age.wait(n));
                if alive { vec![state] } else { Vec::new() }
            }
            Item::Point(slot) => {
                self.commit(&mut state, Some(*slot));
                vec![state]
            }
            Item::Join { token, of } => {
                let to = vec![*token; of.len()];
                if of.is_empty() {
                    state.bind(&[], &[*token])
                } else {
                    state.bind(of, &to)
                }
            }
            Item::Nested(nested) => Self::enter(state, &nested.graph, &nested.inits),
            Item::Repeat(repeat) if repeat.trip == 0 => {
                let mut states = state.bind(&repeat.inits, &repeat.results);
                for state in &mut states {
                    self.commit(state, repeat.after);
                }
                states
            }
            Item::Repeat(repeat) => Self::enter(state, &repeat.body, &repeat.inits),
        })
    }

    /// Issues an operation, which may be the one to follow, or commits.
    fn issue<'p>(&self, mut state: State<'p>, item: &Item) -> Vec<State<'p>> {
        let mut states = Vec::new();
        match item {
            Item::Issue {
                site,
                queue,
                token,
                read,
                slot,
            } => {
                let here = *queue == self.queue;
                let (token, other) = if self.reads { (read, token) } else { (token, read) };
                if let (true, Some(flight)) = (here, &mut state.flight) {
                    flight.push((*site, Age::OPEN));
                } else if let (None, true, Some(token)) = (state.traced, here, token) {
                    states.push(State {
                        traced: Some((*token, *site, Age::OPEN)),
                        ..state.clone()
                    });
                }
                let defined: Vec<Token> = token.iter().chain(other).copied().collect();
                states.extend(state.bind(&[], &defined));
                for state in &mut states {
                    self.commit(state, *slot);
                }
            }
            Item::Commit { queue, token } => {
                if *queue == self.queue {
                    // The token of the group is as good as the operation's own.
                    let closes = matches!(state.traced, Some((_, _, Age::OPEN)));
                    state.age(Age::commit);
                    if let (true, false, Some(token), Some((_, site, age))) =
                        (closes, self.reads, token, state.traced)
                    {
                        states.push(State {
                            traced: Some((*token, site, age)),
                            ..state.clone()
                        });
                    }
                }
                let token: Vec<Token> = token.iter().copied().collect();
                states.extend(state.bind(&[], &token));
            }
            _ => states.push(state),
        }
        states
    }

    fn enter<'p>(mut state: State<'p>, graph: &'p Graph, inits: &[Token]) -> Vec<State<'p>> {
        let Some(first) = graph.blocks.first() else {
            return Vec::new();
        };
        state.places.push(Place {
            graph,
            block: 0,
            item: 0,
            iteration: 0,
        });
        state.bind(inits, &first.params)
    }

    /// Takes every edge of the block that ends; each state comes with its edge.
    fn leave_block<'p>(&self, state: &State<'p>) -> Vec<(State<'p>, usize)> {
        let mut out = Vec::new();
        let Some(place) = state.places.last() else {
            return out;
        };
        let block = &place.graph.blocks[place.block];
        for (e, edge) in block.edges.iter().enumerate() {
            let mut next = state.clone();
            if block.items.is_empty() {
                self.commit(&mut next, block.start);
            }
            let states = match edge.to {
                Target::Block(to) => {
                    if let Some(place) = next.places.last_mut() {
                        place.block = to;
                        place.item = 0;
                    }
                    next.bind(&edge.args, &place.graph.blocks[to].params)
                }
                Target::Exit => self.exit(next, &edge.args),
            };
            out.extend(states.into_iter().map(|state| (state, e)));
        }
        out
    }

    fn exit<'p>(&self, mut state: State<'p>, args: &[Token]) -> Vec<State<'p>> {
        let Some(inner) = state.places.pop() else {
            return Vec::new();
        };
        let Some(outer) = state.places.last() else {
            return Vec::new();
        };
        match &outer.graph.blocks[outer.block].items[outer.item - 1] {
            Item::Repeat(repeat) if inner.iteration + 1 < repeat.trip => {
                state.places.push(Place {
                    block: 0,
                    item: 0,
                    iteration: inner.iteration + 1,
                    ..inner
                });
                let params = repeat.body.blocks.first();
                state.bind(args, params.map_or(&[], |block| &block.params))
            }
            item => {
                let results: Vec<Token> = crate::index::defs(item).collect();
                let mut states = state.bind(args, &results);
                for state in &mut states {
                    self.commit(state, item.after());
                }
                states
            }
        }
    }
}
