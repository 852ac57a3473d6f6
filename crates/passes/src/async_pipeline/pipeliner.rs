//! Drives the pipelining of a function: chooses its loops, and takes each through the steps.

use super::accesses::known_buffers;
use super::accumulator_chains::complete_awaits;
use super::annotations::{Request, is_annotated, is_scheduled, read, read_schedule, remove};
use super::dependences::FunctionInfo;
use super::expand::{Epilogue, Shape};
use super::lifting::counted_queue;
use super::loop_flattening::{FlattenedLoop, flatten, refusal};
use super::memory_budget::MemoryBudget;
use super::plan::{Plan, part_of};
use super::refusals::{Refusal, Refused, emit_because};
use super::report::Report;
use super::role_branches::{has_roles, split_awaits};
use super::stage_assignment::{NotStaged, StageAssignment, StageOptions, assign_stages};
use super::storage::Storage;
use super::transfers::start_in_stages;
use crate::async_to_gpux::{Options, start_transfers};
use crate::insert_barriers::derived_anew;
use crate::utils::device::is_workgroup_alloc;
use crate::utils::static_allocs::may_be_shared;
use async_dialects::names::gpux_attr;
use async_mlir::control_flow::constant_trip_count;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Block, Op};
use async_mlir::names::{gpu, memref, scf};
use async_mlir::pass::{CheckTimer, PassError};
use rustc_hash::FxHashSet;

/// What the options say.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub options: Options,
    pub shape: Shape,
    /// The stages of loops that say nothing themselves, if those are to be pipelined.
    pub num_stages: Option<u32>,
    pub insert_barriers: bool,
}

/// What became of a loop.
pub(super) enum Attempt<'c> {
    /// It does not ask for anything.
    NotAsked,
    Pipelined,
    Refused(Refused<'c>),
}

/// Pipelines the loops of a function.
pub(super) struct Pipeliner<'c> {
    function: FunctionInfo<'c>,
    pub settings: Settings,
    memory: MemoryBudget,
    /// For what is written, unless that is not checked.
    pub checks: Option<CheckTimer<'c>>,
    /// Whether kernels get an attribute to be found by.
    marked: bool,
    /// The loops around loops that were pipelined.
    outer: FxHashSet<Op<'c>>,
    /// The barriers that are derived anew.
    barriers: FxHashSet<Op<'c>>,
    /// The versions of buffers.
    pub storage: Storage<'c>,
    /// How many loops were pipelined.
    pub pipelined: u64,
    /// How many barriers went with them.
    pub dropped: usize,
    /// The buffer that gets a version fewer than it needs, counted from here; for tests.
    pub fewer: Option<usize>,
    /// The change of what is written that is made, counted from here; for tests.
    pub change: Option<usize>,
    /// Whether something wrong was written.
    pub is_faulty: bool,
}

impl<'c> Pipeliner<'c> {
    pub fn new(function: Op<'c>, settings: Settings, memory: MemoryBudget, marked: bool) -> Self {
        Self {
            function: FunctionInfo::new(function),
            settings,
            memory,
            checks: Some(CheckTimer::default()),
            marked,
            outer: FxHashSet::default(),
            barriers: derived_anew(function),
            storage: Storage::default(),
            pipelined: 0,
            dropped: 0,
            fewer: None,
            change: None,
            is_faulty: false,
        }
    }

    /// Pipelines `around` if it is to be. An error is what is wrong with what it says of itself.
    pub fn pipeline(&mut self, around: Op<'c>) -> Result<Attempt<'c>, PassError<'c>> {
        let Some(block) = around.region(0).first() else {
            return Ok(Attempt::NotAsked);
        };
        if goes_across(around) && around.parent().is_some_and(|outer| outer.is(scf::FOR)) {
            // Its turn comes with the loop around it.
            return Ok(Attempt::NotAsked);
        }
        let inner: Vec<Op> = block.ops().into_iter().filter(|op| goes_across(*op)).collect();
        if !inner.is_empty() {
            return self.pipeline_across(around, &inner);
        }
        if goes_across(around) {
            drains(
                around,
                "the loop around it is not an 'scf.for' that it is directly in",
            )
            .emit();
        }
        let Some(request) = read(around, block)?.or_else(|| self.asked_for(around)) else {
            return Ok(Attempt::NotAsked);
        };
        if never_runs(around) {
            leave_unrun(around, block);
            return Ok(Attempt::NotAsked);
        }
        let asked = matches!(request, Request::Automatic(_));
        // It comes back if the loop can't be pipelined.
        let original = (asked || self.marked).then(|| around.clone_detached());
        let hoisted = hoist_allocs(around, block);
        let Err(refusal) = self.attempt(around, block, &request) else {
            original.into_iter().for_each(Op::erase);
            return Ok(Attempt::Pipelined);
        };
        if self.is_faulty {
            return Err(refusal.into_error());
        }
        self.function.liveness.forget(around);
        self.storage.take_inner(around);
        Ok(Attempt::Refused(Refused {
            around,
            original,
            hoisted,
            refusal,
        }))
    }

    /// Pipelines loops directly in `outer` that are to be pipelined across its iterations.
    fn pipeline_across(&mut self, outer: Op<'c>, inner: &[Op<'c>]) -> Result<Attempt<'c>, PassError<'c>> {
        for inner in inner {
            inner
                .region(0)
                .first()
                .map(|block| read(*inner, block))
                .transpose()?;
        }
        if inner.iter().all(|inner| never_runs(*inner)) {
            // They say so themselves.
            return self.pipeline_apart(outer, inner);
        }
        let why = match inner {
            [_] if is_annotated(outer) => Some("the loop around it is to be pipelined, too"),
            [only] => refusal(outer, *only, is_scheduled(*only)),
            _ => Some("it is not the only one in the loop around it"),
        };
        if let Some(why) = why {
            for inner in inner {
                drains(*inner, why).emit();
            }
            return self.pipeline_apart(outer, inner);
        }
        // It comes back if the nest can't be pipelined as one loop.
        let (original, copy) = self.copy_nest(outer, inner[0]);
        let spans = [outer, inner[0]].map(|around| self.function.liveness.span(around));
        self.function.liveness.forget(outer);
        let versions = self.storage.take_inner(outer);
        let dropped = outer
            .region(0)
            .first()
            .map_or(0, |block| self.drop_barriers(block));
        let FlattenedLoop {
            around,
            whole,
            results,
        } = flatten(outer, inner[0]);
        self.function.liveness.set_span(around, spans[0]);
        self.storage.set_inner(around, versions.clone());
        let tried = around.region(0).first().map(|block| {
            let request = read(around, block).map_err(Refusal::Error)?;
            request.map_or(Ok(()), |request| self.attempt(around, block, &request))
        });
        let Some(Err(refusal)) = tried else {
            original.erase();
            self.dropped += dropped;
            return Ok(Attempt::Pipelined);
        };
        if self.is_faulty {
            return Err(refusal.into_error());
        }
        let remark = drains(copy, "the nest can't be pipelined as one loop");
        emit_because(remark, refusal.into_error());
        self.function.liveness.forget(around);
        self.function.liveness.set_span(original, spans[0]);
        self.function.liveness.set_span(copy, spans[1]);
        self.storage.take_inner(around);
        self.storage.set_inner(original, versions);
        original.move_before(whole);
        for (now, old) in results.iter().zip(original.results()) {
            now.replace_all_uses_with(old);
        }
        whole.erase();
        self.pipeline_apart(original, &[copy])
    }

    /// A copy of `outer`, and `inner` in it.
    fn copy_nest(&mut self, outer: Op<'c>, inner: Op<'c>) -> (Op<'c>, Op<'c>) {
        let copy = outer.clone_detached();
        let mut copy_of_inner = copy;
        for (old, new) in outer.self_and_nested().into_iter().zip(copy.self_and_nested()) {
            if self.barriers.contains(&old) {
                self.barriers.insert(new);
            }
            if old == inner {
                copy_of_inner = new;
            }
        }
        (copy, copy_of_inner)
    }

    /// Pipelines loops in `outer` that drain in each of its iterations, and `outer` itself.
    fn pipeline_apart(&mut self, outer: Op<'c>, inner: &[Op<'c>]) -> Result<Attempt<'c>, PassError<'c>> {
        let before = self.pipelined;
        for inner in inner {
            inner.remove_attr(gpux_attr::ACROSS_ROUNDS);
            if let Attempt::Refused(refused) = self.pipeline(*inner)? {
                refused.leave_alone()?;
            }
        }
        Ok(match self.pipeline(outer)? {
            Attempt::NotAsked if self.pipelined > before => Attempt::Pipelined,
            attempt => attempt,
        })
    }

    /// Pipelines `around`. If that fails, some of its transfers may be asynchronous, and its barriers gone.
    fn attempt(&mut self, around: Op<'c>, block: Block<'c>, request: &Request) -> Result<(), Refusal<'c>> {
        let dropped;
        complete_awaits(block);
        let plan = match request {
            Request::Annotated(async_stages) => {
                start_in_stages(self.function.op, block, self.settings.options, async_stages);
                dropped = self.drop_barriers(block);
                let schedule = read_schedule(block).map_err(Refusal::Error)?;
                let plan = Plan::of(
                    around,
                    block,
                    &schedule,
                    (&self.function, &self.storage),
                    self.shape(block).epilogue,
                    &mut self.fewer,
                );
                let plan = plan.map_err(Refusal::Error)?;
                self.memory.check(around, &plan.uses).map_err(Refusal::Error)?;
                Report::of(block, &schedule).emit(around);
                plan
            }
            Request::Automatic(stages) => {
                start_transfers(self.function.op, block, self.settings.options);
                dropped = self.drop_barriers(block);
                split_awaits(block);
                self.plan(around, block, *stages)?
            }
        };
        self.function.liveness.forget(around);
        let written = self.carry_out(plan, dropped);
        self.is_faulty |= written.is_err();
        written.map_err(Refusal::Error)
    }

    /// Erases barriers of `block` itself that are derived anew.
    fn drop_barriers(&self, block: Block<'c>) -> usize {
        let dropped = block.ops().into_iter().filter(|op| self.barriers.contains(op));
        dropped.map(Op::erase).count()
    }

    /// What is to be done with a loop that says nothing itself.
    fn asked_for(&self, around: Op<'c>) -> Option<Request> {
        let stages = self.settings.num_stages?;
        let wanted = !self.outer.contains(&around) && is_candidate(around);
        wanted.then_some(Request::Automatic(stages))
    }

    /// A plan for a loop that is to have so many stages.
    fn plan(&mut self, around: Op<'c>, block: Block<'c>, stages: u32) -> Result<Plan<'c>, Refusal<'c>> {
        self.check(around).map_err(Refusal::LeftAlone)?;
        let mut fewer = stages;
        loop {
            let (assignment, plan) = self.plan_stages(around, block, fewer)?;
            match self.memory.check(around, &plan.uses) {
                Ok(()) => {
                    let mut said = Report::of(block, &assignment.schedule);
                    said.instead_of(fewer, stages);
                    said.apart(assignment.apart);
                    said.emit(around);
                    return Ok(plan);
                }
                Err(error) if !self.memory.fewer_stages => return Err(Refusal::Error(error)),
                Err(error) if fewer <= 2 => return Err(Refusal::LeftAlone(error)),
                Err(_) => fewer -= 1,
            }
        }
    }

    /// A plan for a loop that is to have so many stages, whether they fit into memory or not.
    fn plan_stages(
        &mut self,
        around: Op<'c>,
        block: Block<'c>,
        stages: u32,
    ) -> Result<(StageAssignment<'c>, Plan<'c>), Refusal<'c>> {
        let mut stage_options = StageOptions {
            earlier_first: true,
            defers: true,
        };
        loop {
            let assignment = assign_stages(block, stages, stage_options);
            let assignment =
                assignment.map_err(|NotStaged(why)| Refusal::LeftAlone(PassError::new(around, why)))?;
            let plan = Plan::of(
                around,
                block,
                &assignment.schedule,
                (&self.function, &self.storage),
                self.shape(block).epilogue,
                &mut self.fewer,
            );
            match plan {
                Ok(plan) => return Ok((assignment, plan)),
                // Something else in the loop waits for the multiplications.
                Err(_) if assignment.deferred => stage_options.defers = false,
                // It takes a version more of a buffer, which may not have any.
                Err(_) if assignment.earlier_first => stage_options.earlier_first = false,
                Err(error) => return Err(Refusal::LeftAlone(error)),
            }
        }
    }

    /// Returns an error if something keeps `around` from being pipelined, however it is staged.
    fn check(&self, around: Op<'c>) -> Result<(), PassError<'c>> {
        let launch = around.ancestors().find(|op| op.is(gpu::LAUNCH));
        if let Some(launch) = launch.filter(|_| self.settings.insert_barriers) {
            let message = "is not in a function yet, so no barrier can be placed in it";
            return Err(PassError::new(around, message).note(launch, "run --gpu-kernel-outlining first"));
        }
        let counted = around
            .self_and_nested()
            .into_iter()
            .find(|op| counted_queue(*op).is_some());
        counted.map_or(Ok(()), |op| {
            let message = "has copies that are counted in groups, and could not be given tokens";
            let help =
                "one of its operations; a remark says why, and --gpux-groups-to-tokens what has to be so";
            Err(PassError::new(around, message).note(op, help))
        })
    }

    /// What a loop with this body becomes. Warps with roles await all that is loaded, so there is nothing left of what a last round may
    /// not have loaded: the last rounds come after the kernel.
    fn shape(&self, body: Block<'c>) -> Shape {
        let epilogue = if has_roles(body) {
            Epilogue::Peel
        } else {
            self.settings.shape.epilogue
        };
        Shape {
            epilogue,
            ..self.settings.shape
        }
    }

    fn carry_out(&mut self, plan: Plan<'c>, dropped: usize) -> Result<(), PassError<'c>> {
        self.outer.extend(plan.body.around.ancestors());
        let shape = self.shape(plan.body.block);
        plan.carry_out(
            shape,
            &mut self.storage,
            self.marked,
            self.checks,
            &mut self.change,
        )?;
        self.pipelined += 1;
        self.dropped += dropped;
        Ok(())
    }
}

/// Returns true if `around` is a loop that is to be pipelined across iterations of the loop around it.
fn goes_across(around: Op<'_>) -> bool {
    around.is(scf::FOR) && around.has_attr(gpux_attr::ACROSS_ROUNDS)
}

/// Says that the pipeline of `around` is empty at the end of each round, in spite of what is asked for.
fn drains<'c>(around: Op<'c>, why: &str) -> Diagnostic<'c> {
    Diagnostic::remark(around, format!("is not pipelined across rounds: {why}"))
}

/// Returns true if `around` is known to have no iterations, or is in a loop that has none. Its waits may be gone then.
fn never_runs(around: Op<'_>) -> bool {
    let mut loops = std::iter::once(around).chain(around.ancestors());
    loops.any(|op| op.is(scf::FOR) && constant_trip_count(op) == Some(0))
}

/// Says that `around` is not pipelined, since it never runs.
fn leave_unrun<'c>(around: Op<'c>, block: Block<'c>) {
    Diagnostic::remark(around, "is not pipelined: it never runs").emit();
    remove(around, block);
    // For the loop around it, it is what the kernel would be.
    for name in [gpux_attr::STAGE, gpux_attr::ORDER] {
        if let Some(parts) = around.attr(name) {
            around.set_attr(name, part_of(parts, 1));
        }
    }
}

/// Moves allocations of workgroup memory out of `block`, the body of `around`, of which all iterations may have the same one.
fn hoist_allocs<'c>(around: Op<'c>, block: Block<'c>) -> Vec<Op<'c>> {
    let allocs = block.ops().into_iter();
    let allocs: Vec<Op> = allocs
        .filter(|op| is_workgroup_alloc(*op) && may_be_shared(*op))
        .collect();
    for alloc in &allocs {
        let owners = alloc.result(0).uses().into_iter().map(|used| used.owner);
        let frees: Vec<Op> = owners.filter(|op| op.is(memref::DEALLOC)).collect();
        frees.into_iter().for_each(Op::erase);
        alloc.move_before(around);
    }
    allocs
}

/// Returns true if `around`, an `scf.for`, fills memory of the workgroup, and neither says how it is to be pipelined nor is in a
/// loop that does.
pub(super) fn is_candidate(around: Op<'_>) -> bool {
    let mut loops = std::iter::once(around)
        .chain(around.ancestors())
        .filter(|op| op.is(scf::FOR));
    let fills = |op: Op<'_>| {
        known_buffers(op, true)
            .iter()
            .any(|buffer| is_workgroup(buffer.ty()))
    };
    !loops.any(is_annotated) && fills(around)
}
