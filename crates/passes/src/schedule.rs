//! `--gpux-schedule`: reorders the operations of each block (instruction scheduling), within the events
//! that the hardware has.
//!
//! **Condition.** Some operations of a block run on engines: `async.engine` names it, or the operation issues an asynchronous
//! copy. Everything else runs on none. With `chip`, the block is one of a thread of that GPU, with the units that it has.
//!
//! **Effect.** The operations of each such block are in the order that `tokenflow::schedule` finds: dependences hold, events above
//! the limits are as few as can be, then the objective is as small as can be, then the order is closest to that of the input. The
//! last operation of a block stays where it is. Inner blocks come first; an operation with regions is a box in its block. In a
//! thread of a GPU, copies, awaits and barriers move among the others.
//!
//! **Refusals.** A block whose operations use results of later ones stays as it is: it is no sequence.
//!
//! [`engines`](crate::engines) puts the problem together, and [`report`] tells what came of it.

mod reorder;
mod report;

use crate::engines::awaits::InFlightCopies;
use crate::engines::block_problem::{BlockProblem, Order, read};
use crate::engines::cost_model::CostModel;
use crate::engines::event_limits::{read_count, read_limits};
use crate::engines::region_ops::RegionOps;
use crate::engines::{Engines, thread_problem};
use crate::utils::chip::sm_of;
use crate::utils::tokens::await_dependencies;
use crate::utils::verify_result::{VERIFY_RESULT, check_order, checks};
use async_mlir::ir::{Op, Region};
use async_mlir::pass::{OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use async_verify::orders;
use rustc_hash::FxHashMap;
use tokenflow::schedule::{
    EventModel, IssueModel, Objective, OperationId, Options, Proven, infeasible_subset, measure, solve,
};

/// The pass.
pub struct GpuxSchedule;

impl Pass for GpuxSchedule {
    const INFO: PassInfo = PassInfo {
        description: include_str!("schedule/description.md"),
        options: &[
            OptionInfo::int(
                "event-limit",
                8,
                "how many events of each pair of engines may be live",
            ),
            OptionInfo::string(
                "event-limits",
                "",
                "other limits for some pairs, such as `MTE2:V=4,V:MTE3=2`",
            ),
            OptionInfo::choice(
                "objective",
                "latency",
                &[
                    ("latency", "the least makespan, then the least sum of peaks"),
                    ("events", "the least sum of peaks, then the least makespan"),
                ],
                "what is minimized after the events above the limits",
            ),
            OptionInfo::choice(
                "events",
                "pair",
                &[
                    ("pair", "one for a producer and a pair of engines"),
                    ("edge", "one for each dependence"),
                ],
                "what takes an event",
            ),
            OptionInfo::choice(
                "issue",
                "order",
                &[
                    ("order", "one stream of instructions, as a thread of a GPU"),
                    ("engine", "a stream for each engine"),
                ],
                "who issues operations",
            ),
            OptionInfo::string(
                "chip",
                "",
                "a GPU, such as sm_80: operations take what they take a thread of it, and no events",
            ),
            OptionInfo::int(
                "budget",
                200_000,
                "how many prefixes of orders the search looks at, for each block",
            ),
            VERIFY_RESULT,
        ],
        statistics: &[
            StatisticInfo {
                name: "blocks",
                description: "Number of blocks in a new order",
            },
            StatisticInfo {
                name: "unproven",
                description: "Number of blocks where a better order may exist",
            },
            StatisticInfo {
                name: "excess-before",
                description: "Number of events above the limits, before",
            },
            StatisticInfo {
                name: "excess-after",
                description: "Number of events above the limits, after",
            },
        ],
        ..PassInfo::new(
            "gpux-schedule",
            "reorders operations of several engines within the limits of their events",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let mut engines = Engines::default();
        let chip = read_chip(root, cx)?;
        let limits = read_limits(root, cx, &mut engines)?;
        let options = read_options(root, cx)?;
        // They order as awaits do.
        let functions = root.self_and_nested().into_iter().filter(|op| op.is_function());
        functions.chain([root]).for_each(await_dependencies);
        let check = checks(cx).map(|timer| (timer, timer.time(|| orders::Before::of(root))));
        let mut region_ops = RegionOps::default();
        let mut functions = FxHashMap::default();
        let ops = root.self_and_nested();
        // What is nested comes after what it is nested in.
        for op in ops.into_iter().rev() {
            for block in op.regions().flat_map(Region::blocks) {
                let problem = match chip {
                    Some(chip) => {
                        let around = function_around(op);
                        let in_flight = functions
                            .entry(around)
                            .or_insert_with(|| InFlightCopies::of(around));
                        thread_problem::read(block, chip, in_flight, &mut engines, &region_ops)
                    }
                    None => read(block, &limits, &mut engines, &region_ops, Order::Open),
                };
                let Some(problem) = problem else { continue };
                let order = if chip.is_none() || problem.ops.iter().any(|op| thread_problem::moves(*op)) {
                    run_block(&problem, &options, &engines, cx)
                } else {
                    problem.problem.operations.ids().collect()
                };
                region_ops.add_block(op, &problem, &order, &options);
            }
        }
        match check {
            Some((timer, before)) => timer.time(|| check_order(&before, chip.is_some())),
            None => Ok(()),
        }
    }
}

/// The function that `op` is or is in; if there is none, `op`.
fn function_around(op: Op<'_>) -> Op<'_> {
    let mut around = std::iter::once(op).chain(op.ancestors());
    around.find(|op| op.is_function()).unwrap_or(op)
}

/// Schedules a block, and returns the order in which its operations are now.
fn run_block<'c>(
    block: &BlockProblem<'c>,
    options: &Options,
    engines: &Engines<'c>,
    cx: &PassContext<'c>,
) -> Vec<OperationId> {
    let before: Vec<OperationId> = block.problem.operations.ids().collect();
    let Ok(schedule) = solve(&block.problem, options) else {
        debug_assert!(false, "a block in the order of the input is a valid problem");
        return before;
    };
    let is_changed = before != schedule.order;
    // What does not fit inside of an operation was told there.
    let is_unmet = schedule.cost.excess > block.excess_inside();
    let shown = is_unmet
        .then(|| infeasible_subset(&block.problem, options).ok().flatten())
        .flatten();
    if is_changed || is_unmet {
        let details = |order: &[_]| measure(&block.problem, options, order).unwrap_or_default();
        let measured = (details(&before), details(&schedule.order));
        report::block(
            block,
            &schedule,
            &measured,
            options,
            engines,
            is_unmet,
            shown.as_ref(),
        );
    }
    cx.count("blocks", u64::from(is_changed));
    cx.count("unproven", u64::from(schedule.proven < Proven::Cost));
    cx.count("excess-before", schedule.cost_before.excess);
    cx.count("excess-after", schedule.cost.excess);
    if is_changed {
        reorder::reorder(block, &schedule.order);
    }
    schedule.order
}

/// The GPU, if one is named.
fn read_chip<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<Option<CostModel>, PassError<'c>> {
    match cx.str("chip") {
        "" => Ok(None),
        _ if !cx.str("event-limits").is_empty() => {
            let message =
                "option 'event-limits' does nothing with 'chip': a thread's dependences take no events";
            Err(PassError::new(root.location(), message))
        }
        name => match sm_of(name) {
            Ok(sm) => Ok(Some(CostModel::new(sm))),
            Err(message) => Err(PassError::new(root.location(), message)),
        },
    }
}

fn read_options<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<Options, PassError<'c>> {
    Ok(Options {
        objective: if cx.str("objective") == "events" {
            Objective::Events
        } else {
            Objective::Latency
        },
        events: if cx.str("events") == "edge" {
            EventModel::Edge
        } else {
            EventModel::Pair
        },
        issue: if cx.str("issue") == "engine" {
            IssueModel::Engine
        } else {
            IssueModel::Order
        },
        budget: read_count(root, cx, "budget", "prefixes")?,
    })
}
