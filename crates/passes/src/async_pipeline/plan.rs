//! The steps that a loop goes through.

use super::accesses::Accesses;
use super::annotations::{Request, Schedule, read, remove, slots};
use super::body::Body;
use super::dependences::{Function, check};
use super::expand::{Expanded, Rotation, Shape, expand};
use super::integers::Constants;
use super::memory::Memory;
use super::staging::{Nothing, stage};
use super::storage::{Storage, Uses};
use super::transfers::start_in_stages;
use crate::async_to_gpux::{Options, start_transfers};
use crate::insert_barriers::derived_anew;
use async_dialects::names::gpux_attr;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Op};
use async_mlir::melior::ir::Attribute;
use async_mlir::pass::PassError;
use async_mlir::types::array_elements;
use rustc_hash::FxHashSet;

/// Pipelines the loops of a function.
pub(super) struct Pipeliner<'c> {
    function: Function<'c>,
    options: Options,
    shape: Shape,
    memory: Memory,
    /// The barriers that are derived anew.
    barriers: FxHashSet<Op<'c>>,
    /// The versions of buffers.
    pub storage: Storage<'c>,
    /// How many loops were pipelined.
    pub pipelined: u64,
    /// How many barriers went with them.
    pub dropped: usize,
}

impl<'c> Pipeliner<'c> {
    pub fn new(function: Op<'c>, options: Options, shape: Shape, memory: Memory) -> Self {
        Self {
            function: Function::new(function),
            options,
            shape,
            memory,
            barriers: derived_anew(function),
            storage: Storage::default(),
            pipelined: 0,
            dropped: 0,
        }
    }

    /// Pipelines `around` if it is to be.
    pub fn pipeline(&mut self, around: Op<'c>) -> Result<(), PassError<'c>> {
        let Some(block) = around.region(0).first() else {
            return Ok(());
        };
        match read(around, block)? {
            None => {}
            Some(Request::Annotated(async_stages)) => {
                start_in_stages(self.function.op, block, self.options, &async_stages);
                let dropped = self.drop_barriers(block);
                let plan = Plan::of(around, block, &slots(block)?, (&self.function, &self.storage))?;
                self.memory.check(around, &plan.uses)?;
                self.carry_out(plan, dropped);
            }
            Some(Request::Automatic(stages)) => {
                // It comes back if the loop can't be pipelined.
                let original = around.clone_detached();
                start_transfers(self.function.op, block, self.options);
                let dropped = self.drop_barriers(block);
                match self.plan(around, block, stages) {
                    Ok(plan) => {
                        self.carry_out(plan, dropped);
                        original.erase();
                    }
                    Err(Refusal::Error(error)) => return Err(error),
                    Err(Refusal::LeftAlone(error)) => leave_alone(around, original, error),
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
    fn plan(&self, around: Op<'c>, block: Block<'c>, stages: u32) -> Result<Plan<'c>, Refusal<'c>> {
        let mut fewer = stages;
        loop {
            let staged = stage(block, fewer).map_err(|Nothing(why)| PassError::new(around, why));
            let staged = staged.map_err(Refusal::LeftAlone)?;
            let plan = Plan::of(around, block, &staged.schedule, (&self.function, &self.storage));
            let plan = plan.map_err(Refusal::LeftAlone)?;
            match self.memory.check(around, &plan.uses) {
                Ok(()) => {
                    report(around, (fewer, stages), &staged.transfers);
                    return Ok(plan);
                }
                Err(error) if !self.memory.fewer_stages => return Err(Refusal::Error(error)),
                Err(error) if fewer == 2 => return Err(Refusal::LeftAlone(error)),
                Err(_) => fewer -= 1,
            }
        }
    }

    fn carry_out(&mut self, plan: Plan<'c>, dropped: usize) {
        plan.carry_out(self.shape, &mut self.storage);
        self.pipelined += 1;
        self.dropped += dropped;
    }
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

/// Why a loop that asked for stages is not pipelined.
enum Refusal<'c> {
    /// The pass fails.
    Error(PassError<'c>),
    /// The loop stays as it is.
    LeftAlone(PassError<'c>),
}

/// Says what was done with a loop that asked for stages.
fn report(around: Op<'_>, (stages, wanted): (u32, u32), transfers: &[usize]) {
    let started = transfers.iter().enumerate().filter(|(_, number)| **number > 0);
    let started = started.map(|(stage, number)| {
        let plural = if *number == 1 { "" } else { "s" };
        format!("{number} transfer{plural} in stage {stage}")
    });
    let started = started.collect::<Vec<String>>().join(", ");
    let mut message = format!("pipelined: {started}, the rest in stage {}", stages - 1);
    if stages < wanted {
        let more = stages + 1;
        message += &format!("; has {stages} stages instead of {wanted}, since memory is too small for {more}");
    }
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
        (function, storage): (&Function<'c>, &Storage<'c>),
    ) -> Result<Self, PassError<'c>> {
        let body = Body::new(around, block, schedule)?;
        let rotation = Rotation::of(&body)?;
        let versions = check(&body, &Accesses::of(&body), storage, function)?;
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
