//! Assigns stages to the operations of loops that only say how many they want.
//!
//! Transfers from global memory come first, as early as their addresses allow, and what uses them last:
//!
//! 1. **Early** operations are transfers, and what their addresses are computed from.
//! 2. The **level** of an early operation is how many transfers and loads from global memory come before it, one waiting for the
//!    other. Of `n` levels, level `l` is in stage `l * last / n`. All other operations are in the last stage.
//! 3. In a **round**, awaits come first, as one, then transfers, then the rest: so what a transfer overwrites has been read by all
//!    threads at the barrier after the awaits. Of transfers, those of later stages come first, since fewer registers hold what they
//!    read then; where they read what other transfers have brought to workgroup memory, those of earlier stages, so that no
//!    barrier has to be between the reads and the next transfer to the same buffer, which has one more version.
//! 4. Multiplications of the last stage read workgroup memory until they are awaited. Where nothing needs their sums before the next
//!    iteration adds to them, they are awaited one stage later, after those of the next iteration have been issued, so that the tensor
//!    cores never wait. Transfers come after that in a round: they may then fill what these have read.
//!
//! Operations without side effects that depend on neither are recomputed where they are needed. Linear in the
//! size of the body.

use super::accesses::{is_same_buffer, known_buffers};
use super::annotations::{Schedule, StageOrder};
use super::deferred_awaits::awaits_to_defer;
use super::in_flight::{Issued, awaited_by};
use super::role_branches::{awaited, is_await};
use crate::analysis::memory::{Access, Effects, effects, only_computes};
use crate::analysis::views::base;
use crate::utils::tokens::{await_before, without_joins};
use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::gpu::{MemorySpace, is_workgroup};
use async_mlir::ir::{Block, Definition, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Why a loop is left as it is.
pub(super) struct NotStaged(pub &'static str);

/// What was done.
pub(super) struct StageAssignment<'c> {
    pub schedule: Schedule<'c>,
    /// So many stages would keep transfers apart that wait for each other, if these don't.
    pub apart: Option<u32>,
    /// Whether transfers read what others have brought to workgroup memory, and those of earlier stages come first.
    pub earlier_first: bool,
    /// Whether multiplications are awaited a stage later.
    pub deferred: bool,
}

/// What a schedule may do, where it finds a reason to.
#[derive(Clone, Copy)]
pub(super) struct StageOptions {
    /// Transfers of earlier stages come first in a round, instead of those of later ones.
    pub earlier_first: bool,
    /// Multiplications are awaited a stage later.
    pub defers: bool,
}

/// A schedule of `body` with `stages` stages.
pub(super) fn assign_stages(
    body: Block<'_>,
    stages: u32,
    stage_options: StageOptions,
) -> Result<StageAssignment<'_>, NotStaged> {
    let last = stages - 1;
    if last == 0 {
        return Err(NotStaged("has one stage, which leaves nothing to overlap"));
    }
    let mut assigner = StageAssigner::new(body);
    if assigner.transfers.is_empty() {
        return Err(NotStaged(
            "has no transfer from global memory that could be started early",
        ));
    }
    assigner.find_early();
    let late = assigner.late();
    if late.is_empty() {
        return Err(NotStaged("does nothing but compute addresses and transfer"));
    }
    let levels = 1 + assigner
        .transfers
        .iter()
        .map(|op| assigner.levels[op])
        .max()
        .unwrap_or(0);
    let stages = Stages { last, levels };
    let earlier_first = stage_options.earlier_first && assigner.levels.keys().any(|op| is_await(*op));
    let deferred = if stage_options.defers {
        awaits_to_defer(body, &late)
    } else {
        FxHashSet::default()
    };
    Ok(StageAssignment {
        schedule: assigner.schedule(&late, stages, earlier_first, &deferred),
        apart: (levels > last).then_some(levels + 1),
        earlier_first,
        deferred: !deferred.is_empty(),
    })
}

/// The transfers of `body`; loads from global memory, if there are no others.
pub(super) fn transfers(body: Block<'_>) -> Vec<Op<'_>> {
    StageAssigner::new(body).transfers
}

/// Which stage levels are in.
#[derive(Clone, Copy)]
struct Stages {
    last: u32,
    levels: u32,
}

impl Stages {
    fn of(self, level: u32) -> u32 {
        level * self.last / self.levels
    }
}

struct StageAssigner<'c> {
    body: Block<'c>,
    ops: Vec<Op<'c>>,
    transfers: Vec<Op<'c>>,
    levels: FxHashMap<Op<'c>, u32>,
}

impl<'c> StageAssigner<'c> {
    fn new(body: Block<'c>) -> Self {
        let end = body.terminator();
        let ops: Vec<Op> = body.ops().into_iter().filter(|op| Some(*op) != end).collect();
        let mut transfers: Vec<Op> = ops.iter().copied().filter(|op| is_transfer(*op)).collect();
        if transfers.is_empty() {
            transfers = ops.iter().copied().filter(|op| is_load(*op)).collect();
        }
        Self {
            body,
            transfers,
            ops,
            levels: FxHashMap::default(),
        }
    }

    /// Steps 1 and 2.
    fn find_early(&mut self) {
        let mut early: FxHashSet<Op<'c>> = self.transfers.iter().copied().collect();
        // The buffers that early operations read, which are after this one.
        let mut read = FxHashSet::default();
        for &op in self.ops.iter().rev() {
            let fills = |op: Op<'c>| workgroup(op, true).iter().any(|buffer| read.contains(buffer));
            let awaits = || {
                let mut tokens = awaited(op).into_iter().flatten();
                tokens.any(|token| self.issues(token).into_iter().any(fills))
            };
            if early.contains(&op) || fills(op) || awaits() {
                early.insert(op);
                read.extend(workgroup(op, false));
                early.extend(inputs(op).filter_map(|value| self.own(value)));
            }
        }
        self.find_levels(&early);
    }

    fn find_levels(&mut self, early: &FxHashSet<Op<'c>>) {
        // What is in a buffer, once it is awaited or written.
        let mut written: FxHashMap<Value<'c>, u32> = FxHashMap::default();
        for &op in self.ops.iter().filter(|op| early.contains(op)) {
            let awaited = awaited_in(op);
            let after = |value: Value<'c>| {
                if awaited.contains(&value) {
                    return Some(self.level_issued(value)? + 1);
                }
                let by = self.own(value)?;
                let takes_time = !is_token(value.ty()) && is_load(by);
                Some(self.levels.get(&by)? + u32::from(takes_time))
            };
            let values = inputs(op).filter_map(after);
            let buffers = workgroup(op, false)
                .into_iter()
                .filter_map(|buffer| written.get(&buffer).copied());
            let level = values.chain(buffers).max().unwrap_or(0);
            self.levels.insert(op, level);
            let there = level + u32::from(is_transfer(op));
            for buffer in workgroup(op, true) {
                let known = written.entry(buffer).or_insert(0);
                *known = (*known).max(there);
            }
        }
    }

    /// The latest level at which something is issued that `token` stands for.
    fn level_issued(&self, token: Value<'c>) -> Option<u32> {
        let issues = self.issues(token).into_iter();
        issues.filter_map(|op| self.levels.get(&op).copied()).max()
    }

    /// Steps 3 and 4.
    fn schedule(
        &self,
        late: &[Op<'c>],
        stages: Stages,
        earlier_first: bool,
        deferred: &FxHashSet<Op<'c>>,
    ) -> Schedule<'c> {
        let mut schedule = Schedule::default();
        let mut order = 0;
        let mut put = |schedule: &mut Schedule<'c>, stage: u32, ops: &mut dyn Iterator<Item = Op<'c>>| {
            let before = schedule.len();
            schedule.extend(ops.map(|op| (op, StageOrder { stage, order })));
            order += u32::from(schedule.len() > before);
        };
        let last = stages.last;
        let work = late.iter().position(|op| !is_await(*op) && !only_computes(*op));
        let (first, rest) = late.split_at(work.unwrap_or(late.len()));
        let (leading, computed): (Vec<Op>, Vec<Op>) = first.iter().partition(|op| is_await(**op));
        // By how many stages after what they await they are: the first one then implies others, where it can.
        let mut awaits: BTreeMap<(u32, Reverse<u32>), Vec<Op<'c>>> = BTreeMap::new();
        let mut by_level: BTreeMap<(u32, u32), Vec<Op<'c>>> = BTreeMap::new();
        for &op in self.ops.iter().filter(|op| !only_computes(**op)) {
            let Some(&level) = self.levels.get(&op) else {
                continue;
            };
            let stage = stages.of(level);
            let later = stage.saturating_sub(self.stage_issued(op, stages).unwrap_or(stage));
            if is_await(op) && later > 0 {
                awaits.entry((later, Reverse(stage))).or_default().push(op);
                continue;
            }
            let key = if earlier_first { stage } else { last - stage };
            by_level.entry((key, level)).or_default().push(op);
        }
        let issued = leading.iter().filter_map(|op| self.stage_issued(*op, stages));
        let later = last.saturating_sub(issued.max().unwrap_or(0));
        awaits.insert((later, Reverse(last)), leading.clone());
        for ((_, Reverse(stage)), ops) in awaits {
            put(&mut schedule, stage, &mut ops.into_iter());
        }
        let (mut ended, mut work): (Vec<Op>, Vec<Op>) = computed
            .into_iter()
            .chain(rest.iter().copied())
            .partition(|op| deferred.contains(op));
        if !ended.is_empty() {
            put(&mut schedule, last, &mut work.drain(..));
            put(&mut schedule, last + 1, &mut ended.drain(..));
        }
        for ((_, level), ops) in by_level {
            put(&mut schedule, stages.of(level), &mut ops.into_iter());
        }
        put(&mut schedule, last, &mut work.into_iter());
        self.await_together(&mut schedule, &leading);
        schedule
    }

    /// The latest stage in which something is issued that `op` awaits.
    fn stage_issued(&self, op: Op<'c>, stages: Stages) -> Option<u32> {
        let tokens = awaited(op).into_iter().flatten();
        let issued = tokens.filter_map(|token| self.level_issued(token));
        issued.max().map(|level| stages.of(level))
    }

    /// What is executed in the last stage, in program order: what has side effects and is not early, and what is computed from
    /// that or from what has been loaded.
    fn late(&self) -> Vec<Op<'c>> {
        let mut late = FxHashSet::default();
        let mut in_order = Vec::new();
        for &op in &self.ops {
            // Joins of tokens are made again where they are awaited.
            let is_late = if op.is(async_::JOIN) {
                false
            } else if only_computes(op) {
                inputs(op).any(|value| {
                    self.own(value)
                        .is_some_and(|by| late.contains(&by) || self.loads_early(by))
                }) && !self.levels.contains_key(&op)
            } else {
                !self.levels.contains_key(&op)
            };
            if is_late {
                late.insert(op);
                in_order.push(op);
            }
        }
        in_order
    }

    fn loads_early(&self, op: Op<'c>) -> bool {
        !only_computes(op) && self.levels.contains_key(&op)
    }

    /// The operations of the body that `token` stands for.
    fn issues(&self, token: Value<'c>) -> Vec<Op<'c>> {
        let joined = |op: Op<'c>| op.operands().filter_map(|token| self.own(token)).collect();
        match self.own(token) {
            Some(op) if op.is(async_::JOIN) => joined(op),
            op => op.into_iter().collect(),
        }
    }

    /// The operation of the body that defines `value`.
    fn own(&self, value: Value<'c>) -> Option<Op<'c>> {
        match value.definition() {
            Definition::Result(op, _) => (op.block() == Some(self.body)).then_some(op),
            Definition::Argument(..) => None,
        }
    }

    /// Makes one of `awaits`, between which a round does nothing: the transfers of an iteration can be a group then. Those of roles are
    /// for other threads. One that a transfer after it waits for stays before that.
    fn await_together(&self, schedule: &mut Schedule<'c>, awaits: &[Op<'c>]) {
        let awaits = awaits.iter().copied().filter(|op| op.is(async_::AWAIT));
        let mut awaits: Vec<Op> = awaits.collect();
        let Some(end) = awaits.pop() else { return };
        awaits.retain(|op| !self.is_waited_for(*op, end));
        if awaits.is_empty() {
            return;
        }
        awaits.push(end);
        let (tokens, joins) = without_joins(awaits.iter().flat_map(|op| op.operands()));
        let slot = schedule[&end];
        let together = await_before(end, &tokens);
        for op in awaits {
            schedule.remove(&op);
            op.erase();
        }
        for join in joins {
            schedule.remove(&join);
            join.erase();
        }
        schedule.insert(together, slot);
    }

    /// Returns true if something between the await `wait` and `end` may access what it is that `wait` waits for.
    fn is_waited_for(&self, wait: Op<'c>, end: Op<'c>) -> bool {
        let between = self.ops.iter().copied();
        let between = between.filter(|op| wait.is_before_in_block(*op) && op.is_before_in_block(end));
        let mut between = between
            .filter(|op| !only_computes(*op) && !is_await(*op))
            .peekable();
        if between.peek().is_none() {
            return false;
        }
        let Some(around) = self.body.parent_op() else {
            return true;
        };
        let issued = awaited_by(around, self.body, wait);
        between.any(|op| issued.iter().any(|issued| may_touch_same(*issued, op)))
    }
}

/// Returns true if `op`, or something in it, may access what `issued` does, and one of them writes.
fn may_touch_same<'c>(issued: Issued<'c>, op: Op<'c>) -> bool {
    let Issued::Op { op: issued, .. } = issued else {
        return true;
    };
    let Effects::Known(first) = effects(issued) else {
        return true;
    };
    op.self_and_nested().into_iter().any(|op| match effects(op) {
        Effects::Unknown => true,
        Effects::Known(second) => second.iter().any(|b| {
            first.iter().any(|a| {
                (a.access.writes() || b.access.writes()) && is_same_buffer(base(a.memory), base(b.memory))
            })
        }),
    })
}

/// What `op` and what is nested in it read.
fn inputs<'c>(op: Op<'c>) -> impl Iterator<Item = Value<'c>> {
    let all = op.self_and_nested().into_iter();
    all.flat_map(|op| op.operands().collect::<Vec<Value>>())
}

/// The tokens that `op` or something nested in it awaits.
fn awaited_in(op: Op<'_>) -> FxHashSet<Value<'_>> {
    let awaits = |op: &Op| {
        op.is(async_::AWAIT)
            || Completion::of(*op).is_some_and(|completion| completion.effect == GroupEffect::Issue)
    };
    let all = op.self_and_nested().into_iter().filter(awaits);
    let operands = all.flat_map(|op| op.operands().collect::<Vec<Value>>());
    operands.filter(|operand| is_token(operand.ty())).collect()
}

/// The buffers of the workgroup that `op` and what is nested in it write, or read.
fn workgroup(op: Op<'_>, written: bool) -> Vec<Value<'_>> {
    let mut buffers = known_buffers(op, written);
    buffers.retain(|buffer| is_workgroup(buffer.ty()));
    buffers
}

/// Returns true if `op` or something nested in it starts a copy from global memory to memory of the workgroup.
fn is_transfer(op: Op<'_>) -> bool {
    let starts = |op: Op<'_>| {
        Completion::of(op).is_some_and(|completion| {
            let to_workgroup = completion
                .destination
                .is_some_and(|memory| is_workgroup(base(memory).ty()));
            completion.effect == GroupEffect::Issue && completion.done.is_some() && to_workgroup
        })
    };
    op.self_and_nested().into_iter().any(starts)
}

/// Returns true if `op` does nothing but to read global memory.
fn is_load(op: Op<'_>) -> bool {
    let Effects::Known(effects) = effects(op) else {
        return false;
    };
    let is_global = |memory: Value<'_>| {
        let space = MemorySpace::of(base(memory).ty());
        !matches!(space, Some(MemorySpace::Workgroup | MemorySpace::Private))
    };
    let mut reads = effects.iter();
    op.num_regions() == 0
        && !effects.is_empty()
        && op.num_results() > 0
        && reads.all(|effect| effect.access == Access::Read && is_global(effect.memory))
}
