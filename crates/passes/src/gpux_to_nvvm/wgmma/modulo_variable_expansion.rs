//! Unrolls loops whose accumulators in flight take each other's places at the end of an iteration.
//!
//! The values that a loop carries are registers, which are written at the end of each iteration. `ptxas` leaves an accumulator in flight where it
//! is only if it stays in its place: added to what was there. Else it waits for the multiplication first, and moves the registers
//! (C7506 to C7520). Unrolled as often as it takes until each is in its place again (modulo variable expansion: Lam, PLDI 1988), the loop
//! moves nothing. The iterations that are left over after the unrolled loop are few: each of them waits for all that is in flight.
//!
//! A loop that can't be unrolled, or would have to be unrolled too often, stays as it is: a remark says so. Where all are complete at the end of
//! an iteration, those that change places are moved there.

mod unroll_factor;

use self::unroll_factor::{CarriedValue, CarriedValues, OlderGroups, Update};
use super::fragments::{InFlight, in_flight, is_commit, is_full_wait, is_wait, loop_body};
use super::registers::Registers;
use super::{first_addend, is_accumulator};
use crate::analysis::thread_values::IterArgs;
use crate::utils::builders::{compare, new_else};
use async_dialects::names::{gpux, gpux_attr};
use async_dialects::types::queue_attribute;
use async_mlir::arith::Predicate;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Op, OpBuilder, Value, int_attr};
use async_mlir::loops;
use async_mlir::names::scf;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;

/// Unrolls the loops around the `multiplications` of a function, in counted form, in which accumulators in flight take turns. Returns how many it unrolls;
/// handles to these and to what is in them may be dangling afterwards.
pub(in super::super) fn unroll(multiplications: &[Op<'_>]) -> u64 {
    let mut seen = FxHashSet::default();
    let around = multiplications.iter().filter_map(|op| op.parent());
    let mut found: Vec<Op> = around.filter(|op| op.is(scf::FOR) && seen.insert(*op)).collect();
    // Inner loops first: an outer one that is unrolled clones them.
    found.sort_by_cached_key(|op| Reverse(op.ancestors().count()));
    let open_groups = leave_groups_open(multiplications);
    let unrolled = found.into_iter().filter_map(|op| {
        let carried = LoopCarried::of(op)?;
        let Some(factor) = carried.values.factor() else {
            if !open_groups {
                carried.move_complete();
            }
            return None;
        };
        let loops = loops::unroll(op, factor)?;
        // Before a loop around it is unrolled, which clones it.
        if let Some(remainder) = loops.remainder {
            let remainder = if factor == 2 {
                run_once(remainder)
            } else {
                remainder
            };
            settle(remainder, open_groups);
        }
        Some(loops)
    });
    unrolled.count() as u64
}

/// Returns true if a block of `multiplications` may end, or a loop or branch in it begin, before the group of one of them is committed.
fn leave_groups_open(multiplications: &[Op<'_>]) -> bool {
    let multiplications = multiplications.iter().filter(|op| op.is(gpux::WGMMA));
    let mut blocks: FxHashSet<Block> = multiplications.filter_map(|op| op.block()).collect();
    blocks.drain().any(|block| {
        let mut open = false;
        block.ops().into_iter().any(|op| {
            open = op.is(gpux::WGMMA) || open && !is_commit(op);
            open && (op.num_regions() > 0 || op.is_terminator())
        })
    })
}

/// Puts an `scf.if` in the place of `remainder`, a loop of one iteration at most.
fn run_once(remainder: Op<'_>) -> Op<'_> {
    let location = remainder.location();
    let [lower, upper] = [0, 1].map(|bound| remainder.operand(bound));
    let carried: Vec<Value> = remainder.operands().skip(3).collect();
    let types: Vec<_> = carried.iter().map(|value| value.ty()).collect();
    let enters = compare(location, Predicate::SignedLess, lower, upper).before(remainder);
    let branch = OpBuilder::new(scf::IF, location)
        .operands(&[enters.result(0)])
        .results(&types)
        .regions(2)
        .before(remainder);
    branch.region(0).take_body(remainder.region(0));
    if let Some(body) = branch.region(0).first() {
        let mut values = vec![lower];
        values.extend(&carried);
        for (i, value) in values.into_iter().enumerate().rev() {
            body.arg(i).replace_all_uses_with(value);
            body.erase_arg(i);
        }
    }
    new_else(branch, &carried);
    let results: Vec<Value> = branch.results().collect();
    remainder.replace_with(&results);
    branch
}

/// Has nothing in flight where `remainder`, a loop or branch, begins, and at the end of an iteration, where accumulators are moved. With
/// `open_groups`, multiplications that are not committed may be in flight there.
fn settle(remainder: Op<'_>, open_groups: bool) {
    wait_for_all(remainder, open_groups);
    let Some(body) = remainder.region(0).first() else {
        return;
    };
    // ptxas does not take a wait that leaves something in flight, and one for the rest, for a wait for all (C7515).
    let ops = body.ops();
    for wait in ops.iter().filter(|op| is_wait(**op)) {
        wait.set_attr(gpux_attr::PENDING, int_attr(wait.context(), 32, 0));
    }
    let Some(end) = body.terminator() else { return };
    let multiplies_after = |is_last: fn(Op<'_>) -> bool| {
        let after = ops.iter().rev().take_while(|op| !is_last(**op));
        let mut after = after.flat_map(|op| op.self_and_nested());
        after.any(|op| op.is(gpux::WGMMA))
    };
    if open_groups || multiplies_after(is_wait) {
        wait_for_all(end, open_groups && multiplies_after(is_commit));
    }
    let places = end.operands().enumerate();
    let accumulators: Vec<usize> = places
        .filter(|(_, value)| is_accumulator(*value))
        .map(|(place, _)| place)
        .collect();
    for place in accumulators {
        move_to_new_registers(end, place);
    }
}

/// Waits for all that is in flight, before `op`: for multiplications that are not committed as well, with `open_groups`. These are committed.
/// To have one more commit before a wait for all changes the meaning of no wait.
fn wait_for_all(op: Op<'_>, open_groups: bool) {
    let context = op.context();
    let queue = queue_attribute(context, "wgmma");
    if open_groups {
        OpBuilder::new(gpux::COMMIT_GROUP, op.location())
            .attr(gpux_attr::QUEUE, queue)
            .before(op);
    }
    OpBuilder::new(gpux::WAIT_GROUP, op.location())
        .attr(gpux_attr::QUEUE, queue)
        .attr(gpux_attr::PENDING, int_attr(context, 32, 0))
        .before(op);
}

/// Moves the accumulator that `end`, the end of an iteration, hands on in `place` to other registers before it: LLVM would move it between
/// multiplications.
fn move_to_new_registers(end: Op<'_>, place: usize) {
    let matrix = end.operand(place);
    let Some(registers) = Registers::of(matrix.ty(), end.context()) else {
        return;
    };
    let numbers = OpBuilder::new(gpux::READ_FRAGMENT, end.location())
        .operands(&[matrix])
        .results(&[registers.fragment()])
        .before(end);
    let written = OpBuilder::new(gpux::WRITE_FRAGMENT, end.location())
        .operands(&[numbers.result(0)])
        .results(&[matrix.ty()])
        .before(end);
    end.set_operand(place, written.result(0));
}

/// Remarks on what is in flight at the end of `block`, the body of a loop, and goes to another place.
pub(super) fn remark(block: Block<'_>) {
    let parent = block
        .parent_op()
        .filter(|parent| loop_body(*parent) == Some(block));
    let Some(carried) = parent.and_then(LoopCarried::of) else {
        return;
    };
    for (to, from) in carried.values.moved() {
        let message = format!(
            "is in flight where it takes the place of another accumulator, from {from} to {to} of those values that the loop carries: \
             ptxas waits for it and moves its registers"
        );
        Diagnostic::remark(carried.multiplication(to).location(), message).emit();
    }
}

/// What an `scf.for` or an `scf.while` hands from iteration to iteration.
struct LoopCarried<'c> {
    end: Op<'c>,
    /// The multiplication of the iteration that made each of the values last.
    last: Vec<Option<Op<'c>>>,
    values: CarriedValues,
}

impl<'c> LoopCarried<'c> {
    /// `None` if `op` is no such loop, or has no accumulators.
    fn of(op: Op<'c>) -> Option<Self> {
        let block = loop_body(op)?;
        let iter_args = IterArgs::new(op)?;
        let end = block.terminator()?;
        if !end.operands().any(is_accumulator) {
            return None;
        }
        let InFlight { left, .. } = in_flight(block);
        let (last, values) = end
            .operands()
            .map(|value| {
                let last = value.defining_op().filter(|op| op.is(gpux::WGMMA));
                let place = CarriedValue {
                    from: place(&iter_args, value),
                    update: last.map_or(Update::Unchanged, |op| {
                        left.get(&op)
                            .map_or(Update::Complete, |younger| Update::InFlight(*younger))
                    }),
                };
                (last, place)
            })
            .unzip();
        let values = CarriedValues {
            values,
            older: older(block),
        };
        Some(Self { end, last, values })
    }

    /// Moves accumulators that go to other places of the loop, if all are complete where an iteration ends and each group is committed in the
    /// block of its multiplications: moved between multiplications, they would be serialized (C7514).
    fn move_complete(&self) {
        let ops = self.end.block().map(Block::ops).unwrap_or_default();
        let after_wait = ops.iter().rev().take_while(|op| !is_full_wait(**op));
        let mut after_wait = after_wait.flat_map(|op| op.self_and_nested());
        if !ops.iter().any(|op| is_full_wait(*op)) || after_wait.any(|op| op.is(gpux::WGMMA)) {
            return;
        }
        let places = self.values.values.iter().enumerate();
        let to_move = places.filter(|(to, value)| value.from.is_some_and(|from| from != *to));
        for (place, _) in to_move {
            move_to_new_registers(self.end, place);
        }
    }

    /// The multiplication that made what is in this place at the end of an iteration, this one or one before.
    fn multiplication(&self, place: usize) -> Op<'c> {
        let mut chain = self.values.chain(place);
        chain.find_map(|place| self.last[place]).unwrap_or(self.end)
    }
}

/// What `block` does to groups that were in flight before it. What is nested in it commits and awaits nothing for sure.
fn older(block: Block<'_>) -> OlderGroups {
    let mut older = OlderGroups::default();
    for op in block.ops() {
        if is_commit(op) {
            older.commit();
        } else if let Some(pending) = op.int_attr(gpux_attr::PENDING).filter(|_| is_wait(op)) {
            older.wait(pending);
        }
    }
    older
}

/// Which of the values that the loop carries the accumulator `value` was before this iteration, and is added to.
fn place<'c>(iter_args: &IterArgs<'c>, value: Value<'c>) -> Option<usize> {
    iter_args.place_of(first_addend(value))
}
