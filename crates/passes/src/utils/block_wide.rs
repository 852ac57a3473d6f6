//! Helpers for operations that every thread of a block executes and one thread issues.
//!
//! **Condition.** The operation stands where all threads of the block come together (`Uniformity`).
//!
//! **Effect.** [`Issuer::issue`] puts the issued form into an `scf.if` on `gpux.elect`, and before it what makes the
//! other threads' accesses to the buffer visible to the asynchronous proxy ([`guard_issue`]).
//!
//! **Refusals.** Code that only some threads execute: the barriers that such an operation takes would never be passed.

use crate::analysis::phase_skeleton;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::control_flow::erase_results;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value, int_attr};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Location;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::names::{attr, gpu, nvvm, scf};
use async_mlir::nvvm::{async_shared_proxy, shared_cta_space};
use rustc_hash::FxHashMap;
use tokenflow::phases::{self, RequiredSync};

/// A barrier of the block.
pub(crate) fn barrier(location: Location<'_>) -> OpBuilder<'_> {
    OpBuilder::new(gpu::BARRIER, location)
}

/// Returns true if the program has a barrier of its own after `op`, before anything else happens.
pub(crate) fn barrier_follows(op: Op<'_>) -> bool {
    next_with_effect(op).is_some_and(is_barrier)
}

/// What happens next after `op` in its block.
pub(crate) fn next_with_effect(op: Op<'_>) -> Option<Op<'_>> {
    std::iter::successors(op.next(), |op| op.next()).find(|op| !op.is_pure())
}

/// Issues operations of one function, in program order.
pub(crate) struct Issuer<'c> {
    context: &'c Context,
    function: Op<'c>,
    leader: Option<Value<'c>>,
    /// What has to come before which store; both a fence and a barrier where there is no entry.
    guards: FxHashMap<Op<'c>, RequiredSync>,
    /// How many barriers were made.
    pub barriers: u64,
}

impl<'c> Issuer<'c> {
    /// An issuer for `function`.
    pub fn new(function: Op<'c>) -> Self {
        Self {
            context: function.context(),
            function,
            leader: None,
            guards: guards(function),
            barriers: 0,
        }
    }

    /// Puts the issued form of `op`, whose tokens nothing uses any more, in its place.
    pub fn issue(&mut self, op: Op<'c>) {
        let both = RequiredSync {
            fence: true,
            barrier: true,
        };
        let guard = self.guards.get(&op).copied().unwrap_or(both);
        self.barriers += u64::from(guard_issue(self.context, op, guard));
        let leader = *self.leader.get_or_insert_with(|| leader(self.function));
        let end = only_if(leader, op);
        erase_results(op, |_| true).move_before(end);
    }
}

/// The value that is true in the thread that issues; there is one in a function, where it starts.
pub(crate) fn leader<'c>(function: Op<'c>) -> Value<'c> {
    leader_of(function, None)
}

/// The same, of a warp that is named.
pub(crate) fn leader_of<'c>(function: Op<'c>, warp: Option<u32>) -> Value<'c> {
    let entry = function.regions().next().and_then(Region::first);
    let entry = entry.expect("a function with operations has a block");
    let is_it = |op: &Op| {
        op.is(gpux::ELECT)
            && warp.is_none_or(|warp| op.int_attr(gpux_attr::WARP).unwrap_or(0) == i64::from(warp))
    };
    let known = entry.ops().into_iter().find(is_it);
    let elect = known.unwrap_or_else(|| {
        let elect = OpBuilder::new(gpux::ELECT, function.location()).results(&[IntegerType::new(
            function.context(),
            1,
        )
        .into()]);
        match warp.filter(|warp| *warp > 0) {
            Some(warp) => elect.attr(gpux_attr::WARP, int_attr(function.context(), 32, i64::from(warp))),
            None => elect,
        }
        .at_start(entry)
    });
    // It computes from nothing, and whoever uses it may stand anywhere.
    if let Some(first) = entry.first().filter(|first| *first != elect) {
        elect.move_before(first);
    }
    elect.result(0)
}

/// The end of an empty `scf.if` on `condition`, made before `before`.
pub(crate) fn only_if<'c>(condition: Value<'c>, before: Op<'c>) -> Op<'c> {
    let branch = OpBuilder::new(scf::IF, before.location())
        .operands(&[condition])
        .regions(2)
        .before(before);
    let block = Block::new(&[]);
    branch.region(0).append(block);
    OpBuilder::new(scf::YIELD, before.location()).at_end(block)
}

/// What has to come before each store in token form, so that what threads have written so far is visible to the
/// asynchronous proxy. Where control flow is not structured, nothing is known.
fn guards(function: Op<'_>) -> FxHashMap<Op<'_>, RequiredSync> {
    let Ok(read) = phase_skeleton::read(function) else {
        return FxHashMap::default();
    };
    let guards = phases::store_syncs(&read.tree, false);
    read.stores.into_iter().zip(guards.stores).collect()
}

/// Writes a guard before `op`: a fence of every thread, and after it a barrier, unless the program has one there: then the fence
/// comes before that. Returns true if there is a new barrier.
pub(crate) fn guard_issue<'c>(context: &'c Context, op: Op<'c>, guard: RequiredSync) -> bool {
    let mut before = std::iter::successors(op.prev(), |op| op.prev());
    let own = before.find(|op| !op.is_pure()).filter(|op| is_barrier(*op));
    if guard.fence {
        fence(context, op.location()).before(own.unwrap_or(op));
    }
    let is_new = guard.barrier && own.is_none();
    if is_new {
        barrier(op.location()).before(op);
    }
    is_new
}

/// A fence between what the thread has written to memory of the workgroup and the asynchronous proxy.
pub(crate) fn fence<'c>(context: &'c Context, location: Location<'c>) -> OpBuilder<'c> {
    OpBuilder::new(nvvm::FENCE_PROXY, location)
        .attr(attr::KIND, async_shared_proxy(context))
        .attr(attr::SPACE, shared_cta_space(context))
}
