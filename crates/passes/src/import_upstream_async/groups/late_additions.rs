//! Refuses tasks that await a group to which more may be added after the task has started.

use super::summaries::Uses;
use crate::utils::region_values::{self, RegionOpKind};
use async_mlir::control_flow::may_repeat;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::pass::PassError;

/// Returns an error if something may be added to `group` after `task`, which awaits it, has started.
pub(super) fn check<'c>(group: Value<'c>, task: Op<'c>, uses: &Uses<'c>) -> Result<(), PassError<'c>> {
    let message = "awaits a group to which more may be added after the task has started";
    let Some(create) = group.defining_op() else {
        return Err(
            PassError::new(task, message).note(group.location(), "the group is a function's argument")
        );
    };
    let later = |add: &&Op<'c>| !task.is_ancestor_of(**add) && may_follow(task, **add, create.block());
    match uses.adds.iter().find(later) {
        Some(add) => Err(PassError::new(task, message).note(*add, "here").note(
            task,
            "start the task after all is added, or await the group outside of it",
        )),
        None => Ok(()),
    }
}

/// Returns true unless `add` is known to come before `task` whenever both use the same group, which is made in `made_in`.
fn may_follow<'c>(task: Op<'c>, add: Op<'c>, made_in: Option<Block<'c>>) -> bool {
    let with_self = |op: Op<'c>| std::iter::once(op).chain(op.ancestors());
    for outer in with_self(task) {
        let Some(other) = with_self(add).find(|other| other.block() == outer.block()) else {
            continue;
        };
        // In the arms of a branch, only one of them executes.
        let before = if other == outer {
            region_values::region_op_kind(outer) == Some(RegionOpKind::Branch)
        } else {
            other.is_before_in_block(outer)
        };
        let again = outer.block() != made_in && outer.block().is_none_or(may_repeat);
        return !before || again;
    }
    true
}
