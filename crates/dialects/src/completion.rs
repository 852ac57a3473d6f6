//! What asynchronous operations mean, as `AsyncCompletionOpInterface` says it.

use crate::ffi;
use crate::names::gpux_attr;
use async_mlir::ir::{Op, Value};
use melior::ir::{Location, Type, TypeLike};
use std::{fmt, marker::PhantomData, mem::MaybeUninit};

/// A FIFO of groups of asynchronous operations, such as that of `cp.async`.
///
/// A commit makes one group of all operations that were issued since the last one; a wait blocks until at most so many of
/// the most recent groups are in flight.
#[derive(Clone, Copy)]
pub struct GroupQueue(ffi::AsyncOptGroupQueue);

impl PartialEq for GroupQueue {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.ptr, other.0.ptr)
    }
}

impl Eq for GroupQueue {}

impl fmt::Debug for GroupQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl GroupQueue {
    /// What messages call it, such as `cp_async`.
    #[must_use]
    pub fn name(self) -> &'static str {
        // SAFETY: a queue lives as long as the process, and so does its name.
        unsafe { ffi::str_from_raw(ffi::asyncOptGroupQueueGetName(self.0)) }
    }

    /// The most groups that a wait can leave in flight.
    #[must_use]
    pub fn max_pending(self) -> u8 {
        // SAFETY: a queue lives as long as the process.
        let most = unsafe { ffi::asyncOptGroupQueueGetMaxPendingGroups(self.0) };
        u8::try_from(most).unwrap_or(u8::MAX)
    }

    /// Returns true if a commit of no operations costs next to nothing.
    #[must_use]
    pub fn has_free_empty_groups(self) -> bool {
        // SAFETY: a queue lives as long as the process.
        unsafe { ffi::asyncOptGroupQueueHasFreeEmptyGroups(self.0) }
    }

    /// Returns true if all threads of a warp have to commit together, so that no commit may be added to divergent code.
    #[must_use]
    pub fn has_convergent_commits(self) -> bool {
        // SAFETY: a queue lives as long as the process.
        unsafe { ffi::asyncOptGroupQueueHasConvergentCommits(self.0) }
    }

    /// Builds a commit.
    #[must_use = "a detached operation leaks if it is not put somewhere"]
    pub fn commit<'c>(self, location: Location<'c>) -> Op<'c> {
        // SAFETY: a live location; an engine whose operations were met has its dialect loaded.
        unsafe { Op::from_raw(ffi::asyncOptGroupQueueBuildCommit(self.0, location.to_raw())) }
    }

    /// Builds a wait until at most `pending` groups are in flight, or with `read` until the others have read their sources.
    #[must_use = "a detached operation leaks if it is not put somewhere"]
    pub fn wait<'c>(self, location: Location<'c>, pending: u8, read: bool) -> Op<'c> {
        // SAFETY: as above.
        unsafe {
            Op::from_raw(ffi::asyncOptGroupQueueBuildWait(
                self.0,
                location.to_raw(),
                u32::from(pending),
                read,
            ))
        }
    }
}

/// What an operation does to the groups of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupEffect {
    /// Nothing.
    None,
    /// Issues an asynchronous operation, which joins the open group, or completes on an mbarrier if there is no queue.
    Issue,
    /// Makes a group of what is open.
    Commit,
    /// Waits for groups.
    Wait,
}

impl GroupEffect {
    fn from_raw(raw: ffi::AsyncOptGroupEffect) -> Self {
        match raw {
            ffi::ASYNC_OPT_GROUP_EFFECT_NONE => Self::None,
            ffi::ASYNC_OPT_GROUP_EFFECT_ISSUE => Self::Issue,
            ffi::ASYNC_OPT_GROUP_EFFECT_COMMIT => Self::Commit,
            ffi::ASYNC_OPT_GROUP_EFFECT_WAIT => Self::Wait,
            other => unreachable!("the C API has no effect {other}"),
        }
    }
}

/// Which threads execute an operation together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionScope {
    /// Each on its own.
    Thread,
    /// Those of a warp.
    Warp,
    /// Those of a warpgroup.
    Warpgroup,
    /// Those of a block.
    Block,
}

/// What an operation means to asynchronous completion.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'c> {
    /// What it does to the groups of its queue.
    pub effect: GroupEffect,
    /// The queue; `None` if it completes on an mbarrier.
    pub queue: Option<GroupQueue>,
    /// A token that is complete once the operation, or the group that it commits, is.
    pub done: Option<Value<'c>>,
    /// A token that is complete once the operation has read its sources.
    pub read: Option<Value<'c>>,
    /// For a wait, the number of groups it leaves in flight; an invalid number becomes the largest.
    pub pending: u32,
    /// For a wait, true if it waits for reads alone.
    pub waits_for_reads: bool,
    /// Who executes it.
    pub scope: ExecutionScope,
    /// The memref or pointer that is read asynchronously.
    pub source: Option<Value<'c>>,
    /// The descriptors of matrices in workgroup memory that are read asynchronously.
    pub matrices: [Option<Value<'c>>; 2],
    /// The memref or pointer that is written asynchronously.
    pub destination: Option<Value<'c>>,
}

impl<'c> Completion<'c> {
    /// What `op` means to asynchronous completion; `None` if it has nothing to do with it.
    #[must_use]
    pub fn of(op: Op<'c>) -> Option<Self> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: a live operation; the fields are values of it, or null.
        let value = |raw: mlir_sys::MlirValue| (!raw.ptr.is_null()).then(|| unsafe { Value::from_raw(raw) });
        // SAFETY: a live operation, and a place for the answer.
        let known = unsafe { ffi::asyncOptOperationGetCompletion(op.to_raw(), raw.as_mut_ptr()) };
        // SAFETY: the answer is there if the operation has one.
        let raw: ffi::AsyncOptCompletion = known.then(|| unsafe { raw.assume_init() })?;
        Some(Self {
            effect: GroupEffect::from_raw(raw.effect),
            queue: (!raw.queue.ptr.is_null()).then_some(GroupQueue(raw.queue)),
            done: value(raw.done),
            read: value(raw.read),
            pending: u32::try_from(raw.pending).unwrap_or(u32::MAX),
            waits_for_reads: raw.waitsForReads,
            scope: match raw.scope {
                ffi::ASYNC_OPT_EXECUTION_SCOPE_THREAD => ExecutionScope::Thread,
                ffi::ASYNC_OPT_EXECUTION_SCOPE_WARP => ExecutionScope::Warp,
                ffi::ASYNC_OPT_EXECUTION_SCOPE_WARPGROUP => ExecutionScope::Warpgroup,
                ffi::ASYNC_OPT_EXECUTION_SCOPE_BLOCK => ExecutionScope::Block,
                other => unreachable!("the C API has no scope {other}"),
            },
            source: value(raw.source),
            matrices: raw.matrices.map(value),
            destination: value(raw.destination),
        })
    }
}

/// The meaning of `op` if all threads of a block execute it together and one issues it; `None` for others.
#[must_use]
pub fn issued_for_block(op: Op<'_>) -> Option<Completion<'_>> {
    let is_issue = |completion: &Completion| {
        completion.effect == GroupEffect::Issue && completion.scope == ExecutionScope::Block
    };
    Completion::of(op).filter(is_issue)
}

/// Returns true if `op` starts a load of a whole block in token form: it completes on an mbarrier, and belongs to no queue.
#[must_use]
pub fn is_block_wide_load(op: Op<'_>) -> bool {
    issued_for_block(op).is_some_and(|completion| completion.queue.is_none())
}

/// The name of the engine that `op` runs on: its `async.engine`, or that of its queue if it is asynchronous; `tma` of what completes on an
/// mbarrier.
#[must_use]
pub fn engine_name(op: Op<'_>) -> Option<&str> {
    if let Some(name) = op.str_attr(gpux_attr::ENGINE) {
        return Some(name);
    }
    let completion = Completion::of(op).filter(|completion| completion.effect == GroupEffect::Issue)?;
    Some(completion.queue.map_or("tma", GroupQueue::name))
}

/// An operation that may have to do with groups.
#[derive(Clone, Copy, Debug)]
pub struct GroupOp<'c> {
    /// The operation.
    pub op: Op<'c>,
    /// What it does to its queue; `None` if it has none.
    pub group: Option<Group<'c>>,
    /// Its effect on tokens, if it has no queue.
    pub token_op: TokenOp,
    /// True if it is the terminator of its block.
    pub is_terminator: bool,
}

/// The effect of an operation without a queue on tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenOp {
    /// An `async.await`.
    Await,
    /// Makes a token of others, perhaps of none.
    Join,
    /// Nothing, or something else.
    Other,
}

/// What an operation does to its queue: the part of [`Completion`] that counting groups needs.
#[derive(Clone, Copy, Debug)]
pub struct Group<'c> {
    /// The effect.
    pub effect: GroupEffect,
    /// The queue.
    pub queue: GroupQueue,
    /// As in [`Completion`].
    pub done: Option<Value<'c>>,
    /// As in [`Completion`].
    pub read: Option<Value<'c>>,
    /// As in [`Completion`], for a wait.
    pub pending: u32,
    /// As in [`Completion`].
    pub waits_for_reads: bool,
}

/// Finds operations that have to do with groups, many at a time, since most are passed over.
#[derive(Debug)]
pub struct GroupOpFinder<'c> {
    raw: ffi::AsyncOptGroupOpFinder,
    context: PhantomData<Type<'c>>,
}

impl<'c> GroupOpFinder<'c> {
    /// A finder for tokens of the type `token`.
    #[must_use]
    pub fn new(token: Type<'c>) -> Self {
        Self {
            // SAFETY: a live type.
            raw: unsafe { ffi::asyncOptGroupOpFinderCreate(token.to_raw()) },
            context: PhantomData,
        }
    }

    /// The operations from `first` to the end of its block, in order, that have a queue, regions, or operands or results that are tokens, and
    /// the terminator.
    pub fn ops(&self, first: Option<Op<'c>>) -> impl Iterator<Item = GroupOp<'c>> {
        const AT_A_TIME: usize = 16;
        let mut next = first;
        let mut found = [const { MaybeUninit::<ffi::AsyncOptGroupOp>::uninit() }; AT_A_TIME];
        let mut places = 0..0;
        std::iter::from_fn(move || {
            if places.is_empty() {
                let mut rest = MaybeUninit::uninit();
                // SAFETY: a live operation of the context that the finder is for, and room for as many answers as are asked for. What is
                // not null is a live operation.
                unsafe {
                    let n = ffi::asyncOptGroupOpFinderFind(
                        self.raw,
                        next?.to_raw(),
                        AT_A_TIME.cast_signed(),
                        found.as_mut_ptr().cast(),
                        rest.as_mut_ptr(),
                    );
                    let rest = rest.assume_init();
                    next = (!rest.ptr.is_null()).then(|| Op::from_raw(rest));
                    places = 0..n.unsigned_abs();
                }
            }
            // SAFETY: so many answers are there.
            places
                .next()
                .map(|place| GroupOp::from_raw(unsafe { found[place].assume_init_ref() }))
        })
    }
}

impl Drop for GroupOpFinder<'_> {
    fn drop(&mut self) {
        // SAFETY: it was created by `new`, and nobody else has it.
        unsafe { ffi::asyncOptGroupOpFinderDestroy(self.raw) }
    }
}

impl GroupOp<'_> {
    fn from_raw(raw: &ffi::AsyncOptGroupOp) -> Self {
        // SAFETY: a live operation; the fields are values of it, or null.
        let value = |raw: mlir_sys::MlirValue| (!raw.ptr.is_null()).then(|| unsafe { Value::from_raw(raw) });
        let group = (!raw.queue.ptr.is_null()).then(|| Group {
            effect: GroupEffect::from_raw(raw.effect),
            queue: GroupQueue(raw.queue),
            done: value(raw.done),
            read: value(raw.read),
            pending: u32::try_from(raw.pending).unwrap_or(u32::MAX),
            waits_for_reads: raw.waitsForReads,
        });
        Self {
            // SAFETY: as above.
            op: unsafe { Op::from_raw(raw.op) },
            group,
            token_op: match raw.tokenOp {
                ffi::ASYNC_OPT_TOKEN_OP_AWAIT => TokenOp::Await,
                ffi::ASYNC_OPT_TOKEN_OP_JOIN => TokenOp::Join,
                ffi::ASYNC_OPT_TOKEN_OP_OTHER => TokenOp::Other,
                other => unreachable!("the C API has no such operation {other}"),
            },
            is_terminator: raw.isTerminator,
        }
    }
}
