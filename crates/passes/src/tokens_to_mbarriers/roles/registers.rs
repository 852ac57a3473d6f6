//! Checks that there are as many registers as warpgroups ask for, or the last one that asks waits forever.
//!
//! A block gets the same number for each thread when it starts, from which `nvvm.setmaxregister decrease` gives back, and
//! `increase` takes, and waits until there are enough. At the end of a warpgroup's operations it has what the last one says.
//! `ptxas` ignores these operations, and says so, where it is not told how many registers or blocks there are.

use crate::analysis::roles::Roles;
use crate::analysis::warps::WARP;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use async_mlir::names::{attr, nvvm};
use async_mlir::pass::PassError;

/// Registers of a multiprocessor, all of which one block may have.
const REGISTERS: u32 = 65536;

/// The most registers of a thread, where that is not asked for.
const MOST: u32 = 255;

/// What registers are allotted in.
const UNIT: u32 = 8;

/// Returns an error if warps ask for more registers than the block can have.
pub(super) fn check<'c>(function: Op<'c>, roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let warps = roles.all_warps().count_ones();
    let number = |name: &str| {
        function
            .int_attr(name)
            .and_then(|number| u32::try_from(number).ok())
    };
    let (most, blocks) = (number(attr::MAXNREG), number(attr::MINCTASM));
    let for_block = REGISTERS / blocks.unwrap_or(1).max(1);
    let at_start = most.unwrap_or_else(|| (for_block / (warps * WARP)).min(MOST)) / UNIT * UNIT;
    let mut of_warp = [at_start; u32::BITS as usize];
    let mut largest: Option<(u32, Op<'c>)> = None;
    for &op in ops.iter().filter(|op| op.is(nvvm::SETMAXREGISTER)) {
        let count = op
            .int_attr(attr::REG_COUNT)
            .and_then(|count| u32::try_from(count).ok());
        let count = count.unwrap_or(0);
        let here = roles.warps_at(op);
        for (warp, own) in of_warp.iter_mut().enumerate() {
            if here >> warp & 1 != 0 {
                *own = count;
            }
        }
        if largest.is_none_or(|(most, _)| count > most) {
            largest = Some((count, op));
        }
    }
    if let (Some((_, op)), None, None) = (largest, most, blocks) {
        let message = "ptxas ignores this: it does not know how many registers the kernel starts with";
        let help = "write nvvm.minctasm = 1 : i32 or nvvm.maxnreg at the kernel";
        Diagnostic::warning(op, message).note(function, help).emit();
    }
    let asked: u32 = of_warp.iter().take(warps as usize).map(|own| own * WARP).sum();
    let there = at_start * warps * WARP;
    let Some((_, op)) = largest.filter(|_| asked > there) else {
        return Ok(());
    };
    let message = format!(
        "waits for ever: all warps together ask for {asked} registers, but the block starts with {there}, {at_start} for each thread"
    );
    let help = "ask for fewer, or let other warps give back more; a warp that asks for nothing keeps what it starts with";
    Err(PassError::new(op, message).note(op, help))
}
