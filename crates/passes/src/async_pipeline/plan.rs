//! Checks the schedule of a loop, and plans what the loop becomes.

use super::accesses::Accesses;
use super::annotations::{Schedule, remove};
use super::body::{Body, Work};
use super::dependences::{FunctionInfo, check};
use super::expand::{Epilogue, Expanded, RotatingValues, Shape, expand};
use super::folding::Constants;
use super::spoiled::spoil;
use super::storage::{Storage, Uses};
use super::unawaited_reads::UnawaitedRead;
use crate::utils::verify_result::{check_pipeline, check_schedule, check_versions};
use async_dialects::names::gpux_attr;
use async_mlir::ir::{Block, Op, Use};
use async_mlir::melior::ir::Attribute;
use async_mlir::pass::{CheckTimer, PassError};
use async_mlir::types::array_elements;
use async_verify::pipeline::{self, Written};

/// What is to become of a loop.
pub(super) struct Plan<'c> {
    pub body: Body<'c>,
    rotating_values: RotatingValues,
    pub uses: Uses<'c>,
    unawaited: Vec<UnawaitedRead<'c>>,
}

impl<'c> Plan<'c> {
    /// Checks a schedule, and plans the loop that follows it.
    pub fn of(
        around: Op<'c>,
        block: Block<'c>,
        schedule: &Schedule<'c>,
        (function, storage): (&FunctionInfo<'c>, &Storage<'c>),
        epilogue: Epilogue,
        fewer: &mut Option<usize>,
    ) -> Result<Self, PassError<'c>> {
        let body = Body::new(around, block, schedule)?;
        let rotating_values = RotatingValues::of(&body, epilogue)?;
        let (mut versions, unawaited) = check(&body, &Accesses::of(&body), storage, function)?;
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
        Ok(Self {
            body,
            rotating_values,
            uses,
            unawaited,
        })
    }

    /// Writes the pipelined loop, and erases the plain one. If there are `checks`, what was written is checked before that.
    pub fn carry_out(
        self,
        shape: Shape,
        storage: &mut Storage<'c>,
        marked: bool,
        checks: Option<CheckTimer<'c>>,
        change: &mut Option<usize>,
    ) -> Result<(), PassError<'c>> {
        self.unawaited.iter().for_each(UnawaitedRead::warn);
        let Body { around, block, .. } = &self.body;
        let (around, block) = (*around, *block);
        let outer = [gpux_attr::STAGE, gpux_attr::ORDER].map(|name| around.attr(name));
        remove(around, block);
        around.remove_attr(gpux_attr::STAGE);
        around.remove_attr(gpux_attr::ORDER);
        storage.enter(around, &self.uses);
        let bounds = around.operands().take(3);
        let constants = Constants::new(around, bounds);
        let slots = self.uses.slots(around, &constants);
        let schedule = match checks {
            Some(timer) => Some(timer.time(|| {
                let schedule = self.schedule();
                check_schedule(&schedule, &storage.checked).map(|()| schedule)
            })?),
            None => None,
        };
        let replaced = Replaced::of(around);
        let expanded = expand(&self.body, &self.rotating_values, slots, &constants, shape);
        spoil(&replaced.by(), around, change);
        let ops = replaced.by();
        if let (Some(schedule), Some(timer)) = (schedule, checks) {
            let written = Written {
                schedule,
                ops: ops.clone(),
                uses: replaced.uses,
                copies: expanded.copies.clone(),
                kernel: expanded.kernel.map(|kernel| (kernel, expanded.carried.clone())),
            };
            timer.time(|| check_pipeline(&written))?;
        }
        if around.block().is_none() {
            around.erase();
        }
        storage.make_bytes(&self.uses, &expanded.slots.made);
        if let Some(timer) = checks {
            let versions = self.uses.versions();
            timer.time(|| check_versions(versions.values(), &ops, &mut storage.checked))?;
        }
        if let [Some(stage), Some(order)] = outer {
            annotate(&expanded, stage, order);
        }
        if let Some(kernel) = expanded.kernel.filter(|_| marked) {
            kernel.set_attr(gpux_attr::KERNEL, Attribute::unit(kernel.context()));
        }
        Ok(())
    }

    /// The schedule, for its check.
    fn schedule(&self) -> pipeline::Schedule<'c> {
        let steps = self.body.steps.iter();
        let statements = steps.filter_map(|step| match step.work {
            Work::Op(op) => Some((op, self.body.problem.statements[step.statement].stage)),
            Work::Yield(..) => None,
        });
        pipeline::Schedule {
            plain: self.body.around,
            statements: statements.collect(),
            versions: self.uses.versions(),
        }
    }
}

/// Where a loop stands that is about to be replaced.
struct Replaced<'c> {
    before: Option<Op<'c>>,
    block: Option<Block<'c>>,
    after: Option<Op<'c>>,
    /// What uses its results, by their numbers.
    uses: Vec<(usize, Use<'c>)>,
}

impl<'c> Replaced<'c> {
    fn of(around: Op<'c>) -> Self {
        let uses = around.results().enumerate();
        let uses = uses.flat_map(|(i, result)| result.uses().into_iter().map(move |used| (i, used)));
        Self {
            before: around.prev(),
            block: around.block(),
            after: around.next(),
            uses: uses.collect(),
        }
    }

    /// What stands there now.
    fn by(&self) -> Vec<Op<'c>> {
        let first = match self.before {
            Some(before) => before.next(),
            None => self.block.and_then(Block::first),
        };
        let ops = std::iter::successors(first, |op| op.next());
        ops.take_while(|op| Some(*op) != self.after).collect()
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
pub(super) fn part_of(attribute: Attribute<'_>, i: usize) -> Attribute<'_> {
    array_elements(attribute).map_or(attribute, |parts| parts[i])
}
