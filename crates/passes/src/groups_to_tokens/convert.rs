//! Replaces operations in counted form by ones that return tokens.

use super::Refusal;
use super::counted_queue::CountedQueue;
use super::pointers::from_nvvm;
use async_dialects::completion::Completion;
use async_dialects::names::{gpux, gpux_attr};
use async_dialects::types::token;
use async_mlir::control_flow::append;
use async_mlir::ir::{Op, OpBuilder, Value, int_attr};
use async_mlir::melior::ir::attribute::{Attribute, DenseI32ArrayAttribute};
use async_mlir::names::{attr, nvgpu, nvvm};
use rustc_hash::FxHashMap;
use tokenflow::Site;

/// What tokens stand for: single operations or whole groups.
pub(super) enum TokenSources<'c> {
    Operations(Conversions<'c>),
    Groups,
}

/// How an operation gets its token.
enum Conversion<'c> {
    /// As so many more results.
    Results(usize),
    /// These operations take its place, the last of which has the token.
    Replacement(DetachedOps<'c>),
}

/// Operations that are in no block yet, each of which may use those before it.
#[derive(Default)]
pub(super) struct DetachedOps<'c>(Vec<Op<'c>>);

impl<'c> DetachedOps<'c> {
    /// Makes one more; returns its result.
    pub fn add(&mut self, op: OpBuilder<'c>) -> Value<'c> {
        let op = op.detached();
        self.0.push(op);
        op.result(0)
    }

    /// Has the last one take over the discardable attributes of `op`. Returns an error if a verifier has something against one of the
    /// operations, and then erases them.
    pub fn verified(self, op: Op<'c>) -> Result<Self, String> {
        let message = self.0.iter().find_map(|op| op.verify_quietly().err());
        if let Some(message) = message {
            self.erase();
            return Err(message);
        }
        if let Some(last) = self.0.last() {
            last.copy_discardable_attrs(op);
        }
        Ok(self)
    }

    /// Erases the operations.
    pub fn erase(self) {
        self.0.into_iter().rev().for_each(Op::erase);
    }
}

/// The operations of a queue, each with the way it gets a token.
pub(super) struct Conversions<'c> {
    ops: Vec<(Site, Op<'c>, Conversion<'c>)>,
}

impl<'c> Conversions<'c> {
    /// Finds a way for each operation; changes nothing yet.
    pub fn new(counted: &CountedQueue<'c>) -> Result<Self, Refusal<'c>> {
        let mut converted = Self { ops: Vec::new() };
        for &(site, op) in &counted.issues {
            match convert(op) {
                Ok(conversion) => converted.ops.push((site, op, conversion)),
                Err(why) => {
                    converted.discard();
                    return Err(Refusal::new(op, why));
                }
            }
        }
        Ok(converted)
    }

    /// Erases what was made.
    pub fn discard(self) {
        for (_, _, conversion) in self.ops {
            if let Conversion::Replacement(detached) = conversion {
                detached.erase();
            }
        }
    }

    /// Puts the operations in place; returns their tokens, and the operations that they replace.
    pub fn place(self) -> (FxHashMap<Site, Completion<'c>>, Vec<Op<'c>>) {
        let mut completions = FxHashMap::default();
        let mut replaced = Vec::new();
        for (site, op, conversion) in self.ops {
            let new = match conversion {
                Conversion::Results(number) => append(op, &[], &vec![token(op.context()); number]),
                Conversion::Replacement(DetachedOps(detached)) => {
                    for new in &detached {
                        new.move_before(op);
                    }
                    replaced.push(op);
                    detached.last().copied().unwrap_or(op)
                }
            };
            completions.extend(Completion::of(new).map(|completion| (site, completion)));
        }
        (completions, replaced)
    }
}

/// How `op` gets a token; if it can't, why.
fn convert(op: Op<'_>) -> Result<Conversion<'_>, String> {
    match op.name() {
        gpux::COPY | gpux::WGMMA => Ok(Conversion::Results(1)),
        gpux::BULK_STORE | gpux::TMA_STORE => Ok(Conversion::Results(2)),
        nvgpu::DEVICE_ASYNC_COPY => from_nvgpu(op).map(Conversion::Replacement),
        nvvm::CP_ASYNC_SHARED_GLOBAL => from_nvvm(op).map(Conversion::Replacement),
        name => Err(format!("'{name}' has no form with a token")),
    }
}

/// The `gpux.copy` that does what a copy of `nvgpu` does.
fn from_nvgpu(op: Op<'_>) -> Result<DetachedOps<'_>, String> {
    let segments = op
        .attr(attr::OPERAND_SEGMENT_SIZES)
        .and_then(|attribute| DenseI32ArrayAttribute::try_from(attribute).ok());
    let sizes: Option<Vec<usize>> = segments.and_then(|segments| {
        let sizes = (0..segments.len()).map(|i| usize::try_from(segments.element(i).ok()?).ok());
        sizes.collect()
    });
    let Some([1, dst_rank, 1, src_rank, _]) = sizes.as_deref() else {
        return Err("its operands can't be told apart".to_owned());
    };
    let operands: Vec<Value> = op.operands().collect();
    let (dst, rest) = operands.split_at(1 + dst_rank);
    let (src, count) = rest.split_at(1 + src_rank);
    let elements = op.int_attr(attr::NVGPU_ELEMENTS).unwrap_or_default();
    let mut builder = OpBuilder::new(gpux::COPY, op.location())
        .operand_groups(&[&[], &src[..1], &src[1..], &dst[..1], &dst[1..], count])
        .results(&[token(op.context())])
        .attr(gpux_attr::ELEMENTS, int_attr(op.context(), 64, elements));
    if op.has_attr(attr::NVGPU_BYPASS_L1) {
        builder = builder.attr(gpux_attr::BYPASS_L1, Attribute::unit(op.context()));
    }
    let mut detached = DetachedOps::default();
    detached.add(builder);
    detached.verified(op)
}

/// Returns true if the groups of a queue can have tokens: commits have a form with one, and no wait is for reads alone, of which
/// such a token knows nothing.
pub(super) fn groups_can_have_tokens(counted: &CountedQueue) -> bool {
    if counted.waits.iter().any(|wait| is_for_reads(*wait)) {
        return false;
    }
    let queue = counted.skeleton.queues[usize::from(counted.number.0)];
    counted.commits.first().is_none_or(|first| {
        let commit = queue.commit(first.location());
        let known = commit.is(gpux::COMMIT_GROUP);
        commit.erase();
        known
    })
}

/// Returns true if `wait` is for reads alone.
pub(super) fn is_for_reads(wait: Op<'_>) -> bool {
    Completion::of(wait).is_some_and(|completion| completion.waits_for_reads)
}

/// Gives a token to the group that `commit` closes; returns the commit that has it, and `commit` if it is of no use any more.
pub(super) fn commit_with_token<'c>(commit: Op<'c>) -> (Op<'c>, Option<Op<'c>>) {
    let ty = [token(commit.context())];
    if commit.is(gpux::COMMIT_GROUP) {
        return (append(commit, &[], &ty), None);
    }
    let queue = Completion::of(commit).and_then(|completion| completion.queue);
    let counted = queue.expect("a commit has a queue").commit(commit.location());
    counted.move_before(commit);
    counted.copy_discardable_attrs(commit);
    (append(counted, &[], &ty), Some(commit))
}
