//! Reads the body of a loop into a pipelining [`Problem`]: its statements, and the values that go from one to
//! another.

use super::annotations::Schedule;
use super::role_branches::is_await;
use crate::analysis::memory::only_computes;
use async_mlir::ir::{Block, Definition as Defined, Op, Value};
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::ids::IndexVec;
use tokenflow::pipeline::values::{Definition, Source, ValueId, Values};
use tokenflow::pipeline::{Problem, Statement, StatementId};

/// A part of a statement.
#[derive(Clone, Copy)]
pub(super) struct Step<'c> {
    pub statement: StatementId,
    pub work: Work<'c>,
}

/// What a part of a statement does.
#[derive(Clone, Copy)]
pub(super) enum Work<'c> {
    /// It executes this operation.
    Op(Op<'c>),
    /// It hands on a value that is yielded, but that no statement defines.
    Yield(Value<'c>, ValueId),
}

/// The body of a loop.
pub(super) struct Body<'c> {
    /// The `scf.for`.
    pub around: Op<'c>,
    pub block: Block<'c>,
    pub problem: Problem,
    /// What the statements do, in the order of a round.
    pub steps: Vec<Step<'c>>,
    pub statement_of: FxHashMap<Op<'c>, StatementId>,
    /// What operations read that the loop defines, nested operations included; for those that may be recomputed, too.
    inputs: FxHashMap<Op<'c>, Vec<Value<'c>>>,
    /// The results of statements, and what the loop carries.
    pub ids: FxHashMap<Value<'c>, ValueId>,
    pub definitions: IndexVec<ValueId, Definition>,
    /// The type of each value.
    pub types: IndexVec<ValueId, Value<'c>>,
    /// For each carried value, in the order of the loop's arguments, its number and what feeds it.
    pub carried: Vec<(ValueId, ValueId)>,
    /// The carried value that a value feeds.
    pub fed: FxHashMap<ValueId, ValueId>,
}

impl<'c> Body<'c> {
    /// Reads the body of `around`, whose operations are executed as `schedule` says.
    pub fn new(around: Op<'c>, block: Block<'c>, schedule: &Schedule<'c>) -> Result<Self, PassError<'c>> {
        let mut body = Self {
            around,
            block,
            problem: Problem::default(),
            steps: Vec::new(),
            statement_of: FxHashMap::default(),
            inputs: FxHashMap::default(),
            ids: FxHashMap::default(),
            definitions: IndexVec::default(),
            types: IndexVec::default(),
            carried: Vec::new(),
            fed: FxHashMap::default(),
        };
        body.read_statements(schedule)?;
        body.read_carried();
        let Self { steps, problem, .. } = &mut body;
        steps.sort_by_key(|step| problem.statements[step.statement].order);
        Ok(body)
    }

    fn read_statements(&mut self, schedule: &Schedule<'c>) -> Result<(), PassError<'c>> {
        let mut by_order: FxHashMap<u32, StatementId> = FxHashMap::default();
        let terminator = self.block.terminator();
        for op in self.block.ops().into_iter().filter(|op| Some(*op) != terminator) {
            self.inputs.insert(op, self.read_inputs(op));
            let Some(slot) = schedule.get(&op) else {
                if only_computes(op) {
                    continue;
                }
                let message = "has no 'async.stage', as others of the loop have, and may have side effects";
                let help = "give it 'async.stage' and 'async.order'";
                return Err(PassError::new(op, message).note(op, help));
            };
            let statement = *by_order.entry(slot.order).or_insert_with(|| {
                self.problem.statements.push(Statement {
                    stage: slot.stage,
                    order: slot.order,
                })
            });
            let work = Work::Op(op);
            self.steps.push(Step { statement, work });
            self.statement_of.insert(op, statement);
            for result in op.results() {
                self.define(result, Definition::Statement(statement));
            }
        }
        Ok(())
    }

    fn define(&mut self, value: Value<'c>, definition: Definition) -> ValueId {
        self.types.push(value);
        let id = self.definitions.push(definition);
        self.ids.insert(value, id);
        id
    }

    /// What `op` and what is nested in it read of this loop's own values.
    fn read_inputs(&self, op: Op<'c>) -> Vec<Value<'c>> {
        let mut seen = FxHashSet::default();
        let mut inputs = Vec::new();
        for inner in op.self_and_nested() {
            for value in inner.operands().filter(|value| self.is_own(*value)) {
                if seen.insert(value) {
                    inputs.push(value);
                }
            }
        }
        inputs
    }

    /// Returns true if `value` is defined in the loop's block, and not in what is nested there.
    pub fn is_own(&self, value: Value<'c>) -> bool {
        match value.definition() {
            Defined::Result(op, _) => op.block() == Some(self.block),
            Defined::Argument(block, _) => block == self.block,
        }
    }

    /// What `op` reads of the loop's own values.
    pub fn inputs(&self, op: Op<'c>) -> &[Value<'c>] {
        self.inputs.get(&op).map_or(&[], Vec::as_slice)
    }

    /// Numbers what the loop carries. What is yielded is fed by the statement that defines it. Where there is none (it is
    /// recomputed, or carried itself), or where it feeds a second value, a statement at the end of the round hands it on.
    fn read_carried(&mut self) {
        let yielded: Vec<Value> = self
            .block
            .terminator()
            .map_or(Vec::new(), |end| end.operands().collect());
        let arguments: Vec<Value> = self.block.args().skip(1).collect();
        let mut taken = FxHashSet::default();
        let direct: Vec<Option<ValueId>> = yielded
            .iter()
            .map(|value| {
                let statement =
                    matches!(value.definition(), Defined::Result(..)).then(|| self.ids.get(value))?;
                statement.copied().filter(|id| taken.insert(*id))
            })
            .collect();
        let stages = self.stages_of_yields(&arguments, &yielded, &direct);
        let orders = self.problem.statements.iter().map(|statement| statement.order);
        let mut next_order = orders.max().map_or(0, |last| last.saturating_add(1));
        for (i, &argument) in arguments.iter().enumerate() {
            let from = direct[i].unwrap_or_else(|| {
                let order = next_order;
                next_order += 1;
                let stage = stages[i];
                let statement = self.problem.statements.push(Statement { stage, order });
                self.types.push(yielded[i]);
                let id = self.definitions.push(Definition::Statement(statement));
                let work = Work::Yield(yielded[i], id);
                self.steps.push(Step { statement, work });
                id
            });
            let id = self.define(argument, Definition::Carried(from));
            self.carried.push((id, from));
            self.fed.insert(from, id);
        }
    }

    /// The earliest stage at which each yielded value that no statement feeds can be handed on: the latest of what it reads.
    fn stages_of_yields(
        &self,
        arguments: &[Value<'c>],
        yielded: &[Value<'c>],
        direct: &[Option<ValueId>],
    ) -> Vec<u32> {
        let stage_of = |id: ValueId| match self.definitions[id] {
            Definition::Statement(by) => self.problem.statements[by].stage,
            Definition::Carried(_) => 0,
        };
        let mut stages: Vec<u32> = direct.iter().map(|id| id.map_or(0, stage_of)).collect();
        let reads: Vec<Vec<Value>> = yielded.iter().map(|value| self.sources(*value)).collect();
        let number: FxHashMap<Value, usize> = arguments.iter().copied().zip(0..).collect();
        // Stages only grow, and there are few.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for i in (0..yielded.len()).filter(|i| direct[*i].is_none()) {
                let read = reads[i].iter().map(|value| match number.get(value) {
                    Some(j) => stages[*j],
                    None => self.ids.get(value).map_or(0, |id| stage_of(*id)),
                });
                let stage = read.max().unwrap_or(0);
                changed |= stage > stages[i];
                stages[i] = stages[i].max(stage);
            }
        }
        stages
    }

    /// The results of statements and the arguments of the loop that `value` is computed from, by what is recomputed.
    pub fn sources(&self, value: Value<'c>) -> Vec<Value<'c>> {
        let mut seen = FxHashSet::default();
        let mut found = Vec::new();
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            if !self.is_own(value) || !seen.insert(value) {
                continue;
            }
            match value.definition() {
                Defined::Result(op, _) if !self.statement_of.contains_key(&op) => {
                    work.extend(self.inputs(op));
                }
                _ => found.push(value),
            }
        }
        found
    }

    /// Where the results of statements and carried values are found by other statements; checks that each is there when it is
    /// read.
    pub fn reads(&self, values: &Values<'_>) -> Result<FxHashSet<Source>, PassError<'c>> {
        let mut all = FxHashSet::default();
        for (value, demands) in self.demands() {
            let Some(&id) = self.ids.get(&value) else { continue };
            let by = values.defined_by(id);
            for (stage, Demand { first, last }) in demands {
                let order = |statement: StatementId| self.problem.statements[statement].order;
                let Some(found) = values.read(id, stage, order(first)) else {
                    return Err(self.too_early(first, value, by));
                };
                // What the loop carries may be read by nothing but the statement that feeds it.
                if last != by || matches!(found, Source::Start(..)) {
                    all.insert(found);
                }
            }
        }
        Ok(all)
    }

    /// The results of operations that something after a later await of their statement reads: the await is executed even where the
    /// rest of the statement is not.
    pub fn read_after_awaits(&self) -> Vec<ValueId> {
        let mut last_await: FxHashMap<StatementId, Op<'c>> = FxHashMap::default();
        let mut found = Vec::new();
        for Step { statement, work } in self.steps.iter().rev() {
            let Work::Op(op) = *work else { continue };
            if is_await(op) {
                last_await.insert(*statement, op);
            }
            let Some(&first) = last_await.get(statement) else {
                continue;
            };
            let is_after = |user: Op<'c>| {
                let outer = std::iter::once(user).chain(user.ancestors());
                let mut outer = outer.skip_while(|outer| outer.block() != Some(self.block));
                outer.next().is_some_and(|outer| first.is_before_in_block(outer))
            };
            let read = op
                .results()
                .filter(|result| result.uses().iter().any(|used| is_after(used.owner)));
            found.extend(read.map(|result| self.ids[&result]));
        }
        found
    }

    /// Which statements of each stage read a value, perhaps by what is recomputed.
    pub fn demands(&self) -> Demands<'c> {
        let mut demands = Demands::default();
        for Step { statement, work } in &self.steps {
            if let Work::Yield(value, _) = work {
                let stage = self.problem.statements[*statement].stage;
                self.demand(&mut demands, *value, stage, Demand::of(*statement));
            }
        }
        for op in self.block.ops().into_iter().rev() {
            if let Some(&statement) = self.statement_of.get(&op) {
                let stage = self.problem.statements[statement].stage;
                for input in self.inputs(op) {
                    self.demand(&mut demands, *input, stage, Demand::of(statement));
                }
                continue;
            }
            // Whoever reads what is recomputed reads what that is computed from.
            let through: Vec<(u32, Demand)> = op
                .results()
                .filter_map(|result| demands.get(&result))
                .flatten()
                .map(|(stage, demand)| (*stage, *demand))
                .collect();
            for (stage, demand) in through {
                for input in self.inputs(op) {
                    self.demand(&mut demands, *input, stage, demand);
                }
            }
        }
        demands
    }

    fn demand(&self, demands: &mut Demands<'c>, value: Value<'c>, stage: u32, demand: Demand) {
        let order = |statement: StatementId| self.problem.statements[statement].order;
        let known = demands.entry(value).or_default().entry(stage).or_insert(demand);
        if order(demand.first) < order(known.first) {
            known.first = demand.first;
        }
        if order(demand.last) > order(known.last) {
            known.last = demand.last;
        }
    }

    /// An error about a statement that reads `value` before `by` defines it.
    fn too_early(&self, statement: StatementId, value: Value<'c>, by: StatementId) -> PassError<'c> {
        let at = |statement: StatementId| {
            let Statement { stage, order } = self.problem.statements[statement];
            format!("stage {stage}, order {order}")
        };
        let reader = self.first_reader(statement, value);
        let message = format!("is in {}, but needs what is defined in {}", at(statement), at(by));
        let definer = self.ops(by).next().or(self.block.terminator());
        executed_first(reader, &message, definer.unwrap_or(self.around), "defined here")
    }

    /// The operations of a statement.
    fn ops(&self, statement: StatementId) -> impl Iterator<Item = Op<'c>> {
        let steps = self.steps.iter().filter(move |step| step.statement == statement);
        steps.filter_map(|step| match step.work {
            Work::Op(op) => Some(op),
            Work::Yield(..) => None,
        })
    }

    /// The first operation of a statement that reads `value`, perhaps by what is recomputed.
    fn first_reader(&self, statement: StatementId, value: Value<'c>) -> Op<'c> {
        let reads = |op: &Op<'c>| {
            let mut inputs = self.inputs(*op).iter();
            inputs.any(|input| self.sources(*input).contains(&value))
        };
        let reader = self.ops(statement).find(reads).or(self.block.terminator());
        reader.unwrap_or(self.around)
    }
}

/// An error about an operation that the schedule executes before `first`, which has to come first.
pub(super) fn executed_first<'c>(op: Op<'c>, message: &str, first: Op<'c>, why: &str) -> PassError<'c> {
    let help = "give it an earlier stage or order, or the other one a later one";
    PassError::new(op, message).note(first, format!("{why}; {help}"))
}

/// For each value, the stages of the statements that read it.
pub(super) type Demands<'c> = FxHashMap<Value<'c>, FxHashMap<u32, Demand>>;

/// The first and the last statement of a stage that reads a value.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    pub first: StatementId,
    pub last: StatementId,
}

impl Demand {
    fn of(statement: StatementId) -> Self {
        Self {
            first: statement,
            last: statement,
        }
    }
}

/// Returns true if `value` is defined in `around`.
pub(super) fn is_inside(around: Op<'_>, value: Value<'_>) -> bool {
    let parent = match value.definition() {
        Defined::Result(op, _) => op.parent(),
        Defined::Argument(block, _) => block.parent_op(),
    };
    parent.is_some_and(|op| op == around || around.is_ancestor_of(op))
}
