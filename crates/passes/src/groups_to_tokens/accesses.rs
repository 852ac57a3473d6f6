//! Computes what may access the memory of asynchronous operations on a queue.
//!
//! A wait must not leave an operation to a later wait if something may access its memory before that one.
//!
//! An operation is *done* before anything else accesses what it writes, and has *read* before anything else writes to what it
//! reads. What other threads do counts as well: they learn of it where threads synchronize. After a barrier that all threads of the
//! block pass at the same place, what they may do is what comes after that place, before this thread waits again or not; after any other
//! synchronization, anything.
//! The end of the function is taken for an access to everything, so the last wait leaves nothing.

use crate::analysis::buffer_slices::BufferSlice;
use crate::analysis::memory::{self, Access, Effects};
use crate::analysis::skeleton::Skeleton;
use crate::analysis::uniformity::may_diverge;
use crate::utils::device::own_ops;
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_mlir::control_flow::entry_edges;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::Op;
use async_mlir::names::{memref, nvvm};
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::Await;
use tokenflow::lift::Accesses;

/// One bit each.
const MOST: usize = 64;

/// Accesses to a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
struct AccessKind<'c> {
    /// Where; `None` for memory that is not known.
    slice: Option<BufferSlice<'c>>,
    /// True if nothing but operations that are handed the buffer can access it.
    private: bool,
    /// True if reads don't matter.
    writes: bool,
}

/// The kinds of accesses that matter to a queue.
pub(super) struct AccessKinds<'c> {
    all: Vec<AccessKind<'c>>,
    /// The kinds of each operation that matter before it is done, and before it has read.
    sites: FxHashMap<Op<'c>, (u64, u64)>,
    /// What each operation of the function accesses, if it is any of that.
    at: FxHashMap<Op<'c>, u64>,
    /// Barriers that all threads of the block pass at the same place.
    barriers: FxHashSet<Op<'c>>,
}

impl<'c> AccessKinds<'c> {
    /// Those of `queue` in `code`; `None` if there are too many.
    pub fn of(code: Op<'c>, queue: GroupQueue) -> Option<Self> {
        let mut kinds = Self {
            all: Vec::new(),
            sites: FxHashMap::default(),
            at: FxHashMap::default(),
            barriers: FxHashSet::default(),
        };
        let ops = own_ops(code);
        for &op in &ops {
            let completion = Completion::of(op).filter(|completion| {
                completion.queue == Some(queue) && completion.effect == GroupEffect::Issue
            });
            if let Some(completion) = completion {
                let slice = |memory| BufferSlice::of_operand(op, memory);
                let read = kinds.bit(completion.source.map(slice), true)?;
                let written = kinds.bit(completion.destination.map(slice), false)?;
                kinds.sites.insert(op, (read | written, read));
            }
        }
        let mut agreement = Agreement::new(code);
        for &op in ops.iter().filter(|op| **op != code) {
            let accessed = kinds.accessed(op, &mut agreement);
            if accessed != 0 {
                kinds.at.insert(op, accessed);
            } else if is_barrier(op) {
                kinds.barriers.insert(op);
            }
        }
        Some(kinds)
    }

    /// The bit of a kind.
    fn bit(&mut self, slice: Option<BufferSlice<'c>>, writes: bool) -> Option<u64> {
        let known = |kind: &AccessKind| kind.slice == slice && kind.writes == writes;
        let index = self.all.iter().position(known).unwrap_or_else(|| {
            self.all.push(AccessKind {
                slice,
                private: slice.is_some_and(BufferSlice::is_non_escaping),
                writes,
            });
            self.all.len() - 1
        });
        (index < MOST).then(|| 1 << index)
    }

    /// The kinds of accesses of `op` itself.
    fn accessed(&self, op: Op<'c>, agreement: &mut Agreement<'c>) -> u64 {
        let Effects::Known(effects) = memory::effects(op) else {
            return self.all(|kind| !kind.private);
        };
        if effects.is_empty() {
            return if synchronizes(op) && !(is_barrier(op) && agreement.is_everywhere(op)) {
                u64::MAX
            } else {
                0
            };
        }
        let slices: Vec<(BufferSlice, bool)> = effects
            .iter()
            .map(|effect| {
                let reads = matches!(effect.access, Access::Read | Access::AsyncRead);
                (BufferSlice::of_operand(op, effect.memory), reads)
            })
            .collect();
        self.all(|kind| {
            slices.iter().any(|&(slice, reads)| {
                let matters = !(kind.writes && reads);
                matters && kind.slice.is_none_or(|of| same(kind.private, of, slice))
            })
        })
    }

    /// The bits of the kinds for which `matters` is true.
    fn all(&self, matters: impl Fn(&AccessKind<'c>) -> bool) -> u64 {
        let kinds = self.all.iter().enumerate();
        kinds.fold(0, |bits, (i, kind)| bits | u64::from(matters(kind)) << i)
    }

    /// What `op` accesses.
    pub fn at(&self, op: Op<'c>) -> u64 {
        self.at.get(&op).copied().unwrap_or(0)
    }

    /// Returns true if `op` matters to the queue.
    pub fn matters(&self, op: Op<'c>) -> bool {
        self.at(op) != 0 || self.barriers.contains(&op)
    }

    /// The same for a program that was read from the function.
    pub fn accesses(&self, skeleton: &Skeleton<'c>) -> Accesses {
        let sites = skeleton.sites.iter();
        let sites: Vec<(u64, u64)> = sites
            .map(|op| self.sites.get(op).copied().unwrap_or((u64::MAX, u64::MAX)))
            .collect();
        Accesses {
            at: skeleton.awaits.iter().map(|&op| self.at(op)).collect(),
            barriers: (0..)
                .map(Await)
                .zip(&skeleton.awaits)
                .filter(|(_, op)| self.barriers.contains(op))
                .map(|(site, _)| site)
                .collect(),
            at_end: u64::MAX,
            done: sites.iter().map(|(done, _)| *done).collect(),
            read: sites.iter().map(|(_, read)| *read).collect(),
        }
    }
}

/// Returns true if an access to `other` may be one to `slice`.
fn same<'c>(private: bool, slice: BufferSlice<'c>, other: BufferSlice<'c>) -> bool {
    (!private || other.base() == slice.base()) && other.may_alias(slice)
}

/// Returns true if `op`, which accesses no buffer, may tell other threads something, or learn something from them. That is taken to be
/// so of all but what is known.
fn synchronizes(op: Op) -> bool {
    let counts = Completion::of(op).is_some_and(|completion| completion.effect != GroupEffect::None);
    let known = matches!(op.name(), nvvm::FENCE_PROXY | memref::ALLOC | memref::ALLOCA);
    let only_runs = op.is_terminator() || op.num_regions() > 0 && entry_edges(op).is_some();
    !(counts || only_runs || known || op.is_pure() || op.is_function()) && op.view_source().is_none()
}

/// Where all threads of the block come together at the same place.
struct Agreement<'c> {
    code: Op<'c>,
    known: FxHashMap<Op<'c>, bool>,
}

impl<'c> Agreement<'c> {
    fn new(code: Op<'c>) -> Self {
        Self {
            code,
            known: FxHashMap::default(),
        }
    }

    /// Returns true if all threads are known to be at `op` when one is. What branches of blocks do is not looked into.
    fn is_everywhere(&mut self, op: Op<'c>) -> bool {
        let Some(outer) = op.parent() else { return false };
        if let Some(&known) = self.known.get(&outer) {
            return known;
        }
        let one_block = outer.regions().all(|region| region.blocks().len() <= 1);
        let agrees = one_block && (outer == self.code || !may_diverge(outer) && self.is_everywhere(outer));
        self.known.insert(outer, agrees);
        agrees
    }
}
