//! Decides whether there is an order that is at least this good: branch and bound over prefixes, with memo
//! and dominance.
//!
//! **State.** After a prefix, what is live depends only on which operations are in it. What matters besides are the peaks so far,
//! and times: when engines are free, when issue is, and when inputs of what is left are finished. A state of the same
//! operations that is nowhere smaller than one that failed fails, too.
//!
//! **Bounds.** Peaks start at what they are at least in every order (`bounds.rs`). At each state, all that is left has to end in
//! time, along its longest path and on each engine.
//!
//! **Dominance.** Two operations that nobody can tell apart keep their order. Where time does not matter, an operation comes at
//! once if no pressure is ever larger for it: for each pair, the events that it produces are no more than those that only it can
//! free, and the peak inside fits below the peak that there is.
//!
//! Times and peaks that make no difference are raised to the least that does, so that more states are the same: a time at which
//! nothing that is left could start anyway, a peak below the limit where only the excess is asked for.

use super::event_pressure::EventPressure;
use super::events::EventTable;
use super::graph::Graph;
use super::makespan::Clock;
use super::{IssueModel, OperationId, Problem};
use crate::ids::Id;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// The most operations that can be searched.
pub(super) const MOST_OPERATIONS: usize = 128;

/// How good an order has to be, at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub excess: u64,
    pub makespan: Option<u64>,
    pub peaks: Option<u64>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// This order is.
    Found(Vec<usize>),
    /// None is.
    Impossible,
    /// The budget ran out.
    OutOfBudget,
}

/// How the search for the rest of an order ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Found,
    Impossible,
    OutOfBudget,
}

/// A search, with the prefix that it is at.
pub(super) struct Search<'a> {
    problem: &'a Problem,
    graph: &'a Graph,
    table: &'a EventTable,
    issue: IssueModel,
    target: Target,
    /// What each peak is at least.
    least_peaks: Vec<u64>,
    order: Vec<usize>,
    done: u128,
    /// Of each operation, how many that have to come before are not in the prefix.
    missing: Vec<usize>,
    pressure: EventPressure,
    peaks: Vec<u64>,
    clock: Clock,
    /// The times that [`Clock::pop`] restores.
    trail: Vec<u64>,
    /// States that failed, by their operations.
    failed: FxHashMap<u128, Vec<Box<[u64]>>>,
    found: Vec<usize>,
    /// Nodes that are left.
    pub budget: u64,
}

impl<'a> Search<'a> {
    /// A search among orders of at most [`MOST_OPERATIONS`] operations. `least_peaks` are bounds of all orders.
    pub fn new(
        problem: &'a Problem,
        graph: &'a Graph,
        table: &'a EventTable,
        issue: IssueModel,
        least_peaks: Vec<u64>,
        budget: u64,
    ) -> Self {
        let missing = (0..graph.len()).map(|op| graph.predecessors.of(op).len());
        let pressure = EventPressure::new(table);
        let peaks = least_peaks.iter().zip(&pressure.live);
        let peaks: Vec<u64> = peaks.map(|(least, pressure)| *least.max(pressure)).collect();
        Self {
            problem,
            graph,
            table,
            issue,
            target: Target {
                excess: u64::MAX,
                makespan: None,
                peaks: None,
            },
            least_peaks: peaks.clone(),
            order: Vec::new(),
            done: 0,
            missing: missing.collect(),
            pressure,
            peaks,
            clock: Clock::new(problem),
            trail: Vec::new(),
            failed: FxHashMap::default(),
            found: Vec::new(),
            budget,
        }
    }

    /// Starts at this time instead of at 0.
    pub fn starting_at(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Looks for an order that is at least as good as `target`.
    pub fn run(&mut self, target: Target) -> Answer {
        self.aim(target);
        match self.extend() {
            End::Found => Answer::Found(self.found.clone()),
            End::Impossible => Answer::Impossible,
            End::OutOfBudget => Answer::OutOfBudget,
        }
    }

    /// The least of the orders that are as good as `target`, where `known` is one. Returns the least that was found, whether it
    /// is the least of all, and what is left of the budget.
    pub fn least(mut self, target: Target, known: Vec<usize>) -> (Vec<usize>, bool, u64) {
        self.aim(target);
        let mut best = known;
        for position in 0..best.len() {
            for op in 0..best[position] {
                if !self.is_ready(op) {
                    continue;
                }
                let end = self.with(op, Self::extend);
                match end {
                    End::Found => {
                        best.clone_from(&self.found);
                        break;
                    }
                    End::Impossible => {}
                    End::OutOfBudget => return (best, false, self.budget),
                }
            }
            // The prefix stays.
            self.push(best[position]);
        }
        (best, true, self.budget)
    }

    fn aim(&mut self, target: Target) {
        self.failed.clear();
        self.target = target;
        // What makes no difference to the excess is as good as the limit.
        self.peaks.clone_from(&self.least_peaks);
        if target.peaks.is_none() {
            for (peak, limit) in self.peaks.iter_mut().zip(&self.table.limits) {
                *peak = (*peak).max(*limit);
            }
        }
    }

    fn is_ready(&self, op: usize) -> bool {
        self.done >> op & 1 == 0 && self.missing[op] == 0
    }

    /// Runs `then` with `op` next, if that is good enough, and takes it back.
    fn with(&mut self, op: usize, then: impl FnOnce(&mut Self) -> End) -> End {
        let peaks = self.peaks.clone();
        let (before, freed) = self.push(op);
        let end = if self.is_good_enough() {
            then(self)
        } else {
            End::Impossible
        };
        self.clock.pop(self.problem, op, before, &mut self.trail);
        self.pressure.pop(self.table, op, &freed);
        self.peaks = peaks;
        self.order.pop();
        self.done &= !(1 << op);
        for &later in self.graph.successors.of(op) {
            self.missing[later] += 1;
        }
        end
    }

    fn push(&mut self, op: usize) -> (super::makespan::ClockUndo, Vec<usize>) {
        let mut freed = Vec::new();
        self.pressure.push(self.table, op, &mut self.peaks, &mut freed);
        let before = self
            .clock
            .push(self.problem, self.graph, self.issue, op, &mut self.trail);
        self.order.push(op);
        self.done |= 1 << op;
        for &later in self.graph.successors.of(op) {
            self.missing[later] -= 1;
        }
        (before, freed)
    }

    /// Returns false if no order with this prefix is as good as the target.
    fn is_good_enough(&self) -> bool {
        let (excess, peaks) = self.table.totals(&self.peaks);
        excess <= self.target.excess
            && self.target.peaks.is_none_or(|most| peaks <= most)
            && self.target.makespan.is_none_or(|most| self.ends_by(most))
    }

    /// Returns false if what is left can't be finished at `most`.
    fn ends_by(&self, most: u64) -> bool {
        if self.clock.end > most {
            return false;
        }
        let mut finish = self.clock.finish.clone();
        // By engine: the first start of what is left, how long it all takes, and what follows the last one at least.
        let mut engines = vec![(u64::MAX, 0_u64, u64::MAX); self.clock.free.len()];
        for op in (0..self.graph.len()).filter(|op| self.done >> op & 1 == 0) {
            let operation = &self.problem.operations[OperationId(op)];
            let inputs = self.graph.inputs.of(op).iter().map(|&input| finish[input]);
            let free = self.clock.engines_free(self.problem, op);
            let earliest = self.graph.releases[op].max(self.clock.issue);
            let start = free.max(inputs.max().unwrap_or(0)).max(earliest);
            finish[op] = start.saturating_add(operation.latency);
            let tail = self.graph.tails[op];
            if start.saturating_add(tail) > most {
                return false;
            }
            for engine in &operation.engines {
                let (first, total, rest) = &mut engines[engine.index()];
                *first = (*first).min(start);
                *total = total.saturating_add(operation.occupancy);
                *rest = (*rest).min(tail - operation.occupancy);
            }
        }
        let mut used = engines.iter().filter(|(first, ..)| *first != u64::MAX);
        used.all(|(first, total, rest)| first.saturating_add(*total).saturating_add(*rest) <= most)
    }

    /// Looks for the rest of an order whose prefix is good enough.
    fn extend(&mut self) -> End {
        if self.order.len() == self.graph.len() {
            self.found.clone_from(&self.order);
            return End::Found;
        }
        if self.budget == 0 {
            return End::OutOfBudget;
        }
        self.budget -= 1;
        let state = self.state();
        if let Some(failed) = self.failed.get(&self.done)
            && failed.iter().any(|other| is_below(other, &state))
        {
            return End::Impossible;
        }
        for op in self.candidates() {
            let end = self.with(op, Self::extend);
            if end != End::Impossible {
                return end;
            }
        }
        let failed = self.failed.entry(self.done).or_default();
        failed.retain(|other| !is_below(&state, other));
        failed.push(state);
        End::Impossible
    }

    /// What may come next, most promising first.
    fn candidates(&self) -> Vec<usize> {
        let ready: Vec<usize> = (0..self.graph.len()).filter(|&op| self.is_ready(op)).collect();
        if self.target.makespan.is_none()
            && let Some(&op) = ready.iter().find(|&&op| self.costs_nothing(op))
        {
            return vec![op];
        }
        let mut ready: Vec<_> = ready.into_iter().map(|op| (self.promise(op), op)).collect();
        ready.sort_unstable();
        ready.into_iter().map(|(_, op)| op).collect()
    }

    /// The smaller, the more promising.
    fn promise(&self, op: usize) -> (u64, u64, Reverse<u64>) {
        let (mut raised, mut produced, mut freed) = (0, 0, 0);
        for (effect, frees) in self.pressure.effects(self.table, op) {
            let pressure = self.pressure.live[effect.pair] - frees + effect.produced.max(effect.inner);
            raised += pressure.saturating_sub(self.peaks[effect.pair]);
            produced += effect.produced;
            freed += frees;
        }
        // Freed events are worth more where the pressure is all that counts.
        let pressure = (produced + self.table.events.len() as u64).saturating_sub(freed);
        let tail = Reverse(self.graph.tails[op]);
        if self.target.makespan.is_some() {
            let start = self.clock.start(self.problem, self.graph, op);
            (raised, start, tail)
        } else {
            (raised, pressure, tail)
        }
    }

    /// Returns true if no pressure is ever larger if `op` comes next.
    fn costs_nothing(&self, op: usize) -> bool {
        self.pressure.effects(self.table, op).all(|(effect, frees)| {
            let inside = self.pressure.live[effect.pair] - frees + effect.inner;
            let fits = effect.inner == 0 || inside <= self.peaks[effect.pair];
            fits && (effect.produced == 0 || effect.produced <= self.frees_alone(op, effect.pair))
        })
    }

    /// The live events of a pair that only `op` can free.
    fn frees_alone(&self, op: usize, pair: usize) -> u64 {
        let alone = |event: &&usize| {
            let is_of_pair = self.table.events[**event].pair == pair && self.pressure.is_waiting(**event);
            is_of_pair && self.table.consumers.of(**event) == [op]
        };
        self.table.consumed.of(op).iter().filter(alone).count() as u64
    }

    /// What matters of the prefix, besides its operations. Of the same operations, it has the same parts.
    fn state(&self) -> Box<[u64]> {
        let mut state = self.peaks.clone();
        if self.target.makespan.is_none() {
            return state.into_boxed_slice();
        }
        let left = |op: usize| self.done >> op & 1 == 0;
        let clock = &self.clock;
        state.push(clock.issue);
        // What is left can't start before its engines are free.
        let mut is_used = vec![false; clock.free.len()];
        for op in (0..self.graph.len()).filter(|&op| left(op)) {
            for engine in &self.problem.operations[OperationId(op)].engines {
                is_used[engine.index()] = true;
            }
        }
        let engines = clock.free.iter().zip(&is_used).filter(|(_, is_used)| **is_used);
        state.extend(engines.map(|(free, _)| (*free).max(clock.issue)));
        for op in (0..self.graph.len()).filter(|&op| !left(op)) {
            let users = self.graph.users.of(op).iter().filter(|&&user| left(user));
            let wanted = users
                .map(|&user| clock.engines_free(self.problem, user).max(clock.issue))
                .min();
            state.extend(wanted.map(|wanted| clock.finish[op].max(wanted)));
        }
        state.into_boxed_slice()
    }
}

/// Returns true if no part of `a` is larger than that of `b`.
fn is_below(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b)
}
