//! Multiplications of warpgroups that add to one another: they are complete in order.

use async_dialects::names::gpux;
use async_mlir::ir::Op;

/// The multiplication to whose result `op`, another one in token form, adds: it is complete once `op` is.
pub(crate) fn added_to(op: Op<'_>) -> Option<Op<'_>> {
    let has_token = |op: &Op| op.is(gpux::WGMMA) && op.num_results() == 2;
    let sum = Some(op).filter(has_token)?.operands().last()?;
    sum.defining_op().filter(has_token)
}
