//! What asynchronous operations mean, as `AsyncCompletionOpInterface` says it.

use crate::ffi;
use async_mlir::ir::{Op, Value};
use melior::ir::Location;
use std::{fmt, mem::MaybeUninit};

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
            effect: match raw.effect {
                ffi::ASYNC_OPT_GROUP_EFFECT_NONE => GroupEffect::None,
                ffi::ASYNC_OPT_GROUP_EFFECT_ISSUE => GroupEffect::Issue,
                ffi::ASYNC_OPT_GROUP_EFFECT_COMMIT => GroupEffect::Commit,
                ffi::ASYNC_OPT_GROUP_EFFECT_WAIT => GroupEffect::Wait,
                other => unreachable!("the C API has no effect {other}"),
            },
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
