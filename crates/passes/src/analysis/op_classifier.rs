//! Classifies operations by their effect on group counting (issue, commit, wait, await, join), for each
//! family of dialects.

use async_dialects::completion::{Completion, ExecutionScope, GroupEffect, GroupQueue};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Type;
use async_mlir::names::nvgpu;
use async_mlir::nvgpu::copy_token;
use rustc_hash::FxHashSet;

/// What to say where more groups of `queue` may stay in flight than a wait can name.
pub(crate) fn pending_limit_message(queue: GroupQueue) -> String {
    let most = queue.max_pending();
    format!("more than {most} groups may stay in flight here; the hardware counts no further than {most}")
}

/// What an operation means to the counting of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpClass<'c> {
    /// Issues an asynchronous operation, which joins the open group.
    Issue {
        /// Its queue.
        queue: GroupQueue,
        /// Its token.
        token: Option<Value<'c>>,
        /// The token of its reads.
        read: Option<Value<'c>>,
        /// True if all threads of the block execute it together.
        block_wide: bool,
    },
    /// Closes the open group.
    Commit {
        /// The queue.
        queue: GroupQueue,
        /// The token of the group.
        token: Option<Value<'c>>,
    },
    /// Waits until at most so many groups are in flight.
    Wait {
        /// The queue.
        queue: GroupQueue,
        /// How many.
        n: u32,
        /// True if it waits for reads alone.
        read: bool,
    },
    /// Blocks until tokens are complete.
    Await(Vec<Value<'c>>),
    /// Defines a token that is complete when others are; of none: a complete one.
    Join(Value<'c>, Vec<Value<'c>>),
    /// Nothing that counting knows of.
    Other,
}

/// Classifies operations of one family of dialects by their effect on group counting.
pub trait OpClassifier<'c> {
    /// Returns true if values of type `ty` are the tokens whose awaits are translated.
    fn is_token(&self, ty: Type<'c>) -> bool;

    /// What `op` does.
    fn classify(&self, op: Op<'c>) -> OpClass<'c>;

    /// Values that the skeleton awaits before `op`, as if an `async.await` of them stood there. An empty list only gives `op` a number
    /// among the awaits; `None` adds nothing.
    fn implied_await(&self, _op: Op<'c>) -> Option<Vec<Value<'c>>> {
        None
    }

    /// Returns true if `op` is an await whose tokens waits of the program complete before.
    fn is_covered(&self, _op: Op<'c>) -> bool {
        false
    }

    /// Returns true if branches between blocks are edges even where constants rule them out.
    fn keeps_impossible_branches(&self) -> bool {
        false
    }

    /// True if commits may be inserted; else they are what the program says.
    const INSERTS_COMMITS: bool;
}

/// The `async` dialect, and every operation that completes in groups; those without a token of that dialect take part as
/// given.
#[derive(Default)]
pub struct AsyncOpClassifier<'c> {
    /// Awaits whose tokens waits of the program complete before.
    pub covered: FxHashSet<Op<'c>>,
}

impl<'c> OpClassifier<'c> for AsyncOpClassifier<'c> {
    fn is_token(&self, ty: Type<'c>) -> bool {
        is_token(ty)
    }

    fn is_covered(&self, op: Op<'c>) -> bool {
        self.covered.contains(&op)
    }

    fn classify(&self, op: Op<'c>) -> OpClass<'c> {
        match op.name() {
            async_::AWAIT => OpClass::Await(op.operands().collect()),
            async_::READY => OpClass::Join(op.result(0), Vec::new()),
            async_::JOIN => OpClass::Join(op.result(0), op.operands().collect()),
            _ => classify_by_group_effect(op, |token| self.is_token(token.ty())),
        }
    }

    const INSERTS_COMMITS: bool = true;
}

/// Upstream's `nvgpu` dialect, whose commit points are given.
pub struct NvgpuOpClassifier<'c> {
    token: Type<'c>,
}

impl<'c> NvgpuOpClassifier<'c> {
    /// The classifier in a context that has the `nvgpu` dialect loaded.
    pub fn new(context: &'c Context) -> Self {
        Self {
            token: copy_token(context),
        }
    }
}

impl<'c> OpClassifier<'c> for NvgpuOpClassifier<'c> {
    fn is_token(&self, ty: Type<'c>) -> bool {
        ty == self.token
    }

    fn classify(&self, op: Op<'c>) -> OpClass<'c> {
        if op.is(nvgpu::DEVICE_ASYNC_WAIT) {
            OpClass::Await(op.operands().collect())
        } else {
            classify_by_group_effect(op, |token| self.is_token(token.ty()))
        }
    }

    const INSERTS_COMMITS: bool = false;
}

/// What `op` means to the groups of its queue; of its tokens those that `is_token` knows.
fn classify_by_group_effect<'c>(op: Op<'c>, is_token: impl Fn(&Value<'c>) -> bool) -> OpClass<'c> {
    let Some((completion, queue)) = Completion::of(op).and_then(|c| Some((c, c.queue?))) else {
        return OpClass::Other;
    };
    let Completion { done, read, .. } = completion;
    let token = done.filter(&is_token);
    match completion.effect {
        GroupEffect::Issue => OpClass::Issue {
            queue,
            token,
            read: read.filter(&is_token),
            block_wide: completion.scope == ExecutionScope::Block,
        },
        GroupEffect::Commit => OpClass::Commit { queue, token },
        GroupEffect::Wait => OpClass::Wait {
            queue,
            n: completion.pending,
            read: completion.waits_for_reads,
        },
        GroupEffect::None => OpClass::Other,
    }
}
