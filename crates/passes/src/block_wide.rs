//! Operations that every thread of a block executes and one thread issues.
//!
//! **Condition.** The operation stands where all threads of the block come together ([`check_uniform`]).
//!
//! **Effect.** [`Issuer::issue`] puts the issued form into an `scf.if` on `gpux.elect`, and in front of it what makes the
//! other threads' accesses to the buffer visible to the asynchronous proxy ([`guard_issue`]).
//!
//! **Refusals.** Code that only some threads execute: the barriers that such an operation takes would never be passed.

use async_dialects::control_flow::erase_results;
use async_dialects::ir::{Block, Op, OpBuilder, Region, Value};
use async_dialects::melior::Context;
use async_dialects::melior::ir::r#type::IntegerType;
use async_dialects::melior::ir::{Attribute, Location};
use async_dialects::pass::PassError;
use std::collections::HashSet;

/// Returns true if `op` is a store of a whole block, in either form.
pub(crate) fn is_store(op: Op<'_>) -> bool {
    matches!(op.name(), "gpux.tma_store" | "gpux.bulk_store")
}

/// A barrier of the block.
pub(crate) fn barrier(location: Location<'_>) -> OpBuilder<'_> {
    OpBuilder::new("gpu.barrier", location)
}

/// Issues operations of one function, in program order.
pub(crate) struct Issuer<'c> {
    context: &'c Context,
    function: Op<'c>,
    leader: Option<Value<'c>>,
    /// The operation issued last.
    last: Option<Op<'c>>,
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
            last: None,
            barriers: 0,
        }
    }

    /// Puts the issued form of `op`, whose tokens nothing uses any more, in its place.
    pub fn issue(&mut self, op: Op<'c>) {
        self.barriers += guard_issue(self.context, op, self.last);
        let leader = self.leader();
        let branch = OpBuilder::new("scf.if", op.location())
            .operands(&[leader])
            .regions(2)
            .before(op);
        let block = Block::new(&[]);
        branch.region(0).append(block);
        erase_results(op, |_| true).move_to_end(block);
        OpBuilder::new("scf.yield", branch.location()).at_end(block);
        self.last = Some(branch);
    }

    /// The value that is true in the thread that issues; there is one in a function.
    fn leader(&mut self) -> Value<'c> {
        *self.leader.get_or_insert_with(|| {
            let entry = self.function.regions().next().and_then(Region::first);
            let entry = entry.expect("a function with operations has a block");
            let known = entry.ops().into_iter().find(|op| op.is("gpux.elect"));
            let elect = known.unwrap_or_else(|| {
                OpBuilder::new("gpux.elect", self.function.location())
                    .results(&[IntegerType::new(self.context, 1).into()])
                    .at_start(entry)
            });
            // It computes from nothing, and whoever uses it may stand anywhere.
            if let Some(first) = entry.first().filter(|first| *first != elect) {
                elect.move_before(first);
            }
            elect.result(0)
        })
    }
}

/// Makes what all threads have done to the buffer of `op` so far visible to the asynchronous proxy, by a fence of every
/// thread and a barrier, in this order. Nothing is emitted where `last`, an operation issued before, stands right
/// before `op`: nothing has touched the buffer since. Returns how many barriers were made.
pub(crate) fn guard_issue<'c>(context: &'c Context, op: Op<'c>, last: Option<Op<'c>>) -> u64 {
    let mut before = op.prev();
    while let Some(prev) = before {
        if Some(prev) == last {
            return 0;
        }
        let in_between = prev.is_pure() || prev.is("gpux.commit_group");
        if !in_between {
            break;
        }
        before = prev.prev();
    }
    let attribute = |text: &str| {
        Attribute::parse(context, text)
            .unwrap_or_else(|| panic!("`{text}` is an attribute of a loaded dialect"))
    };
    OpBuilder::new("nvvm.fence.proxy", op.location())
        .attr("kind", attribute("#nvvm.proxy_kind<async.shared>"))
        .attr("space", attribute("#nvvm.shared_space<cta>"))
        .before(op);
    barrier(op.location()).before(op);
    1
}

/// Returns an error if threads of one block may differ in whether, or how often, they execute `op`. Conservative in
/// what it refuses: control flow that is known to differ.
pub(crate) fn check_uniform<'c>(op: Op<'c>) -> Result<(), PassError<'c>> {
    let outer = op.ancestors().take_while(|outer| !outer.is_function());
    for outer in outer {
        let fault = |why: String| {
            let message = format!(
                "is for all threads of the block together, but the '{}' around it {why}; move it out of there",
                outer.name()
            );
            PassError::new(op, message).note(outer, "threads differ here")
        };
        match outer.name() {
            "scf.forall" | "gpu.warp_execute_on_lane_0" => {
                return Err(fault("is executed by some threads only".to_owned()));
            }
            "gpu.launch" => {
                let message =
                    "is in a gpu.launch, which is no function yet: run --gpu-kernel-outlining before";
                return Err(PassError::new(op, message));
            }
            _ => {}
        }
        for value in steering(outer) {
            if let Some(source) = thread_dependent(value) {
                let why = format!("depends on '{}', which differs between threads", source.name());
                return Err(fault(why).note(source, "this differs between threads"));
            }
        }
    }
    Ok(())
}

/// The values that decide whether and how often the regions of `op` are run.
fn steering(op: Op<'_>) -> Vec<Value<'_>> {
    match op.name() {
        "scf.if" | "scf.index_switch" => vec![op.operand(0)],
        "scf.for" => op.operands().take(3).collect(),
        "scf.while" => {
            let before = op.region(0).blocks().into_iter();
            let conditions = before.filter_map(Block::terminator);
            conditions
                .filter(|condition| condition.is("scf.condition"))
                .map(|condition| condition.operand(0))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns an operation that `value` is computed from and that has other results in other threads of a block.
fn thread_dependent(value: Value<'_>) -> Option<Op<'_>> {
    let mut seen = HashSet::new();
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        let Some(op) = value.defining_op() else { continue };
        if !seen.insert(op) {
            continue;
        }
        match op.name() {
            "gpu.thread_id" | "gpu.lane_id" | "gpux.elect" | "nvvm.elect.sync" => return Some(op),
            name if name.starts_with("nvvm.read.ptx.sreg.tid.") => return Some(op),
            "nvvm.read.ptx.sreg.laneid" => return Some(op),
            _ if op.is_pure() => work.extend(op.operands()),
            _ => {}
        }
    }
    None
}
