//! The oracle: runs all executions of a program, and finds what each asks of barriers.

use super::kernels::{InRow, Index, Lowered, Node, Program, ROW};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tokenflow::barriers::{AccessKind, Action, Kernel, StepId};

/// So many iterations of each loop are run at most: enough for each rotation to come round.
const ITERATIONS: u64 = 7;
const MAX_EXECUTIONS: u64 = 3000;
const MAX_EVENTS: u64 = 240;
const MAX_PLACES: usize = 13;

/// What an execution does, in order.
#[derive(Clone, Debug)]
enum Event {
    /// Control comes by a step, before which a barrier may stand if no thread is apart.
    Come(StepId, bool),
    Barrier,
    /// What each thread touches; the number of the access if it goes on until its end.
    Begin(Vec<Touched>, AccessKind, Option<usize>, Option<usize>),
    End(usize),
}

/// What a thread touches.
#[derive(Clone, Debug)]
enum Touched {
    /// One of these bytes.
    AnyOf(Range<i64>),
    /// This byte, moved by a number that is always the same, but not known, and that leaves it in its row.
    Moved { byte: i64, moved: Range<i64> },
}

impl Touched {
    /// Returns true if another thread that touches `other` may touch the same byte.
    fn may_meet(&self, other: &Self) -> bool {
        let overlap = |a: &Range<i64>, b: &Range<i64>| a.start.max(b.start) < a.end.min(b.end);
        match (self, other) {
            (Self::Moved { byte: a, .. }, Self::Moved { byte: b, .. }) => a == b,
            (Self::AnyOf(a), Self::AnyOf(b)) => overlap(a, b),
            (Self::AnyOf(any), Self::Moved { byte, moved })
            | (Self::Moved { byte, moved }, Self::AnyOf(any)) => {
                overlap(any, &(byte + moved.start..byte + moved.end))
            }
        }
    }
}

/// Steps, as bits.
type Places = u128;

/// What all executions ask for.
pub struct Oracle {
    /// True if something meets a copy in flight, or threads meet where they are apart.
    pub races: bool,
    /// Places one of which needs a barrier, for each way on which something conflicts.
    paths: Vec<Places>,
}

impl Oracle {
    /// Runs the program; `None` if there are too many executions, or too long ones.
    pub fn new(program: &Program, lowered: &Lowered) -> Option<Self> {
        let Size { executions, events } = size(&program.body);
        let executions = executions.saturating_mul(program.starts.unsigned_abs());
        if executions > MAX_EXECUTIONS || events > MAX_EVENTS || lowered.kernel.steps.len() > 128 {
            return None;
        }
        let mut numbers = BTreeMap::new();
        number(&program.body, &mut numbers);
        let (mut choices, mut same) = (Choices::default(), 0);
        let (mut races, mut paths) = (false, BTreeSet::new());
        loop {
            let mut execution = Execution {
                program,
                lowered,
                numbers: &numbers,
                choices,
                events: Vec::new(),
                tokens: BTreeMap::new(),
                copies: 0,
                iterations: Vec::new(),
                start: 0,
                turns: vec![0],
            };
            execution.run();
            races |= conflicts(&execution.events, same, &mut paths);
            choices = execution.choices;
            match choices.advance() {
                Some(events) => same = events,
                None => break,
            }
        }
        // What hits a part of a path hits the path.
        let needed = paths.iter().filter(|path| {
            !paths
                .iter()
                .any(|other| other != *path && *other & **path == *other)
        });
        Some(Self {
            races,
            paths: needed.copied().collect(),
        })
    }

    pub fn is_enough(&self, barriers: &BTreeSet<StepId>) -> bool {
        let barriers = barriers.iter().fold(0, |all, step| all | bit(*step));
        self.paths.iter().all(|path| path & barriers != 0)
    }

    /// What the cheapest set that is enough costs, and that set.
    pub fn cheapest(&self, kernel: &Kernel) -> Option<(Cost, BTreeSet<StepId>)> {
        let all = self.paths.iter().fold(0, |all, path| all | path);
        let places = kernel.steps.with_ids().map(|(step, _)| step);
        let places: Vec<StepId> = places.filter(|step| all & bit(*step) != 0).collect();
        if places.len() > MAX_PLACES {
            return None;
        }
        let costs: Vec<Cost> = places.iter().map(|place| cost_of(kernel, *place)).collect();
        let chosen = |bits: u32| (0..places.len()).filter(move |i| bits >> i & 1 == 1);
        let enough = (0..1_u32 << places.len()).filter(|bits| {
            let barriers = chosen(*bits).fold(0, |all, i| all | bit(places[i]));
            self.paths.iter().all(|path| path & barriers != 0)
        });
        let best = enough
            .map(|bits| (sum(chosen(bits).map(|i| costs[i])), bits))
            .min();
        best.map(|(cost, bits)| (cost, chosen(bits).map(|i| places[i]).collect()))
    }
}

fn bit(step: StepId) -> Places {
    1 << step.0
}

/// How many barriers there are at each depth, the deepest first, and how many are not right after an await.
pub type Cost = [usize; 9];

pub fn cost(kernel: &Kernel, barriers: &BTreeSet<StepId>) -> Cost {
    sum(barriers.iter().map(|step| cost_of(kernel, *step)))
}

fn sum(costs: impl Iterator<Item = Cost>) -> Cost {
    let plus = |a: Cost, b: Cost| std::array::from_fn(|i| a[i] + b[i]);
    costs.fold(Cost::default(), plus)
}

fn cost_of(kernel: &Kernel, step: StepId) -> Cost {
    let mut cost = Cost::default();
    let mut depth = 0;
    let mut around = kernel.steps[step].in_loop;
    while let Some(inner) = around {
        depth += 1;
        around = kernel.loops[inner].parent;
    }
    cost[7 - depth] = 1;
    let mut before = kernel
        .steps
        .with_ids()
        .filter(|(_, other)| other.edges.iter().any(|edge| edge.to == step));
    let after_await = matches!((before.next(), before.next()), (Some((_, one)), None) if matches!(one.action, Action::Await(_)));
    cost[8] = usize::from(!after_await);
    cost
}

/// Adds the places that conflicts of an execution ask for; returns true if something can't be ordered. What the first `known`
/// events ask for has been added before.
fn conflicts(events: &[Event], known: usize, paths: &mut BTreeSet<Places>) -> bool {
    let mut races = false;
    for (i, first) in events.iter().enumerate() {
        let Event::Begin(bytes, kind, copy, region) = first else {
            continue;
        };
        let end = copy.map_or(Some(i), |copy| {
            events
                .iter()
                .position(|event| matches!(event, Event::End(ended) if *ended == copy))
        });
        for (j, second) in events.iter().enumerate().skip(known.max(i + 1)) {
            let Event::Begin(others, other_kind, _, other_region) = second else {
                continue;
            };
            let conflict = *kind != AccessKind::Read || *other_kind != AccessKind::Read;
            let atomic = *kind == AccessKind::Atomic && *other_kind == AccessKind::Atomic;
            if !conflict || atomic || !meet(bytes, others) {
                continue;
            }
            let apart = || {
                !events[i..j]
                    .iter()
                    .any(|event| matches!(event, Event::Come(_, true)))
            };
            if end.is_none_or(|end| end > j) || region.is_some() && region == other_region && apart() {
                races = true;
                continue;
            }
            let between = &events[end.unwrap_or(i)..j];
            if between.iter().any(|event| matches!(event, Event::Barrier)) {
                continue;
            }
            let places = between.iter().map(|event| match event {
                Event::Come(step, true) => bit(*step),
                _ => 0,
            });
            paths.insert(places.fold(0, |all, place| all | place));
        }
    }
    races
}

/// Returns true if two threads access the same byte.
fn meet(touched: &[Touched], others: &[Touched]) -> bool {
    touched.iter().enumerate().any(|(t, touched)| {
        let mut others = others.iter().enumerate();
        others.any(|(u, other)| t != u && touched.may_meet(other))
    })
}

/// How many executions a program has, and how many events the longest has at most.
struct Size {
    executions: u64,
    events: u64,
}

fn size(nodes: &[Node]) -> Size {
    let (mut executions, mut events) = (1_u64, 0_u64);
    for node in nodes {
        let (ways, longest) = match node {
            Node::Access { .. } | Node::Copy { .. } | Node::Barrier => (1, 2),
            // A token stands for one copy at most.
            Node::Await(tokens) => (1, 1 + tokens.len() as u64),
            Node::If {
                then,
                other,
                divergent,
            } => {
                let (then, other) = (size(then), size(other));
                let ways = if *divergent {
                    1
                } else {
                    then.executions.saturating_add(other.executions)
                };
                (ways, 4 + then.events + other.events)
            }
            Node::Loop { body, .. } => {
                let body = size(body);
                let (least, most) = trips(node);
                let times = |trips| u32::try_from(trips).unwrap_or(u32::MAX);
                let ways = (least..=most).map(|trips| body.executions.saturating_pow(times(trips)));
                let ways = ways.fold(0, u64::saturating_add);
                (ways, 2 + body.events.saturating_add(2).saturating_mul(most))
            }
        };
        executions = executions.saturating_mul(ways);
        events = events.saturating_add(longest);
    }
    Size { executions, events }
}

/// How often a loop may run.
fn trips(node: &Node) -> (u64, u64) {
    match node {
        Node::Loop {
            min_trips, max_trips, ..
        } => (*min_trips, max_trips.unwrap_or(ITERATIONS)),
        _ => (1, 1),
    }
}

/// Numbers nodes in program order, by their addresses.
fn number(nodes: &[Node], numbers: &mut BTreeMap<*const Node, usize>) {
    for node in nodes {
        numbers.insert(node, numbers.len());
        match node {
            Node::If { then, other, .. } => {
                number(then, numbers);
                number(other, numbers);
            }
            Node::Loop { body, .. } => number(body, numbers),
            _ => {}
        }
    }
}

/// Which way an execution takes wherever there are several.
#[derive(Default)]
struct Choices {
    /// The way that is taken, how many there are, and how many events came before.
    taken: Vec<(u64, u64, usize)>,
    next: usize,
}

impl Choices {
    /// One of `ways`.
    fn choose(&mut self, ways: u64, events: usize) -> u64 {
        if self.next == self.taken.len() {
            self.taken.push((0, ways, events));
        }
        self.next += 1;
        self.taken[self.next - 1].0
    }

    /// Goes on to the next execution; returns how many of its events are those of the last one.
    fn advance(&mut self) -> Option<usize> {
        self.next = 0;
        while let Some((way, ways, events)) = self.taken.pop() {
            if way + 1 < ways {
                self.taken.push((way + 1, ways, events));
                return Some(events);
            }
        }
        None
    }
}

/// One execution.
struct Execution<'p> {
    program: &'p Program,
    lowered: &'p Lowered,
    numbers: &'p BTreeMap<*const Node, usize>,
    choices: Choices,
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

impl Execution<'_> {
    fn run(&mut self) {
        self.start = self.choose(self.program.starts.unsigned_abs()).cast_signed();
        self.block(&self.program.body, None);
    }

    fn choose(&mut self, ways: u64) -> u64 {
        self.choices.choose(ways, self.events.len())
    }

    /// Notes that control comes by a step.
    fn come(&mut self, step: StepId, region: Option<usize>) {
        self.events.push(Event::Come(step, region.is_none()));
    }

    fn block(&mut self, nodes: &[Node], region: Option<usize>) {
        for node in nodes {
            self.node(node, region);
        }
    }

    fn touched(&self, index: &Index) -> Vec<Touched> {
        let of = |depth: usize| self.iterations[self.iterations.len() - 1 - depth];
        let threads = 0..i64::from(self.program.threads);
        threads
            .map(|thread| {
                let iteration = index.iteration.map_or(0, |(factor, depth)| factor * of(depth));
                let rotation = index.rotation.map_or(0, |(factor, depth, start, step, modulus)| {
                    factor * (start + step * of(depth)).rem_euclid(modulus)
                });
                let turning = index.turning.map_or(0, |(factor, plus, step, modulus)| {
                    let ended = self.turns[self.turns.len() - 2];
                    factor * (self.start + plus + step * ended).rem_euclid(modulus)
                });
                let byte = index.thread * thread + index.constant + iteration + rotation + turning;
                match index.in_row {
                    None => Touched::AnyOf(byte..byte + 1),
                    Some(InRow::Anywhere) => Touched::AnyOf(byte..byte + ROW),
                    Some(InRow::Iteration) => Touched::AnyOf(byte + of(0)..byte + of(0) + 1),
                    Some(InRow::Shifted) => Touched::Moved {
                        byte: byte + thread,
                        moved: 0..ROW - i64::from(self.program.threads) + 1,
                    },
                }
            })
            .collect()
    }

    fn node(&mut self, node: &Node, region: Option<usize>) {
        let number = self.numbers[&std::ptr::from_ref(node)];
        self.come(self.lowered.step[number], region);
        match node {
            Node::Access { index, kind } => {
                let bytes = self.touched(index);
                self.events.push(Event::Begin(bytes, *kind, None, region));
            }
            Node::Copy { index, token } => {
                let bytes = self.touched(index);
                let copy = self.copies;
                self.copies += 1;
                self.tokens.insert(*token, BTreeSet::from([copy]));
                self.events
                    .push(Event::Begin(bytes, AccessKind::Write, Some(copy), region));
            }
            Node::Await(tokens) => {
                let ended = tokens.iter().filter_map(|token| self.tokens.get(token));
                let ended: BTreeSet<usize> = ended.flatten().copied().collect();
                self.events.extend(ended.into_iter().map(Event::End));
            }
            Node::Barrier => self.events.push(Event::Barrier),
            Node::If {
                then,
                other,
                divergent,
            } => {
                let inner = region.or(divergent.then_some(number));
                let arms = [then, other].into_iter().enumerate();
                let way = if *divergent { None } else { Some(self.choose(2)) };
                // If they are apart, some threads take one way, some the other.
                for (i, arm) in arms.filter(|(i, _)| way.is_none_or(|way| way == *i as u64)) {
                    self.come(self.lowered.starts[&(number, i)], inner);
                    self.block(arm, inner);
                }
                self.come(self.lowered.after[&number], region);
            }
            Node::Loop { body, carried, .. } => {
                let (least, most) = trips(node);
                let trips = least + self.choose(most - least + 1);
                self.bind(carried, true);
                self.iterations.push(0);
                self.turns.push(0);
                for _ in 0..trips {
                    self.come(self.lowered.starts[&(number, 0)], region);
                    self.block(body, region);
                    // The step at the end of the body is the one before the step after the loop.
                    self.come(StepId(self.lowered.after[&number].0 - 1), region);
                    self.bind(carried, false);
                    let around = self.turns.len() - 2;
                    self.turns[around] += 1;
                    *self.iterations.last_mut().expect("a loop") += 1;
                }
                self.iterations.pop();
                self.turns.pop();
                self.come(self.lowered.after[&number], region);
            }
        }
    }

    /// Hands tokens to the next iteration of a loop, or to the first one.
    fn bind(&mut self, carried: &[(u32, u32, u32)], first: bool) {
        let values = carried.iter().map(|(init, arg, next)| {
            let from = if first { init } else { next };
            (*arg, self.tokens.get(from).cloned().unwrap_or_default())
        });
        let values: Vec<_> = values.collect();
        self.tokens.extend(values);
    }
}
