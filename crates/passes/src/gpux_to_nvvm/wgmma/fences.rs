//! Inserts `wgmma.fence` before the multiplications that need one.
//!
//! **PTX** asks for one before the first multiplication of a kernel, and between any other access of registers and a
//! multiplication that adds to them or reads A from them; instructions of one shape need none between them.
//!
//! **`ptxas`** wants another one after a branch that is left in machine code; without it, it adds one and says so (C7519).
//! Which branches are left can't be told here: LLVM moves into an arm what only that arm uses, and `ptxas` predicates short arms. So
//! every branch, loop and call counts, and so does a wait for an mbarrier, which becomes a loop. What runs a single block once does not.
//!
//! A fence that nothing needs costs an instruction (`WARPGROUP.ARRIVE`).

use super::fragments::writes_zeros;
use super::is_accumulator;
use super::mma::Mma;
use async_dialects::names::gpux;
use async_mlir::calls::is_call;
use async_mlir::control_flow::{EdgeTarget, Edges, entry_edges, region_exit_edges};
use async_mlir::ir::{Block, Op, OpBuilder, Use};
use async_mlir::names::{nvgpu, nvvm};

/// Puts fences into `block`, and into those that run as a part of it.
pub(super) fn insert(block: Block<'_>) {
    let is_part = block
        .parent_op()
        .is_some_and(|op| block_run_once(op) == Some(block));
    // A part is visited along with the block around it.
    if !is_part {
        visit(block, false);
    }
}

/// Puts fences into `block`, which begins after a fence if `fenced`; returns whether it ends after one.
fn visit(block: Block<'_>, mut fenced: bool) -> bool {
    for op in block.ops() {
        if op.is(gpux::WGMMA) {
            if !fenced || adds_to_other_shape(op) {
                OpBuilder::new(nvvm::WGMMA_FENCE_ALIGNED, op.location()).before(op);
            }
            fenced = true;
        } else if op.is(nvvm::WGMMA_FENCE_ALIGNED) {
            fenced = true;
        } else if let Some(part) = block_run_once(op) {
            fenced = visit(part, fenced);
        } else if may_branch(op) || accesses_registers(op) {
            fenced = false;
        }
    }
    fenced
}

/// The block that `op` runs, if it runs one and just once.
fn block_run_once(op: Op<'_>) -> Option<Block<'_>> {
    let target = |edges: Edges| {
        let mut possible = edges.into_iter().filter(|edge| edge.possible);
        let only = possible.next()?.to;
        possible.next().is_none().then_some(only)
    };
    let EdgeTarget::Index(region) = target(entry_edges(op)?)? else {
        return None;
    };
    let blocks = op.regions().nth(region)?.blocks();
    let [block] = blocks[..] else { return None };
    let leaves = target(region_exit_edges(block.terminator()?)?)? == EdgeTarget::After;
    leaves.then_some(block)
}

/// Returns true if `op` may become a branch in machine code.
fn may_branch(op: Op<'_>) -> bool {
    op.num_regions() > 0 || is_call(op) || op.is(nvgpu::MBARRIER_TRY_WAIT_PARITY)
}

/// Returns true if `op` may access registers that a multiplication adds to or reads. Zeros that multiplications alone begin with
/// are not written: they add to nothing.
fn accesses_registers(op: Op<'_>) -> bool {
    let begins_one = |at: &Use| at.owner.is(gpux::WGMMA) && at.index == 2;
    let is_written = !writes_zeros(op) || !op.result(0).uses().iter().all(begins_one);
    op.operands().chain(op.results()).any(is_accumulator) && is_written
}

/// Returns true if `op` adds to the result of a multiplication whose instructions have another K.
fn adds_to_other_shape(op: Op<'_>) -> bool {
    let k = |op: Op<'_>| Mma::of(op).instruction_k();
    let before = op
        .operand(2)
        .defining_op()
        .filter(|before| before.is(gpux::WGMMA));
    before.is_some_and(|before| k(before) != k(op))
}
