//! Converts asynchronous regions of device code that do nothing but transfers.

use super::reason::Reason;
use super::recognize::{Recognizer, Transfer};
use super::sinking::{Pending, may_overlap};
use crate::utils::tokens::await_before;
use async_dialects::names::async_;
use async_dialects::types::token;
use async_mlir::ir::{Block, Mapping, Op, OpBuilder, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// A region all of whose work is transfers.
pub(super) struct TransferRegion<'c> {
    region: Op<'c>,
    transfers: FxHashMap<Op<'c>, Transfer<'c>>,
}

/// Reads `region`; `None` if there is no transfer in it. An error comes with the operation that it is about.
pub(super) fn read<'c>(
    recognizer: &mut Recognizer<'c>,
    region: Op<'c>,
) -> Option<Result<TransferRegion<'c>, (Op<'c>, Reason<'c>)>> {
    let ops = region.region(0).first().map_or_else(Vec::new, Block::ops);
    let mut transfers = FxHashMap::default();
    let mut own: FxHashSet<Op> = FxHashSet::default();
    let mut others = Vec::new();
    let mut refused = None;
    for op in ops {
        match recognizer.recognize(op) {
            Some(Ok(transfer)) => {
                own.extend(transfer.ops());
                transfers.insert(op, transfer);
            }
            Some(Err(reason)) => refused = refused.or(Some((op, reason))),
            None => others.push(op),
        }
    }
    if transfers.is_empty() && refused.is_none() {
        return None;
    }
    let other = others
        .into_iter()
        .find(|op| !own.contains(op) && !op.is_pure() && op.view_source().is_none() && !op.is_terminator());
    let refused = refused.or_else(|| {
        let message = "is a region that does not only transfer";
        other.map(|other| {
            let reason = Reason::new(message).note(other, "this is no transfer: move it out of the region");
            (region, reason)
        })
    });
    Some(match refused {
        Some(refused) => Err(refused),
        None => Ok(TransferRegion { region, transfers }),
    })
}

impl<'c> TransferRegion<'c> {
    /// How many transfers there are.
    pub fn len(&self) -> usize {
        self.transfers.len()
    }

    /// Puts the asynchronous operations in the place of the region, and a join of their tokens in the place of its token.
    pub fn emit(self) {
        let region = self.region;
        let dependencies: Vec<Value> = region.operands().collect();
        if !dependencies.is_empty() {
            await_before(region, &dependencies);
        }
        let mut pending: Vec<Pending> = Vec::new();
        let mut done: Vec<Op> = Vec::new();
        let mut yielded = Vec::new();
        let own: FxHashSet<Op> = self.transfers.values().flat_map(Transfer::ops).copied().collect();
        for op in region.region(0).first().map_or_else(Vec::new, Block::ops) {
            if op.is_terminator() {
                yielded = op.operands().collect();
            } else if let Some(transfer) = self.transfers.get(&op) {
                // What is written twice is written in order.
                let earlier = pending.iter().filter(|earlier| may_overlap(earlier, transfer));
                let earlier: Vec<Value> = earlier.flat_map(|earlier| earlier.tokens.clone()).collect();
                let tokens = transfer.emit(region, &Mapping::new(), &earlier);
                pending.push(Pending::of(transfer, tokens));
                done.push(op);
            } else if !own.contains(&op) {
                op.move_before(region);
            }
        }
        for op in done {
            self.transfers[&op].erase();
        }
        let mut tokens: Vec<Value> = pending.into_iter().flat_map(|pending| pending.tokens).collect();
        // Tokens after the values delay the region's own.
        tokens.extend(yielded.split_off(region.num_results() - 1));
        let mut results = vec![join(region, &tokens)];
        results.extend(yielded);
        region.replace_with(&results);
    }
}

/// A token that is complete when all of `tokens` are, before `place`.
fn join<'c>(place: Op<'c>, tokens: &[Value<'c>]) -> Value<'c> {
    match tokens {
        [only] => *only,
        _ => OpBuilder::new(async_::JOIN, place.location())
            .operands(tokens)
            .results(&[token(place.context())])
            .before(place)
            .result(0),
    }
}
