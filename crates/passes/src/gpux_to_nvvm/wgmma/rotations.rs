//! Accumulators in flight that take each other's places at the end of an iteration.
//!
//! The values that a loop carries are registers, which are written at the end of each iteration. `ptxas` leaves an accumulator in flight where it
//! is only if it stays in its place: added to what was there. Else it waits for the multiplication first, and moves the registers
//! (C7506 to C7520). Unrolled as often as it takes until each is in its place again, the loop moves nothing. A remark says so.

use super::fragments::{InFlight, in_flight};
use super::is_accumulator;
use async_dialects::names::gpux;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::scf;

/// Remarks on what is in flight at the end of `block`, the body of a loop, and goes to another place.
pub(super) fn remark(block: Block<'_>) {
    let Some(end) = block.terminator().filter(|end| end.is(scf::YIELD)) else {
        return;
    };
    let is_loop = end.parent().is_some_and(|outer| outer.is(scf::FOR));
    if !is_loop || !end.operands().any(is_accumulator) {
        return;
    }
    let InFlight { left, .. } = in_flight(block);
    for (i, value) in end
        .operands()
        .enumerate()
        .filter(|(_, value)| is_accumulator(*value))
    {
        let Some(multiplication) = value.defining_op().filter(|op| left.contains(op)) else {
            continue;
        };
        // The induction variable comes first.
        if let Some(place) = place(block, value).filter(|place| *place != i + 1) {
            let message = format!(
                "is in flight where it takes the place of another accumulator, from {} to {} of those values that the loop carries: \
                 ptxas waits for it and moves its registers",
                place - 1,
                i
            );
            Diagnostic::remark(multiplication.location(), message).emit();
        }
    }
}

/// Which argument of `block` the accumulator `value` is added to.
fn place<'c>(block: Block<'c>, mut value: Value<'c>) -> Option<usize> {
    loop {
        match value.definition() {
            Definition::Argument(of, number) => return (of == block).then_some(number),
            Definition::Result(op, _) if op.is(gpux::WGMMA) => value = accumulator(op),
            Definition::Result(..) => return None,
        }
    }
}

fn accumulator(op: Op<'_>) -> Value<'_> {
    op.operand(op.num_operands() - 1)
}
