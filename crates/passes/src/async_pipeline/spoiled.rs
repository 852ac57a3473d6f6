//! A test-only pass: `--async-pipeline`, but something of what a loop has become is changed before it is checked. Tests show that the check
//! refuses it, or that it does no harm.

use super::{AsyncPipeline, Planted, joined, pipeline};
use async_mlir::ir::{Op, Value, index_attr, int_attr};
use async_mlir::melior::ir::{Attribute, TypeLike};
use async_mlir::names::{attr, scf};
use async_mlir::pass::{OptionInfo, Pass, PassContext, PassError, PassInfo};
use async_mlir::types::bit_width;

/// `--async-pipeline`, but what was written has a change. Only tests register it.
#[doc(hidden)]
pub struct SpoiledPipeline;

const OF_THE_PASS: &[OptionInfo] = AsyncPipeline::INFO.options;
const CHANGE: &[OptionInfo] = &[OptionInfo::int("change", 0, "which of the possible changes")];

impl Pass for SpoiledPipeline {
    const INFO: PassInfo = PassInfo {
        options: &const { joined::<{ OF_THE_PASS.len() + 1 }>(OF_THE_PASS, CHANGE) },
        ..PassInfo {
            flag: "test-async-pipeline-spoiled",
            ..AsyncPipeline::INFO
        }
    };

    fn run<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let change = usize::try_from(cx.int("change")).ok();
        pipeline(function, cx, change.map(Planted::Change))
    }
}

/// Makes change number `left` of those that `ops` and what is nested in them allow: an operation goes, an operand becomes the value of its type
/// that was defined before it, or a constant becomes one more. The `plain` loop stays as it is, where it is still needed. If there are fewer, `left` is what is left of it.
pub(super) fn spoil<'c>(ops: &[Op<'c>], plain: Op<'c>, left: &mut Option<usize>) {
    if left.is_none() {
        return;
    }
    let all = ops.iter().flat_map(|op| op.self_and_nested());
    for op in all.filter(|op| *op != plain && !plain.is_ancestor_of(*op)) {
        let mut is_meant = |change: Option<()>| {
            let number = (*left).filter(|_| change.is_some())?;
            *left = number.checked_sub(1);
            (number == 0).then_some(())
        };
        let is_erasable = !op.has_uses() && !op.is_terminator() && !op.is(scf::FOR) && !op.is(scf::IF);
        if is_meant(is_erasable.then_some(())).is_some() {
            return op.erase();
        }
        for (index, operand) in op.operands().enumerate() {
            let other = value_before(op, operand);
            if is_meant(other.map(|_| ())).is_some() {
                return other.into_iter().for_each(|other| op.set_operand(index, other));
            }
        }
        let more = one_more(op);
        if is_meant(more.map(|_| ())).is_some() {
            return more.into_iter().for_each(|more| op.set_attr(attr::VALUE, more));
        }
    }
}

/// The last value of the type of `operand` that is defined before `op` in its block, and is another one.
fn value_before<'c>(op: Op<'c>, operand: Value<'c>) -> Option<Value<'c>> {
    let before = std::iter::successors(op.prev(), |op| op.prev());
    let results = before.flat_map(|op| op.results().rev());
    let args = op.block()?.args().rev();
    let mut others = results.chain(args).filter(|value| value.ty() == operand.ty());
    others.find(|value| *value != operand)
}

/// A constant of one more than `op` is.
fn one_more(op: Op<'_>) -> Option<Attribute<'_>> {
    let result = op.results().next().filter(|_| op.num_operands() == 0)?;
    let more = result.as_constant_int()?.checked_add(1)?;
    match bit_width(result.ty()) {
        Some(1) => None,
        Some(bits) => Some(int_attr(op.context(), bits, more)),
        None => result.ty().is_index().then(|| index_attr(op.context(), more)),
    }
}
