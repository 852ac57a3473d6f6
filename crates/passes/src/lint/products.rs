//! Which multiplications add to the results of which.
//!
//! Multiplications that add to one result are complete in order: whoever awaits one has awaited those whose results it adds to. Results are
//! followed through control flow, whichever way it may go.

use crate::analysis::cfg::RegionFlow;
use async_dialects::names::gpux;
use async_mlir::control_flow::selected_values;
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::nvgpu::accumulated_matrix;
use rustc_hash::{FxHashMap, FxHashSet};

/// The tokens of multiplications among `ops`, each with that of a multiplication whose result it may add to.
pub(super) fn added_to<'c>(ops: &[Op<'c>]) -> Vec<(Value<'c>, Value<'c>)> {
    let multiplications: Vec<Op> = ops.iter().copied().filter(|op| token(*op).is_some()).collect();
    if multiplications.is_empty() {
        return Vec::new();
    }
    let sources = sources(ops);
    let mut pairs = Vec::new();
    for op in multiplications {
        let accumulator = op.operand(op.num_operands() - 1);
        let earlier = definitions(accumulator, &sources).into_iter().filter_map(token);
        pairs.extend(
            token(op)
                .into_iter()
                .flat_map(|later| earlier.clone().map(move |earlier| (later, earlier))),
        );
    }
    pairs
}

/// The token of a multiplication.
fn token(op: Op<'_>) -> Option<Value<'_>> {
    (op.is(gpux::WGMMA) && op.num_results() == 2).then(|| op.result(1))
}

/// What control flow may bind accumulators to.
fn sources<'c>(ops: &[Op<'c>]) -> FxHashMap<Value<'c>, Vec<Value<'c>>> {
    let mut sources: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    let mut bind = |from: Value<'c>, to: Value<'c>| {
        if accumulated_matrix(to.ty()).is_some() {
            sources.entry(to).or_default().push(from);
        }
    };
    for &op in ops {
        if let Some(values) = selected_values(op) {
            for value in values {
                bind(value, op.result(0));
            }
        }
        let flow = if op.is_function() {
            RegionFlow::of_function(op)
        } else {
            RegionFlow::new(op)
        };
        let terminators = op.regions().flat_map(Region::blocks).map(Block::terminator);
        let exits = terminators.flat_map(|terminator| flow.exits(terminator));
        for edge in flow.known_entries().into_iter().flatten().cloned().chain(exits) {
            edge.bindings.into_iter().for_each(|(from, to)| bind(from, to));
        }
    }
    sources
}

/// The operations whose results `value` may be.
fn definitions<'c>(value: Value<'c>, sources: &FxHashMap<Value<'c>, Vec<Value<'c>>>) -> Vec<Op<'c>> {
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let mut work = vec![value];
    let mut ops = Vec::new();
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        match sources.get(&value) {
            Some(from) => work.extend(from),
            None => ops.extend(match value.definition() {
                Definition::Result(op, _) => Some(op),
                Definition::Argument(..) => None,
            }),
        }
    }
    ops
}
