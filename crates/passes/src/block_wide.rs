//! Operations that every thread of a block executes and one thread issues.
//!
//! **Condition.** The operation stands where all threads of the block come together ([`Uniform`]).
//!
//! **Effect.** [`Issuer::issue`] puts the issued form into an `scf.if` on `gpux.elect`, and in front of it what makes the
//! other threads' accesses to the buffer visible to the asynchronous proxy ([`guard_issue`]).
//!
//! **Refusals.** Code that only some threads execute: the barriers that such an operation takes would never be passed.

use crate::analysis::tree;
use async_dialects::control_flow::{entry_edges, erase_results, region_exit_edges};
use async_dialects::ir::{Block, Definition, Op, OpBuilder, Region, Value};
use async_dialects::melior::Context;
use async_dialects::melior::ir::Location;
use async_dialects::melior::ir::r#type::IntegerType;
use async_dialects::pass::PassError;
use async_dialects::types::known_attribute;
use std::collections::{HashMap, HashSet};
use tokenflow::phases::{self, Guard};

/// A barrier of the block.
pub(crate) fn barrier(location: Location<'_>) -> OpBuilder<'_> {
    OpBuilder::new("gpu.barrier", location)
}

/// Returns true if `op` is a barrier of the block that orders accesses of all its memory.
pub(crate) fn is_barrier(op: Op<'_>) -> bool {
    matches!(op.name(), "gpu.barrier" | "nvvm.barrier0") && !op.has_attr("address_spaces")
}

/// Issues operations of one function, in program order.
pub(crate) struct Issuer<'c> {
    context: &'c Context,
    function: Op<'c>,
    leader: Option<Value<'c>>,
    /// What has to come before which store; both a fence and a barrier where there is no entry.
    guards: HashMap<Op<'c>, Guard>,
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
        let both = Guard {
            fence: true,
            barrier: true,
        };
        let guard = self.guards.get(&op).copied().unwrap_or(both);
        guard_issue(self.context, op, guard);
        self.barriers += u64::from(guard.barrier);
        let leader = *self.leader.get_or_insert_with(|| leader(self.function));
        let end = only_if(leader, op);
        erase_results(op, |_| true).move_before(end);
    }
}

/// The value that is true in the thread that issues; there is one in a function, where it starts.
pub(crate) fn leader<'c>(function: Op<'c>) -> Value<'c> {
    let entry = function.regions().next().and_then(Region::first);
    let entry = entry.expect("a function with operations has a block");
    let known = entry.ops().into_iter().find(|op| op.is("gpux.elect"));
    let elect = known.unwrap_or_else(|| {
        OpBuilder::new("gpux.elect", function.location())
            .results(&[IntegerType::new(function.context(), 1).into()])
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
    let branch = OpBuilder::new("scf.if", before.location())
        .operands(&[condition])
        .regions(2)
        .before(before);
    let block = Block::new(&[]);
    branch.region(0).append(block);
    OpBuilder::new("scf.yield", before.location()).at_end(block)
}

/// What has to come before each store in token form, so that what threads have written so far is visible to the
/// asynchronous proxy. Where control flow is not structured, nothing is known.
fn guards(function: Op<'_>) -> HashMap<Op<'_>, Guard> {
    let Ok(read) = tree::read(function) else {
        return HashMap::new();
    };
    let guards = phases::guard_stores(&read.tree, false);
    read.stores.into_iter().zip(guards.stores).collect()
}

/// Writes a guard before `op`: a fence of every thread, and behind it a barrier.
pub(crate) fn guard_issue<'c>(context: &'c Context, op: Op<'c>, guard: Guard) {
    if guard.fence {
        fence(context, op.location()).before(op);
    }
    if guard.barrier {
        barrier(op.location()).before(op);
    }
}

/// A fence between what the thread has written to memory of the workgroup and the asynchronous proxy.
pub(crate) fn fence<'c>(context: &'c Context, location: Location<'c>) -> OpBuilder<'c> {
    OpBuilder::new("nvvm.fence.proxy", location)
        .attr("kind", known_attribute(context, "#nvvm.proxy_kind<async.shared>"))
        .attr("space", known_attribute(context, "#nvvm.shared_space<cta>"))
}

/// Which operations threads of one block execute together, all of them equally often. Conservative in what it refuses:
/// control flow that is known to differ.
#[derive(Default)]
pub(crate) struct Uniform<'c> {
    /// Operations around others in which threads don't differ.
    known: HashSet<Op<'c>>,
}

impl<'c> Uniform<'c> {
    /// Returns an error if threads may differ in whether, or how often, they execute `op`.
    pub fn check(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        let outer = op.ancestors().take_while(|outer| !outer.is_function());
        for outer in outer {
            if self.known.contains(&outer) {
                break;
            }
            check_inside(op, outer)?;
        }
        let outer = op.ancestors().take_while(|outer| !outer.is_function());
        self.known.extend(outer);
        Ok(())
    }
}

/// Returns an error if threads may differ in whether, or how often, they execute what is in `outer`, such as `op`.
fn check_inside<'c>(op: Op<'c>, outer: Op<'c>) -> Result<(), PassError<'c>> {
    let fault = |why: String| {
        let message = format!(
            "is for all threads of the block together, but the '{}' around it {why}; move it out of there",
            outer.name()
        );
        PassError::new(op, message).note(outer, "threads differ here")
    };
    if differs_inside(outer) {
        return Err(fault("is executed by some threads only".to_owned()));
    }
    if outer.is("gpu.launch") {
        let message = "is in a gpu.launch, which is no function yet: run --gpu-kernel-outlining before";
        return Err(PassError::new(op, message));
    }
    for value in steering(outer) {
        if let Some(source) = thread_dependent(value) {
            let why = format!("depends on '{}', which differs between threads", source.name());
            return Err(fault(why).note(source, "this differs between threads"));
        }
    }
    Ok(())
}

/// The values that decide whether and how often the regions of `op` are run.
fn steering(op: Op<'_>) -> Vec<Value<'_>> {
    match op.name() {
        "scf.if" | "scf.index_switch" => vec![op.operand(0)],
        // What they carry around does not steer them.
        "scf.for" => op.operands().take(3).collect(),
        "scf.execute_region" | "memref.alloca_scope" | "async.region" => Vec::new(),
        "scf.while" => {
            let before = op.region(0).blocks().into_iter();
            let conditions = before.filter_map(Block::terminator);
            conditions
                .filter(|condition| condition.is("scf.condition"))
                .map(|condition| condition.operand(0))
                .collect()
        }
        "affine.for" => {
            let bounds = op.num_operands() - op.num_results();
            op.operands().take(bounds).collect()
        }
        // All of them, as far as is known.
        _ => op.operands().collect(),
    }
}

/// Returns an operation that `value` depends on and that has other results in other threads of a block. What is read
/// from memory depends on the address alone: a race is not what makes threads differ, and what a thread has put into
/// memory of its own is not known.
fn thread_dependent(value: Value<'_>) -> Option<Op<'_>> {
    let mut seen = HashSet::new();
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        let op = match value.definition() {
            Definition::Result(op, _) => op,
            Definition::Argument(block, _) => match block.parent_op() {
                Some(around) if !around.is_function() => {
                    work.extend(bound_to(around, value));
                    work.extend(steering(around));
                    continue;
                }
                _ => continue,
            },
        };
        if differs(op) {
            return Some(op);
        }
        // The same in all threads, whatever they bring.
        if op.is("gpu.all_reduce") {
            continue;
        }
        if op.num_regions() > 0 {
            work.extend(bound_to(op, value));
            work.extend(steering(op));
        } else if op.is_pure() || matches!(op.name(), "memref.load" | "vector.load" | "vector.transfer_read")
        {
            work.extend(op.operands());
        }
    }
    None
}

/// Values that are looked at to prove that threads agree on one.
const PROOF_LIMIT: usize = 64;

/// Returns true if it is proven that all threads of a block run the regions of `op` alike. Conservative: what is read
/// from memory, returned by a call or handed to a function that is no kernel may differ.
pub(crate) fn runs_alike(op: Op<'_>) -> bool {
    if differs_inside(op) {
        return false;
    }
    let mut seen = HashSet::new();
    let mut work = steering(op);
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > PROOF_LIMIT {
            return false;
        }
        match value.definition() {
            Definition::Argument(block, _) => match block.parent_op() {
                Some(around) if !around.is_function() => {
                    work.extend(bound_to(around, value));
                    work.extend(steering(around));
                }
                Some(function) if function.has_attr("gpu.kernel") => {}
                _ => return false,
            },
            Definition::Result(op, _) if differs(op) => return false,
            Definition::Result(op, _) if op.num_regions() > 0 => {
                work.extend(bound_to(op, value));
                work.extend(steering(op));
            }
            Definition::Result(op, _) if op.is_pure() => {
                let known = op.num_operands() > 0 || value.as_constant_int().is_some() || same_in_block(op);
                if !known {
                    return false;
                }
                work.extend(op.operands());
            }
            Definition::Result(..) => return false,
        }
    }
    true
}

/// Returns true if `op` tells something that all threads of a block have in common.
fn same_in_block(op: Op<'_>) -> bool {
    matches!(op.name(), "gpu.block_id" | "gpu.block_dim" | "gpu.grid_dim")
}

/// Returns true if `op` runs its regions for some threads only.
pub(crate) fn differs_inside(op: Op<'_>) -> bool {
    matches!(op.name(), "scf.forall" | "gpu.warp_execute_on_lane_0")
}

/// Returns true if the results of `op` differ between threads by themselves.
fn differs(op: Op<'_>) -> bool {
    match op.name() {
        "gpu.thread_id"
        | "gpu.global_id"
        | "gpu.lane_id"
        | "gpu.subgroup_id"
        | "gpu.shuffle"
        | "gpux.elect"
        | "nvvm.elect.sync"
        | "memref.atomic_rmw"
        | "nvvm.read.ptx.sreg.laneid"
        | "nvvm.read.ptx.sreg.warpid" => true,
        name => name.starts_with("nvvm.read.ptx.sreg.tid."),
    }
}

/// The values that edges of `op` bind to `value`, an argument of its blocks or a result.
fn bound_to<'c>(op: Op<'c>, value: Value<'c>) -> Vec<Value<'c>> {
    let ends = op
        .regions()
        .flat_map(Region::blocks)
        .filter_map(Block::terminator);
    let mut edges = entry_edges(op).unwrap_or_default();
    edges.extend(ends.filter_map(region_exit_edges).flatten());
    let bindings = edges.into_iter().flat_map(|edge| edge.bindings);
    bindings
        .filter(|(_, to)| *to == value)
        .map(|(from, _)| from)
        .collect()
}
