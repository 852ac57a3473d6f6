//! Finds values that may be used before they are available. Where control flow hands on what a region will
//! deliver, two values take its place, the token whose frame will hold it and the address in that frame.
//!
//! [`PendingValues`] says which block arguments and results of functions and selections such values come to.
//! All others are loaded where they are used, handed on included.

use super::completion_analysis::CompletionAnalysis;
use super::functions::Functions;
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::control_flow::{EdgeTarget, branch_edges, selected_values};
use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::names::func;
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// What may be pending where it is handed on.
#[derive(Default)]
pub(super) struct PendingValues<'c> {
    /// Arguments of blocks, and results of selections and calls.
    pub(super) values: FxHashSet<Value<'c>>,
    /// Results of functions.
    pub(super) results: FxHashSet<(Op<'c>, usize)>,
}

/// What a value is handed on to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum To<'c> {
    Value(Value<'c>),
    Result(Op<'c>, usize),
}

impl<'c> PendingValues<'c> {
    /// What is pending in `functions`. Regions that yield what is pending then await their trailing tokens in their body.
    pub(super) fn of(functions: &Functions<'c>) -> Result<Self, PassError<'c>> {
        let mut graph = Graph {
            functions,
            next: FxHashMap::default(),
            pending: Self::default(),
            work: Vec::new(),
        };
        for &function in &functions.list {
            graph.read(function)?;
        }
        graph.propagate();
        let pending = graph.pending;
        for &task in &functions.tasks {
            await_in_body(task, functions, &pending);
        }
        Ok(pending)
    }

    /// Returns true if `value` itself may be pending: it is that of a region, or marked.
    pub(super) fn is_future(&self, value: Value<'c>) -> bool {
        self.values.contains(&value) || is_delivered(value)
    }
}

/// Returns true if `value` is what a region yields.
pub(super) fn is_delivered(value: Value<'_>) -> bool {
    !is_token(value.ty()) && value.defining_op().is_some_and(|op| op.is(async_::REGION))
}

struct Graph<'a, 'c> {
    functions: &'a Functions<'c>,
    /// Where each value and result of a function is handed on to.
    next: FxHashMap<To<'c>, Vec<To<'c>>>,
    pending: PendingValues<'c>,
    work: Vec<To<'c>>,
}

impl<'c> Graph<'_, 'c> {
    fn read(&mut self, function: Op<'c>) -> Result<(), PassError<'c>> {
        let mut completion = CompletionAnalysis::new(function);
        for block in function.region(0).blocks() {
            for op in block.ops() {
                if let Some(callee) = self.functions.callee(op) {
                    self.call(op, op, callee, &mut completion);
                } else if op.is(async_::REGION) {
                    let call = self.functions.task_call(op)?;
                    if let Some(task) = self.functions.callee(call) {
                        self.call(op, call, task, &mut completion);
                    }
                } else if let Some(selected) = selected_values(op) {
                    for value in selected {
                        self.hand_on(value, To::Value(op.result(0)), op, &mut completion);
                    }
                } else if op.is(func::RETURN) {
                    if self.functions.may_return_pending(function) {
                        for (index, value) in op.operands().enumerate() {
                            self.hand_on(value, To::Result(function, index), op, &mut completion);
                        }
                    }
                } else if let Some(edges) = branch_edges(op).filter(|_| op.successors().len() > 0) {
                    for (from, to) in edges.into_iter().flat_map(|edge| edge.bindings) {
                        self.hand_on(from, To::Value(to), op, &mut completion);
                    }
                }
            }
        }
        Ok(())
    }

    /// `call`, at `at` or in the region that is there, hands on its operands and what `callee` returns.
    fn call(&mut self, at: Op<'c>, call: Op<'c>, callee: Op<'c>, completion: &mut CompletionAnalysis<'c>) {
        let Some(entry) = callee.region(0).first() else {
            return;
        };
        if self.functions.may_take_pending(callee) {
            for (value, argument) in call.operands().zip(entry.args()) {
                self.hand_on(value, To::Value(argument), at, completion);
            }
        }
        if at == call {
            for (index, result) in call.results().enumerate() {
                let results = self.next.entry(To::Result(callee, index)).or_default();
                results.push(To::Value(result));
            }
        }
    }

    fn hand_on(&mut self, value: Value<'c>, to: To<'c>, at: Op<'c>, completion: &mut CompletionAnalysis<'c>) {
        if is_token(value.ty()) {
            return;
        }
        if is_delivered(value) {
            let token = value.defining_op().map(|region| region.result(0));
            if !token.is_some_and(|token| completion.is_complete(token, at)) {
                self.work.push(to);
            }
        } else {
            self.next.entry(To::Value(value)).or_default().push(to);
        }
    }

    fn propagate(&mut self) {
        while let Some(to) = self.work.pop() {
            let is_new = match to {
                To::Value(value) => self.pending.values.insert(value),
                To::Result(function, index) => self.pending.results.insert((function, index)),
            };
            if is_new {
                self.work.extend(self.next.remove(&to).unwrap_or_default());
            }
        }
    }
}

/// Has the body of a task await its trailing tokens where it returns what may be pending, or of these what the values are there with, if that is
/// known: so they are delivered also if something fails that only uses them, and whoever frees them can.
fn await_in_body<'c>(task: Op<'c>, functions: &Functions<'c>, pending: &PendingValues<'c>) {
    let values = functions.num_task_values(task);
    let mut completion = CompletionAnalysis::new(task);
    let mut awaits = Vec::new();
    for block in task.region(0).blocks() {
        let Some(end) = block.terminator().filter(|end| end.is(func::RETURN)) else {
            continue;
        };
        let owner = |value: Value<'c>| {
            let region = value.defining_op().filter(|_| is_delivered(value));
            region.map(|region| region.result(0))
        };
        let futures = end
            .operands()
            .take(values)
            .filter(|value| pending.is_future(*value));
        let owners: Vec<Option<Value>> = futures.map(owner).collect();
        let mut is_known =
            |owner: &Option<Value<'c>>| owner.is_some_and(|owner| completion.is_complete(owner, end));
        let is_pending = owners.iter().any(|owner| !is_known(owner));
        let tokens: Vec<Value> = end.operands().skip(values).collect();
        if is_pending && !tokens.is_empty() {
            let waits = OpBuilder::new(async_::AWAIT, end.location())
                .operands(&tokens)
                .before(end);
            awaits.push((waits, end, owners));
        }
    }
    // What is complete with the trailing tokens.
    let mut completion = CompletionAnalysis::new(task);
    for (waits, end, owners) in awaits {
        let owners: Option<Vec<Value>> = owners.into_iter().collect();
        if let Some(mut owners) = owners
            && owners.iter().all(|owner| completion.is_complete(*owner, end))
        {
            owners.dedup();
            waits.set_operands(&owners);
        }
    }
}

/// The operands that `terminator` hands to each successor: the index of the first one, and what each is bound to.
pub(super) fn successor_operands<'c>(terminator: Op<'c>) -> Vec<(usize, Vec<Value<'c>>)> {
    let edges = branch_edges(terminator).unwrap_or_default();
    let total: usize = edges.iter().map(|edge| edge.bindings.len()).sum();
    let mut first = terminator.num_operands() - total;
    let mut operands = Vec::new();
    for edge in edges {
        debug_assert!(matches!(edge.to, EdgeTarget::Index(_)));
        let to: Vec<Value> = edge.bindings.iter().map(|(_, to)| *to).collect();
        let start = first;
        first += to.len();
        operands.push((start, to));
    }
    operands
}
