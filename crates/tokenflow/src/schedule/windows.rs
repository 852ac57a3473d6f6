//! Improves an order that is too long to be searched as a whole: exact search in windows.
//!
//! A **window** is a run of operations of the order. What is before it gives it a start: which events are live, when engines and inputs are
//! free. What is after it stays in order, so how long after each operation of the window everything after it ends can be told in
//! advance: that is the operation's *rest*, along dependences, engines and issue. So the window is a block of its own, of which
//! [`Search`] finds the best order: first by the excess within it, then by the latest end of what it holds up. Neither can make
//! the whole worse, but for what is less of one pair and more of another one, which is looked at in the end.
//!
//! A **sweep** goes through the order in windows that overlap by half. The first ones look at windows that exceed the limits, as
//! long as some window gets below its excess. Then the limits are the peaks that there are anyway, and time is gained.
//!
//! Cost of a sweep: O((n + m) log n), and a number of nodes for each window that is bounded.

use super::bounds;
use super::event_pressure::EventPressure;
use super::events::{EventTable, NewEvent};
use super::graph::{Graph, sort};
use super::makespan::Clock;
use super::search::{Answer, Search, Target};
use super::{IssueModel, Objective, Operation, OperationId, Problem};
use crate::ids::Id;
use std::collections::BTreeMap;

/// How many operations a window has.
pub(super) const WINDOW: usize = 32;
/// And where these gain nothing any more.
const LARGE_WINDOW: usize = 64;
/// In orders of up to so many operations, windows are half as large first.
const SHORT_ORDER: usize = 1024;
/// With more engines than these, what is after windows is too much to note.
const MOST_ENGINES: usize = 64;
/// Sweeps, at most.
const MOST_SWEEPS: usize = 16;
/// The most nodes of a question, and the fewest that are worth one.
const MOST_NODES: u64 = 4000;
const LEAST_NODES: u64 = 2 * WINDOW as u64;

/// What windows are taken of.
#[derive(Clone, Copy)]
pub(super) struct FullProblem<'a> {
    pub problem: &'a Problem,
    pub graph: &'a Graph,
    pub table: &'a EventTable,
    pub issue: IssueModel,
    pub objective: Objective,
}

/// Improves an order, with at most so many nodes. Returns an order that is nowhere worse, and what is left of the nodes.
pub(super) fn improve(whole: FullProblem<'_>, order: Vec<usize>, mut budget: u64) -> (Vec<usize>, u64) {
    if Clock::new(whole.problem).free.len() > MOST_ENGINES {
        return (order, budget);
    }
    let mut order = below_limits(whole, order, &mut budget);
    let mut size = if order.len() <= SHORT_ORDER {
        WINDOW / 2
    } else {
        WINDOW
    };
    for sweep in 0..MOST_SWEEPS {
        let limits = peaks(whole, &order).into_iter().zip(&whole.table.limits);
        let limits = limits.map(|(peak, limit)| match whole.objective {
            Objective::Latency => peak.max(*limit),
            Objective::Events => peak,
        });
        let mut sweeping = Sweep::new(whole, &order, limits.collect(), size, budget);
        // Other windows than in the last one.
        sweeping.run(if sweep % 2 == 0 { size } else { size - size / 4 });
        let is_better = sweeping.is_better;
        budget = sweeping.budget;
        order = sweeping.done;
        if budget < LEAST_NODES || !is_better && size == LARGE_WINDOW {
            break;
        }
        if !is_better {
            size *= 2;
        }
    }
    (order, budget)
}

/// Looks for an order with a smaller excess; else, the order stays as it is.
fn below_limits(whole: FullProblem<'_>, order: Vec<usize>, budget: &mut u64) -> Vec<usize> {
    let excess = |order: &[usize]| whole.table.totals(&peaks(whole, order)).0;
    let before = excess(&order);
    let (mut best, mut latest, mut least) = (order.clone(), order, before);
    for sweep in 0..MOST_SWEEPS {
        if least == 0 {
            break;
        }
        let limits = whole.table.limits.clone();
        let mut sweeping = Sweep::new(whole, &latest, limits, WINDOW, *budget);
        sweeping.aims_at_limits = true;
        sweeping.run(if sweep % 2 == 0 {
            WINDOW
        } else {
            WINDOW - WINDOW / 4
        });
        let is_better = sweeping.is_better;
        *budget = sweeping.budget;
        latest = sweeping.done;
        // What is less in each window may be more in all, of several pairs.
        let now = excess(&latest);
        if now < least {
            least = now;
            best.clone_from(&latest);
        }
        if !is_better || *budget < LEAST_NODES {
            break;
        }
    }
    best
}

/// The peaks of an order.
fn peaks(whole: FullProblem<'_>, order: &[usize]) -> Vec<u64> {
    let mut pressure = EventPressure::new(whole.table);
    let mut peaks = pressure.live.clone();
    let mut freed = Vec::new();
    for &op in order {
        pressure.push(whole.table, op, &mut peaks, &mut freed);
        freed.clear();
    }
    peaks
}

struct Sweep<'a> {
    whole: FullProblem<'a>,
    limits: Vec<u64>,
    budget: u64,
    /// How far apart windows start.
    step: usize,
    /// What is not done yet.
    ahead: &'a [usize],
    /// The window, in its order.
    window: Vec<usize>,
    /// What is done.
    done: Vec<usize>,
    pressure: EventPressure,
    clock: Clock,
    /// Of each operation that was not in a window yet, the time from its start to the end.
    late: Vec<u64>,
    /// By how much is ahead, if a window can end there: of each engine, the time from the start of the next operation to the end.
    late_on_engine: BTreeMap<usize, Vec<u64>>,
    /// Of each operation, its place in the window.
    place: Vec<Option<usize>>,
    nodes_each: u64,
    /// What is looked for is a smaller excess, and nothing else.
    aims_at_limits: bool,
    is_better: bool,
}

/// A window as a block of its own.
struct WindowProblem {
    problem: Problem,
    graph: Graph,
    table: EventTable,
    clock: Clock,
}

impl<'a> Sweep<'a> {
    fn new(whole: FullProblem<'a>, order: &'a [usize], limits: Vec<u64>, size: usize, budget: u64) -> Self {
        let step = size / 2;
        let windows = (order.len() / step + 1) as u64;
        Self {
            limits,
            step,
            budget,
            ahead: order,
            window: Vec::new(),
            done: Vec::with_capacity(order.len()),
            pressure: EventPressure::new(whole.table),
            clock: Clock::new(whole.problem),
            late: Vec::new(),
            late_on_engine: BTreeMap::new(),
            place: vec![None; order.len()],
            // It may take a few sweeps.
            nodes_each: (budget / windows / 3).clamp(LEAST_NODES, MOST_NODES),
            aims_at_limits: false,
            is_better: false,
            whole,
        }
    }

    /// Goes through the order; the first window has `first` operations.
    fn run(&mut self, first: usize) {
        self.look_ahead(first);
        let mut take = first;
        while !self.ahead.is_empty() || !self.window.is_empty() {
            let (next, ahead) = self.ahead.split_at(take.min(self.ahead.len()));
            self.window.extend(next);
            self.ahead = ahead;
            self.improve_window();
            let is_last = self.ahead.is_empty();
            let leave = if is_last { self.window.len() } else { self.step };
            for op in self.window.drain(..leave) {
                let FullProblem {
                    problem,
                    graph,
                    table,
                    issue,
                    ..
                } = self.whole;
                self.pressure
                    .push(table, op, &mut vec![0; table.pairs.len()], &mut Vec::new());
                self.clock.push(problem, graph, issue, op, &mut Vec::new());
                self.done.push(op);
            }
            take = self.step;
        }
    }

    /// Works out how long it is to the end from each operation, in the order as it is.
    fn look_ahead(&mut self, first: usize) {
        let number = self.ahead.len();
        self.late = vec![0; number];
        let mut on_engine = vec![0; self.clock.free.len()];
        let mut next = 0;
        for (place, &op) in self.ahead.iter().enumerate().rev() {
            let ahead = number - 1 - place;
            // Before this one, so many are ahead.
            if place + 1 >= first && (place + 1 - first).is_multiple_of(self.step) {
                self.late_on_engine.insert(ahead, on_engine.clone());
            }
            next = self.rest(op, &on_engine, next, |_| true);
            self.late[op] = next;
            for engine in &self.whole.problem.operations[OperationId(op)].engines {
                on_engine[engine.index()] = next;
            }
        }
    }

    /// The time from the start of `op` to the end of all that is after it, if `on_engine` and `next` say that of the next operation
    /// of each engine and of all; users count where `counts` says so.
    fn rest(&self, op: usize, on_engine: &[u64], next: u64, counts: impl Fn(usize) -> bool) -> u64 {
        let FullProblem {
            problem,
            graph,
            issue,
            ..
        } = self.whole;
        let own = &problem.operations[OperationId(op)];
        let users = graph.users.of(op).iter().filter(|&&user| counts(user));
        let users = users.map(|&user| own.latency.saturating_add(self.late[user]));
        let engines = own.engines.iter();
        let engines = engines.map(|engine| own.occupancy.saturating_add(on_engine[engine.index()]));
        let behind = if issue == IssueModel::Order { next } else { 0 };
        let rest = graph.rests[op].max(behind);
        users.chain(engines).fold(rest, u64::max)
    }

    fn improve_window(&mut self) {
        if self.window.len() < 2 || self.budget < LEAST_NODES {
            return;
        }
        for (place, &op) in self.window.iter().enumerate() {
            self.place[op] = Some(place);
        }
        let part = self.part();
        if let Some(order) = self.best_order(&part) {
            self.window = order.into_iter().map(|place| self.window[place]).collect();
        }
        for &op in &self.window {
            self.place[op] = None;
        }
    }

    /// The window as a block of its own.
    fn part(&self) -> WindowProblem {
        let FullProblem {
            problem,
            graph,
            issue,
            ..
        } = self.whole;
        let none = vec![0; self.clock.free.len()];
        let on_engine = self.late_on_engine.get(&self.ahead.len()).unwrap_or(&none);
        let next = self.ahead.first().map_or(0, |&op| self.late[op]);
        let operations: Vec<Operation> = self
            .window
            .iter()
            .map(|&op| problem.operations[OperationId(op)].clone())
            .collect();
        let (mut waits, mut all) = (Vec::new(), Vec::new());
        let (mut releases, mut rests) = (Vec::new(), Vec::new());
        for (place, &op) in self.window.iter().enumerate() {
            let inner = |others: &[usize]| -> Vec<(usize, usize)> {
                let others = others.iter().filter_map(|&other| self.place[other]);
                others.map(|other| (place, other)).collect()
            };
            waits.extend(inner(graph.users.of(op)));
            all.extend(inner(graph.successors.of(op)));
            let inputs = graph
                .inputs
                .of(op)
                .iter()
                .filter(|&&input| self.place[input].is_none());
            let release = inputs.map(|&input| self.clock.finish[input]).max().unwrap_or(0);
            releases.push(release.max(graph.releases[op]));
            rests.push(self.rest(op, on_engine, next, |user| self.place[user].is_none()));
        }
        sort(&mut waits);
        sort(&mut all);
        let earliest = |(place, operation): (usize, &Operation)| {
            let engines = operation
                .engines
                .iter()
                .map(|engine| self.clock.free[engine.index()]);
            engines
                .chain([releases[place], self.clock.issue])
                .max()
                .unwrap_or(0)
        };
        let releases: Vec<u64> = operations.iter().enumerate().map(earliest).collect();
        let graph = Graph::build(&operations, issue, &waits, &all, (releases, rests));
        WindowProblem {
            problem: Problem {
                operations: operations.into(),
                ..Problem::default()
            },
            graph,
            table: self.events(),
            clock: Clock {
                free: self.clock.free.clone(),
                finish: vec![0; self.window.len()],
                issue: self.clock.issue,
                end: 0,
            },
        }
    }

    /// The events of the window: those that it produces, and those that were produced before and that it consumes.
    fn events(&self) -> EventTable {
        let table = self.whole.table;
        let mut base = self.pressure.live.clone();
        let mut waiting: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut all = Vec::new();
        let mut inner = Vec::new();
        for (place, &op) in self.window.iter().enumerate() {
            for &event in table.consumed.of(op) {
                if self.pressure.is_waiting(event) {
                    waiting.entry(event).or_default().push(place);
                }
            }
            for &event in table.produced.of(op) {
                let details = table.events[event];
                let consumers = table.consumers.of(event).iter();
                all.push(NewEvent {
                    producer: Some(place),
                    pair: details.pair,
                    // A later execution of the block consumes it.
                    consumers: if details.is_carried {
                        Vec::new()
                    } else {
                        consumers.filter_map(|&consumer| self.place[consumer]).collect()
                    },
                    is_carried: false,
                });
            }
            let effects = table.effects.of(op).iter().filter(|effect| effect.inner > 0);
            inner.extend(effects.map(|effect| ((place, effect.pair), effect.inner)));
        }
        for (event, consumers) in waiting {
            let pair = table.events[event].pair;
            base[pair] -= 1;
            all.push(NewEvent {
                producer: None,
                pair,
                is_carried: true,
                consumers,
            });
        }
        EventTable::build(
            self.window.len(),
            (table.pairs.clone(), self.limits.clone(), base),
            &all,
            &inner,
        )
    }

    /// A better order of a window, if there is one within the budget.
    fn best_order(&mut self, part: &WindowProblem) -> Option<Vec<usize>> {
        let unchanged: Vec<usize> = (0..self.window.len()).collect();
        let (excess, end) = part.measure(self.whole.issue, &unchanged);
        let best = if self.aims_at_limits {
            let target = |excess| Target {
                excess,
                makespan: None,
                peaks: None,
            };
            self.bisect(part, excess, 0, target, |measured| measured.0)
        } else {
            let least = bounds::makespan(&part.problem, &part.graph);
            let target = |end| Target {
                excess,
                makespan: Some(end),
                peaks: None,
            };
            self.bisect(part, end, least, target, |measured| measured.1)
        };
        self.is_better |= best.is_some();
        best
    }

    /// An order with a smaller value than `known`, if one is found.
    fn bisect(
        &mut self,
        part: &WindowProblem,
        mut known: u64,
        mut least: u64,
        target: impl Fn(u64) -> Target,
        value: impl Fn((u64, u64)) -> u64,
    ) -> Option<Vec<usize>> {
        let mut best = None;
        while least < known && self.budget >= LEAST_NODES {
            let middle = least + (known - least) / 2;
            let nodes = self.nodes_each.min(self.budget);
            let zeros = vec![0; part.table.pairs.len()];
            let search = Search::new(
                &part.problem,
                &part.graph,
                &part.table,
                self.whole.issue,
                zeros,
                nodes,
            );
            let mut search = search.starting_at(part.clock.clone());
            let answer = search.run(target(middle));
            self.budget -= nodes - search.budget;
            match answer {
                Answer::Found(order) => {
                    known = value(part.measure(self.whole.issue, &order));
                    debug_assert!(known <= middle, "{order:?}");
                    best = Some(order);
                }
                // Perhaps there is one; it is not looked for any longer.
                Answer::Impossible | Answer::OutOfBudget => least = middle + 1,
            }
        }
        best
    }
}

impl WindowProblem {
    /// The excess within the window, and the latest end of what it holds up.
    fn measure(&self, issue: IssueModel, order: &[usize]) -> (u64, u64) {
        let mut pressure = EventPressure::new(&self.table);
        let mut peaks = pressure.live.clone();
        let mut clock = self.clock.clone();
        for &op in order {
            pressure.push(&self.table, op, &mut peaks, &mut Vec::new());
            clock.push(&self.problem, &self.graph, issue, op, &mut Vec::new());
        }
        (self.table.totals(&peaks).0, clock.end)
    }
}
