//! Peels the first iterations off `scf.for` loops.

use crate::analysis::skeleton::Skeleton;
use crate::utils::builders::constant;
use async_mlir::ir::{Mapping, Op, Value};
use rustc_hash::FxHashSet;
use tokenflow::Peel;

/// Peels loops as asked; adds what is left of them to `peeled`.
pub(super) fn peel<'c>(skeleton: &Skeleton<'c>, peels: &[Peel], peeled: &mut FxHashSet<Op<'c>>) {
    // Inner loops first: an outer one would be cloned with them.
    let mut peels: Vec<&Peel> = peels.iter().collect();
    peels.sort_by_key(|peel| std::cmp::Reverse(peel.id));
    peels.dedup_by_key(|peel| peel.id);
    for peel in peels {
        let op = skeleton.loops[peel.id.0 as usize];
        if !peel_for(op, peel.iterations) {
            peeled.insert(op);
        }
    }
}

/// Moves the first `iterations` of the `scf.for` `op` in front of it; returns true if no loop is left.
fn peel_for(op: Op<'_>, iterations: u64) -> bool {
    let [lower, _, step] = [0, 1, 2].map(|i| op.operand(i).as_constant_int());
    let (Some(lower), Some(step), Some(body)) = (lower, step, op.region(0).first()) else {
        unreachable!("a peelable loop has a constant lower bound, a constant step and a body");
    };
    let trip = async_mlir::control_flow::constant_trip_count(op).unwrap_or(0);
    let iterations = iterations.min(trip);
    let mut carried: Vec<Value> = op.operands().skip(3).collect();
    let mut first = lower;
    for _ in 0..iterations {
        let mut mapping = Mapping::new();
        let index = constant_like(op, op.operand(0), first);
        for (arg, value) in body
            .args()
            .zip(std::iter::once(index).chain(carried.iter().copied()))
        {
            mapping.map(arg, value);
        }
        for inner in body.ops() {
            if Some(inner) == body.terminator() {
                carried = inner.operands().map(|value| mapping.lookup(value)).collect();
            } else {
                inner.clone_mapped(&mut mapping).move_before(op);
            }
        }
        first = first.wrapping_add(step);
    }
    if iterations == trip {
        op.replace_with(&carried);
        return true;
    }
    let lower = constant_like(op, op.operand(0), first);
    op.set_operand(0, lower);
    for (i, value) in carried.into_iter().enumerate() {
        op.set_operand(3 + i, value);
    }
    false
}

/// Makes a constant of the type of `like` before `op`.
fn constant_like<'c>(op: Op<'c>, like: Value<'c>, value: i64) -> Value<'c> {
    constant(op.location(), like.ty(), value).before(op).result(0)
}
