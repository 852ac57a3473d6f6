//! `--async-pipeline`: software pipelining of `scf.for` loops.
//!
//! **Condition.** Device code. A loop whose operations say in which stage they are, or that says how many stages it is to have.
//!
//! **Effect.** Each such loop becomes a prologue, a kernel and an epilogue, in token form: iterations overlap as the stages say.
//! Tokens and values that later stages need rotate through `iter_args`; buffers have as many versions as are in use at a time.
//!
//! **Refusals.** A schedule that violates a dependence is an error at the statement, with the other statement in a note. A loop
//! that only asks for stages is left alone if it can't be pipelined, with a remark that says why.
//!
//! [`annotations`] reads what the loop says, [`body`] its statements and values, [`expand`] makes the rounds.

mod accesses;
mod annotations;
mod body;
mod bounds;
mod dependences;
mod expand;
mod freshness;
mod integers;
mod rounds;
mod staging;
mod storage;
mod versions;

use self::accesses::Accesses;
use self::annotations::{Request, Schedule, read, remove};
use self::body::Body;
use self::dependences::check;
use self::expand::{Epilogue, Expanded, Rotation, expand};
use self::integers::Constants;
use self::staging::{Nothing, stage};
use self::storage::{Storage, Uses, unite_globals};
use crate::insert_barriers::{derive, derived_anew};
use async_dialects::names::gpux_attr;
use async_dialects::registry::ASYNC;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Op};
use async_mlir::melior::ir::Attribute;
use async_mlir::names::scf;
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use rustc_hash::FxHashSet;

/// The pass.
pub struct AsyncPipeline;

impl Pass for AsyncPipeline {
    const INFO: PassInfo = PassInfo {
        description: include_str!("async_pipeline/description.md"),
        anchor: Anchor::Functions,
        options: &[
            OptionInfo::bool(
                "insert-barriers",
                true,
                "derive the block barriers of functions with pipelined loops anew, see gpux-insert-barriers",
            ),
            OptionInfo::choice(
                "epilogue",
                "peel",
                &[
                    ("peel", "the last rounds come after the loop"),
                    (
                        "predicate",
                        "the loop has them, too, with statements that have nothing left to do skipped",
                    ),
                ],
                "where the last rounds of a loop are",
            ),
        ],
        dependent_dialects: &[ASYNC, Dialect::ARITH, Dialect::MEMREF, Dialect::SCF, Dialect::UB],
        statistics: &[StatisticInfo {
            name: "pipelined",
            description: "Number of loops pipelined",
        }],
        ..PassInfo::new(
            "async-pipeline",
            "software-pipelines loops, by stages and orders of their operations",
        )
    };

    fn run<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let epilogue = match cx.str("epilogue") {
            "predicate" => Epilogue::Predicate,
            _ => Epilogue::Peel,
        };
        // Inner loops first: what they become are statements of the outer ones.
        let loops = function
            .self_and_nested()
            .into_iter()
            .filter(|op| op.is(scf::FOR));
        let mut loops: Vec<Op> = loops.collect();
        loops.sort_by_cached_key(|op| std::cmp::Reverse(op.ancestors().count()));
        let mut storage = Storage::default();
        unite_globals(function);
        let barriers = derived_anew(function);
        let (mut pipelined, mut dropped) = (0, 0);
        for around in loops {
            if let Some(barriers) = pipeline(around, epilogue, &barriers, &mut storage)? {
                pipelined += 1;
                dropped += barriers;
            }
        }
        storage.finish();
        cx.count("pipelined", pipelined);
        if pipelined > 0 && cx.bool("insert-barriers") {
            derive(function, false, false, dropped)?;
        }
        Ok(())
    }
}

/// Pipelines `around` if it is to be; returns how many barriers it had that are derived anew.
fn pipeline<'c>(
    around: Op<'c>,
    epilogue: Epilogue,
    barriers: &FxHashSet<Op<'c>>,
    storage: &mut Storage<'c>,
) -> Result<Option<usize>, PassError<'c>> {
    let Some(block) = around.region(0).first() else {
        return Ok(None);
    };
    let Some(request) = read(around, block)? else {
        return Ok(None);
    };
    let removed = Barriers::remove(block, barriers);
    match request {
        Request::Annotated(schedule) => {
            let plan = Plan::of(around, block, &schedule, storage)?;
            plan.carry_out(epilogue, storage);
            Ok(Some(removed.forget()))
        }
        Request::Automatic(stages) => {
            let planned = stage(block, stages)
                .map_err(|Nothing(why)| PassError::new(around, why))
                .and_then(|staged| {
                    let plan = Plan::of(around, block, &staged.schedule, storage)?;
                    Ok((plan, staged.transfers))
                });
            match planned {
                Ok((plan, transfers)) => {
                    report(around, stages, &transfers);
                    plan.carry_out(epilogue, storage);
                    Ok(Some(removed.forget()))
                }
                Err(error) => {
                    remove(around, block);
                    removed.restore();
                    let remark = Diagnostic::remark(around, "is not pipelined");
                    let why = error.into_diagnostic();
                    why.map_or_else(|| Diagnostic::remark(around, ""), |why| remark.because(why))
                        .emit();
                    Ok(None)
                }
            }
        }
    }
}

/// Barriers that were taken out of a loop, each with what it stood before.
struct Barriers<'c>(Vec<(Op<'c>, Op<'c>)>);

impl<'c> Barriers<'c> {
    /// Takes those of `derived` that stand in `block` itself: they will be derived anew.
    fn remove(block: Block<'c>, derived: &FxHashSet<Op<'c>>) -> Self {
        let barriers = block.ops().into_iter().filter(|op| derived.contains(op));
        let removed = barriers.filter_map(|op| Some((op, op.next()?)));
        let removed: Vec<(Op, Op)> = removed.collect();
        removed.iter().for_each(|(op, _)| op.detach());
        Self(removed)
    }

    /// Puts them back.
    fn restore(self) {
        self.0
            .into_iter()
            .rev()
            .for_each(|(op, next)| op.move_before(next));
    }

    /// Erases them, and returns how many there are.
    fn forget(self) -> usize {
        self.0.iter().for_each(|(op, _)| op.erase());
        self.0.len()
    }
}

/// Says what was done with a loop that asked for stages.
fn report(around: Op<'_>, stages: u32, transfers: &[usize]) {
    let started = transfers.iter().enumerate().filter(|(_, number)| **number > 0);
    let started = started.map(|(stage, number)| {
        let plural = if *number == 1 { "" } else { "s" };
        format!("{number} transfer{plural} in stage {stage}")
    });
    let started = started.collect::<Vec<String>>().join(", ");
    let message = format!("pipelined: {started}, the rest in stage {}", stages - 1);
    Diagnostic::remark(around, message).emit();
}

/// What is to become of a loop.
struct Plan<'c> {
    body: Body<'c>,
    rotation: Rotation,
    uses: Uses<'c>,
}

impl<'c> Plan<'c> {
    /// Checks a schedule, and plans the loop that follows it.
    fn of(
        around: Op<'c>,
        block: Block<'c>,
        schedule: &Schedule<'c>,
        storage: &mut Storage<'c>,
    ) -> Result<Self, PassError<'c>> {
        let body = Body::new(around, block, schedule)?;
        let rotation = Rotation::of(&body)?;
        let versions = check(&body, &Accesses::of(&body))?;
        let uses = storage.add(&body, &versions)?;
        Ok(Self { body, rotation, uses })
    }

    fn carry_out(self, epilogue: Epilogue, storage: &mut Storage<'c>) {
        let Body { around, block, .. } = self.body;
        let outer = [gpux_attr::STAGE, gpux_attr::ORDER].map(|name| around.attr(name));
        remove(around, block);
        around.remove_attr(gpux_attr::STAGE);
        around.remove_attr(gpux_attr::ORDER);
        let bounds = around.operands().take(3);
        let constants = Constants::new(around, bounds);
        let slots = self.uses.slots(around, &constants);
        let expanded = expand(&self.body, &self.rotation, slots, &constants, epilogue);
        storage.add_views(&expanded.slots);
        if let [Some(stage), Some(order)] = outer {
            annotate(&expanded, stage, order);
        }
    }
}

/// Hands on the stage and the order that a pipelined loop has in the loop around it.
fn annotate<'c>(expanded: &Expanded<'_, 'c>, stage: Attribute<'c>, order: Attribute<'c>) {
    let parts = [
        expanded.prologue.as_slice(),
        expanded.kernel.as_slice(),
        expanded.epilogue.as_slice(),
    ];
    for (i, part) in parts.into_iter().enumerate() {
        for op in part {
            op.set_attr(gpux_attr::STAGE, part_of(stage, i));
            op.set_attr(gpux_attr::ORDER, part_of(order, i));
        }
    }
}

/// The number for part `i` of a loop: there is one for all, or one for each.
fn part_of(attribute: Attribute<'_>, i: usize) -> Attribute<'_> {
    async_mlir::types::array_elements(attribute).map_or(attribute, |parts| parts[i])
}
