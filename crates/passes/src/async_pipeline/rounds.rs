//! Emits a round: one step of the pipelined loop, in which each stage executes another iteration of the
//! original loop.

use super::body::{Body, Step, Work};
use super::bounds::Bounds;
use super::folding::{FoldedBool, FoldedInt, InsertionPoint};
use super::multi_buffering::Slots;
use super::role_branches::is_await;
use crate::utils::tokens::ready;
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Definition as Defined, Mapping, Op, OpBuilder, Value};
use async_mlir::melior::ir::Location;
use async_mlir::names::{attr, scf, ub};
use async_mlir::types::known_attribute;
use async_verify::pipeline::{Copied, Round as WhichRound};
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::pipeline::StatementId;
use tokenflow::pipeline::values::{Definition, ValueId};

/// What is there when a round starts: values by their lag.
pub(super) type Registers<'c> = FxHashMap<(ValueId, u32), Value<'c>>;

/// A round: where it is made, and which iteration each stage executes in it.
pub(super) struct Round<'c> {
    pub at: InsertionPoint<'c>,
    /// The loop's variable in the iteration that has lag 0, minus `ahead` steps.
    pub variable: FoldedInt<'c>,
    pub ahead: i64,
    /// Whether the statements of each stage have an iteration to execute.
    pub runs: Vec<FoldedBool<'c>>,
    /// The number of the round, if it is in the prologue: carried values have their initial values in iteration 0.
    pub number: Option<u32>,
    /// For the check of what is written.
    pub which: WhichRound,
}

/// Makes rounds.
pub(super) struct Emitter<'a, 'c> {
    pub body: &'a Body<'c>,
    pub bounds: Bounds<'a, 'c>,
    /// What other statements read, now or in later rounds.
    pub exported: &'a FxHashSet<ValueId>,
    pub slots: Slots<'a, 'c>,
    pub registers: Registers<'c>,
    /// What has been made of operations, for the annotations of loops around.
    pub made: Vec<Op<'c>>,
    /// What has been copied.
    pub copies: FxHashMap<Op<'c>, Copied<'c>>,
}

/// What is known while a round is made.
#[derive(Default)]
struct Known<'c> {
    /// The results of statements in this round.
    defined: FxHashMap<ValueId, Value<'c>>,
    /// What has been recomputed, by its lag.
    recomputed: Scoped<(Value<'c>, u32), Value<'c>>,
}

impl<'c> Emitter<'_, 'c> {
    /// Makes what statements do that have an iteration in a round, and moves on to the next round.
    pub fn round(&mut self, round: &Round<'c>) {
        if let Some(number) = round.number {
            let arguments: Vec<Value> = self.body.around.operands().skip(3).collect();
            for (&(carried, _), initial) in self.body.carried.iter().zip(arguments) {
                self.registers.insert((carried, number), initial);
            }
        }
        self.slots.start(round.at, round.which);
        let mut known = Known::default();
        let mut next = 0;
        while let Some(&first) = self.body.steps.get(next) {
            let condition = self.condition(round, first);
            let same = self.body.steps[next..]
                .iter()
                .take_while(|step| self.condition(round, **step) == condition);
            let steps = &self.body.steps[next..next + same.count()];
            next += steps.len();
            match condition {
                FoldedBool::Known(true) => {
                    for step in steps {
                        self.step(round, round.at, *step, &mut known);
                    }
                }
                FoldedBool::Known(false) => self.skip(round, steps, &mut known),
                FoldedBool::If(condition) => self.conditional(round, condition, steps, &mut known),
            }
        }
        self.turn(&known);
        self.slots.turn(round.at);
    }

    /// Whether a step is executed. An await always is, once its stage has begun: its token is complete if there is nothing to
    /// await, and threads that all come by an await can meet there.
    fn condition(&self, round: &Round<'c>, step: Step<'c>) -> FoldedBool<'c> {
        match (round.runs[self.stage(step.statement) as usize], step.work) {
            (FoldedBool::If(_), Work::Op(op)) if is_await(op) => FoldedBool::Known(true),
            (condition, _) => condition,
        }
    }

    fn stage(&self, statement: StatementId) -> u32 {
        self.body.problem.statements[statement].stage
    }

    /// What is there at the end of a round, by the lags of the next.
    fn turn(&mut self, known: &Known<'c>) {
        let old = std::mem::take(&mut self.registers);
        self.registers = old
            .into_iter()
            .map(|((id, lag), value)| ((id, lag + 1), value))
            .collect();
        for (&id, &value) in &known.defined {
            if let Definition::Statement(by) = self.body.definitions[id] {
                self.registers.insert((id, self.stage(by) + 1), value);
            }
        }
        for &(carried, from) in &self.body.carried {
            if let (Some(&value), Definition::Statement(by)) =
                (known.defined.get(&from), self.body.definitions[from])
            {
                self.registers.insert((carried, self.stage(by)), value);
            }
        }
    }

    /// What a statement does, or a part of that.
    fn step(&mut self, round: &Round<'c>, at: InsertionPoint<'c>, step: Step<'c>, known: &mut Known<'c>) {
        let lag = self.stage(step.statement);
        match step.work {
            Work::Op(op) => {
                let copy = self.copy(round, at, op, lag, known);
                self.made.push(copy);
                for (old, new) in op.results().zip(copy.results()) {
                    known.defined.insert(self.body.ids[&old], new);
                }
            }
            Work::Yield(value, id) => {
                let new = self.value(round, at, value, lag, known);
                known.defined.insert(id, new);
            }
        }
    }

    /// Copies an operation for the iteration of this lag.
    fn copy(
        &mut self,
        round: &Round<'c>,
        at: InsertionPoint<'c>,
        op: Op<'c>,
        lag: u32,
        known: &mut Known<'c>,
    ) -> Op<'c> {
        let mut mapping = Mapping::new();
        let inputs = self.body.inputs(op).to_vec();
        for input in inputs {
            mapping.map(input, self.value(round, at, input, lag, known));
        }
        for buffer in self.slots.versioned(op) {
            mapping.map(buffer, self.slots.version(at, buffer, lag));
        }
        let copy = op.clone_mapped(&mut mapping);
        at.put(copy);
        let (of, round) = (op, round.which);
        self.copies.insert(copy, Copied { of, round, lag });
        copy
    }

    /// What `value` is in the iteration of this lag.
    fn value(
        &mut self,
        round: &Round<'c>,
        at: InsertionPoint<'c>,
        value: Value<'c>,
        lag: u32,
        known: &mut Known<'c>,
    ) -> Value<'c> {
        // What is recomputed, and what that is computed from: the stack of a search in depth.
        let mut work = vec![value];
        while let Some(&next) = work.last() {
            if self.found(next, lag, known).is_some() {
                work.pop();
                continue;
            }
            let Defined::Result(op, _) = next.definition() else {
                let ahead = round.ahead - i64::from(lag);
                let variable = self.bounds.after(at, round.variable, ahead);
                let variable = self.bounds.arithmetic.value(variable);
                known.recomputed.insert((next, lag), variable);
                continue;
            };
            let inputs = self.body.inputs(op).iter();
            let missing = inputs
                .copied()
                .filter(|input| self.found(*input, lag, known).is_none());
            let missing: Vec<Value> = missing.collect();
            if missing.is_empty() {
                let copy = self.copy(round, at, op, lag, known);
                for (old, new) in op.results().zip(copy.results()) {
                    known.recomputed.insert((old, lag), new);
                }
            }
            work.extend(missing);
        }
        self.found(value, lag, known).unwrap_or(value)
    }

    /// What `value` is in the iteration of this lag, if it need not be computed.
    fn found(&self, value: Value<'c>, lag: u32, known: &Known<'c>) -> Option<Value<'c>> {
        if !self.body.is_own(value) {
            return Some(value);
        }
        let Some(&id) = self.body.ids.get(&value) else {
            return known.recomputed.get(&(value, lag));
        };
        if let Some(register) = self.registers.get(&(id, lag)) {
            return Some(*register);
        }
        let from = match self.body.definitions[id] {
            Definition::Statement(_) => id,
            Definition::Carried(from) => from,
        };
        known.defined.get(&from).copied()
    }

    /// Steps of statements that have no iteration to execute: what the loop carries stays as it is.
    fn skip(&mut self, round: &Round<'c>, steps: &[Step<'c>], known: &mut Known<'c>) {
        for (id, stays) in self.exports(steps) {
            if let Some(stays) = stays.filter(|_| round.number.is_none_or(|round| round >= self.stage_of(id)))
            {
                known.defined.insert(id, stays);
            }
        }
    }

    fn stage_of(&self, id: ValueId) -> u32 {
        match self.body.definitions[id] {
            Definition::Statement(by) => self.stage(by),
            Definition::Carried(_) => 0,
        }
    }

    /// What others read of the results of `steps`, and what the loop carries in their place if they are skipped.
    fn exports(&self, steps: &[Step<'c>]) -> Vec<(ValueId, Option<Value<'c>>)> {
        let ids = steps.iter().flat_map(|step| match step.work {
            Work::Op(op) => op
                .results()
                .map(|result| self.body.ids[&result])
                .collect::<Vec<ValueId>>(),
            Work::Yield(_, id) => vec![id],
        });
        let stays = |id: ValueId| {
            let carried = *self.body.fed.get(&id)?;
            self.registers.get(&(carried, self.stage_of(id))).copied()
        };
        ids.filter(|id| self.exported.contains(id))
            .map(|id| (id, stays(id)))
            .collect()
    }

    /// Steps of statements that have an iteration to execute if `condition` is true.
    fn conditional(
        &mut self,
        round: &Round<'c>,
        condition: Value<'c>,
        steps: &[Step<'c>],
        known: &mut Known<'c>,
    ) {
        let location = self.body.around.location();
        let exports = self.exports(steps);
        let types: Vec<_> = exports.iter().map(|(id, _)| self.body.types[*id].ty()).collect();
        let branch = OpBuilder::new(scf::IF, location)
            .operands(&[condition])
            .results(&types)
            .regions(2);
        let branch = round.at.make(branch);
        let then = Block::new(&[]);
        branch.region(0).append(then);
        known.recomputed.enter();
        self.slots.views.enter();
        for step in steps {
            self.step(round, InsertionPoint::AtEnd(then), *step, known);
        }
        known.recomputed.leave();
        self.slots.views.leave();
        let results: Vec<Value> = exports.iter().map(|(id, _)| known.defined[id]).collect();
        OpBuilder::new(scf::YIELD, location)
            .operands(&results)
            .at_end(then);
        if !exports.is_empty() {
            let other = Block::new(&[]);
            branch.region(1).append(other);
            let stays: Vec<Value> = exports
                .iter()
                .map(|(id, stays)| {
                    stays.unwrap_or_else(|| {
                        nothing(InsertionPoint::AtEnd(other), location, self.body.types[*id])
                    })
                })
                .collect();
            OpBuilder::new(scf::YIELD, location)
                .operands(&stays)
                .at_end(other);
        }
        self.made.push(branch);
        for ((id, _), result) in exports.iter().zip(branch.results()) {
            known.defined.insert(*id, result);
        }
    }
}

/// Stands for a result of what was not executed, which nobody reads.
pub(super) fn nothing<'c>(at: InsertionPoint<'c>, location: Location<'c>, like: Value<'c>) -> Value<'c> {
    let op = if is_token(like.ty()) {
        ready(location, like.ty())
    } else {
        OpBuilder::new(ub::POISON, location)
            .results(&[like.ty()])
            .attr(attr::VALUE, known_attribute(like.context(), "#ub.poison"))
    };
    at.make(op).result(0)
}

/// A map with entries that go again when a region is left.
pub(super) struct Scoped<K, V> {
    entries: FxHashMap<K, V>,
    /// What was added since a region was entered.
    inner: Option<Vec<K>>,
}

impl<K, V> Default for Scoped<K, V> {
    fn default() -> Self {
        Self {
            entries: FxHashMap::default(),
            inner: None,
        }
    }
}

impl<K: Copy + Eq + std::hash::Hash, V: Copy> Scoped<K, V> {
    pub fn get(&self, key: &K) -> Option<V> {
        self.entries.get(key).copied()
    }

    pub fn insert(&mut self, key: K, value: V) {
        self.entries.insert(key, value);
        if let Some(inner) = &mut self.inner {
            inner.push(key);
        }
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    pub fn enter(&mut self) {
        self.inner = Some(Vec::new());
    }

    pub fn leave(&mut self) {
        for key in self.inner.take().into_iter().flatten() {
            self.entries.remove(&key);
        }
    }
}
