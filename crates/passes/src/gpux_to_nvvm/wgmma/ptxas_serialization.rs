//! Remarks on multiplications in flight where `ptxas` waits for them, or has them wait for each other, which PTX does not ask for.
//!
//! It keeps an accumulator in flight in its registers through straight code and around a loop that hands it on in its place. Where a
//! branch ends that multiplies and leaves that in flight, where blocks hand accumulators on in other places, where a sum is multiplied as it is,
//! where one is read that was in flight around a loop while another one is, and around what calls a function in machine code, it adds fences, or serializes (C7510 to C7520).

use super::fragments::{in_flight, is_full_wait, is_wait, loop_body};
use super::{first_addend, is_accumulator};
use async_dialects::names::gpux;
use async_mlir::control_flow::branch_edges;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::{cf, gpu, nvgpu, scf};

/// Remarks on what is in flight in `block`, in counted form.
pub(super) fn remark(block: Block<'_>) {
    let ops = block.ops();
    if ops.iter().any(|op| op.is(gpux::WGMMA)) {
        remark_on_sums(&ops);
        remark_on_calls(&ops);
        remark_on_reads(block, &ops);
    }
    if is_left_by_arm(block) {
        let Some(last) = last_in_flight(block) else { return };
        let message = "is in flight where the branch ends that it is in: ptxas adds a fence there, or serializes multiplications";
        let remark = Diagnostic::remark(last.location(), message);
        remark
            .note(last.location(), "await it in the branch, or right after it")
            .emit();
    } else if hands_on_elsewhere(block)
        && let Some(last) = last_in_flight(block)
    {
        let message = "is in flight where a block hands an accumulator on in another place: ptxas waits for it and moves its registers";
        Diagnostic::remark(last.location(), message).emit();
    }
}

/// The last multiplication that may be in flight where `block` ends, in it or in a loop in it.
fn last_in_flight(block: Block<'_>) -> Option<Op<'_>> {
    let ops = block.ops();
    let left = in_flight(block).left;
    let direct = ops.iter().rev().find(|op| left.contains_key(op)).copied();
    direct.or_else(|| {
        let after_wait = ops.into_iter().rev().take_while(|op| !is_full_wait(*op));
        after_wait.filter_map(loop_body).find_map(last_in_flight)
    })
}

/// Remarks on multiplications among `ops` whose A is a sum in its registers.
fn remark_on_sums(ops: &[Op<'_>]) {
    for op in ops.iter().filter(|op| op.is(gpux::WGMMA)) {
        if op.operand(0).defining_op().is_some_and(|a| a.is(gpux::WGMMA)) {
            let message = "multiplies the sum of another multiplication: ptxas serializes them";
            let help = "read it with gpux.read_fragment, and write the numbers with gpux.write_fragment";
            Diagnostic::remark(op.location(), message)
                .note(op.location(), help)
                .emit();
        }
    }
}

/// Remarks on calls in machine code among `ops`, of one block: where something is in flight, or in a loop that multiplies.
fn remark_on_calls(ops: &[Op<'_>]) {
    let is_repeated = |op: &Op| op.ancestors().any(|around| loop_body(around).is_some());
    let mut pending = ops
        .iter()
        .copied()
        .find(|op| op.is(gpux::WGMMA) && is_repeated(op));
    for &op in ops {
        if op.is(gpux::WGMMA) {
            pending = pending.or(Some(op));
        } else if is_full_wait(op) {
            pending = pending.filter(is_repeated);
        } else if let Some(multiplication) = pending.filter(|_| matches!(op.name(), cf::ASSERT | gpu::PRINTF))
        {
            let message = format!(
                "is serialized by ptxas: '{}' may call a function where the multiplication is in flight, or in its loop",
                op.name()
            );
            let remark = Diagnostic::remark(multiplication.location(), message);
            remark
                .note(
                    op.location(),
                    "the call: leave it out, or put it where nothing is multiplied",
                )
                .emit();
        }
    }
}

/// Remarks on reads among `ops`, those of `block`, of what was in flight where an iteration began, where something else still is.
fn remark_on_reads<'c>(block: Block<'c>, ops: &[Op<'c>]) {
    let Some(end) = end_of_iteration(block) else {
        return;
    };
    let left = in_flight(block).left;
    let first = block.args().count().saturating_sub(end.num_operands());
    let crosses = |value: Value<'c>| match value.definition() {
        Definition::Argument(home, at) if home == block && is_accumulator(value) && at >= first => {
            let next = end.operand(at - first).defining_op();
            next.is_some_and(|op| left.contains_key(&op))
        }
        _ => false,
    };
    let reads = ops.iter().take_while(|op| !is_full_wait(**op));
    let mut reads = reads.filter(|op| op.is(gpux::READ_FRAGMENT) || op.is(nvgpu::WARPGROUP_MMA_STORE));
    if let Some(read) = reads.find(|op| crosses(op.operand(0))) {
        let message = "reads a sum that was in flight where the iteration began, and something else still is: ptxas serializes \
                       multiplications";
        let help = "wait for all before, or read it in the iteration that multiplies";
        Diagnostic::remark(read.location(), message)
            .note(read.location(), help)
            .emit();
    }
}

/// The terminator of `block` if it is the body of a loop.
fn end_of_iteration(block: Block<'_>) -> Option<Op<'_>> {
    let is_body = block.parent_op().and_then(loop_body) == Some(block);
    is_body.then(|| block.terminator())?
}

/// Returns true if `block` is one of several that an operation may execute, and what it leaves in flight is not awaited next after that,
/// or accumulators take turns after the wait: `ptxas` moves them before it.
fn is_left_by_arm(block: Block<'_>) -> bool {
    let branch = block
        .parent_op()
        .filter(|op| matches!(op.name(), scf::IF | scf::INDEX_SWITCH));
    let Some(branch) = branch else { return false };
    let mut after = std::iter::successors(branch.next(), |op| op.next());
    let next = after.find(|op| op.is(gpux::WGMMA) || op.num_regions() > 0 || is_wait(*op));
    !next.is_some_and(is_full_wait) || branch.block().is_some_and(has_turns)
}

/// Returns true if `block`, the body of a loop, hands one of its arguments on as another one, and both are accumulators.
fn has_turns(block: Block<'_>) -> bool {
    let mut handed_on = end_of_iteration(block).into_iter().flat_map(|end| {
        let first = block.args().count().saturating_sub(end.num_operands());
        end.operands()
            .enumerate()
            .map(move |(i, value)| (first + i, value))
    });
    handed_on.any(|(to, value)| match value.definition() {
        Definition::Argument(home, from) => is_accumulator(value) && home == block && from != to,
        Definition::Result(..) => false,
    })
}

/// Returns true if a branch at the end of `block` hands what an argument of its target was, or is added to, to another one.
fn hands_on_elsewhere(block: Block<'_>) -> bool {
    let edges = block.terminator().and_then(branch_edges).unwrap_or_default();
    let mut handed_on = edges.iter().flat_map(|edge| &edge.bindings);
    handed_on.any(|&(from, to)| {
        is_accumulator(to)
            && match (first_addend(from).definition(), to.definition()) {
                (Definition::Argument(home, old), Definition::Argument(target, new)) => {
                    home == target && old != new
                }
                _ => false,
            }
    })
}
