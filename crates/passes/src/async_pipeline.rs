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
//! [`plan`] goes through the steps: [`annotations`] reads what the loop says, [`transfers`] makes synchronous transfers asynchronous,
//! [`staging`] chooses stages; [`body`] has statements and values, [`dependences`] what has to stay in order; [`expand`] makes the
//! rounds, and [`storage`] room for the versions of buffers.

mod accesses;
mod annotations;
mod body;
mod bounds;
mod dependences;
mod expand;
mod fewer_versions;
mod freshness;
mod integers;
mod plan;
mod rounds;
mod staging;
mod storage;
mod transfers;
mod versions;

use self::annotations::is_annotated;
use self::expand::{Epilogue, Shape, ShortTrips};
use self::plan::Pipeliner;
use self::storage::unite_globals;
use crate::async_to_gpux::{ENGINES, read_options};
use crate::insert_barriers::derive;
use async_dialects::registry::{ASYNC, GPUX};
use async_mlir::ir::Op;
use async_mlir::names::scf;
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};

pub use self::fewer_versions::WithFewerVersions;

/// The pass.
pub struct AsyncPipeline;

impl Pass for AsyncPipeline {
    const INFO: PassInfo = PassInfo {
        description: include_str!("async_pipeline/description.md"),
        anchor: Anchor::Functions,
        options: &[
            OptionInfo::choice(
                "epilogue",
                "peel",
                &[
                    ("peel", "the last rounds come after the loop"),
                    (
                        "predicate",
                        "the loop has them, too; statements that have nothing left to do are skipped",
                    ),
                ],
                "where the last rounds of a loop are",
            ),
            OptionInfo::choice(
                "short-trips",
                "guard",
                &[
                    (
                        "guard",
                        "they are pipelined, too, with statements guarded where their iteration may not exist",
                    ),
                    ("branch", "they are executed as they were, by a copy of the loop"),
                ],
                "loops that turn out to have fewer iterations than their pipeline takes to fill",
            ),
            OptionInfo::bool(
                "insert-barriers",
                true,
                "derive the block barriers of functions with pipelined loops anew, see gpux-insert-barriers",
            ),
            OptionInfo::string("chip", "sm_80", "as in async-to-gpux"),
            OptionInfo::choice("engine", "cp_async", ENGINES, "as in async-to-gpux"),
            OptionInfo::bool("bypass-l1", true, "as in async-to-gpux"),
            OptionInfo::int("base-alignment", 16, "as in async-to-gpux"),
        ],
        dependent_dialects: &[
            ASYNC,
            GPUX,
            Dialect::ARITH,
            Dialect::MEMREF,
            Dialect::SCF,
            Dialect::UB,
        ],
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
        pipeline(function, cx, None)
    }
}

/// Pipelines the loops of `function`. Of the buffers that need versions, number `fewer` gets one fewer, for tests.
fn pipeline<'c>(function: Op<'c>, cx: &PassContext<'c>, fewer: Option<usize>) -> Result<(), PassError<'c>> {
    let epilogue = match cx.str("epilogue") {
        "predicate" => Epilogue::Predicate,
        _ => Epilogue::Peel,
    };
    let short = match cx.str("short-trips") {
        "branch" => ShortTrips::Branch,
        _ => ShortTrips::Guard,
    };
    // Inner loops first: what they become are statements of the outer ones.
    let loops = function
        .self_and_nested()
        .into_iter()
        .filter(|op| op.is(scf::FOR));
    let mut loops: Vec<Op> = loops.collect();
    loops.sort_by_cached_key(|op| std::cmp::Reverse(op.ancestors().count()));
    if !loops.iter().any(|around| is_annotated(*around)) {
        return Ok(());
    }
    unite_globals(function);
    let shape = Shape { epilogue, short };
    let mut pipeliner = Pipeliner::new(function, read_options(function, cx)?, shape, fewer);
    for around in loops {
        pipeliner.pipeline(around)?;
    }
    let Pipeliner {
        storage,
        pipelined,
        dropped,
        fewer,
        ..
    } = pipeliner;
    if fewer.is_some() {
        return Err(PassError::new(function, "has no such buffer"));
    }
    storage.finish();
    cx.count("pipelined", pipelined);
    if pipelined > 0 && cx.bool("insert-barriers") {
        derive(function, false, false, Some(dropped))?;
    }
    Ok(())
}
