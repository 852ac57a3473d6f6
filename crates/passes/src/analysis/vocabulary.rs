//! What operations mean to the counting of groups.

use async_dialects::gpu::{max_pending_groups, queue_attribute};
use async_dialects::ir::{Op, Value};
use async_dialects::melior::Context;
use async_dialects::melior::ir::{Attribute, Type};
use async_dialects::names::{async_, attr, gpux, nvgpu, nvvm};
use async_dialects::nvgpu::copy_token;
use async_dialects::types::is_token;
use std::collections::HashSet;

/// A FIFO of the hardware.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub enum HardwareQueue {
    /// `cp.async`
    CpAsync,
    /// `cp.async.bulk` stores
    Bulk,
    /// `wgmma`
    Wgmma,
}

impl HardwareQueue {
    /// All queues.
    pub const ALL: [Self; 3] = [Self::CpAsync, Self::Bulk, Self::Wgmma];

    /// The name in `#gpux.queue`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpAsync => "cp_async",
            Self::Bulk => "bulk",
            Self::Wgmma => "wgmma",
        }
    }

    /// The most groups that a wait can leave in flight.
    ///
    /// # Panics
    ///
    /// If the dialect has no queue of this name: a bug of ours.
    pub fn max_pending(self) -> u8 {
        max_pending_groups(self.name()).expect("the dialect has the same queues")
    }

    /// The attribute `#gpux.queue<…>`.
    pub fn attribute(self, context: &Context) -> Attribute<'_> {
        queue_attribute(context, self.name())
    }
}

/// What to say where more groups of `queue` may stay in flight than a wait can name.
pub(crate) fn beyond(queue: HardwareQueue) -> String {
    let most = queue.max_pending();
    format!("more than {most} groups may stay in flight here; the hardware counts no further than {most}")
}

/// What an operation means to the counting of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning<'c> {
    /// Issues an asynchronous operation, which joins the open group.
    Issue {
        /// Its queue.
        queue: HardwareQueue,
        /// Its token.
        token: Option<Value<'c>>,
        /// The token of its reads, which a block-wide operation has as well.
        read: Option<Value<'c>>,
    },
    /// Closes the open group.
    Commit {
        /// The queue.
        queue: HardwareQueue,
        /// The token of the group.
        token: Option<Value<'c>>,
    },
    /// Waits until at most so many groups are in flight.
    Wait {
        /// The queue.
        queue: HardwareQueue,
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

/// The meaning of operations in one family of dialects.
pub trait Vocabulary<'c> {
    /// Returns true if values of type `ty` are the tokens whose awaits are translated.
    fn is_token(&self, ty: Type<'c>) -> bool;

    /// What `op` means.
    fn meaning(&self, op: Op<'c>) -> Meaning<'c>;

    /// Returns true if `op` is to be found again in the skeleton: an await of nothing stands for it there, before what
    /// it means.
    fn marks(&self, _op: Op<'c>) -> bool {
        false
    }

    /// Returns true if `op` is an await whose tokens waits of the program complete before.
    fn is_covered(&self, _op: Op<'c>) -> bool {
        false
    }

    /// True if commits may be inserted; else they are what the program says.
    const INSERTS_COMMITS: bool;
}

/// The `async` and `gpux` dialects; upstream's counted operations take part as given.
pub struct Gpux<'c> {
    queues: [Attribute<'c>; 3],
    /// Awaits whose tokens waits of the program complete before.
    pub covered: HashSet<Op<'c>>,
}

impl<'c> Gpux<'c> {
    /// The vocabulary in a context that has both dialects loaded.
    pub fn new(context: &'c Context) -> Self {
        Self {
            queues: HardwareQueue::ALL.map(|queue| queue.attribute(context)),
            covered: HashSet::new(),
        }
    }

    fn queue(&self, op: Op<'c>) -> Option<HardwareQueue> {
        let attribute = op.attr(attr::QUEUE)?;
        let index = self.queues.iter().position(|queue| *queue == attribute)?;
        Some(HardwareQueue::ALL[index])
    }
}

impl<'c> Vocabulary<'c> for Gpux<'c> {
    fn is_token(&self, ty: Type<'c>) -> bool {
        is_token(ty)
    }

    fn is_covered(&self, op: Op<'c>) -> bool {
        self.covered.contains(&op)
    }

    fn meaning(&self, op: Op<'c>) -> Meaning<'c> {
        match op.name() {
            gpux::COPY => Meaning::Issue {
                queue: HardwareQueue::CpAsync,
                token: op.results().next(),
                read: None,
            },
            gpux::TMA_STORE | gpux::BULK_STORE => Meaning::Issue {
                queue: HardwareQueue::Bulk,
                token: op.results().nth(1),
                read: op.results().next(),
            },
            gpux::COMMIT_GROUP => self.queue(op).map_or(Meaning::Other, |queue| Meaning::Commit {
                queue,
                token: op.results().next(),
            }),
            gpux::WAIT_GROUP => self.queue(op).map_or(Meaning::Other, |queue| Meaning::Wait {
                queue,
                n: pending(op, "pending"),
                read: op.has_attr(attr::READ),
            }),
            async_::AWAIT => Meaning::Await(op.operands().collect()),
            async_::READY => Meaning::Join(op.result(0), Vec::new()),
            async_::JOIN => Meaning::Join(op.result(0), op.operands().collect()),
            nvgpu::DEVICE_ASYNC_WAIT => Meaning::Wait {
                queue: HardwareQueue::CpAsync,
                n: pending(op, attr::NVGPU_PENDING),
                read: false,
            },
            _ => counted(op),
        }
    }

    const INSERTS_COMMITS: bool = true;
}

/// Upstream's `nvgpu` dialect, whose commit points are given.
pub struct Nvgpu<'c> {
    token: Type<'c>,
}

impl<'c> Nvgpu<'c> {
    /// The vocabulary in a context that has the `nvgpu` dialect loaded.
    pub fn new(context: &'c Context) -> Self {
        Self {
            token: copy_token(context),
        }
    }
}

impl<'c> Vocabulary<'c> for Nvgpu<'c> {
    fn is_token(&self, ty: Type<'c>) -> bool {
        ty == self.token
    }

    fn meaning(&self, op: Op<'c>) -> Meaning<'c> {
        match op.name() {
            nvgpu::DEVICE_ASYNC_COPY => Meaning::Issue {
                queue: HardwareQueue::CpAsync,
                token: Some(op.result(0)),
                read: None,
            },
            // The hardware commits all that is open, whatever the operands say.
            nvgpu::DEVICE_ASYNC_CREATE_GROUP => Meaning::Commit {
                queue: HardwareQueue::CpAsync,
                token: Some(op.result(0)),
            },
            nvgpu::DEVICE_ASYNC_WAIT => Meaning::Await(op.operands().collect()),
            _ => counted(op),
        }
    }

    const INSERTS_COMMITS: bool = false;
}

/// The counted operations that either vocabulary takes as given.
fn counted<'c>(op: Op<'c>) -> Meaning<'c> {
    let issue = |queue| Meaning::Issue {
        queue,
        token: None,
        read: None,
    };
    let commit = |queue| Meaning::Commit { queue, token: None };
    let wait = |queue, name| Meaning::Wait {
        queue,
        n: pending(op, name),
        read: op.has_attr(attr::READ),
    };
    match op.name() {
        nvgpu::DEVICE_ASYNC_COPY | nvvm::CP_ASYNC_SHARED_GLOBAL => issue(HardwareQueue::CpAsync),
        nvgpu::DEVICE_ASYNC_CREATE_GROUP | nvvm::CP_ASYNC_COMMIT_GROUP => commit(HardwareQueue::CpAsync),
        nvvm::CP_ASYNC_WAIT_GROUP => wait(HardwareQueue::CpAsync, attr::N),
        nvvm::CP_ASYNC_BULK_COMMIT_GROUP => commit(HardwareQueue::Bulk),
        nvgpu::TMA_ASYNC_STORE
        | nvvm::CP_ASYNC_BULK_GLOBAL_SHARED_CTA
        | nvvm::CP_ASYNC_BULK_TENSOR_GLOBAL_SHARED_CTA
        | nvvm::CP_ASYNC_BULK_TENSOR_REDUCE => issue(HardwareQueue::Bulk),
        nvvm::CP_ASYNC_BULK_WAIT_GROUP => wait(HardwareQueue::Bulk, attr::GROUP),
        nvvm::WGMMA_COMMIT_GROUP_SYNC_ALIGNED => commit(HardwareQueue::Wgmma),
        nvvm::WGMMA_WAIT_GROUP_SYNC_ALIGNED => wait(HardwareQueue::Wgmma, attr::GROUP),
        _ => Meaning::Other,
    }
}

/// The count in attribute `name`; a wait without one waits for all.
fn pending(op: Op<'_>, name: &str) -> u32 {
    match op.int_attr(name) {
        None => 0,
        // Not a count: such a wait is not trusted to complete anything.
        Some(n) => u32::try_from(n).unwrap_or(u32::MAX),
    }
}
