//! Remarks: how many barriers went and came, what each is for, and where one could be saved.

use super::{UNKNOWN_BLOCK_SIZE, kept_barriers};
use crate::analysis::barrier_graph::BarrierGraph;
use async_dialects::completion::{Completion, ExecutionScope};
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::block_size;
use async_mlir::ir::Op;
use rustc_hash::FxHashSet;
use tokenflow::barriers::{AccessKind, Placement, saved_by_sinking_issues};

/// Says how many barriers were dropped and inserted in `function`.
pub(super) fn summary(function: Op<'_>, inserted: usize, dropped: usize, kept: usize) {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let kept = match kept {
        0 => String::new(),
        n => format!("; {n} stay{}", if n == 1 { "s" } else { "" }),
    };
    let message = format!(
        "block barriers for workgroup memory: dropped {dropped} barrier{}, inserted {inserted}{kept}",
        plural(dropped)
    );
    Diagnostic::remark(function.location(), message).emit();
}

/// Says what each barrier is for.
pub(super) fn barriers(graph: &BarrierGraph, placement: &Placement) {
    for (step, reason) in &placement.barriers {
        let verb = |access| match graph.kernel.accesses[access].kind {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Atomic => "updates",
        };
        let (first, second) = (graph.accesses[reason.first.1], graph.accesses[reason.second.1]);
        let at = graph.ops[*step];
        let end = graph.ops[reason.first.0];
        let remark = Diagnostic::remark(
            at.location(),
            "a barrier comes before this: without it, the two accesses below are not ordered",
        );
        let message = format!(
            "'{}' {} what another thread accesses later",
            first.name(),
            verb(reason.first.1)
        );
        let remark = remark.note(first.location(), message);
        let remark = if end == first {
            remark
        } else {
            let together =
                Completion::of(first).is_some_and(|completion| completion.scope == ExecutionScope::Block);
            let whom = if together {
                "it is complete here, for the threads that await it"
            } else {
                "it is complete here, for the thread that issued it"
            };
            remark.note(end.location(), whom)
        };
        let message = format!("'{}' {} it", second.name(), verb(reason.second.1));
        remark.note(second.location(), message).emit();
    }
}

/// Says why barriers stay, where that is for memory that is not the workgroup's or for a fence.
pub(super) fn kept<'c>(function: Op<'c>, graph: &BarrierGraph<'c>, kept: &FxHashSet<Op<'c>>) {
    let barriers = graph.barriers.iter().map(|(_, op)| *op);
    for barrier in barriers.filter(|op| kept.contains(op)) {
        if kept_barriers::is_beside_fence(barrier) {
            let message = "this barrier stays: it belongs to the fence beside it";
            Diagnostic::remark(barrier.location(), message).emit();
        } else if let Some((first, second)) = kept_barriers::what_it_orders(graph, barrier) {
            let message = "this barrier stays: it may order the two accesses below, of memory that is not the workgroup's";
            let remark = Diagnostic::remark(barrier.location(), message)
                .note(first.location(), "before it")
                .note(second.location(), "after it, perhaps by another thread");
            let is_known = block_size(function).is_some();
            let remark = if is_known {
                remark
            } else {
                remark.note(function.location(), UNKNOWN_BLOCK_SIZE)
            };
            remark.emit();
        }
    }
}

/// Says where loops need fewer barriers if copies are issued after the first await instead of before.
pub(super) fn later_issues(graph: &BarrierGraph, placement: &Placement) {
    for saving in saved_by_sinking_issues(&graph.kernel, placement) {
        let message = format!(
            "moving this after the await would save {} of the {} block barriers in this loop",
            saving.saved, saving.barriers
        );
        let remark = Diagnostic::remark(graph.ops[saving.issue].location(), message);
        remark
            .note(
                graph.ops[saving.wait].location(),
                "the await: one barrier right after it is then enough",
            )
            .emit();
    }
}
