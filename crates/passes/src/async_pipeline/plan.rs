//! What a loop becomes, once it is known when its operations are executed.

use super::accesses::Accesses;
use super::annotations::{Schedule, remove};
use super::body::Body;
use super::dependences::{Function, check};
use super::early_reads::EarlyRead;
use super::expand::{Epilogue, Expanded, Rotation, Shape, expand};
use super::integers::Constants;
use super::storage::{Storage, Uses};
use async_dialects::names::gpux_attr;
use async_mlir::ir::{Block, Op};
use async_mlir::melior::ir::Attribute;
use async_mlir::pass::PassError;
use async_mlir::types::array_elements;

/// What is to become of a loop.
pub(super) struct Plan<'c> {
    pub body: Body<'c>,
    rotation: Rotation,
    pub uses: Uses<'c>,
    early: Vec<EarlyRead<'c>>,
}

impl<'c> Plan<'c> {
    /// Checks a schedule, and plans the loop that follows it.
    pub fn of(
        around: Op<'c>,
        block: Block<'c>,
        schedule: &Schedule<'c>,
        (function, storage): (&Function<'c>, &Storage<'c>),
        epilogue: Epilogue,
        fewer: &mut Option<usize>,
    ) -> Result<Self, PassError<'c>> {
        let body = Body::new(around, block, schedule)?;
        let rotation = Rotation::of(&body, epilogue)?;
        let (mut versions, early) = check(&body, &Accesses::of(&body), storage, function)?;
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
            rotation,
            uses,
            early,
        })
    }

    pub fn carry_out(self, shape: Shape, storage: &mut Storage<'c>, marked: bool) {
        self.early.iter().for_each(EarlyRead::warn);
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
        if let Some(kernel) = expanded.kernel.filter(|_| marked) {
            kernel.set_attr(gpux_attr::KERNEL, Attribute::unit(kernel.context()));
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
pub(super) fn part_of(attribute: Attribute<'_>, i: usize) -> Attribute<'_> {
    array_elements(attribute).map_or(attribute, |parts| parts[i])
}
