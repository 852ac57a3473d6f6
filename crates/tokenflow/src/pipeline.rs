//! Software pipelining, for a given schedule: legality, versions of buffers, and values that are carried from
//! round to round.
//!
//! Notation. The loop has iterations `0..n`, and its statements have stages `0..=S`. The pipelined loop takes `n + S` *rounds*:
//! in round `t`, a statement of stage `s` executes iteration `t - s`, if there is such an iteration; the statements of a round
//! are executed by `order`. The first S rounds are the prologue, the last S the epilogue, and those between are the kernel. A
//! value of iteration `t - l` has *lag* `l` in round `t`.
//!
//! 1. **Legality** ([`Problem::violated`]): dependences are from a statement in iteration `i` to one in iteration `i + distance`.
//! 2. **Versions** ([`Problem::versions`]): how many iterations' contents of a buffer are in use at a time.
//! 3. **Rotation** ([`values`]): which values stay in registers from round to round, and for how many.
//!
//! Each step is linear in what it reads.

pub mod values;

use crate::ids::{IndexVec, ids};

ids! {
    /// A statement: operations that are scheduled together.
    StatementId;
    /// A dependence between statements.
    DependenceId;
}

/// When a statement is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// How many rounds after the start of an iteration.
    pub stage: u32,
    /// Its place among the statements of a round. No two statements have the same.
    pub order: u32,
}

/// A statement of an iteration that has to come before one of the same or a later iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// What comes first.
    pub from: StatementId,
    /// What comes after.
    pub to: StatementId,
    /// How many iterations later.
    pub distance: u32,
}

/// When the accesses to a buffer begin and end that each iteration fills anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// The statements that write. An asynchronous write begins where it is issued.
    pub writes: Vec<StatementId>,
    /// The statements in which accesses are over, and in how many iterations' time. Asynchronous ones are over where they are
    /// awaited.
    pub ends: Vec<(StatementId, u32)>,
}

/// A loop.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// The statements.
    pub statements: IndexVec<StatementId, Statement>,
    /// What has to come before what.
    pub dependences: IndexVec<DependenceId, Dependence>,
}

impl Problem {
    /// The last stage.
    #[must_use]
    pub fn last_stage(&self) -> u32 {
        let stages = self.statements.iter().map(|statement| statement.stage);
        stages.max().unwrap_or(0)
    }

    /// Returns true if `from` in each iteration comes before `to` in the iteration that is `distance` later.
    #[must_use]
    pub fn precedes(&self, from: StatementId, to: StatementId, distance: u32) -> bool {
        let (from, to) = (self.statements[from], self.statements[to]);
        (from.stage, from.order) < (to.stage + distance, to.order)
    }

    /// The first dependence that the schedule violates.
    #[must_use]
    pub fn violated(&self) -> Option<DependenceId> {
        let violated = |dependence: &Dependence| {
            let Dependence { from, to, distance } = *dependence;
            !self.precedes(from, to, distance)
        };
        self.dependences.iter().position(violated).map(DependenceId)
    }

    /// The fewest versions of a buffer at which no iteration writes what an earlier one still accesses, if iteration `i` uses
    /// version `i mod versions`.
    ///
    /// The write of iteration `i + v` comes after an access that ends `d` iterations after `i` in a statement of stage `e` if
    /// `v + s > d + e` for the stage `s` of the write, or `v + s = d + e` and its order is later.
    #[must_use]
    pub fn versions(&self, lifetime: &Lifetime) -> u32 {
        let needed = |write: StatementId, end: StatementId, later: u32| {
            let (write, end) = (self.statements[write], self.statements[end]);
            let same_round = end.order < write.order;
            (later + end.stage + u32::from(!same_round)).saturating_sub(write.stage)
        };
        // The earliest write and the latest end decide.
        let write = lifetime.writes.iter().min_by_key(|write| {
            let write = self.statements[**write];
            (write.stage, write.order)
        });
        let end = lifetime.ends.iter().max_by_key(|(end, later)| {
            let end = self.statements[*end];
            (later + end.stage, end.order)
        });
        match (write, end) {
            (Some(write), Some((end, later))) => needed(*write, *end, *later).max(1),
            _ => 1,
        }
    }
}
