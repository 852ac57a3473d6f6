//! Stages for loops that only say how many they want.
//!
//! Transfers from global memory come first, as early as their addresses allow, and what uses them last:
//!
//! 1. **Early** operations are transfers, and what their addresses are computed from.
//! 2. The **level** of an early operation is how many transfers and loads come before it, one waiting for the other. Of `n` levels,
//!    level `l` is in stage `l * last / n`. All other operations are in the last stage.
//! 3. In a **round**, awaits come first, as one, then transfers, later stages before earlier ones, then the rest: so what a transfer
//!    overwrites has been read by all threads at the barrier after the await.
//!
//! Operations without side effects that depend on neither are recomputed where they are needed. Linear in the size of the body.

use super::accesses::known_buffers;
use super::annotations::{Schedule, Slot};
use crate::analysis::memory::{Access, Effects, base, effects};
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
pub(super) struct Nothing(pub &'static str);

/// What was done, for a remark.
pub(super) struct Staged<'c> {
    pub schedule: Schedule<'c>,
    /// How many transfers there are, by stage.
    pub transfers: Vec<usize>,
}

/// A schedule of `body` with `stages` stages.
pub(super) fn stage(body: Block<'_>, stages: u32) -> Result<Staged<'_>, Nothing> {
    let last = stages - 1;
    if last == 0 {
        return Err(Nothing("has one stage, which leaves nothing to overlap"));
    }
    let mut staging = Staging::new(body);
    if staging.transfers.is_empty() {
        staging.transfers = staging.loads();
    }
    if staging.transfers.is_empty() {
        return Err(Nothing(
            "has no transfer from global memory that could be started early",
        ));
    }
    staging.find_early();
    if staging
        .ops
        .iter()
        .all(|op| op.is_pure() || staging.levels.contains_key(op))
    {
        return Err(Nothing("does nothing but compute addresses and transfer"));
    }
    let levels = 1 + staging
        .transfers
        .iter()
        .map(|op| staging.levels[op])
        .max()
        .unwrap_or(0);
    let stage_of = |level: u32| level * last / levels;
    let mut transfers = vec![0; stages as usize];
    for op in &staging.transfers {
        transfers[stage_of(staging.levels[op]) as usize] += 1;
    }
    Ok(Staged {
        schedule: staging.schedule(last, &stage_of),
        transfers,
    })
}

struct Staging<'c> {
    body: Block<'c>,
    ops: Vec<Op<'c>>,
    transfers: Vec<Op<'c>>,
    levels: FxHashMap<Op<'c>, u32>,
}

impl<'c> Staging<'c> {
    fn new(body: Block<'c>) -> Self {
        let end = body.terminator();
        let ops: Vec<Op> = body.ops().into_iter().filter(|op| Some(*op) != end).collect();
        Self {
            body,
            transfers: ops.iter().copied().filter(|op| is_transfer(*op)).collect(),
            ops,
            levels: FxHashMap::default(),
        }
    }

    /// Loads from global memory into registers.
    fn loads(&self) -> Vec<Op<'c>> {
        self.ops.iter().copied().filter(|op| is_load(*op)).collect()
    }

    /// Steps 1 and 2.
    fn find_early(&mut self) {
        let mut early: FxHashSet<Op<'c>> = self.transfers.iter().copied().collect();
        // The buffers that early operations read, which are after this one.
        let mut read = FxHashSet::default();
        for &op in self.ops.iter().rev() {
            let fills = |op: Op<'c>| workgroup(op, true).iter().any(|buffer| read.contains(buffer));
            let awaits = || {
                op.is(async_::AWAIT)
                    && op
                        .operands()
                        .any(|token| self.issues(token).into_iter().any(fills))
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
                let by = self.own(value)?;
                let is_there = by.is_pure() || by.is(async_::AWAIT);
                let is_passed_on = is_token(value.ty()) && !awaited.contains(&value);
                Some(self.levels.get(&by)? + u32::from(!is_there && !is_passed_on))
            };
            let values = inputs(op).filter_map(after);
            let buffers = workgroup(op, false)
                .into_iter()
                .filter_map(|buffer| written.get(&buffer).copied());
            let level = values.chain(buffers).max().unwrap_or(0);
            self.levels.insert(op, level);
            for buffer in workgroup(op, true) {
                let known = written.entry(buffer).or_insert(0);
                *known = (*known).max(level + 1);
            }
        }
    }

    /// Step 3.
    fn schedule(&self, last: u32, stage_of: &dyn Fn(u32) -> u32) -> Schedule<'c> {
        let mut schedule = Schedule::default();
        let mut order = 0;
        let mut put = |schedule: &mut Schedule<'c>, stage: u32, ops: &mut dyn Iterator<Item = Op<'c>>| {
            let before = schedule.len();
            schedule.extend(ops.map(|op| (op, Slot { stage, order })));
            order += u32::from(schedule.len() > before);
        };
        let late = self.late();
        let work = late.iter().position(|op| !op.is(async_::AWAIT) && !op.is_pure());
        let (first, rest) = late.split_at(work.unwrap_or(late.len()));
        let (leading, computed): (Vec<Op>, Vec<Op>) = first.iter().partition(|op| op.is(async_::AWAIT));
        put(&mut schedule, last, &mut leading.iter().copied());
        let mut by_level: BTreeMap<(Reverse<u32>, u32), Vec<Op<'c>>> = BTreeMap::new();
        for &op in self.ops.iter().filter(|op| !op.is_pure()) {
            if let Some(&level) = self.levels.get(&op) {
                by_level
                    .entry((Reverse(stage_of(level)), level))
                    .or_default()
                    .push(op);
            }
        }
        for ((Reverse(stage), _), ops) in by_level {
            put(&mut schedule, stage, &mut ops.into_iter());
        }
        put(
            &mut schedule,
            last,
            &mut computed.into_iter().chain(rest.iter().copied()),
        );
        await_together(&mut schedule, &leading);
        schedule
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
            } else if op.is_pure() {
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
        !op.is_pure() && self.levels.contains_key(&op)
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
}

/// Makes one of `awaits`, between which a round does nothing: the transfers of an iteration can be a group then.
fn await_together<'c>(schedule: &mut Schedule<'c>, awaits: &[Op<'c>]) {
    let (Some(&end), true) = (awaits.last(), awaits.len() > 1) else {
        return;
    };
    let (tokens, joins) = without_joins(awaits.iter().flat_map(|op| op.operands()));
    let slot = schedule[&end];
    let together = await_before(end, &tokens);
    for op in awaits {
        schedule.remove(op);
        op.erase();
    }
    for join in joins {
        schedule.remove(&join);
        join.erase();
    }
    schedule.insert(together, slot);
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
    all.flat_map(|op| op.operands().collect::<Vec<Value>>()).collect()
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
