//! Tracks time, operation by operation: when engines are free, when operations are finished, and the
//! makespan.

use super::graph::Graph;
use super::{IssueModel, OperationId, Problem};
use crate::ids::Id;

/// What is known of time after a prefix of an order.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// When each engine is free.
    pub free: Vec<u64>,
    /// When each operation of the prefix is finished.
    pub finish: Vec<u64>,
    /// When the next operation can be issued.
    pub issue: u64,
    /// When everything is finished and all engines are free.
    pub end: u64,
}

/// What an operation changed, to take it back.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockUndo {
    issue: u64,
    end: u64,
    /// Where the times begin at which its engines were free.
    engines: usize,
}

impl Clock {
    /// Before the first operation.
    pub fn new(problem: &Problem) -> Self {
        let engines = problem.operations.iter();
        let engines = engines.flat_map(|operation| operation.engines.iter());
        let engines = engines.map(|engine| engine.index() + 1).max().unwrap_or(0);
        Self {
            free: vec![0; engines],
            finish: vec![0; problem.operations.len()],
            issue: 0,
            end: 0,
        }
    }

    /// When `op` would start if it came next.
    pub fn start(&self, problem: &Problem, graph: &Graph, op: usize) -> u64 {
        let inputs = graph.inputs.of(op).iter().map(|&input| self.finish[input]);
        self.engines_free(problem, op)
            .max(inputs.max().unwrap_or(0))
            .max(graph.releases[op])
            .max(self.issue)
    }

    /// When the engines of `op` are free.
    pub fn engines_free(&self, problem: &Problem, op: usize) -> u64 {
        let engines = problem.operations[OperationId(op)].engines.iter();
        engines.map(|engine| self.free[engine.index()]).max().unwrap_or(0)
    }

    /// Puts `op` next. The times at which its engines were free go to `trail`.
    pub fn push(
        &mut self,
        problem: &Problem,
        graph: &Graph,
        issue: IssueModel,
        op: usize,
        trail: &mut Vec<u64>,
    ) -> ClockUndo {
        let before = ClockUndo {
            issue: self.issue,
            end: self.end,
            engines: trail.len(),
        };
        let start = self.start(problem, graph, op);
        let operation = &problem.operations[OperationId(op)];
        for engine in &operation.engines {
            trail.push(self.free[engine.index()]);
            self.free[engine.index()] = start.saturating_add(operation.occupancy);
        }
        if issue == IssueModel::Order {
            self.issue = start;
        }
        self.finish[op] = start.saturating_add(operation.latency);
        self.end = self.end.max(start.saturating_add(graph.rests[op]));
        before
    }

    /// Takes back that `op` was put last.
    pub fn pop(&mut self, problem: &Problem, op: usize, before: ClockUndo, trail: &mut Vec<u64>) {
        let engines = &problem.operations[OperationId(op)].engines;
        for (engine, free) in engines.iter().zip(trail.drain(before.engines..)) {
            self.free[engine.index()] = free;
        }
        self.issue = before.issue;
        self.end = before.end;
    }
}
