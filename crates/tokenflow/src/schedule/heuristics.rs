//! List schedulers. Each is fast, and none is the best on all blocks: [`super::solve`] takes the best of what
//! they find.
//!
//! **Forward** ([`Strategy::Forward`]): operations whose predecessors are done are *ready*. They are kept in classes, by engines
//! and by what they do to which pairs, and each class in two heaps: what could start as soon as its engines are free, by
//! [`Priority`], and what still waits for inputs, by when these are finished. In each step the best head of a class comes next.
//! If limits are heeded, what raises the excess comes last.
//!
//! **Backward** ([`Strategy::Backward`]): the same from the end, in one heap. There, an event is live from its producer back to
//! where all of its consumers are done.
//!
//! **Depth first** ([`Strategy::DepthFirst`]): what nothing follows, in the order of the input, and before it what it needs.
//!
//! Cost: O((n + m) log n) for a bounded number of classes; [`MOST_CLASSES`] bounds it.

use super::event_pressure::EventPressure;
use super::events::EventTable;
use super::graph::Graph;
use super::makespan::Clock;
use super::{InvalidProblem, IssueModel, OperationId, Options, Problem};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Operations of more classes than these share the last one.
const MOST_CLASSES: usize = 32;

/// Which of the ready operations comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The one that comes first in the input.
    Input,
    /// The one that starts first, then the one that most time follows.
    CriticalPath,
    /// The one that frees most events, as first consumer.
    FirstConsumer,
    /// The one after which the fewest events are live.
    Pressure,
}

/// How to find an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The order of the input.
    Unchanged,
    /// From the start.
    Forward {
        /// What comes first.
        priority: Priority,
        /// Whether what raises the excess comes last.
        heeds_limits: bool,
    },
    /// From the end.
    Backward {
        /// Whether the fewest live events count more than the longest path.
        pressure_first: bool,
    },
    /// Each operation right before what needs it.
    DepthFirst,
}

/// All strategies.
#[must_use]
pub fn strategies() -> Vec<Strategy> {
    let forward = |priority, heeds_limits| Strategy::Forward {
        priority,
        heeds_limits,
    };
    vec![
        Strategy::Unchanged,
        forward(Priority::Input, true),
        forward(Priority::CriticalPath, true),
        forward(Priority::CriticalPath, false),
        forward(Priority::FirstConsumer, true),
        forward(Priority::Pressure, true),
        Strategy::Backward { pressure_first: true },
        Strategy::Backward {
            pressure_first: false,
        },
        Strategy::DepthFirst,
    ]
}

/// What a strategy works on.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub problem: &'a Problem,
    pub graph: &'a Graph,
    pub table: &'a EventTable,
    pub issue: IssueModel,
}

impl Strategy {
    /// The order that this strategy alone finds.
    ///
    /// # Errors
    ///
    /// What is wrong with the problem.
    pub fn schedule(self, problem: &Problem, options: &Options) -> Result<Vec<OperationId>, InvalidProblem> {
        problem.verify()?;
        let input = Input {
            problem,
            graph: &Graph::new(problem, options.issue),
            table: &EventTable::new(problem, options.events),
            issue: options.issue,
        };
        Ok(self.order(input).into_iter().map(OperationId).collect())
    }

    /// The order that it finds.
    pub(super) fn order(self, input: Input<'_>) -> Vec<usize> {
        match self {
            Self::Unchanged => (0..input.graph.len()).collect(),
            Self::Forward {
                priority,
                heeds_limits,
            } => Forward::new(input, priority, heeds_limits).run(),
            Self::Backward { pressure_first } => backward(input, pressure_first),
            Self::DepthFirst => depth_first(input.graph),
        }
    }
}

/// What is compared within a class: larger is better. The last part is the operation, the first one is first.
type Key = (u64, u64, Reverse<usize>);

/// The ready operations of a class.
#[derive(Default)]
struct Class {
    /// What could start when its engines are free.
    arrived: BinaryHeap<Key>,
    /// What has inputs that are finished later, by when.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
}

struct Forward<'a> {
    input: Input<'a>,
    priority: Priority,
    heeds_limits: bool,
    class_of: Vec<usize>,
    classes: Vec<Class>,
    pressure: EventPressure,
    peaks: Vec<u64>,
    clock: Clock,
}

impl<'a> Forward<'a> {
    fn new(input: Input<'a>, priority: Priority, heeds_limits: bool) -> Self {
        let pressure = EventPressure::new(input.table);
        let (class_of, number) = classes(input);
        Self {
            input,
            priority,
            heeds_limits,
            class_of,
            classes: (0..number).map(|_| Class::default()).collect(),
            // Below the limit, a peak costs nothing.
            peaks: pressure
                .live
                .iter()
                .zip(&input.table.limits)
                .map(|(a, b)| *a.max(b))
                .collect(),
            pressure,
            clock: Clock::new(input.problem),
        }
    }

    fn run(mut self) -> Vec<usize> {
        let Input {
            problem,
            graph,
            table,
            issue,
        } = self.input;
        let mut missing: Vec<usize> = (0..graph.len())
            .map(|op| graph.predecessors.of(op).len())
            .collect();
        for op in (0..graph.len()).filter(|&op| missing[op] == 0) {
            self.make_ready(op);
        }
        let mut order = Vec::with_capacity(graph.len());
        let (mut freed, mut trail) = (Vec::new(), Vec::new());
        while let Some(op) = self.take() {
            self.pressure.push(table, op, &mut self.peaks, &mut freed);
            self.clock.push(problem, graph, issue, op, &mut trail);
            freed.clear();
            trail.clear();
            order.push(op);
            for &later in graph.successors.of(op) {
                missing[later] -= 1;
                if missing[later] == 0 {
                    self.make_ready(later);
                }
            }
        }
        order
    }

    fn make_ready(&mut self, op: usize) {
        let inputs = self.input.graph.inputs.of(op).iter();
        let arrival = inputs.map(|&input| self.clock.finish[input]).max().unwrap_or(0);
        let class = &mut self.classes[self.class_of[op]];
        if self.priority == Priority::CriticalPath {
            class.waiting.push(Reverse((arrival, op)));
        } else {
            let key = self.key(op);
            self.classes[self.class_of[op]].arrived.push(key);
        }
    }

    fn key(&self, op: usize) -> Key {
        let frees = self.pressure.freed_by(self.input.table, op);
        match self.priority {
            Priority::Input => (0, 0, Reverse(op)),
            Priority::CriticalPath => (self.input.graph.tails[op], 0, Reverse(op)),
            Priority::FirstConsumer => (frees, 0, Reverse(op)),
            Priority::Pressure => (frees, self.input.graph.tails[op], Reverse(op)),
        }
    }

    /// Takes the best operation.
    fn take(&mut self) -> Option<usize> {
        let mut best = None;
        for class in 0..self.classes.len() {
            if let Some(op) = self.head(class) {
                let score = (self.score(op), op, class);
                best = Some(best.map_or(score, |best| score.min(best)));
            }
        }
        let (_, op, class) = best?;
        let class = &mut self.classes[class];
        if class
            .arrived
            .peek()
            .is_some_and(|&(.., Reverse(head))| head == op)
        {
            class.arrived.pop();
        } else {
            class.waiting.pop();
        }
        Some(op)
    }

    /// The best operation of a class.
    fn head(&mut self, class: usize) -> Option<usize> {
        // All of a class have the same engines, but for the last one, where this is a guess.
        while let Some(&Reverse((arrival, op))) = self.classes[class].waiting.peek() {
            let free = self.clock.engines_free(self.input.problem, op);
            if arrival > free.max(self.clock.issue) {
                break;
            }
            self.classes[class].waiting.pop();
            let key = self.key(op);
            self.classes[class].arrived.push(key);
        }
        while let Some(&key) = self.classes[class].arrived.peek() {
            let (.., Reverse(op)) = key;
            // Others may have freed what it would have freed.
            let now = self.key(op);
            if now == key {
                return Some(op);
            }
            self.classes[class].arrived.pop();
            self.classes[class].arrived.push(now);
        }
        let Reverse((_, op)) = self.classes[class].waiting.peek()?;
        Some(*op)
    }

    /// The smaller, the better: by how much it raises the excess, and the priority.
    fn score(&self, op: usize) -> (u64, u64, Reverse<u64>) {
        let (mut raised, mut produced, mut freed) = (0, 0, 0_u64);
        for (effect, frees) in self.pressure.effects(self.input.table, op) {
            let pressure = self.pressure.live[effect.pair] - frees + effect.produced.max(effect.inner);
            raised += pressure.saturating_sub(self.peaks[effect.pair]);
            produced += effect.produced;
            freed += frees;
        }
        if !self.heeds_limits {
            raised = 0;
        }
        let tail = Reverse(self.input.graph.tails[op]);
        match self.priority {
            Priority::Input => (raised, 0, Reverse(0)),
            Priority::CriticalPath => {
                let start = self.clock.start(self.input.problem, self.input.graph, op);
                (raised, start, tail)
            }
            Priority::FirstConsumer => (raised, 0, Reverse(freed)),
            Priority::Pressure => {
                let events = self.input.table.events.len() as u64;
                (raised, (events + produced).saturating_sub(freed), tail)
            }
        }
    }
}

/// The class of each operation, and how many there are.
fn classes(input: Input<'_>) -> (Vec<usize>, usize) {
    let mut numbers = FxHashMap::default();
    let class = |op: usize| {
        let mut engines = input.problem.operations[OperationId(op)].engines.clone();
        engines.sort_unstable();
        let effects = input.table.effects.of(op).iter();
        let produced: Vec<_> = effects
            .map(|effect| (effect.pair, effect.produced.min(1), effect.inner))
            .collect();
        let next = numbers.len().min(MOST_CLASSES - 1);
        *numbers.entry((engines, produced)).or_insert(next)
    };
    let class_of: Vec<usize> = (0..input.graph.len()).map(class).collect();
    let number = class_of.iter().max().map_or(0, |last| last + 1);
    (class_of, number)
}

/// From the end.
fn backward(input: Input<'_>, pressure_first: bool) -> Vec<usize> {
    let Input { graph, table, .. } = input;
    let events = table.events.len();
    // Of each event, the consumers that are not done; 1 makes it live.
    let mut missing: Vec<usize> = (0..events).map(|event| table.consumers.of(event).len()).collect();
    let consumers_left = |missing: &[usize], op: usize| {
        let last = table.consumed.of(op).iter().filter(|&&event| missing[event] == 1);
        last.count()
    };
    let key = |missing: &[usize], op: usize| {
        // Larger is better; what is live later only gets more.
        let pressure = (events + table.produced.of(op).len()).saturating_sub(consumers_left(missing, op));
        let late = graph.heads[op];
        if pressure_first {
            (pressure as u64, late, op)
        } else {
            (late, pressure as u64, op)
        }
    };
    let mut left: Vec<usize> = (0..graph.len()).map(|op| graph.successors.of(op).len()).collect();
    let ready = (0..graph.len()).filter(|&op| left[op] == 0);
    let mut heap: BinaryHeap<_> = ready.map(|op| key(&missing, op)).collect();
    let mut order = Vec::with_capacity(graph.len());
    while let Some(entry) = heap.pop() {
        let op = entry.2;
        let now = key(&missing, op);
        if now < entry {
            heap.push(now);
            continue;
        }
        order.push(op);
        for &event in table.consumed.of(op) {
            missing[event] -= 1;
        }
        for &earlier in graph.predecessors.of(op) {
            left[earlier] -= 1;
            if left[earlier] == 0 {
                heap.push(key(&missing, earlier));
            }
        }
    }
    order.reverse();
    order
}

/// What nothing follows, and before it what it needs.
fn depth_first(graph: &Graph) -> Vec<usize> {
    let mut is_done = vec![false; graph.len()];
    let mut order = Vec::with_capacity(graph.len());
    // Operations, and how many of their predecessors were visited.
    let mut path = Vec::new();
    for root in (0..graph.len()).filter(|&op| graph.successors.of(op).is_empty()) {
        path.push((root, 0));
        while let Some((op, visited)) = path.pop() {
            if is_done[op] {
                continue;
            }
            let Some(&next) = graph.predecessors.of(op).get(visited) else {
                is_done[op] = true;
                order.push(op);
                continue;
            };
            path.push((op, visited + 1));
            path.push((next, 0));
        }
    }
    order
}
