//! Writes a solution into the IR: commits at slots, and waits in the place of awaits.

use super::block_wide_stores::BlockWideStores;
use crate::analysis::op_classifier::pending_limit_message;
use crate::analysis::skeleton::{Skeleton, SlotPlace};
use crate::analysis::token_origins::TokenOrigins;
use crate::utils::block_wide::{barrier, barrier_follows, next_with_effect};
use crate::utils::builders::new_else;
use crate::utils::op_templates::OpTemplates;
use async_dialects::completion::GroupQueue;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::{Count, Solution};

/// What was written.
#[derive(Default)]
pub(super) struct EmitStatistics<'c> {
    /// The waits of awaits.
    pub written: Vec<Op<'c>>,
    pub waits: u64,
    pub dropped: u64,
    pub commits: u64,
    pub barriers: u64,
}

/// Writes `solution`. Awaits in `silent` emit nothing. All of them are still there afterwards.
pub(super) fn emit<'c>(
    skeleton: &Skeleton<'c>,
    solution: &Solution,
    stores: &BlockWideStores<'c>,
    silent: &FxHashSet<Op<'c>>,
) -> EmitStatistics<'c> {
    let mut counts = EmitStatistics::default();
    let mut templates = OpTemplates::default();
    for (place, slot) in skeleton.slots.iter().zip(0..) {
        for (&queue, solved) in skeleton.queues.iter().zip(&solution.queues) {
            for _ in 0..solved.commits[slot] {
                commit(*place, queue, &mut templates);
                counts.commits += 1;
            }
        }
    }
    let escapes: FxHashSet<Op> = skeleton.escapes.iter().map(|(op, _)| *op).collect();
    let awaits = skeleton.awaits.iter().copied().zip(0..);
    let number: FxHashMap<Op, usize> = awaits
        .filter(|(op, _)| !escapes.contains(op) && !silent.contains(op))
        .collect();
    for (w, &op) in skeleton.awaits.iter().enumerate() {
        if escapes.contains(&op) {
            continue;
        }
        let mut waits = Vec::new();
        for (&queue, solved) in skeleton.queues.iter().zip(&solution.queues) {
            let both = [(false, solved.waits[w]), (true, solved.reads[w])];
            waits.extend(both.into_iter().filter_map(|(read, count)| {
                Some(Wait {
                    queue,
                    read,
                    count: count?,
                })
            }));
        }
        if silent.contains(&op) {
            continue;
        }
        counts.waits += waits.len() as u64;
        counts.dropped += u64::from(waits.is_empty());
        emit_waits(op, &waits, &mut templates, &mut counts.written);
        if stores.needs_barrier(w) {
            // Of awaits one right after the other, the barrier of the last one is enough.
            let follows = next_with_effect(op).and_then(|next| number.get(&next));
            let barrier_comes =
                barrier_follows(op) || follows.is_some_and(|next| stores.needs_barrier(*next));
            if !barrier_comes {
                barrier(op.location()).before(op);
                counts.barriers += 1;
            }
        }
    }
    counts.waits += stores.drain();
    remark_on_uneven(skeleton, solution);
    counts
}

/// A kind of commit, or of a wait: its queue, and what a wait is for.
type GroupKind = (GroupQueue, Option<(u8, bool)>);

fn commit<'c>(place: SlotPlace<'c>, queue: GroupQueue, templates: &mut OpTemplates<'c, GroupKind>) {
    let mut commit = |location| templates.clone_of((queue, None), location, || queue.commit(location));
    match place {
        SlotPlace::After(op) => commit(op.location()).move_after(op),
        SlotPlace::Start(block) => {
            let location = block.first().or(block.parent_op()).map(Op::location);
            if let Some(location) = location {
                block.prepend(commit(location));
            }
        }
        SlotPlace::NewElse(op) => {
            let known = op.region(1).first();
            let block = known.unwrap_or_else(|| new_else(op, &[]));
            block.prepend(commit(op.location()));
        }
    }
}

/// A wait of an await.
struct Wait {
    queue: GroupQueue,
    read: bool,
    count: Count,
}

/// Puts `waits` before the await `op`, and adds them to `written`.
fn emit_waits<'c>(
    op: Op<'c>,
    waits: &[Wait],
    templates: &mut OpTemplates<'c, GroupKind>,
    written: &mut Vec<Op<'c>>,
) {
    for &Wait { queue, read, count } in waits {
        let most = queue.max_pending();
        // Waiting for more than is meant is sound.
        let pending = count.n.min(most);
        let (kind, location) = ((queue, Some((pending, read))), op.location());
        let wait = templates.clone_of(kind, location, || queue.wait(location, pending, read));
        wait.move_before(op);
        wait.copy_discardable_attrs(op);
        written.push(wait);
        if count.clamped || count.n > most {
            Diagnostic::remark(op.location(), pending_limit_message(queue)).emit();
        }
    }
}

/// Removes the awaits, which [`emit`] has written waits for.
pub(super) fn remove_awaits<'c>(skeleton: &Skeleton<'c>, origins: &TokenOrigins, silent: &FxHashSet<Op<'c>>) {
    let escapes: FxHashSet<Op> = skeleton.escapes.iter().map(|(op, _)| *op).collect();
    for &op in skeleton.awaits.iter().filter(|op| !escapes.contains(op)) {
        if silent.contains(&op) {
            op.erase();
        } else {
            remove_await(op, skeleton, origins);
        }
    }
}

/// Removes the await `op`, which stays for tokens of other origin only.
fn remove_await<'c>(op: Op<'c>, skeleton: &Skeleton<'c>, origins: &TokenOrigins) {
    let foreign: Vec<Value> = op
        .operands()
        .filter(|value| origins.may_be_foreign(skeleton.tokens[value]))
        .collect();
    if foreign.is_empty() {
        op.erase();
    } else if foreign.len() < op.num_operands() {
        op.set_operands(&foreign);
    }
}

/// A remark on a search that its budget ended.
pub(super) fn remark_if_spent(function: Op, solution: &Solution) {
    if solution.spent {
        let message = "the search for places to commit ran out of its budget: every wait is exact for the commits that were made, \
                       but commits elsewhere might let some wait complete less";
        Diagnostic::remark(function.location(), message).emit();
    }
}

/// Remarks on branches whose arms can't commit equally many groups.
fn remark_on_uneven(skeleton: &Skeleton, solution: &Solution) {
    for slot in &solution.uneven {
        let location = match skeleton.slots[slot.0 as usize] {
            SlotPlace::After(op) | SlotPlace::NewElse(op) => Some(op.location()),
            SlotPlace::Start(block) => block.first().map(Op::location),
        };
        if let Some(location) = location {
            let message = "the paths that meet here commit different numbers of groups, and a loop of unknown trip count \
                           on one of them keeps them from being made equal; later waits may wait for more than they name";
            Diagnostic::remark(location, message).emit();
        }
    }
}
