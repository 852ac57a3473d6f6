//! Transfer nests: loops and branches that do nothing but transfer. They begin all their copies, and have a
//! token for each transfer in them.
//!
//! **Condition.** An `scf.for` or `scf.if`, perhaps with others in it, has no effects but those of transfers
//! of single threads, and of reads of global memory. No two transfers write one place, unless one `scf.if`
//! has them in both its arms, and no two iterations do: for each loop around a transfer there is an index of
//! what is written that grows with that loop's variable alone, by no less than the transfer writes in that
//! dimension. Indices are taken to be in bounds.
//!
//! **Effect.** Each loop carries a token for each transfer, and joins that of its iteration to it. A branch
//! has a token for each, which is complete in the arm that the transfer is not in.

use super::reason::Reason;
use super::recognize::{Recognizer, Transfer};
use super::sides::Side;
use super::sinking::{Pending, may_overlap};
use crate::analysis::memory::{Access, Effects, effects};
use crate::analysis::views::base;
use crate::utils::builders::new_else;
use crate::utils::region_values::{lacks_else, pass_on};
use crate::utils::tokens::{join, ready};
use async_mlir::control_flow::append;
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Block, Definition, Mapping, Op, Region, Value};
use async_mlir::names::scf;
use async_mlir::types::is_row_major;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many transfers in a loop are compared with each other.
const MAX_TRANSFERS: usize = 64;

/// A loop or branch that does nothing but transfer.
pub(crate) struct TransferNest<'c> {
    op: Op<'c>,
    transfers: Vec<Transfer<'c>>,
    /// Whether it is known where each transfer writes, and that no two of them write one place.
    known: bool,
}

/// Returns true if `op` may be one.
pub(super) fn is_nest(op: Op<'_>) -> bool {
    matches!(op.name(), scf::FOR | scf::IF)
}

/// Reads the loop or branch `op`; `None` if it has no transfer, or does something else as well.
pub(super) fn read<'c>(
    recognizer: &mut Recognizer<'c>,
    op: Op<'c>,
) -> Option<Result<TransferNest<'c>, (Op<'c>, Reason<'c>)>> {
    let nested = op.self_and_nested();
    let mut transfers = Vec::new();
    let mut parts: FxHashSet<Op> = FxHashSet::default();
    for inner in &nested {
        if parts.contains(inner) {
            continue;
        }
        if let Some(Ok(all)) = recognizer.branch(*inner) {
            parts.extend(inner.self_and_nested());
            transfers.extend(all);
            continue;
        }
        match recognizer.recognize(*inner) {
            Some(Ok(transfer)) => transfers.push(transfer),
            Some(Err(reason)) => return Some(Err((*inner, reason))),
            None => {}
        }
    }
    parts.extend(transfers.iter().flat_map(|it| it.ops().iter().copied()));
    let is_harmless =
        |inner: &Op<'c>| parts.contains(inner) || is_loop(*inner) || inner.is(scf::IF) || only_reads(*inner);
    if transfers.is_empty() {
        return None;
    }
    if let Some(other) = nested.iter().find(|inner| !is_harmless(inner)) {
        if op.is(scf::FOR) {
            return None;
        }
        let reason =
            Reason::new("is in a branch that does not only transfer").note(*other, "this is no transfer");
        let help =
            "move the transfer to a branch of its own, or copy without a branch, masked or with a count";
        return Some(Err((transfers[0].last(), reason.help(help))));
    }
    if transfers.len() > MAX_TRANSFERS {
        let message = format!("is in a nest with more than {MAX_TRANSFERS} transfers");
        return Some(Err((transfers[0].last(), Reason::new(message))));
    }
    let mut known = !nested.iter().any(|inner| inner.is(scf::FOR));
    for (i, transfer) in transfers.iter().enumerate() {
        for other in &transfers[..i] {
            if !other.destination().may_alias(transfer.destination()) {
                continue;
            }
            let is_apart = known && !may_overlap(&Pending::of(other, Vec::new()), transfer);
            if !is_apart && !are_in_different_arms(op, transfer.last(), other.last()) {
                let reason = Reason::new("is in a nest with another transfer that may write the same place");
                return Some(Err((transfer.last(), reason.note(other.last(), "the other one"))));
            }
            known &= is_apart;
        }
        if !writes_apart(recognizer, op, transfer) {
            let message = "is in a loop whose iterations are not known to write different places";
            let help = "let an index grow with each loop around it, by a constant step";
            return Some(Err((transfer.last(), Reason::new(message).help(help))));
        }
    }
    Some(Ok(TransferNest { op, transfers, known }))
}

/// Returns true if two operations in `outermost` are in different arms of an `scf.if` that no loop in `outermost` is around.
fn are_in_different_arms<'c>(outermost: Op<'c>, one: Op<'c>, other: Op<'c>) -> bool {
    let mut inner = outermost;
    // The path to both, as far as they have it in common.
    while inner.is(scf::IF) {
        let mut arms = inner.regions().filter_map(Region::first).flat_map(Block::ops);
        let Some(next) = arms.find(|op| op.is_ancestor_of(one)) else {
            return false;
        };
        if !next.is_ancestor_of(other) {
            let arm = other.ancestors().find(|op| op.parent() == Some(inner));
            let arm = arm.unwrap_or(other);
            return arm.block() != next.block();
        }
        inner = next;
    }
    false
}

/// Returns true if `op` is a loop that goes on by constant steps.
fn is_loop(op: Op<'_>) -> bool {
    op.is(scf::FOR) && step(op).is_some()
}

/// The step of a loop, if it is a constant above 0.
fn step(op: Op<'_>) -> Option<i64> {
    op.operand(2).as_constant_int().filter(|step| *step > 0)
}

/// Returns true if `op` does nothing but compute, and read memory that is not the workgroup's.
pub(super) fn only_reads(op: Op<'_>) -> bool {
    if op.num_regions() > 0 {
        return false;
    }
    if op.is_pure() || op.is_terminator() || op.view_source().is_some() {
        return true;
    }
    let Effects::Known(effects) = effects(op) else {
        return false;
    };
    let mut reads = effects.iter();
    !effects.is_empty()
        && reads.all(|effect| effect.access == Access::Read && !is_workgroup(base(effect.memory).ty()))
}

/// Returns true if iterations of `outermost` and of the loops in it are known to write different places by `transfer`.
fn writes_apart<'c>(recognizer: &mut Recognizer<'c>, outermost: Op<'c>, transfer: &Transfer<'c>) -> bool {
    let last = transfer.last();
    let Some(side) = transfer.stored() else {
        return false;
    };
    let around = last.ancestors().take_while(|op| outermost.is_ancestor_of(*op));
    let around: Vec<Op> = around.filter(|op| op.is(scf::FOR)).collect();
    if around.is_empty() {
        return true;
    }
    if !is_row_major(side.memory.ty()) || is_inside(side.memory, outermost) {
        return false;
    }
    let loops: Vec<(Value, i64)> = around
        .into_iter()
        .filter_map(|op| Some((op.region(0).first()?.arg(0), step(op)?)))
        .collect();
    let mut grown: FxHashSet<Value> = FxHashSet::default();
    for dimension in 0..side.indices.len() {
        grown.extend(grows_with(recognizer, outermost, &side, dimension, &loops));
    }
    loops.iter().all(|(variable, _)| grown.contains(variable))
}

/// The variable of the loop that the index of a dimension grows with alone, if it grows by as much as is written there.
fn grows_with<'c>(
    recognizer: &mut Recognizer<'c>,
    outermost: Op<'c>,
    side: &Side<'c>,
    dimension: usize,
    loops: &[(Value<'c>, i64)],
) -> Option<Value<'c>> {
    let written = (dimension + side.sizes.len()).checked_sub(side.indices.len());
    let written = written.map_or(1, |i| side.sizes[i]);
    let index = recognizer.linear(side.indices[dimension]?);
    let mut grows = None;
    for (factor, value) in index.terms() {
        match loops.iter().find(|(variable, _)| *variable == value) {
            Some((_, step)) if grows.is_none() && factor.checked_mul(*step)?.checked_abs()? >= written => {
                grows = Some(value);
            }
            Some(_) => return None,
            None if is_inside(value, outermost) => return None,
            None => {}
        }
    }
    grows
}

/// Returns true if `value` is computed in `outermost`.
fn is_inside<'c>(value: Value<'c>, outermost: Op<'c>) -> bool {
    let around = match value.definition() {
        Definition::Result(op, _) => op.parent(),
        Definition::Argument(block, _) => block.parent_op(),
    };
    around.is_some_and(|around| outermost.is_ancestor_of(around))
}

impl<'c> TransferNest<'c> {
    /// The stores that end its transfers.
    pub fn stores(&self) -> impl Iterator<Item = Op<'c>> {
        self.transfers.iter().map(Transfer::last)
    }

    /// Makes the transfers asynchronous. Returns the tokens that the nest has afterwards, with the numbers of their transfers; nobody
    /// awaits them yet.
    pub fn start(&self) -> Vec<(usize, Value<'c>)> {
        let mut by_block: ByBlock = FxHashMap::default();
        for (number, transfer) in self.transfers.iter().enumerate() {
            if let Some(block) = transfer.last().block() {
                by_block.entry(block).or_default().push((number, transfer));
            }
        }
        start(self.op, &by_block)
    }

    /// The same, to be awaited.
    pub(super) fn start_pending(&self) -> Vec<Pending<'c>> {
        let tokens = self.start().into_iter();
        let pending = tokens.map(|(number, token)| {
            let transfer = &self.transfers[number];
            if self.known {
                Pending::of(transfer, vec![token])
            } else {
                Pending::anywhere(transfer.source(), transfer.destination(), token)
            }
        });
        pending.collect()
    }
}

/// Transfers with their numbers, by the block that they are in.
type ByBlock<'a, 'c> = FxHashMap<Block<'c>, Vec<(usize, &'a Transfer<'c>)>>;

/// The tokens of transfers, by the numbers of those.
type Begun<'c> = Vec<(usize, Vec<Value<'c>>)>;

/// Makes the transfers in `op`, a loop or branch, asynchronous; returns the tokens that it has then, with the numbers of their
/// transfers.
fn start<'c>(op: Op<'c>, by_block: &ByBlock<'_, 'c>) -> Vec<(usize, Value<'c>)> {
    let blocks: Vec<Block> = op.regions().filter_map(Region::first).collect();
    let begun: Vec<Begun> = blocks.iter().map(|block| begin(*block, by_block)).collect();
    let Some(ty) = begun.iter().flatten().next().map(|(_, tokens)| tokens[0].ty()) else {
        return Vec::new();
    };
    let none = ready(op.location(), ty).before(op).result(0);
    let numbers: Vec<usize> = begun.iter().flatten().map(|(number, _)| *number).collect();
    let types = vec![ty; numbers.len()];
    let first = op.num_results();
    let new = if op.is(scf::FOR) {
        let new = append(op, &vec![none; numbers.len()], &types);
        join_to_carried(blocks[0], &begun[0]);
        new
    } else {
        let new = append(op, &[], &types);
        if lacks_else(new) {
            new_else(new, &vec![none; numbers.len()]);
        }
        for (block, begun) in blocks.into_iter().zip(&begun) {
            pass_on_begun(block, begun, &numbers, none);
        }
        new
    };
    let results = numbers.into_iter().enumerate();
    results
        .map(|(i, number)| (number, new.result(first + i)))
        .collect()
}

/// Makes the transfers in `block` asynchronous.
fn begin<'c>(block: Block<'c>, by_block: &ByBlock<'_, 'c>) -> Begun<'c> {
    let mut begun: Begun = Vec::new();
    for inner in block.ops().into_iter().filter(|inner| is_nest(*inner)) {
        let tokens = start(inner, by_block).into_iter();
        begun.extend(tokens.map(|(number, token)| (number, vec![token])));
    }
    for (number, transfer) in by_block.get(&block).into_iter().flatten() {
        begun.push((*number, transfer.emit(transfer.last(), &Mapping::new(), &[])));
        transfer.erase();
    }
    begun.retain(|(_, tokens)| !tokens.is_empty());
    begun
}

/// Has `body`, of a loop, carry a token for each of `begun`, and pass it on with the tokens of the iteration.
fn join_to_carried<'c>(body: Block<'c>, begun: &Begun<'c>) {
    let end = body.terminator().expect("a loop ends with a yield");
    let mut passed = Vec::new();
    for (_, tokens) in begun {
        let ty = tokens[0].ty();
        let mut all = vec![body.add_arg(ty, end.location())];
        all.extend(tokens);
        passed.push(join(end.location(), &all).before(end).result(0));
    }
    pass_on(end, &passed);
}

/// Has `arm`, of a branch, pass on a token for each transfer of `numbers`: `none` for those that it has not begun.
fn pass_on_begun<'c>(arm: Block<'c>, begun: &Begun<'c>, numbers: &[usize], none: Value<'c>) {
    let end = arm.terminator().expect("an arm ends with a yield");
    let passed: Vec<Value> = numbers
        .iter()
        .map(|number| {
            match begun
                .iter()
                .find(|(known, _)| known == number)
                .map(|(_, tokens)| &**tokens)
            {
                None => none,
                Some([only]) => *only,
                Some(several) => join(end.location(), several).before(end).result(0),
            }
        })
        .collect();
    pass_on(end, &passed);
}
