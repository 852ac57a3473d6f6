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
mod freshness;
mod integers;
mod lifting;
mod plan;
mod rounds;
mod staging;
mod storage;
mod transfers;
mod upstream;
mod versions;

use self::annotations::{MAX_STAGES, is_annotated, remove};
use self::expand::{Epilogue, Shape, ShortTrips};
use self::lifting::{lift, restore};
use self::plan::{Pipeliner, Settings, is_candidate};
use self::storage::unite_globals;
use self::upstream::to_nvgpu;
use crate::async_to_gpux::{ENGINES, read_options};
use crate::insert_barriers::derive;
use crate::nvgpu_exact_waits::set_exact_waits;
use async_dialects::registry::{ASYNC, GPUX};
use async_mlir::ir::Op;
use async_mlir::names::scf;
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};

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
            OptionInfo::int(
                "num-stages",
                0,
                "how many stages loops with transfers are to have that say nothing themselves; 0: they stay as they are",
            ),
            OptionInfo::bool(
                "insert-barriers",
                true,
                "derive the block barriers of functions with pipelined loops anew, see gpux-insert-barriers",
            ),
            OptionInfo::choice(
                "emit",
                "gpux",
                &[
                    ("gpux", "token form"),
                    (
                        "nvgpu",
                        "copies, groups and waits of nvgpu, with the counts of nvgpu-exact-waits; for cp_async alone",
                    ),
                ],
                "what functions with pipelined loops are written in",
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
            Dialect::NVGPU,
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
        let epilogue = match cx.str("epilogue") {
            "predicate" => Epilogue::Predicate,
            _ => Epilogue::Peel,
        };
        let short = match cx.str("short-trips") {
            "branch" => ShortTrips::Branch,
            _ => ShortTrips::Guard,
        };
        let settings = Settings {
            options: read_options(function, cx)?,
            shape: Shape { epilogue, short },
            num_stages: read_num_stages(function, cx)?,
            insert_barriers: cx.bool("insert-barriers"),
        };
        let wanted: Vec<Op> = inner_first(function)
            .into_iter()
            .filter(|around| is_annotated(*around) || settings.num_stages.is_some() && is_candidate(*around))
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let counted = lift(function, &wanted);
        unite_globals(function);
        let mut pipeliner = Pipeliner::new(function, settings);
        for around in inner_first(function) {
            pipeliner.pipeline(around)?;
        }
        let Pipeliner {
            storage,
            pipelined,
            dropped,
            ..
        } = pipeliner;
        storage.finish();
        cx.count("pipelined", pipelined);
        match counted {
            Some(original) if pipelined == 0 => {
                restore(function, original);
                for around in inner_first(function) {
                    around
                        .region(0)
                        .first()
                        .into_iter()
                        .for_each(|block| remove(around, block));
                }
            }
            original => original.into_iter().for_each(Op::erase),
        }
        if pipelined > 0 && settings.insert_barriers {
            derive(function, false, false, Some(dropped))?;
        }
        if pipelined > 0 && cx.str("emit") == "nvgpu" {
            to_nvgpu(function)?;
            set_exact_waits(function, &|_, _| {})?;
        }
        Ok(())
    }
}

/// The loops of `function`, inner ones first: what they become are statements of the outer ones.
fn inner_first(function: Op<'_>) -> Vec<Op<'_>> {
    let loops = function.self_and_nested().into_iter();
    let mut loops: Vec<Op> = loops.filter(|op| op.is(scf::FOR)).collect();
    loops.sort_by_cached_key(|op| std::cmp::Reverse(op.ancestors().count()));
    loops
}

/// The number of stages for loops that say nothing themselves.
fn read_num_stages<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<Option<u32>, PassError<'c>> {
    let stages = cx.int("num-stages");
    match u32::try_from(stages) {
        Ok(0) => Ok(None),
        Ok(stages) if stages <= MAX_STAGES => Ok(Some(stages)),
        _ => {
            let message =
                format!("can't have loops with {stages} stages: num-stages is at most {MAX_STAGES}");
            Err(PassError::new(function, message))
        }
    }
}
