//! Divergence analysis: where the threads of a block, or of a warpgroup, may differ in values and control
//! flow, and whether they execute an operation together.

mod branches;
mod warpgroup;

use self::warpgroup::is_same_in_warpgroup;
use crate::memory::is_workgroup_alloc;
use async_dialects::completion::ExecutionScope;
use async_dialects::names::{async_, gpux};
use async_dialects::types::is_token;
use async_mlir::control_flow::{entry_edges, region_exit_edges};
use async_mlir::gpu::{Dimension, block_size, is_kernel, num_attributions, num_inputs};
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::memory_effects::memory_effects;
use async_mlir::names::{affine, attr, gpu, memref, nvvm, scf, vector};
use async_mlir::pass::PassError;
use rustc_hash::FxHashSet;

/// The values that decide whether and how often the regions of `op` are run.
pub fn control_operands(op: Op<'_>) -> Vec<Value<'_>> {
    match op.name() {
        scf::IF | scf::INDEX_SWITCH => vec![op.operand(0)],
        // What they carry around does not steer them.
        scf::FOR => op.operands().take(3).collect(),
        scf::EXECUTE_REGION | memref::ALLOCA_SCOPE | async_::REGION => Vec::new(),
        scf::WHILE => {
            let before = op.region(0).blocks().into_iter();
            let conditions = before.filter_map(Block::terminator);
            conditions
                .filter(|condition| condition.is(scf::CONDITION))
                .map(|condition| condition.operand(0))
                .collect()
        }
        affine::FOR => {
            let bounds = op.num_operands() - op.num_results();
            op.operands().take(bounds).collect()
        }
        // All of them, as far as is known; tokens say when and not where to.
        _ => op.operands().filter(|value| !is_token(value.ty())).collect(),
    }
}

/// Returns an operation that `value` depends on and that has other results in other threads of a block. What is read
/// from memory depends on the address alone: a race is not what makes threads differ, and what a thread has put into
/// memory of its own is not known.
pub fn find_thread_varying_op(value: Value<'_>) -> Option<Op<'_>> {
    find_varying_op(value, ExecutionScope::Block)
}

/// The same for the threads of `scope`: a block, or a warpgroup of it.
fn find_varying_op(value: Value<'_>, scope: ExecutionScope) -> Option<Op<'_>> {
    search(value, usize::MAX, scope, |source| match source {
        Source::Computed(op) if is_thread_varying(op) => Some(op),
        _ => None,
    })
}

/// Returns true if `op` runs its regions for some threads only, although the interface of its control flow says that
/// control always passes through them: that describes all threads together.
pub fn runs_for_some_threads(op: Op<'_>) -> bool {
    matches!(op.name(), scf::FORALL | gpu::WARP_EXECUTE_ON_LANE_0)
}

/// Values that are looked at to prove that threads agree, so that long chains of computations stay linear.
const PROOF_LIMIT: usize = 256;

/// Returns true unless all threads of a block are known to take the same way through `op`.
pub fn may_diverge(op: Op<'_>) -> bool {
    may_diverge_unless(op, is_uniform)
}

/// The same for somebody who remembers which values are uniform.
pub fn may_diverge_unless<'c>(op: Op<'c>, is_uniform: impl FnMut(Value<'c>) -> bool) -> bool {
    runs_for_some_threads(op) || !control_operands(op).into_iter().all(is_uniform)
}

/// Returns true if it is known that all threads of a block come to `op`, equally often.
pub fn all_threads_reach(op: Op<'_>) -> bool {
    // Which of several blocks are run, branches between them decide.
    let is_entered = |op: Op<'_>| {
        let block = op.block();
        block.and_then(Block::region).and_then(Region::first) == block
    };
    let mut around = op.ancestors().take_while(|outer| !outer.is_function());
    is_entered(op) && around.all(|outer| !may_diverge(outer) && is_entered(outer))
}

/// Returns true if `value` is known to be the same in all threads of a block.
pub fn is_uniform(value: Value<'_>) -> bool {
    let found = search(value, PROOF_LIMIT, ExecutionScope::Block, |source| match source {
        Source::Computed(op) => is_thread_varying(op).then_some(()),
        Source::Unknown => Some(()),
        Source::Given(function, index) => (!is_shared(function, index)).then_some(()),
    });
    found.is_none()
}

/// Returns true if an argument of `function` is the same for all threads of a block: callers may hand over anything, and
/// a kernel may have memory of each thread's own.
pub fn is_shared(function: Op<'_>, index: usize) -> bool {
    let shared = num_inputs(function).map(|inputs| inputs + num_attributions(function));
    is_kernel(function) && shared.is_some_and(|shared| index < shared)
}

/// What a value depends on.
#[derive(Clone, Copy)]
enum Source<'c> {
    /// What an operation computes.
    Computed(Op<'c>),
    /// The argument of a function.
    Given(Op<'c>, usize),
    /// What is not known.
    Unknown,
}

/// Looks at what `value` depends on until `found` returns something, but for what is the same in all threads of `scope`; what
/// comes after `limit` values is not known.
fn search<'c, T>(
    value: Value<'c>,
    limit: usize,
    scope: ExecutionScope,
    found: impl Fn(Source<'c>) -> Option<T>,
) -> Option<T> {
    let mut seen = FxHashSet::default();
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > limit {
            return found(Source::Unknown);
        }
        let source = match value.definition() {
            Definition::Result(op, _) => Source::Computed(op),
            Definition::Argument(block, index) => match block.parent_op() {
                Some(function) if function.is_function() => {
                    if function.region(0).first() == Some(block) {
                        Source::Given(function, index)
                    } else {
                        Source::Unknown
                    }
                }
                Some(around) => {
                    work.extend(bound_to(around, value));
                    work.extend(control_operands(around));
                    continue;
                }
                None => Source::Unknown,
            },
        };
        if let Some(found) = found(source) {
            return Some(found);
        }
        let Source::Computed(op) = source else { continue };
        // The same in all threads, whatever they bring.
        if op.is(gpu::ALL_REDUCE)
            || is_workgroup_alloc(op)
            || scope == ExecutionScope::Warpgroup && is_same_in_warpgroup(op)
        {
            continue;
        }
        if op.num_regions() > 0 {
            work.extend(bound_to(op, value));
            work.extend(control_operands(op));
        } else if has_no_effects(op)
            || matches!(op.name(), memref::LOAD | vector::LOAD | vector::TRANSFER_READ)
        {
            work.extend(op.operands());
        } else if let Some(found) = found(Source::Unknown) {
            return Some(found);
        }
    }
    None
}

/// Returns true if `op` has no effects on memory; a division by what may be 0 has none, either, but is not pure.
fn has_no_effects(op: Op<'_>) -> bool {
    memory_effects(op).is_some_and(|effects| effects.is_empty())
}

/// Returns true if the results of `op` differ between threads by themselves.
pub fn is_thread_varying(op: Op<'_>) -> bool {
    if dimension_of(op).is_some_and(|dimension| has_one_thread(op, dimension)) {
        return false;
    }
    matches!(
        op.name(),
        gpu::THREAD_ID
            | gpu::GLOBAL_ID
            | gpu::LANE_ID
            | gpu::SUBGROUP_ID
            | gpu::SHUFFLE
            | gpux::ELECT
            | nvvm::ELECT_SYNC
            | memref::ATOMIC_RMW
            | nvvm::READ_PTX_SREG_LANEID
            | nvvm::READ_PTX_SREG_TID_X
            | nvvm::READ_PTX_SREG_TID_Y
            | nvvm::READ_PTX_SREG_TID_Z
            | nvvm::READ_PTX_SREG_WARPID
    )
}

/// The dimension of a block in which `op` numbers threads.
fn dimension_of(op: Op<'_>) -> Option<Dimension> {
    match op.name() {
        gpu::THREAD_ID | gpu::GLOBAL_ID => {
            let is_its =
                |dimension: &Dimension| op.attr(attr::DIMENSION) == Some(dimension.attribute(op.context()));
            Dimension::ALL.into_iter().find(is_its)
        }
        nvvm::READ_PTX_SREG_TID_X => Some(Dimension::X),
        nvvm::READ_PTX_SREG_TID_Y => Some(Dimension::Y),
        nvvm::READ_PTX_SREG_TID_Z => Some(Dimension::Z),
        _ => None,
    }
}

/// Returns true if the blocks that execute `op` are known to have one thread in `dimension`.
fn has_one_thread(op: Op<'_>, dimension: Dimension) -> bool {
    let function = op.ancestors().find(|outer| outer.is_function());
    function.and_then(block_size).is_some_and(|[x, y, z]| {
        1 == match dimension {
            Dimension::X => x,
            Dimension::Y => y,
            Dimension::Z => z,
        }
    })
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

/// Which operations threads of one block, or of one warpgroup, execute together, all of them equally often. Refuses only control
/// flow that is known to differ between threads: this proves nothing.
pub struct Uniformity<'c> {
    scope: ExecutionScope,
    /// Operations around others in which threads don't differ.
    known: FxHashSet<Op<'c>>,
    /// Blocks that threads come to together.
    known_blocks: FxHashSet<Block<'c>>,
}

impl<'c> Uniformity<'c> {
    /// Of the threads of a block, or of a warpgroup.
    #[must_use]
    pub fn of(scope: ExecutionScope) -> Self {
        Self {
            scope,
            known: FxHashSet::default(),
            known_blocks: FxHashSet::default(),
        }
    }

    /// Returns an error if whether, or how often, threads execute `op` depends on something that is known to differ between them;
    /// what is unknown is accepted.
    ///
    /// # Errors
    ///
    /// As said; with a note where threads differ.
    pub fn check(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        self.check_branches(op, op)?;
        let outer = op.ancestors().take_while(|outer| !outer.is_function());
        for outer in outer {
            if self.known.contains(&outer) {
                break;
            }
            self.check_inside(op, outer)?;
            self.check_branches(op, outer)?;
        }
        let outer = op.ancestors().take_while(|outer| !outer.is_function());
        self.known.extend(outer);
        Ok(())
    }

    fn threads(&self) -> &'static str {
        match self.scope {
            ExecutionScope::Warpgroup => "warpgroup",
            _ => "block",
        }
    }

    /// Returns an error if threads are known to branch differently to the block of `outer`, which is `op` or around it.
    fn check_branches(&mut self, op: Op<'c>, outer: Op<'c>) -> Result<(), PassError<'c>> {
        let Some(block) = outer.block().filter(|block| !self.known_blocks.contains(block)) else {
            return Ok(());
        };
        let found = branches::find_divergent(block, |value| find_varying_op(value, self.scope));
        if let Some((branch, source)) = found {
            let message = format!(
                "has to be executed by all threads of the {}, but how control comes to its block depends on '{}', which differs between threads",
                self.threads(),
                source.name()
            );
            return Err(PassError::new(op, message)
                .note(
                    branch,
                    "threads diverge here: move the operation to where all come by",
                )
                .note(source, "this differs between threads"));
        }
        self.known_blocks.insert(block);
        Ok(())
    }

    /// Returns an error if threads are known to differ in whether, or how often, they execute what is in `outer`, such as `op`.
    fn check_inside(&self, op: Op<'c>, outer: Op<'c>) -> Result<(), PassError<'c>> {
        let threads = self.threads();
        let fault = |why: String| {
            let message = format!(
                "has to be executed by all threads of the {threads}, but the '{}' around it {why}",
                outer.name()
            );
            PassError::new(op, message).note(outer, "threads diverge here: move the operation out of it")
        };
        if runs_for_some_threads(outer) {
            return Err(fault("is executed by some threads only".to_owned()));
        }
        if outer.is(gpu::LAUNCH) {
            let message = "is in a gpu.launch, which is not a function yet";
            return Err(PassError::new(op, message).note(outer, "run --gpu-kernel-outlining first"));
        }
        for value in control_operands(outer) {
            if let Some(source) = find_varying_op(value, self.scope) {
                let why = format!("depends on '{}', which differs between threads", source.name());
                return Err(fault(why).note(source, "this differs between threads"));
            }
        }
        Ok(())
    }
}
