//! Checks that there are as many registers as warpgroups ask for, or the last one that asks waits forever.
//!
//! A block gets the same number for each thread when it starts, from which `nvvm.setmaxregister decrease` gives back, and
//! `increase` takes, and waits until there are enough. At the end of a warpgroup's operations it has what the last one says.
//! `ptxas` ignores these operations, and says so, where it is not told how many registers or blocks there are.

use crate::analysis::roles::Roles;
use crate::analysis::warps::WARP_THREADS;
use crate::utils::device::own_ops;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::is_kernel;
use async_mlir::ir::Op;
use async_mlir::melior::ir::Attribute;
use async_mlir::names::{attr, nvvm};
use async_mlir::pass::PassError;

/// Registers of a multiprocessor, all of which one block may have.
const REGISTERS: u32 = 65536;

/// The most registers of a thread, where that is not asked for. (It uses 255.)
const MOST: u32 = 256;

/// What registers are allotted in.
const UNIT: u32 = 8;

/// Returns an error if warps ask for more registers than the block can have, or give back what they don't have.
pub(super) fn check<'c>(function: Op<'c>, roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let changes = changes(ops);
    let Some(largest) = largest(&changes) else {
        return Ok(());
    };
    let at_start = at_start(function, roles);
    check_decreases(function, &changes, at_start)?;
    let Some(at_start) = at_start else {
        return Ok(());
    };
    let (asked, there) = (
        asked(roles, &changes, at_start),
        at_start * WARP_THREADS * roles.all_warps().count_ones(),
    );
    if asked <= there {
        return Ok(());
    }
    let message = format!(
        "waits for ever: all warps together ask for {asked} registers, but the block starts with {there}, {at_start} for each thread"
    );
    let help = "ask for fewer, or let other warps give back more; a warp that asks for nothing keeps what it starts with";
    Err(PassError::new(largest, message).note(largest, help))
}

/// Warns if `ptxas` ignores what the warps of a kernel ask for.
pub(super) fn warn(function: Op<'_>) {
    let mut says = [attr::MAXNREG, attr::MINCTASM].into_iter();
    if !is_kernel(function) || says.any(|name| function.has_attr(name)) {
        return;
    }
    if let Some(largest) = largest(&changes(&own_ops(function))) {
        let message = "ptxas ignores this: it does not know how many registers the kernel starts with";
        let help = "write nvvm.minctasm = 1 : i32 or nvvm.maxnreg at the kernel";
        Diagnostic::warning(largest, message).note(function, help).emit();
    }
}

/// Those of `ops` that change how many registers a thread has.
fn changes<'c>(ops: &[Op<'c>]) -> Vec<Op<'c>> {
    let changes = ops.iter().copied();
    changes.filter(|op| op.is(nvvm::SETMAXREGISTER)).collect()
}

/// That of `changes` which leaves most registers.
fn largest<'c>(changes: &[Op<'c>]) -> Option<Op<'c>> {
    changes.iter().copied().max_by_key(|op| count(*op))
}

/// How many registers `change` leaves each thread with.
fn count(change: Op<'_>) -> u32 {
    let count = change.int_attr(attr::REG_COUNT);
    count.and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
}

/// The most registers that each thread starts with, if the kernel says so.
fn at_start(function: Op<'_>, roles: &Roles<'_>) -> Option<u32> {
    let number = |name: &str| {
        let number = function.int_attr(name)?;
        u32::try_from(number).ok()
    };
    let threads = WARP_THREADS * roles.all_warps().count_ones();
    let per_block = |blocks: u32| REGISTERS / blocks.max(1) / threads / UNIT * UNIT;
    let most = number(attr::MAXNREG).map(|most| most.next_multiple_of(UNIT));
    let most = most.or_else(|| number(attr::MINCTASM).map(per_block))?;
    Some(most.min(MOST))
}

/// The fewest registers that all warps together have in the end. What a condition or a loop is around may not be executed.
fn asked<'c>(roles: &Roles<'c>, changes: &[Op<'c>], at_start: u32) -> u32 {
    let mut of_warp = [at_start; u32::BITS as usize];
    for &change in changes {
        let (count, is_certain) = (count(change), is_certain(roles, change));
        let here = roles.warps_at(change);
        for (warp, own) in of_warp.iter_mut().enumerate() {
            if here >> warp & 1 != 0 {
                *own = if is_certain { count } else { count.min(*own) };
            }
        }
    }
    let warps = roles.all_warps().count_ones() as usize;
    of_warp.iter().take(warps).map(|own| own * WARP_THREADS).sum()
}

/// Returns true if it depends on the numbers of warps alone whether they execute `op`.
fn is_certain<'c>(roles: &Roles<'c>, op: Op<'c>) -> bool {
    let mut inside = op;
    for outer in op.ancestors() {
        let is_entered = || {
            inside
                .block()
                .is_some_and(|block| outer.regions().any(|region| region.first() == Some(block)))
        };
        if outer.is_function() {
            return is_entered();
        }
        if roles.condition(outer).is_none() {
            return false;
        }
        inside = outer;
    }
    false
}

/// Returns an error if a decrease leaves threads with more registers than any have before.
///
/// A kernel starts with as many as the largest increase asks for, if that is less than it could have. What gives back more is an error of
/// `ptxas` (C7406).
fn check_decreases<'c>(
    function: Op<'c>,
    changes: &[Op<'c>],
    at_start: Option<u32>,
) -> Result<(), PassError<'c>> {
    let (increases, decreases): (Vec<Op>, Vec<Op>) = changes.iter().partition(|op| is_increase(**op));
    let asked = largest(&increases).map(|op| (count(op), op));
    let given = at_start.map(|most| (most, function));
    let Some((most, why)) = asked.into_iter().chain(given).min_by_key(|(most, _)| *most) else {
        return Ok(());
    };
    let Some(op) = decreases.into_iter().find(|op| count(*op) > most) else {
        return Ok(());
    };
    let message = format!(
        "can't leave {} registers: no thread has more than {most} before",
        count(op)
    );
    let reason = if why == function {
        "a thread starts with as many as this says, or as its part of a multiprocessor"
    } else {
        "no increase asks for more, and a kernel starts with no more than the largest increase asks for"
    };
    let help = "a decrease gives registers back, an increase takes them";
    Err(PassError::new(op, message).note(why, reason).note(op, help))
}

fn is_increase(change: Op<'_>) -> bool {
    let increase = Attribute::parse(change.context(), "#nvvm<action increase>");
    change.attr(attr::ACTION) == increase
}
