//! Summarizes an operation with regions as a single node (a *box*) of the block that it is in: hierarchical
//! reduction.
//!
//! A box runs on the engines of all operations inside. It takes as long as the longest of its regions, whose
//! blocks are taken to run one after another; a loop of constant trip count, that many times. Inside, the
//! events of its blocks come and go.

use super::Engines;
use super::block_problem::BlockProblem;
use async_dialects::completion::engine_name;
use async_mlir::ir::{Block, Definition, Op, Region, Value, Walk};
use async_mlir::names::scf;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use tokenflow::schedule::{EngineId, OperationId, Options, Pair, measure};

/// What is known of a box.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegionOpInfo {
    pub engines: BTreeSet<EngineId>,
    /// Of its regions, the longest.
    pub latency: u64,
    pub inner_peaks: BTreeMap<Pair, u32>,
}

/// What is known of the blocks that were scheduled, by the operation that they are in.
#[derive(Default)]
pub(crate) struct RegionOps<'c> {
    known: FxHashMap<Op<'c>, Inside<'c>>,
}

/// What the blocks of an operation need.
#[derive(Clone, Debug, Default)]
struct Inside<'c> {
    /// By region, how long its blocks take together.
    cycles: FxHashMap<Region<'c>, u64>,
    engines: BTreeSet<EngineId>,
    peaks: BTreeMap<Pair, u32>,
}

/// More values than these are not looked through.
const MOST_VALUES: usize = 64;

impl<'c> RegionOps<'c> {
    /// Notes what a block of `around` needs, in the order in which it is now.
    pub fn add_block(
        &mut self,
        around: Op<'c>,
        block: &BlockProblem<'c>,
        order: &[OperationId],
        options: &Options,
    ) {
        let measured = measure(&block.problem, options, order).unwrap_or_default();
        let inside = self.known.entry(around).or_default();
        for (pair, peak) in measured.peaks {
            let known = inside.peaks.entry(pair).or_default();
            *known = u32::try_from(peak).unwrap_or(u32::MAX).max(*known);
        }
        for operation in &block.problem.operations {
            inside.engines.extend(&operation.engines);
        }
        if let Some(region) = block.block.region() {
            let cycles = inside.cycles.entry(region).or_default();
            *cycles = cycles.saturating_add(measured.cost.makespan);
        }
    }

    /// What `op` is to its block; `None` if nothing inside runs on an engine.
    pub fn of(&self, op: Op<'c>) -> Option<RegionOpInfo> {
        let inside = self.known.get(&op).filter(|_| !op.is_function())?;
        let longest = inside.cycles.values().copied().max().unwrap_or(0);
        Some(RegionOpInfo {
            engines: inside.engines.clone(),
            latency: longest.saturating_mul(trip_count(op)),
            inner_peaks: inside.peaks.clone(),
        })
    }
}

/// How often the body of `op` runs, if that is constant; else 1.
fn trip_count(op: Op<'_>) -> u64 {
    if !op.is(scf::FOR) {
        return 1;
    }
    let bound = |operand: usize| op.operand(operand).as_constant_int().map(i128::from);
    let count = || {
        let (lower, upper, step) = (bound(0)?, bound(1)?, bound(2).filter(|step| *step > 0)?);
        u64::try_from((upper - lower).max(0).div_euclid(step) + i128::from((upper - lower).max(0) % step > 0))
            .ok()
    };
    count().unwrap_or(1)
}

/// The engines inside of `op`, a box on `engines`, that use `value`, which is from outside.
pub(crate) fn users<'c>(
    op: Op<'c>,
    engines: &BTreeSet<EngineId>,
    numbers: &mut Engines<'c>,
) -> FxHashMap<Value<'c>, BTreeSet<EngineId>> {
    let mut users: FxHashMap<Value, BTreeSet<EngineId>> = FxHashMap::default();
    let is_loop = op.is(scf::FOR) || op.is(scf::WHILE);
    for operand in op.operands() {
        users.entry(operand).or_default().extend(engines);
    }
    for inner in op.regions().flat_map(Region::blocks).flat_map(Block::ops) {
        inner.walk(|inner| {
            for operand in inner.operands() {
                let of_value = users.entry(operand).or_default();
                match numbers.of(inner) {
                    Some(engine) => {
                        of_value.insert(engine);
                    }
                    // The end of a branch hands on to the operations after it, that of a loop to its next iteration as well.
                    None if inner.is_terminator() && inner.parent() == Some(op) && !is_loop => {}
                    // What it is handed on to is not followed.
                    None => of_value.extend(engines),
                }
            }
            Walk::Advance
        });
    }
    users
}

/// The engines that produce what the regions of `op`, a box, hand on as result `index`; `None` if that may be any. And the values from
/// outside that they hand on.
pub(crate) fn producers<'c>(
    op: Op<'c>,
    index: usize,
    numbers: &mut Engines<'c>,
) -> (Option<BTreeSet<EngineId>>, Vec<Value<'c>>) {
    let mut engines = BTreeSet::new();
    let mut outside = Vec::new();
    let mut work = handed_on(op, index);
    // A loop that is not entered hands on what it was given.
    work.extend(op.operands());
    let is_complete = go_back(work, MOST_VALUES, |value| {
        if !is_inside(value, op) {
            outside.push(value);
            return Vec::new();
        }
        match value.definition() {
            Definition::Argument(block, _) => {
                // What any iteration before may have handed on, and the first one was given.
                let around = block.parent_op().into_iter();
                let given = around.flat_map(|around| {
                    let ends = around
                        .regions()
                        .flat_map(Region::blocks)
                        .filter_map(Block::terminator);
                    ends.chain([around]).flat_map(Op::operands).collect::<Vec<_>>()
                });
                given.collect()
            }
            Definition::Result(source, index) => match engine_name(source) {
                Some(name) => {
                    engines.insert(numbers.number(name));
                    Vec::new()
                }
                None => made_of(source, index),
            },
        }
    });
    if !is_complete {
        let used = op.self_and_nested().into_iter().flat_map(Op::operands);
        return (None, used.filter(|value| !is_inside(*value, op)).collect());
    }
    (Some(engines), outside)
}

/// Goes back from `work` to what `made_of` says that each is made of, and on. Returns false if there are more than `most`.
pub(crate) fn go_back<T: Copy + Eq + Hash>(
    mut work: Vec<T>,
    most: usize,
    mut made_of: impl FnMut(T) -> Vec<T>,
) -> bool {
    let mut seen = FxHashSet::default();
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > most {
            return false;
        }
        work.extend(made_of(value));
    }
    true
}

/// What result `index` of `op`, which runs on no engine, is made of.
pub(crate) fn made_of(op: Op<'_>, index: usize) -> Vec<Value<'_>> {
    let handed_on = if op.num_regions() > 0 {
        handed_on(op, index)
    } else {
        Vec::new()
    };
    handed_on.into_iter().chain(op.operands()).collect()
}

/// Returns true if `value` is made inside of `op`.
fn is_inside(value: Value<'_>, op: Op<'_>) -> bool {
    match value.definition() {
        Definition::Result(source, _) => source.ancestors().any(|around| around == op),
        Definition::Argument(block, _) => block.parent_op().is_some_and(|around| op.is_ancestor_of(around)),
    }
}

/// What the regions of `op` hand on as result `index`: the operand of that number, or all, if there are not as many.
fn handed_on(op: Op<'_>, index: usize) -> Vec<Value<'_>> {
    let blocks = op.regions().flat_map(Region::blocks);
    let ends = blocks.filter_map(Block::terminator);
    let values = ends.flat_map(|end| {
        if end.num_operands() == op.num_results() {
            vec![end.operand(index)]
        } else {
            end.operands().collect()
        }
    });
    values.collect()
}
