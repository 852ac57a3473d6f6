//! `--gpux-insert-barriers`: inserts block barriers where threads have to synchronize, and nowhere else.
//!
//! **Condition.** A function of device code with structured control flow, before tokens of loads are translated to mbarriers.
//!
//! **Effect.** Wherever two threads of a block access the same byte of memory of the workgroup, and one of them writes, there is
//! a `gpu.barrier` between the two accesses on every path. Barriers that order such accesses alone are derived anew; others
//! stay. There are as few in the deepest loops as can be, then as few in those further out.
//!
//! **Refusals.** Accesses that no barrier can order are errors at both. A function with mbarriers or barriers of some threads,
//! whose order is not known here, stays as it is, with a remark.
//!
//! [`kept_barriers`] decides which barriers stay, `tokenflow::barriers` where others are needed, [`explain`]
//! says why.

mod explain;
mod kept_barriers;
mod races;

use crate::analysis::barrier_graph::{BarrierGraph, dependences, read};
use crate::analysis::thread_values::MAX_THREADS;
use crate::analysis::warps::barrier_of_warps;
use crate::utils::block_wide::barrier;
use crate::utils::tokens;
use crate::utils::verify_result::{VERIFY_RESULT, check_barriers, checks};
use async_dialects::registry::GPUX;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::{block_size, is_barrier, is_kernel};
use async_mlir::ir::{Op, Walk};
use async_mlir::names::{attr, nvgpu, nvvm};
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use async_verify::barriers::AroundBarriers;
use rustc_hash::FxHashSet;
use tokenflow::barriers::{Action, Placement, StepId, place};

/// The pass.
pub struct InsertBarriers;

impl Pass for InsertBarriers {
    const INFO: PassInfo = PassInfo {
        description: include_str!("insert_barriers/description.md"),
        anchor: Anchor::Functions,
        options: &[
            OptionInfo::bool(
                "keep-barriers",
                false,
                "keep the barriers that are there, and add what is missing",
            ),
            OptionInfo::bool(
                "explain",
                false,
                "emit remarks that say which accesses each barrier is for",
            ),
            VERIFY_RESULT,
        ],
        dependent_dialects: &[GPUX, Dialect::GPU],
        statistics: &[
            StatisticInfo {
                name: "inserted",
                description: "Number of barriers inserted",
            },
            StatisticInfo {
                name: "dropped",
                description: "Number of barriers dropped",
            },
        ],
        ..PassInfo::new(
            "gpux-insert-barriers",
            "places the fewest block barriers that order accesses of workgroup memory",
        )
    };

    fn run<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let check = checks(cx).map(|timer| (timer, timer.time(|| AroundBarriers::of(function))));
        let derived = derive(function, cx.bool("keep-barriers"), cx.bool("explain"), None)?;
        if let Some((timer, around_barriers)) = check.filter(|_| derived.is_done) {
            timer.time(|| check_barriers(function, &around_barriers))?;
        }
        cx.count("inserted", derived.inserted as u64);
        cx.count("dropped", derived.dropped as u64);
        Ok(())
    }
}

/// How many barriers came and went.
#[derive(Clone, Copy, Default)]
pub(crate) struct Derived {
    inserted: usize,
    dropped: usize,
    /// False if the function stays as it is.
    pub is_done: bool,
}

/// Derives the barriers of `function` anew; with `keep`, those that it has stay. `dropped` is for a pass that has rewritten the
/// function: it says how many barriers that has removed already, and that its awaits are right.
pub(crate) fn derive<'c>(
    function: Op<'c>,
    keep: bool,
    explain: bool,
    dropped: Option<usize>,
) -> Result<Derived, PassError<'c>> {
    if let Some(op) = synchronizes_otherwise(function) {
        if function.self_and_nested().into_iter().any(is_barrier) {
            let message = format!(
                "has '{}', whose order of threads is not known here: its barriers stay",
                op.name()
            );
            let help = "run --gpux-insert-barriers before tokens become mbarriers";
            Diagnostic::remark(function, message).note(op, help).emit();
        }
        return Ok(Derived::default());
    }
    check_block_size(function)?;
    let mut graph = read(function, keep)?;
    let kept = kept_barriers::keep(&mut graph, keep);
    let placement = place(&graph.kernel);
    if is_helper(function) && !(placement.barriers.is_empty() && placement.races.is_empty()) {
        let message = "is called, perhaps by some threads only: its barriers stay, and none is inserted";
        let help = "run --gpux-inline-calls first";
        Diagnostic::remark(function, message).note(function, help).emit();
        return Ok(Derived::default());
    }
    races::report(function, &graph, &placement.races, dropped.is_some())?;
    let inserted = placement.barriers.len();
    let gone: Vec<Op> = graph
        .barriers
        .iter()
        .map(|(_, op)| *op)
        .filter(|op| !kept.contains(op))
        .collect();
    let derived = Derived {
        inserted,
        dropped: dropped.unwrap_or(0) + gone.len(),
        is_done: true,
    };
    if inserted + derived.dropped > 0 {
        explain::summary(function, inserted, derived.dropped, kept.len());
    }
    explain::later_issues(&graph, &placement);
    if explain {
        explain::barriers(&graph, &placement);
        explain::kept(function, &graph, &kept);
    }
    insert(&graph, &placement);
    gone.into_iter().for_each(Op::erase);
    Ok(derived)
}

/// The barriers of `function` that order nothing but memory of the workgroup, and are derived anew.
pub(crate) fn derived_anew(function: Op<'_>) -> FxHashSet<Op<'_>> {
    let Some(Ok(mut graph)) = synchronizes_otherwise(function)
        .is_none()
        .then(|| read(function, false))
    else {
        return FxHashSet::default();
    };
    let kept = kept_barriers::keep(&mut graph, false);
    let barriers = graph.barriers.iter().map(|(_, op)| *op);
    barriers.filter(|op| !kept.contains(op)).collect()
}

/// Adds to `error`, about `barrier`, which accesses it stays for, if it is one that may order memory that is not the workgroup's.
pub(crate) fn note_what_it_orders<'c>(error: PassError<'c>, barrier: Op<'c>) -> PassError<'c> {
    let function = barrier.ancestors().find(|outer| outer.is_function());
    let Some(function) = function.filter(|_| is_barrier(barrier)) else {
        return error;
    };
    let Ok(graph) = read(function, false) else {
        return error;
    };
    let Some((first, second)) = kept_barriers::what_it_orders(&graph, barrier) else {
        return error;
    };
    let error = error
        .note(first, "the barrier stays, since it may order this access")
        .note(second, "with this one, of another thread");
    match block_size(function) {
        Some(_) => error,
        None => error.note(function, UNKNOWN_BLOCK_SIZE),
    }
}

/// What to do where it is not known how many threads there are.
const UNKNOWN_BLOCK_SIZE: &str =
    "a block may have up to 1024 threads, as far as is known; if it has fewer, say so by known_block_size";

/// Returns an error if `function` says that blocks have more threads than they can.
fn check_block_size(function: Op<'_>) -> Result<(), PassError<'_>> {
    let Some(sizes) = block_size(function) else {
        return Ok(());
    };
    let threads = sizes.map(u64::from).into_iter().try_fold(1, u64::checked_mul);
    if threads.is_some_and(|threads| threads <= u64::from(MAX_THREADS)) {
        return Ok(());
    }
    let [x, y, z] = sizes;
    let message = format!("has blocks of {x} x {y} x {z} threads, but a block has at most {MAX_THREADS}");
    Err(PassError::new(function, message).note(function, "correct its known_block_size"))
}

/// Returns true if `function` is there to be called.
fn is_helper(function: Op<'_>) -> bool {
    !is_kernel(function) && function.str_attr(attr::SYM_VISIBILITY) == Some("private")
}

/// An operation in `function` that makes threads wait for each other in a way that is not followed here.
fn synchronizes_otherwise(function: Op<'_>) -> Option<Op<'_>> {
    let mut found = None;
    function.walk(|op| {
        let is_named = op.is(nvvm::BARRIER) && op.num_operands() > 0 && barrier_of_warps(op).is_none();
        let on_mbarrier = matches!(
            op.name(),
            nvgpu::MBARRIER_CREATE
                | nvgpu::MBARRIER_INIT
                | nvgpu::MBARRIER_GET
                | nvgpu::MBARRIER_ARRIVE_EXPECT_TX
                | nvgpu::MBARRIER_ARRIVE
                | nvgpu::MBARRIER_TEST_WAIT
                | nvgpu::MBARRIER_TRY_WAIT_PARITY
                | nvvm::MBARRIER_EXPECT_TX
                | nvvm::MBARRIER_INVAL
        );
        if is_named || on_mbarrier {
            found = Some(op);
            return Walk::Stop;
        }
        Walk::Advance
    });
    found
}

/// Writes the barriers.
fn insert(graph: &BarrierGraph, placement: &Placement) {
    for (step, _) in &placement.barriers {
        let op = graph.ops[*step];
        let new = barrier(op.location());
        match await_before(graph, *step) {
            // It awaits what it depends on itself: now that is done before.
            Some(wait) if wait == op => {
                tokens::await_before(op, &dependences(op));
                new.before(op)
            }
            Some(wait) => new.after(wait),
            None => new.before(op),
        };
    }
}

/// The await that `step` comes right after.
fn await_before<'c>(graph: &BarrierGraph<'c>, step: StepId) -> Option<Op<'c>> {
    let before = step.0.checked_sub(1).map(StepId)?;
    let leads_here = matches!(graph.kernel.steps[before].edges.as_slice(), [edge] if edge.to == step);
    let awaits = matches!(
        graph.kernel.steps[before].action,
        Action::Await(_) | Action::AwaitGroup(..) | Action::Wait { .. }
    );
    let wait = graph.ops[before];
    (leads_here && awaits && wait.block() == graph.ops[step].block()).then_some(wait)
}
