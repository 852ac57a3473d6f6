//! All executions of a program, and what each asks of barriers.

use super::kernels::{Index, Lowered, Node, Program};
use std::collections::{BTreeMap, BTreeSet};
use tokenflow::barriers::{AccessKind, Action, Kernel, StepId};

/// So many iterations of each loop are run at most: enough for each rotation to come round.
const ITERATIONS: usize = 7;
const MAX_EXECUTIONS: usize = 3000;
const MAX_LENGTH: usize = 60;
const MAX_PLACES: usize = 13;

/// What an execution does, in order.
#[derive(Clone, Debug)]
enum Event {
    /// Control comes by a step, before which a barrier may stand if no thread is apart.
    Come(StepId, bool),
    Barrier,
    /// Bytes of each thread; the number of the access if it goes on until its end.
    Begin(Vec<i64>, AccessKind, Option<usize>, Option<usize>),
    End(usize),
}

#[derive(Clone, Default)]
struct State {
    events: Vec<Event>,
    /// Which copies each token stands for.
    tokens: BTreeMap<u32, BTreeSet<usize>>,
    copies: usize,
    iterations: Vec<i64>,
    /// Where rotations start that go on when their loop is entered again.
    start: i64,
    /// For each loop that control is in, and outside, how many iterations of loops in there have ended.
    turns: Vec<i64>,
}

/// What all executions ask for.
pub struct Oracle {
    /// True if something meets a copy in flight, or threads meet where they are apart.
    pub overlaps: bool,
    /// Places one of which needs a barrier, for each way on which something conflicts.
    paths: Vec<BTreeSet<StepId>>,
}

struct Runner<'p> {
    program: &'p Program,
    lowered: &'p Lowered,
    /// The number of each node, by its address.
    numbers: BTreeMap<*const Node, usize>,
}

impl Oracle {
    /// Runs the program; `None` if there are too many executions.
    pub fn new(program: &Program, lowered: &Lowered) -> Option<Self> {
        let mut runner = Runner {
            program,
            lowered,
            numbers: BTreeMap::new(),
        };
        runner.number(&program.body, &mut 0);
        let starts = 0..program.starts;
        let starts = starts.map(|start| State {
            start,
            turns: vec![0],
            ..State::default()
        });
        let ends = runner.block(&program.body, starts.collect(), None)?;
        let mut oracle = Self {
            overlaps: false,
            paths: Vec::new(),
        };
        let mut paths = BTreeSet::new();
        for state in &ends {
            oracle.overlaps |= conflicts(&state.events, &mut paths);
        }
        oracle.paths = paths
            .iter()
            .filter(|path| !paths.iter().any(|other| other != *path && other.is_subset(path)))
            .cloned()
            .collect();
        Some(oracle)
    }

    pub fn is_enough(&self, barriers: &BTreeSet<StepId>) -> bool {
        self.paths.iter().all(|path| !path.is_disjoint(barriers))
    }

    /// The cheapest set that is enough.
    pub fn cheapest(&self, kernel: &Kernel) -> Option<BTreeSet<StepId>> {
        let places: BTreeSet<StepId> = self.paths.iter().flatten().copied().collect();
        if places.len() > MAX_PLACES {
            return None;
        }
        let places: Vec<StepId> = places.into_iter().collect();
        let sets = (0..1_u32 << places.len()).map(|bits| {
            let chosen = places.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
            chosen.map(|(_, place)| *place).collect::<BTreeSet<StepId>>()
        });
        sets.filter(|set| self.is_enough(set))
            .min_by_key(|set| cost(kernel, set))
    }
}

/// How many barriers there are at each depth, the deepest first, and how many are not right after an await.
pub fn cost(kernel: &Kernel, barriers: &BTreeSet<StepId>) -> Vec<usize> {
    let depth = |step: StepId| {
        let mut depth = 0;
        let mut around = kernel.steps[step].in_loop;
        while let Some(inner) = around {
            depth += 1;
            around = kernel.loops[inner].parent;
        }
        depth
    };
    let mut cost: Vec<usize> = (0..8)
        .rev()
        .map(|deep| barriers.iter().filter(|step| depth(**step) == deep).count())
        .collect();
    let after_await = |step: StepId| {
        let mut before = kernel
            .steps
            .with_ids()
            .filter(|(_, other)| other.edges.iter().any(|edge| edge.to == step));
        matches!((before.next(), before.next()), (Some((_, one)), None) if matches!(one.action, Action::Await(_)))
    };
    cost.push(barriers.iter().filter(|step| !after_await(**step)).count());
    cost
}

/// Adds the places that conflicts of an execution ask for; returns true if something can't be ordered.
fn conflicts(events: &[Event], paths: &mut BTreeSet<BTreeSet<StepId>>) -> bool {
    let mut overlaps = false;
    for (i, first) in events.iter().enumerate() {
        let Event::Begin(bytes, kind, copy, region) = first else {
            continue;
        };
        let end = copy.map_or(Some(i), |copy| {
            events
                .iter()
                .position(|event| matches!(event, Event::End(ended) if *ended == copy))
        });
        for (j, second) in events.iter().enumerate().skip(i + 1) {
            let Event::Begin(others, other_kind, _, other_region) = second else {
                continue;
            };
            let meet = bytes.iter().enumerate().any(|(t, byte)| {
                let others = others.iter().enumerate();
                others.into_iter().any(|(u, other)| t != u && byte == other)
            });
            let conflict = *kind != AccessKind::Read || *other_kind != AccessKind::Read;
            let atomic = *kind == AccessKind::Atomic && *other_kind == AccessKind::Atomic;
            if !meet || !conflict || atomic {
                continue;
            }
            let apart = || {
                !events[i..j]
                    .iter()
                    .any(|event| matches!(event, Event::Come(_, true)))
            };
            if end.is_none_or(|end| end > j) || region.is_some() && region == other_region && apart() {
                overlaps = true;
                continue;
            }
            let between = &events[end.unwrap_or(i)..j];
            if between.iter().any(|event| matches!(event, Event::Barrier)) {
                continue;
            }
            let places = between.iter().filter_map(|event| match event {
                Event::Come(step, true) => Some(*step),
                _ => None,
            });
            paths.insert(places.collect());
        }
    }
    overlaps
}

/// Notes that control comes by a step; `None` if executions get too long.
fn come(states: &mut [State], step: StepId, region: Option<usize>) -> Option<()> {
    for state in states {
        state.events.push(Event::Come(step, region.is_none()));
        if state.events.len() > MAX_LENGTH * 4 {
            return None;
        }
    }
    Some(())
}

impl Runner<'_> {
    fn number(&mut self, nodes: &[Node], next: &mut usize) {
        for node in nodes {
            self.numbers.insert(node, *next);
            *next += 1;
            match node {
                Node::If { then, other, .. } => {
                    self.number(then, next);
                    self.number(other, next);
                }
                Node::Loop { body, .. } => self.number(body, next),
                _ => {}
            }
        }
    }

    fn block(&self, nodes: &[Node], mut states: Vec<State>, region: Option<usize>) -> Option<Vec<State>> {
        for node in nodes {
            states = self.node(node, states, region)?;
            if states.len() > MAX_EXECUTIONS {
                return None;
            }
        }
        Some(states)
    }

    fn bytes(&self, index: &Index, state: &State) -> Vec<i64> {
        let State {
            iterations,
            start,
            turns,
            ..
        } = state;
        let of = |depth: usize| iterations[iterations.len() - 1 - depth];
        let threads = 0..i64::from(self.program.threads);
        threads
            .map(|thread| {
                let iteration = index.iteration.map_or(0, |(factor, depth)| factor * of(depth));
                let rotation = index.rotation.map_or(0, |(factor, depth, start, step, modulus)| {
                    factor * (start + step * of(depth)).rem_euclid(modulus)
                });
                let turning = index.turning.map_or(0, |(factor, plus, step, modulus)| {
                    let ended = turns[turns.len() - 2];
                    factor * (start + plus + step * ended).rem_euclid(modulus)
                });
                index.thread * thread + index.constant + iteration + rotation + turning
            })
            .collect()
    }

    fn node(&self, node: &Node, mut states: Vec<State>, region: Option<usize>) -> Option<Vec<State>> {
        let number = self.numbers[&std::ptr::from_ref(node)];
        let step = self.lowered.step[number];
        come(&mut states, step, region)?;
        match node {
            Node::Access { index, kind } => {
                for state in &mut states {
                    let bytes = self.bytes(index, state);
                    state.events.push(Event::Begin(bytes, *kind, None, region));
                }
            }
            Node::Copy { index, token } => {
                for state in &mut states {
                    let bytes = self.bytes(index, state);
                    let copy = state.copies;
                    state.copies += 1;
                    state.tokens.insert(*token, BTreeSet::from([copy]));
                    state
                        .events
                        .push(Event::Begin(bytes, AccessKind::Write, Some(copy), region));
                }
            }
            Node::Await(tokens) => {
                for state in &mut states {
                    let ended: BTreeSet<usize> = tokens
                        .iter()
                        .filter_map(|token| state.tokens.get(token))
                        .flatten()
                        .copied()
                        .collect();
                    state.events.extend(ended.into_iter().map(Event::End));
                }
            }
            Node::Barrier => states
                .iter_mut()
                .for_each(|state| state.events.push(Event::Barrier)),
            Node::If {
                then,
                other,
                divergent,
            } => {
                let inner = region.or(divergent.then_some(number));
                if *divergent {
                    // Some threads take one way, some the other.
                    for (i, arm) in [then, other].into_iter().enumerate() {
                        come(&mut states, self.lowered.starts[&(number, i)], inner)?;
                        states = self.block(arm, states, inner)?;
                    }
                    come(&mut states, self.lowered.after[&number], region)?;
                    return Some(states);
                }
                let mut after = Vec::new();
                for (i, arm) in [then, other].into_iter().enumerate() {
                    let mut start = states.clone();
                    come(&mut start, self.lowered.starts[&(number, i)], inner)?;
                    after.extend(self.block(arm, start, inner)?);
                }
                states = after;
                come(&mut states, self.lowered.after[&number], region)?;
            }
            Node::Loop { .. } => {
                states = self.run_loop(number, node, states, region)?;
            }
        }
        Some(states)
    }

    fn run_loop(
        &self,
        number: usize,
        node: &Node,
        mut states: Vec<State>,
        region: Option<usize>,
    ) -> Option<Vec<State>> {
        let Node::Loop {
            body,
            carried,
            min_trips,
            max_trips,
        } = node
        else {
            return Some(states);
        };
        let bind = |state: &mut State, first: bool| {
            let values: Vec<_> = carried
                .iter()
                .map(|(init, arg, next)| {
                    let from = if first { init } else { next };
                    (*arg, state.tokens.get(from).cloned().unwrap_or_default())
                })
                .collect();
            state.tokens.extend(values);
        };
        for state in &mut states {
            bind(state, true);
        }
        let mut after = if *min_trips > 0 {
            Vec::new()
        } else {
            states.clone()
        };
        for state in &mut states {
            state.iterations.push(0);
            state.turns.push(0);
        }
        let trips = max_trips.map_or(Some(ITERATIONS), |trips| usize::try_from(trips).ok())?;
        for trip in 1..=trips {
            come(&mut states, self.lowered.starts[&(number, 0)], region)?;
            states = self.block(body, states, region)?;
            // The step at the end of the body is the one before the step after the loop.
            let after_step = self.lowered.after[&number];
            come(&mut states, StepId(after_step.0 - 1), region)?;
            for state in &mut states {
                bind(state, false);
                let around = state.turns.len() - 2;
                state.turns[around] += 1;
                if trip as u64 >= *min_trips {
                    let mut left = state.clone();
                    left.iterations.pop();
                    left.turns.pop();
                    after.push(left);
                }
                *state.iterations.last_mut().expect("a loop") += 1;
            }
            if after.len() > MAX_EXECUTIONS {
                return None;
            }
        }
        come(&mut after, self.lowered.after[&number], region)?;
        Some(after)
    }
}
