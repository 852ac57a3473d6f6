//! Loops that do nothing but transfer: they begin all their copies, and have a token for each transfer of their bodies.
//!
//! **Condition.** An `scf.for`, perhaps with others in it, has no effects but those of transfers of single threads, and of reads of
//! global memory. No two transfers write one buffer, and no two iterations write one place: for each loop around a transfer there is
//! an index of what is written that grows with that loop's variable alone, by no less than the transfer writes in that dimension.
//! Indices are taken to be in bounds.
//!
//! **Effect.** Each loop carries a token for each transfer, and joins that of its iteration to it.

use super::reason::Reason;
use super::recognize::{Recognizer, Transfer};
use super::sides::{self, Side};
use super::sinking::Pending;
use crate::analysis::memory::{Access, Effects, base, effects};
use crate::utils::carry::pass_on;
use crate::utils::tokens::{join, ready};
use async_mlir::control_flow::append;
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Block, Definition, Mapping, Op, Value};
use async_mlir::names::scf;
use async_mlir::types::is_row_major;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many transfers in a loop are compared with each other.
const MAX_TRANSFERS: usize = 64;

/// A loop that does nothing but transfer.
pub(crate) struct TransferLoop<'c> {
    op: Op<'c>,
    transfers: Vec<Transfer<'c>>,
}

/// Reads the loop `op`; `None` if it has no transfer, or does something else as well.
pub(super) fn read<'c>(
    recognizer: &mut Recognizer<'c>,
    op: Op<'c>,
) -> Option<Result<TransferLoop<'c>, (Op<'c>, Reason<'c>)>> {
    let nested = op.self_and_nested();
    let mut transfers = Vec::new();
    for inner in &nested {
        match recognizer.recognize(*inner) {
            Some(Ok(transfer)) => transfers.push(transfer),
            Some(Err(reason)) => return Some(Err((*inner, reason))),
            None => {}
        }
    }
    let parts: FxHashSet<Op> = transfers.iter().flat_map(|it| it.ops().iter().copied()).collect();
    let is_harmless = |inner: &Op<'c>| parts.contains(inner) || is_loop(*inner) || only_reads(*inner);
    if transfers.is_empty() || !nested.iter().all(is_harmless) {
        return None;
    }
    if transfers.len() > MAX_TRANSFERS {
        let message = format!("is in a loop with more than {MAX_TRANSFERS} transfers");
        return Some(Err((transfers[0].last(), Reason::new(message))));
    }
    for (i, transfer) in transfers.iter().enumerate() {
        let other = transfers[..i].iter();
        let mut other = other.filter(|other| other.destination().may_alias(transfer.destination()));
        if let Some(other) = other.next() {
            let reason = Reason::new("is in a loop with another transfer that may write the same place");
            return Some(Err((transfer.last(), reason.note(other.last(), "the other one"))));
        }
        if !writes_apart(recognizer, op, transfer) {
            let message = "is in a loop whose iterations are not known to write different places";
            let help = "let an index grow with each loop around it, by a constant step";
            return Some(Err((transfer.last(), Reason::new(message).help(help))));
        }
    }
    Some(Ok(TransferLoop { op, transfers }))
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
fn only_reads(op: Op<'_>) -> bool {
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
    let Ok(side) = sides::destination(last) else {
        return false;
    };
    if !is_row_major(side.memory.ty()) || is_inside(side.memory, outermost) {
        return false;
    }
    let around = last.ancestors().take_while(|op| outermost.is_ancestor_of(*op));
    let loops: Vec<(Value, i64)> = around
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

/// Returns true if `value` is computed in the loop `outermost`.
fn is_inside<'c>(value: Value<'c>, outermost: Op<'c>) -> bool {
    let around = match value.definition() {
        Definition::Result(op, _) => op.parent(),
        Definition::Argument(block, _) => block.parent_op(),
    };
    around.is_some_and(|around| outermost.is_ancestor_of(around))
}

impl<'c> TransferLoop<'c> {
    /// The stores that end its transfers.
    pub fn stores(&self) -> impl Iterator<Item = Op<'c>> {
        self.transfers.iter().map(Transfer::last)
    }

    /// Makes the transfers asynchronous. Returns the tokens that the loop has afterwards, with the numbers of their transfers; nobody
    /// awaits them yet.
    pub fn start(&self) -> Vec<(usize, Value<'c>)> {
        let mut by_body: ByBody = FxHashMap::default();
        for (number, transfer) in self.transfers.iter().enumerate() {
            if let Some(body) = transfer.last().block() {
                by_body.entry(body).or_default().push((number, transfer));
            }
        }
        carry(self.op, &by_body)
    }

    /// The same, to be awaited.
    pub(super) fn start_pending(&self) -> Vec<Pending<'c>> {
        let tokens = self.start().into_iter();
        let pending = tokens.map(|(number, token)| {
            let transfer = &self.transfers[number];
            Pending::anywhere(transfer.source(), transfer.destination(), token)
        });
        pending.collect()
    }
}

/// Transfers with their numbers, by the block that they are in.
type ByBody<'a, 'c> = FxHashMap<Block<'c>, Vec<(usize, &'a Transfer<'c>)>>;

/// Makes the transfers in the loop `op` asynchronous; returns the tokens of the loop, with the numbers of their transfers.
fn carry<'c>(op: Op<'c>, by_body: &ByBody<'_, 'c>) -> Vec<(usize, Value<'c>)> {
    let Some(body) = op.region(0).first() else {
        return Vec::new();
    };
    let mut begun: Vec<(usize, Vec<Value>)> = Vec::new();
    for inner in body.ops().into_iter().filter(|inner| inner.is(scf::FOR)) {
        let tokens = carry(inner, by_body).into_iter();
        begun.extend(tokens.map(|(number, token)| (number, vec![token])));
    }
    for (number, transfer) in by_body.get(&body).into_iter().flatten() {
        begun.push((*number, transfer.emit(transfer.last(), &Mapping::new(), &[])));
        transfer.erase();
    }
    begun.retain(|(_, tokens)| !tokens.is_empty());
    let Some(ty) = begun.first().map(|(_, tokens)| tokens[0].ty()) else {
        return Vec::new();
    };
    let none = ready(op.location(), ty).before(op).result(0);
    let first = op.num_results();
    let new = append(op, &vec![none; begun.len()], &vec![ty; begun.len()]);
    join_to_carried(body, &begun);
    let results = begun.iter().enumerate();
    results
        .map(|(i, (number, _))| (*number, new.result(first + i)))
        .collect()
}

/// Has `body` carry a token for each of `begun`, and pass it on with the tokens of the iteration.
fn join_to_carried<'c>(body: Block<'c>, begun: &[(usize, Vec<Value<'c>>)]) {
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
