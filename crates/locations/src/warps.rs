//! Warp-uniform values that are known for each warp: its number, and what is computed of that and of
//! constants alone.
//!
//! For blocks of known size that are made of whole warps in one dimension. Cost: what a value is computed from is looked at up to
//! 64 times, for each of the warps.

use super::integers::{Computation, bits_of, predicate};
use async_mlir::arith::Predicate;
use async_mlir::gpu::{Dimension, block_size};
use async_mlir::ir::{Op, Value};
use async_mlir::names::{arith, attr, gpu, index, nvvm, scf};

/// Threads of a warp.
pub const WARP_THREADS: u32 = 32;

/// Threads of a warpgroup.
pub const WARPGROUP_THREADS: u32 = 128;

/// The most warps that a block can have.
pub const MAX_WARPS: usize = 32;

/// The bits of the number of a thread.
const THREAD_BITS: u32 = 10;

/// How many values are looked at.
const LIMIT: usize = 64;

/// A value.
enum Known {
    /// The number of the thread.
    Thread,
    /// The same in all threads of a warp: by warp.
    Warps(Box<[i64; MAX_WARPS]>),
}

/// How many warps a block of `function` has, if that is known, all of them are whole, and threads are numbered in one dimension.
#[must_use]
pub fn num_warps(function: Op<'_>) -> Option<u32> {
    let [x, y, z] = block_size(function)?;
    let warps = x / WARP_THREADS;
    let whole = x % WARP_THREADS == 0 && (y, z) == (1, 1) && (1..=MAX_WARPS).contains(&(warps as usize));
    whole.then_some(warps)
}

/// The warps in which `condition` is true, as bits, if all threads of each warp agree.
#[must_use]
pub fn warps_where(condition: Value<'_>) -> Option<u32> {
    let table = by_warp(condition)?;
    let bits = table.iter().enumerate().filter(|(_, value)| **value & 1 != 0);
    Some(bits.fold(0, |bits, (warp, _)| bits | 1 << warp))
}

/// So many warps, as bits.
#[must_use]
pub fn all_warps(number: u32) -> u32 {
    u32::MAX.unbounded_shr(u32::BITS.saturating_sub(number))
}

/// The warps that run region `number` of `op`, as bits, if it is an `scf.if` on the number of a warp.
#[must_use]
pub fn warps_of_arm(op: Op<'_>, number: usize) -> Option<u32> {
    let condition = op.is(scf::IF).then(|| op.operand(0))?;
    let is_constant = condition.as_constant_int().is_some();
    let inside = warps_where(condition).filter(|_| !is_constant)?;
    let all = all_warps(num_warps(op.ancestors().find(|outer| outer.is_function())?)?);
    Some(all & if number == 0 { inside } else { !inside })
}

/// The warps of a role, as bits, if `op` is a barrier that all of these come to, and only they: of as many threads as they have, with an
/// id of its own.
#[must_use]
pub fn barrier_of_warps(op: Op<'_>) -> Option<u32> {
    if !op.is(nvvm::BARRIER) || op.num_operands() != 2 {
        return None;
    }
    let (id, threads) = (op.operand(0).as_constant_int()?, op.operand(1).as_constant_int()?);
    let mut warps = all_warps(num_warps(op.ancestors().find(|outer| outer.is_function())?)?);
    let mut inside = op;
    for outer in op.ancestors().take_while(|outer| !outer.is_function()) {
        let number = outer
            .regions()
            .position(|region| region.first() == inside.block())?;
        if let Some(of_arm) = warps_of_arm(outer, number) {
            warps &= of_arm;
        }
        inside = outer;
    }
    let is_theirs = threads == i64::from(WARP_THREADS * warps.count_ones());
    (id > 0 && is_theirs).then_some(warps)
}

/// What `value` is in each warp of a block, if all threads of each warp agree.
#[must_use]
pub fn by_warp(value: Value<'_>) -> Option<[i64; MAX_WARPS]> {
    let op = value.defining_op()?;
    let function = op.ancestors().find(|outer| outer.is_function())?;
    num_warps(function)?;
    match known(value, &mut { LIMIT })? {
        Known::Warps(table) => Some(*table),
        Known::Thread => None,
    }
}

fn known(value: Value<'_>, left: &mut usize) -> Option<Known> {
    *left = left.checked_sub(1)?;
    if let Some(constant) = value.as_constant_int() {
        return Some(table(|_| constant));
    }
    let op = value.defining_op()?;
    match op.name() {
        gpu::THREAD_ID => {
            let x = Dimension::X.attribute(op.context());
            (op.attr(attr::DIMENSION) == Some(x)).then_some(Known::Thread)
        }
        nvvm::READ_PTX_SREG_TID_X => Some(Known::Thread),
        gpu::SUBGROUP_ID => Some(table(|warp| warp)),
        arith::INDEX_CAST
        | arith::INDEX_CASTUI
        | arith::TRUNCI
        | arith::EXTSI
        | arith::EXTUI
        | index::CASTS
        | index::CASTU => match known(op.operand(0), left)? {
            // The number of a thread is less than 1024.
            Known::Thread => bits_of(value.ty())
                .is_some_and(|bits| bits > THREAD_BITS)
                .then_some(Known::Thread),
            Known::Warps(mut numbers) => {
                let computation = Computation::of(op)?;
                for number in numbers.iter_mut() {
                    *number = computation.result(&[*number])?;
                }
                Some(Known::Warps(numbers))
            }
        },
        _ if op.num_operands() == 2 && op.num_results() == 1 => {
            let (first, second) = (known(op.operand(0), left)?, known(op.operand(1), left)?);
            computed(op, &first, &second)
        }
        _ => None,
    }
}

fn table(of: impl Fn(i64) -> i64) -> Known {
    let mut table = [0; MAX_WARPS];
    table
        .iter_mut()
        .zip(0..)
        .for_each(|(entry, warp)| *entry = of(warp));
    Known::Warps(Box::new(table))
}

fn computed(op: Op<'_>, left: &Known, right: &Known) -> Option<Known> {
    let Known::Warps(right) = right else { return None };
    let computation = Computation::of(op)?;
    let mut out = [0; MAX_WARPS];
    for (warp, entry) in out.iter_mut().enumerate() {
        let right = right[warp];
        let left = match left {
            Known::Warps(left) => left[warp],
            // The first thread of a warp stands for all, where the others are told the same.
            Known::Thread if is_same_in_warp(op, right) => {
                i64::from(WARP_THREADS) * i64::try_from(warp).ok()?
            }
            Known::Thread => return None,
        };
        *entry = computation.result(&[left, right])?;
    }
    Some(Known::Warps(Box::new(out)))
}

/// Returns true if `op`, of the number of a thread and of `right`, has one result in all threads of a warp.
fn is_same_in_warp(op: Op<'_>, right: i64) -> bool {
    let warp = i64::from(WARP_THREADS);
    match op.name() {
        arith::DIVUI | arith::DIVSI | arith::FLOORDIVSI => right > 0 && right % warp == 0,
        arith::SHRUI | arith::SHRSI => (5..32).contains(&right),
        arith::ANDI => right & (warp - 1) == 0,
        arith::CMPI => {
            use Predicate::{
                SignedGreater, SignedGreaterOrEqual, SignedLess, SignedLessOrEqual, UnsignedGreater,
                UnsignedGreaterOrEqual, UnsignedLess, UnsignedLessOrEqual,
            };
            match predicate(op) {
                Some(SignedLess | UnsignedLess | SignedGreaterOrEqual | UnsignedGreaterOrEqual) => {
                    right.rem_euclid(warp) == 0
                }
                Some(SignedLessOrEqual | UnsignedLessOrEqual | SignedGreater | UnsignedGreater) => {
                    right.rem_euclid(warp) == warp - 1
                }
                _ => false,
            }
        }
        _ => false,
    }
}
