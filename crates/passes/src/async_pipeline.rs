//! `--async-pipeline`: software pipelining of `scf.for` loops.
//!
//! **Condition.** Device code. A loop whose operations say in which stage they are, or that says how many
//! stages it is to have.
//!
//! **Effect.** Each such loop becomes a prologue, a kernel and an epilogue, in token form: iterations overlap
//! as the stages say. Tokens and values that later stages need rotate through `iter_args`; buffers have as
//! many versions as are in use at a time.
//!
//! **Refusals.** A schedule that violates a dependence is an error at the statement, with the other statement
//! in a note. A loop that only asks for stages is left alone if it can't be pipelined, with a remark that
//! says why.
//!
//! [`lifting`] puts hand-counted copies into token form. [`pipeliner`] goes through the steps:
//! [`annotations`] reads what the loop says, [`transfers`] makes synchronous transfers asynchronous,
//! [`accumulator_chains`] completes awaits of multiplications, [`stage_assignment`] chooses stages, [`deferred_awaits`] what is awaited an iteration later, and
//! [`role_branches`] has some warps await on their own; [`body`] has statements and values, [`dependences`]
//! what has to stay in order, also after awaits of what is [`in_flight`] where the loop is entered, [`never_awaited`] why something does not, [`unawaited_reads`] what is wrong with that already, [`privatization`] which
//! buffers iterations can have versions of, with [`buffer_liveness`] outside of the loop; [`plan`] puts this
//! together, [`expand`] makes the prologue, the kernel and the epilogue of [`rounds`], with
//! [`multi_buffering`], and [`storage`] room for the versions of buffers, if [`memory_budget`] allows.
//! [`loop_flattening`] makes one loop of two; [`report`] says what was done, [`refusals`] puts back what
//! can't be pipelined, and [`mod@to_nvgpu`] writes `nvgpu`.

mod accesses;
mod accumulator_chains;
mod annotations;
mod body;
mod bounds;
mod buffer_liveness;
mod deferred_awaits;
mod dependences;
mod expand;
mod fewer_versions;
mod folding;
mod in_flight;
mod lifting;
mod loop_flattening;
mod memory_budget;
mod multi_buffering;
mod never_awaited;
mod pipeliner;
mod plan;
mod privatization;
mod refusals;
mod report;
mod role_branches;
mod rounds;
mod spoiled;
mod stage_assignment;
mod storage;
mod to_nvgpu;
mod transfers;
mod transform;
mod unawaited_reads;
mod unknown_buffers;

use self::annotations::{MAX_STAGES, check_places, is_annotated, remove};
use self::expand::{Epilogue, Shape, ShortTrips};
pub use self::fewer_versions::WithFewerVersions;
use self::lifting::{lift, restore};
use self::memory_budget::MemoryBudget;
use self::pipeliner::{Attempt, Pipeliner, Settings, is_candidate};
pub use self::spoiled::SpoiledPipeline;
use self::storage::unite_globals;
use self::to_nvgpu::to_nvgpu;
pub use self::transform::PipelineTransform;
use crate::async_to_gpux::{ENGINES, Options, read_options};
use crate::insert_barriers::derive;
use crate::nvgpu_exact_waits::set_exact_waits;
use crate::utils::tokens::restore_upstream_awaits;
use crate::utils::verify_result::{VERIFY_RESULT, check_barriers, checks};
use async_dialects::registry::{GPUX, has_upstream_async, verify_attributes};
use async_mlir::ir::Op;
use async_mlir::melior::ir::Location;
use async_mlir::names::scf;
use async_mlir::pass::{
    Anchor, Dialect, OptionInfo, Options as PassOptions, Pass, PassContext, PassError, PassInfo,
    StatisticInfo,
};
use async_verify::barriers::AroundBarriers;

const FEWER_STAGES: &str = "fewer-stages";

/// What becomes of a loop that needs too much memory.
pub const MEMORY: &[(&str, &str)] = &[
    ("error", "the loop is an error"),
    (
        FEWER_STAGES,
        "a loop that asks for a number of stages gets as many as fit",
    ),
];

/// Where the last rounds of a loop are.
pub const EPILOGUES: &[(&str, &str)] = &[
    ("peel", "the last rounds come after the loop"),
    (
        "predicate",
        "the loop has them, too; statements that have nothing left to do are skipped",
    ),
];

/// What becomes of a loop that has fewer iterations than its pipeline takes to fill.
pub const SHORT_TRIPS: &[(&str, &str)] = &[
    (
        "guard",
        "they are pipelined, too, with statements guarded where their iteration may not exist",
    ),
    ("branch", "they are executed as they were, by a copy of the loop"),
];

/// The options that the transform has, too.
const OPTIONS: &[OptionInfo] = &[
    OptionInfo::choice(
        "epilogue",
        "peel",
        EPILOGUES,
        "where the last rounds of a loop are",
    ),
    OptionInfo::choice(
        "short-trips",
        "guard",
        SHORT_TRIPS,
        "loops that turn out to have fewer iterations than their pipeline takes to fill",
    ),
    OptionInfo::choice(
        "memory",
        "error",
        MEMORY,
        "loops whose versions of buffers need more workgroup memory than a block has",
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
];

/// Those that the pass alone has.
const OF_THE_PASS: &[OptionInfo] = &[
    OptionInfo::int(
        "num-stages",
        0,
        "how many stages loops with transfers are to have that say nothing themselves; 0: they stay as they are",
    ),
    OptionInfo::bool(
        "computed-slots",
        false,
        "work slots out from the number of the iteration where that takes no division, instead of carrying them; with \
         short-trips=branch",
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
    VERIFY_RESULT,
];

/// The options of `first`, and then those of `more`, `N` in all.
const fn joined<const N: usize>(first: &[OptionInfo], more: &[OptionInfo]) -> [OptionInfo; N] {
    assert!(N == first.len() + more.len());
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() {
            first[i]
        } else {
            more[i - first.len()]
        };
        i += 1;
    }
    all
}

/// The pass.
pub struct AsyncPipeline;

impl Pass for AsyncPipeline {
    const INFO: PassInfo = PassInfo {
        description: include_str!("async_pipeline/description.md"),
        anchor: Anchor::Functions,
        options: &const { joined::<{ OPTIONS.len() + OF_THE_PASS.len() }>(OPTIONS, OF_THE_PASS) },
        dependent_dialects: &[
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
        pipeline(function, cx, None)
    }
}

/// A fault that tests plant.
#[derive(Clone, Copy)]
enum Planted {
    /// Of the buffers that need versions, this one gets one fewer.
    FewerVersions(usize),
    /// What was written has this change: see [`spoiled`].
    Change(usize),
}

/// Pipelines the loops of `function`.
fn pipeline<'c>(
    function: Op<'c>,
    cx: &PassContext<'c>,
    planted: Option<Planted>,
) -> Result<(), PassError<'c>> {
    verify(function)?;
    check_places(function)?;
    let mut settings = read_settings(function.location(), cx)?;
    settings.num_stages = read_num_stages(function, cx)?;
    settings.shape.computed_slots = cx.bool("computed-slots");
    let is_wanted =
        |around: &Op<'c>| is_annotated(*around) || settings.num_stages.is_some() && is_candidate(*around);
    let mut wanted = inner_first(loops(function));
    wanted.retain(is_wanted);
    if wanted.is_empty() {
        return Ok(());
    }
    let checks = checks(cx);
    let counted = lift(function, &wanted, checks)?;
    let mut pipeliner = new_pipeliner(function, settings, cx, false)?;
    pipeliner.checks = checks;
    match planted {
        Some(Planted::FewerVersions(buffer)) => pipeliner.fewer = Some(buffer),
        Some(Planted::Change(change)) => pipeliner.change = Some(change),
        None => {}
    }
    for around in inner_first(loops(function)) {
        if let Attempt::Refused(refused) = pipeliner.pipeline(around)? {
            refused.leave_alone()?;
        }
    }
    if pipeliner.fewer.is_some() {
        return Err(PassError::new(function, "has no such buffer"));
    }
    if pipeliner.change.is_some() {
        return Err(PassError::new(function, "has nothing to change there"));
    }
    let pipelined = pipeliner.pipelined;
    cx.count("pipelined", pipelined);
    pipeliner.storage.finish();
    match counted {
        Some(original) if pipelined == 0 => {
            restore(function, original);
            for around in loops(function) {
                if let Some(block) = around.region(0).first() {
                    remove(around, block);
                }
            }
        }
        original => original.into_iter().for_each(Op::erase),
    }
    finish(function, &pipeliner)?;
    if pipelined > 0 && cx.str("emit") == "nvgpu" {
        to_nvgpu(function)?;
        set_exact_waits(function, checks, "", &|_, _| {})?;
    }
    Ok(())
}

/// Verifies what `function` says of its loops, where upstream's dialect `async` has not done so.
fn verify(function: Op<'_>) -> Result<(), PassError<'_>> {
    let wrong = has_upstream_async(function)
        && function
            .self_and_nested()
            .into_iter()
            .any(|op| !verify_attributes(op));
    if wrong {
        Err(PassError::already_emitted())
    } else {
        Ok(())
    }
}

/// What the options say that the transform has, too.
fn read_settings<'c>(at: Location<'c>, options: &impl PassOptions) -> Result<Settings, PassError<'c>> {
    let epilogue = match options.str("epilogue") {
        "predicate" => Epilogue::Predicate,
        _ => Epilogue::Peel,
    };
    let short = match options.str("short-trips") {
        "branch" => ShortTrips::Branch,
        _ => ShortTrips::Guard,
    };
    Ok(Settings {
        // What is assumed of accesses in different iterations goes for transfers, too.
        options: Options {
            distinct_arguments: true,
            ..read_options(at, options)?
        },
        shape: Shape {
            epilogue,
            short,
            computed_slots: false,
        },
        num_stages: None,
        insert_barriers: options.bool("insert-barriers"),
    })
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

fn new_pipeliner<'c>(
    function: Op<'c>,
    settings: Settings,
    options: &impl PassOptions,
    marked: bool,
) -> Result<Pipeliner<'c>, PassError<'c>> {
    unite_globals(function);
    let memory = MemoryBudget::of(
        function,
        options.str("chip"),
        options.str("memory") == FEWER_STAGES,
    )?;
    Ok(Pipeliner::new(function, settings, memory, marked))
}

/// Restores awaits, and derives the barriers of `function` anew, once its loops are pipelined.
fn finish<'c>(function: Op<'c>, pipeliner: &Pipeliner<'c>) -> Result<(), PassError<'c>> {
    restore_upstream_awaits(function);
    if pipeliner.pipelined == 0 || !pipeliner.settings.insert_barriers {
        return Ok(());
    }
    let check = pipeliner
        .checks
        .map(|timer| (timer, timer.time(|| AroundBarriers::of(function))));
    let derived = derive(function, false, false, Some(pipeliner.dropped))?;
    match check.filter(|_| derived.is_done) {
        Some((timer, around_barriers)) => timer.time(|| check_barriers(function, &around_barriers)),
        None => Ok(()),
    }
}

/// The loops of `function`.
fn loops(function: Op<'_>) -> Vec<Op<'_>> {
    let ops = function.self_and_nested().into_iter();
    ops.filter(|op| op.is(scf::FOR)).collect()
}

/// Inner loops first: what they become are statements of the outer ones.
fn inner_first(mut loops: Vec<Op<'_>>) -> Vec<Op<'_>> {
    loops.sort_by_cached_key(|op| std::cmp::Reverse(op.ancestors().count()));
    loops
}
