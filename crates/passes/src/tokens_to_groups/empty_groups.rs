//! Remarks on commits of the input whose group may be empty, where an empty group is not free.
//!
//! No commit that the pass inserts on such a queue closes an empty group on any path. One of the input may, such as a commit after a
//! branch that multiplies in one arm: a remark says so. There is none
//!
//! - for a commit after a loop that may not run: where the loop issues is not the place for it;
//! - for a commit that nothing known ever goes to, and in functions with calls, which may issue what it closes.

use crate::analysis::skeleton::Skeleton;
use crate::utils::device::own_ops;
use async_mlir::calls::is_call;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use tokenflow::{Queue, sometimes_empty};

/// Remarks on the commits in `function`.
pub(super) fn remark(function: Op<'_>, skeleton: &Skeleton<'_>) {
    let queues = (0..).map(Queue).zip(&skeleton.queues);
    let mut costly = queues
        .filter(|(_, queue)| !queue.has_free_empty_groups())
        .peekable();
    if skeleton.commits.is_empty() || costly.peek().is_none() || own_ops(function).into_iter().any(is_call) {
        return;
    }
    for (number, queue) in costly {
        for commit in sometimes_empty(&skeleton.program, number) {
            let location = skeleton.commits[commit].location();
            let message = format!(
                "may commit an empty group, which is not free on queue {}: on some path, nothing is issued before it since the last \
                 commit",
                queue.name()
            );
            let help = "commit in the branch that issues";
            Diagnostic::remark(location, message).note(location, help).emit();
        }
    }
}
