//! Determines which barriers of the input stay.
//!
//! A barrier stays if it may order accesses of memory that is not the workgroup's, or stands beside a fence, or where its order
//! is not followed. What others order of the workgroup's memory is derived anew, so they go.

use crate::analysis::barrier_graph::{BarrierGraph, GlobalAccess};
use crate::analysis::escape::is_non_escaping;
use crate::analysis::memory::may_access_memory;
use async_mlir::ir::{Op, Value};
use async_mlir::names::nvvm;
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::barriers::{Action, StepId, may_overlap_anywhere};
use tokenflow::ids::IndexVec;

/// Marks the barriers that stay in `graph`, and returns them: all of those that all threads come to if `all`.
pub(super) fn keep<'c>(graph: &mut BarrierGraph<'c>, all: bool) -> FxHashSet<Op<'c>> {
    let order_global = ordering_global(graph);
    let mut kept = FxHashSet::default();
    for (step, op) in graph.barriers.clone() {
        let is_followed = graph.kernel.steps[step].divergent.is_none();
        if all || !is_followed || order_global.contains(&step) || is_beside_fence(op) {
            kept.insert(op);
            if is_followed {
                graph.kernel.steps[step].action = Action::Barrier;
            }
        }
    }
    kept
}

/// Two accesses that `barrier` may order, of memory that is not the workgroup's.
pub(super) fn what_it_orders<'c>(graph: &BarrierGraph<'c>, barrier: Op<'c>) -> Option<(Op<'c>, Op<'c>)> {
    let (step, _) = *graph.barriers.iter().find(|(_, op)| *op == barrier)?;
    let (forward, backward) = edges(graph);
    let (after, before) = (
        reachable(graph, &forward, step),
        reachable(graph, &backward, step),
    );
    let apart = accessed_apart(graph);
    let accesses = graph
        .global
        .iter()
        .filter(|(_, access)| access.buffer.is_none_or(|buffer| !apart.contains(&buffer)));
    let accesses: Vec<&(StepId, GlobalAccess)> = accesses.collect();
    let meet = |a: &GlobalAccess, b: &GlobalAccess| {
        let same = a.buffer.is_none() || b.buffer.is_none() || a.buffer == b.buffer;
        same && (a.written || b.written)
    };
    let firsts = accesses.iter().filter(|(step, _)| before[*step]);
    let mut pairs = firsts.flat_map(|first| {
        let seconds = accesses.iter().filter(|(step, _)| after[*step]);
        seconds.map(move |second| (first, second))
    });
    let ((first, _), (second, _)) = pairs.find(|(first, second)| meet(&first.1, &second.1))?;
    Some((graph.ops[*first], graph.ops[*second]))
}

/// The steps that each step leads to, and those that lead to it.
type Edges = IndexVec<StepId, Vec<StepId>>;

fn edges(graph: &BarrierGraph) -> (Edges, Edges) {
    let steps = &graph.kernel.steps;
    let mut forward = IndexVec::filled(Vec::new(), steps.len());
    let mut backward = IndexVec::filled(Vec::new(), steps.len());
    for (from, step) in steps.with_ids() {
        for edge in &step.edges {
            forward[from].push(edge.to);
            backward[edge.to].push(from);
        }
    }
    (forward, backward)
}

/// Which steps `edges` lead to from `start`.
fn reachable(graph: &BarrierGraph, edges: &Edges, start: StepId) -> IndexVec<StepId, bool> {
    let mut reached = IndexVec::filled(false, graph.kernel.steps.len());
    let mut work = edges[start].clone();
    while let Some(step) = work.pop() {
        if !std::mem::replace(&mut reached[step], true) {
            work.extend(&edges[step]);
        }
    }
    reached
}

/// Returns true if a fence stands right before or after `barrier`: the two belong together.
pub(super) fn is_beside_fence(barrier: Op<'_>) -> bool {
    let is_fence = |op: Op| matches!(op.name(), nvvm::FENCE_PROXY | nvvm::FENCE_MBARRIER_INIT);
    barrier.next().is_some_and(is_fence) || barrier.prev().is_some_and(is_fence)
}

/// Buffers, as bits; those beyond the last bit share it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Used {
    accessed: u64,
    written: u64,
}

impl Used {
    fn join(&mut self, other: Self) -> bool {
        let before = *self;
        self.accessed |= other.accessed;
        self.written |= other.written;
        *self != before
    }

    /// Returns true if something is accessed in both and written in one.
    fn conflicts_with(self, other: Self) -> bool {
        self.written & other.accessed != 0 || self.accessed & other.written != 0
    }
}

/// The barriers before which something is accessed that is accessed after them, and one of the two writes.
fn ordering_global(graph: &BarrierGraph) -> FxHashSet<StepId> {
    let steps = &graph.kernel.steps;
    let mut own = IndexVec::filled(Used::default(), steps.len());
    let mut numbers: FxHashMap<Value, u32> = FxHashMap::default();
    let apart = accessed_apart(graph);
    for (step, GlobalAccess { buffer, written, .. }) in &graph.global {
        if buffer.is_some_and(|buffer| apart.contains(&buffer)) {
            continue;
        }
        let bits = buffer.map_or(u64::MAX, |buffer| {
            let next = u32::try_from(numbers.len()).map_or(63, |next| next.min(63));
            1 << *numbers.entry(buffer).or_insert(next)
        });
        let written = if *written { bits } else { 0 };
        own[*step].join(Used {
            accessed: bits,
            written,
        });
    }
    let forward: Vec<(StepId, StepId)> = steps
        .with_ids()
        .flat_map(|(from, step)| step.edges.iter().map(move |edge| (from, edge.to)))
        .collect();
    let backward: Vec<(StepId, StepId)> = forward.iter().rev().map(|(from, to)| (*to, *from)).collect();
    let (before, after) = (reach(&own, &forward), reach(&own, &backward));
    let barriers = graph.barriers.iter().map(|(step, _)| *step);
    barriers
        .filter(|step| before[*step].conflicts_with(after[*step]))
        .collect()
}

/// So many accesses to a buffer are compared with each other.
const MAX_COMPARED: usize = 64;

/// The buffers of which no two threads access the same byte, unless both only read it: nothing has to order their accesses. What may
/// access any buffer may access those that others know.
fn accessed_apart<'c>(graph: &BarrierGraph<'c>) -> FxHashSet<Value<'c>> {
    let mut by_buffer: FxHashMap<Value, Vec<&GlobalAccess>> = FxHashMap::default();
    let (mut any, mut any_written) = (false, false);
    for (step, access) in &graph.global {
        let is_any = access.buffer.is_none() && may_access_memory(graph.ops[*step]);
        any |= is_any;
        any_written |= is_any && access.written;
        if let Some(buffer) = access.buffer {
            by_buffer.entry(buffer).or_default().push(access);
        }
    }
    let meet = |a: &GlobalAccess, b: &GlobalAccess| match (&a.footprint, &b.footprint) {
        _ if !a.written && !b.written => false,
        (Some(a), Some(b)) if a.by_indices_of == b.by_indices_of => {
            may_overlap_anywhere(&graph.kernel.loops, &a.bytes, &b.bytes)
        }
        _ => true,
    };
    let apart = by_buffer.into_iter().filter(|(_, accesses)| {
        let mut pairs = accesses.iter().flat_map(|a| accesses.iter().map(move |b| (a, b)));
        accesses.len() <= MAX_COMPARED && !pairs.any(|(a, b)| meet(a, b))
    });
    let apart = apart.filter(|(buffer, accesses)| {
        let meets_any = any_written || any && accesses.iter().any(|access| access.written);
        !meets_any || is_non_escaping(*buffer)
    });
    apart.map(|(buffer, _)| buffer).collect()
}

/// What is used on some path that leads to each step, or from it; `edges` are in the order in which most of them lead on.
fn reach(own: &IndexVec<StepId, Used>, edges: &[(StepId, StepId)]) -> IndexVec<StepId, Used> {
    let mut reached = own.clone();
    loop {
        let mut changed = false;
        for &(from, to) in edges {
            let used = reached[from];
            changed |= reached[to].join(used);
        }
        if !changed {
            return reached;
        }
    }
}
