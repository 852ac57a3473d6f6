//! Schedules a block's operations on a machine of several engines that takes an event for each open
//! dependence between two.
//!
//! # Definitions
//!
//! A block has **operations** 0, 1, … in the order of the input. Each runs on an engine, or on none, or (a **region op**,
//! an operation with regions) on several. It has a latency and an occupancy in cycles. A **dependence** is from a
//! producer to a consumer, in the same execution of the block or, with a distance, in a later one; it names the engines of both
//! sides if they have any. **Order** pairs keep their order, and mean nothing else: region ops among themselves, for example. An
//! **order** π is a permutation in which each dependence of distance 0 and each order pair is kept.
//!
//! **Events.** Let `p = (a, b)` be a pair of different engines, and `o` a producer with dependences of pair `p`. They make one
//! event `(o, p)`. Among its consumers, those of the least distance `d` count: they come first in time.
//! - If `d = 0`, the event is live from `o` until the first of the consumers, in π.
//! - If `d > 0`, it is carried: live from `o` until the block's end, throughout `d - 1` executions of the block, and from the
//!   block's start until the first of the consumers. These are different events of the same name, so where they overlap they
//!   are as many as they are.
//!
//! With [`EventModel::Edge`], each dependence of pair `p` makes an event of its own; two that agree in everything are one.
//!
//! **Pressure.** `pressure_p` is the number of live events of pair `p`. It is looked at before the first operation and, for each
//! operation, twice: inside it, when the events that it is the first consumer of are free, and those that it produces are not
//! live yet; and after it. Inside a region op, its own peak for `p` is added: it waits at its entry, and signals at its exit.
//! (Inside any other operation the pressure is never larger than before it.) `peak_p` is the maximum, and
//! `X = Σ max(0, peak_p - limit_p)` is the excess.
//!
//! **Makespan.** In the order π, an operation starts at the least time, from 0 on, at which
//! - what it depends on (distance 0) is finished; a producer is finished `latency` cycles after its start,
//! - each of its engines is free: it is taken for `occupancy` cycles from the start of each operation,
//! - and with [`IssueModel::Order`], all operations before it have started: to wait is to block what comes after. Issue itself
//!   takes no time; what does takes an engine.
//!
//! The makespan is the least time at which everything is finished and all engines are free. What earlier executions of the
//! block produced is there at time 0. Times that don't fit into 64 bits are the largest that does.
//!
//! **Optimum.** [`Objective::Latency`] minimizes `(X, makespan, Σ peak_p, π)` lexicographically, and [`Objective::Events`]
//! `(X, Σ peak_p, makespan, π)`; orders are compared as sequences of the operations' numbers. So there is one optimum.
//!
//! # How it is found
//!
//! 1. [`problem`]: what is given, and the graph of it (`graph.rs`).
//! 2. `events.rs`, `event_pressure.rs`: which events there are, and how many are live, operation by operation. `makespan.rs`: the same for
//!    time.
//! 3. `heuristics.rs`: a portfolio of list schedulers, near-linear.
//! 4. `bounds.rs`: what no order can be better than.
//! 5. `search.rs`: is there an order that is at least this good? It is exact, within a budget of nodes. `optimum.rs`: the
//!    optimum, one criterion at a time, by such questions.
//! 6. `windows.rs`: the same in windows of an order that is too long for that.
//! 7. [`mod@measure`]: what an order costs, word for word as defined above; it shares no code with 2 to 6.
//! 8. [`explain`]: which operations show that limits can't be met.

mod bounds;
mod event_pressure;
mod events;
pub mod explain;
mod graph;
mod heuristics;
mod makespan;
pub mod measure;
mod optimum;
pub mod problem;
mod search;
mod windows;

pub use explain::{InfeasibleSubset, infeasible_subset};
pub use heuristics::{Strategy, strategies};
pub use measure::{Cost, InvalidOrder, Measured, measure};
pub use optimum::{Proven, Schedule, solve};
pub use problem::{Dependence, EngineId, InvalidProblem, Limits, Operation, OperationId, Pair, Problem};

/// What is minimized after the excess.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The makespan, then the sum of peaks.
    #[default]
    Latency,
    /// The sum of peaks, then the makespan.
    Events,
}

/// What an event is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventModel {
    /// One for a producer and a pair of engines, however many consumers it has there.
    #[default]
    Pair,
    /// One for each dependence.
    Edge,
}

/// Who issues operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IssueModel {
    /// One instruction stream: what waits blocks all that comes after it.
    #[default]
    Order,
    /// A stream for each engine.
    Engine,
}

/// How to schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What is minimized.
    pub objective: Objective,
    /// What an event is.
    pub events: EventModel,
    /// Who issues operations.
    pub issue: IssueModel,
    /// The most nodes of the search: prefixes of orders that are looked at. Above 20 000 operations, it is for each 20 000.
    pub budget: u64,
}

impl Options {
    /// The budget of [`Options::default`].
    pub const BUDGET: u64 = 200_000;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            objective: Objective::default(),
            events: EventModel::default(),
            issue: IssueModel::default(),
            budget: Self::BUDGET,
        }
    }
}
