//! The steps that a loop goes through.

use super::accesses::Accesses;
use super::annotations::{Request, Schedule, read, remove, slots};
use super::body::Body;
use super::dependences::check;
use super::expand::{Expanded, Rotation, Shape, expand};
use super::integers::Constants;
use super::staging::{Nothing, stage};
use super::storage::{Storage, Uses};
use super::transfers::start_in_stages;
use crate::async_to_gpux::{Options, start_transfers};
use crate::insert_barriers::derived_anew;
use async_dialects::names::gpux_attr;
use async_mlir::control_flow::constant_trip_count;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Op};
use async_mlir::melior::ir::Attribute;
use async_mlir::names::scf;
use async_mlir::pass::PassError;
use async_mlir::types::array_elements;
use rustc_hash::FxHashSet;

/// Pipelines the loops of a function.
pub(super) struct Pipeliner<'c> {
    function: Op<'c>,
    options: Options,
    shape: Shape,
    /// The barriers that are derived anew.
    barriers: FxHashSet<Op<'c>>,
    /// The versions of buffers.
    pub storage: Storage<'c>,
    /// How many loops were pipelined.
    pub pipelined: u64,
    /// How many barriers went with them.
    pub dropped: usize,
    /// The buffer that gets a version fewer than it needs, counted from here.
    pub fewer: Option<usize>,
}

impl<'c> Pipeliner<'c> {
    pub fn new(function: Op<'c>, options: Options, shape: Shape, fewer: Option<usize>) -> Self {
        Self {
            function,
            options,
            shape,
            barriers: derived_anew(function),
            storage: Storage::default(),
            pipelined: 0,
            dropped: 0,
            fewer,
        }
    }

    /// Pipelines `around` if it is to be.
    pub fn pipeline(&mut self, around: Op<'c>) -> Result<(), PassError<'c>> {
        let Some(block) = around.region(0).first() else {
            return Ok(());
        };
        match read(around, block)? {
            None => {}
            Some(_) if never_runs(around) => {
                Diagnostic::remark(around, "is not pipelined: it never runs").emit();
                remove(around, block);
                // For the loop around it, it is what the kernel would be.
                for name in [gpux_attr::STAGE, gpux_attr::ORDER] {
                    if let Some(parts) = around.attr(name) {
                        around.set_attr(name, part_of(parts, 1));
                    }
                }
            }
            Some(Request::Annotated(async_stages)) => {
                start_in_stages(self.function, block, self.options, &async_stages);
                let dropped = self.drop_barriers(block);
                let plan = Plan::of(around, block, &slots(block)?, &self.storage, &mut self.fewer)?;
                self.carry_out(plan, dropped);
            }
            Some(Request::Automatic(stages)) => {
                // It comes back if the loop can't be pipelined.
                let original = around.clone_detached();
                start_transfers(self.function, block, self.options);
                let dropped = self.drop_barriers(block);
                match self.plan(around, block, stages) {
                    Ok(plan) => {
                        self.carry_out(plan, dropped);
                        original.erase();
                    }
                    Err(error) => leave_alone(around, original, error),
                }
            }
        }
        Ok(())
    }

    /// Erases barriers of `block` itself that are derived anew.
    fn drop_barriers(&self, block: Block<'c>) -> usize {
        let dropped = block.ops().into_iter().filter(|op| self.barriers.contains(op));
        dropped.map(Op::erase).count()
    }

    /// A plan for a loop that is to have so many stages.
    fn plan(&mut self, around: Op<'c>, block: Block<'c>, stages: u32) -> Result<Plan<'c>, PassError<'c>> {
        let staged = stage(block, stages).map_err(|Nothing(why)| PassError::new(around, why))?;
        let plan = Plan::of(around, block, &staged.schedule, &self.storage, &mut self.fewer)?;
        report(around, stages, &staged.transfers);
        Ok(plan)
    }

    fn carry_out(&mut self, plan: Plan<'c>, dropped: usize) {
        plan.carry_out(self.shape, &mut self.storage);
        self.pipelined += 1;
        self.dropped += dropped;
    }
}

/// Returns true if `around` is known to have no iterations, or is in a loop that has none. Its waits may be gone then.
fn never_runs(around: Op<'_>) -> bool {
    let mut loops = std::iter::once(around).chain(around.ancestors());
    loops.any(|op| op.is(scf::FOR) && constant_trip_count(op) == Some(0))
}

/// Puts `original` back in the place of `around`, and says why.
fn leave_alone<'c>(around: Op<'c>, original: Op<'c>, error: PassError<'c>) {
    let remark = Diagnostic::remark(around, "is not pipelined");
    match error.into_diagnostic() {
        Some(why) => remark.because(why).emit(),
        None => remark.emit(),
    }
    original.move_before(around);
    if let Some(block) = original.region(0).first() {
        remove(original, block);
    }
    around.replace_with(&original.results().collect::<Vec<_>>());
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
        storage: &Storage<'c>,
        fewer: &mut Option<usize>,
    ) -> Result<Self, PassError<'c>> {
        let body = Body::new(around, block, schedule)?;
        let rotation = Rotation::of(&body)?;
        let mut versions = check(&body, &Accesses::of(&body), storage)?;
        if let Some(left) = fewer {
            match versions.get_mut(*left) {
                Some((_, count)) => {
                    *count -= 1;
                    *fewer = None;
                }
                None => *left -= versions.len(),
            }
        }
        let uses = storage.plan(&body, &versions)?;
        Ok(Self { body, rotation, uses })
    }

    fn carry_out(self, shape: Shape, storage: &mut Storage<'c>) {
        let Body { around, block, .. } = self.body;
        let outer = [gpux_attr::STAGE, gpux_attr::ORDER].map(|name| around.attr(name));
        remove(around, block);
        around.remove_attr(gpux_attr::STAGE);
        around.remove_attr(gpux_attr::ORDER);
        storage.enter(around, &self.uses);
        let bounds = around.operands().take(3);
        let constants = Constants::new(around, bounds);
        let slots = self.uses.slots(around, &constants);
        let expanded = expand(&self.body, &self.rotation, slots, &constants, shape);
        storage.make_bytes(&self.uses, &expanded.slots.made);
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
    array_elements(attribute).map_or(attribute, |parts| parts[i])
}
