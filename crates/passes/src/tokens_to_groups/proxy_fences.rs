//! Inserts `fence.proxy.async` between writes of A or B in workgroup memory and multiplications that read it.
//!
//! PTX ISA: "The wgmma.mma_async operations are performed in the asynchronous proxy" (Async proxy, of `wgmma.mma_async`), and
//! "Accessing the same memory location across multiple proxies needs a cross-proxy fence. For the async proxy, fence.proxy.async should be
//! used to synchronize memory between generic proxy and the async proxy." The thread that wrote executes it, before the barrier
//! by which others know of what it wrote. Which barrier that is, is up to the program. What the TMA engine writes needs no fence.
//!
//! **Notation.** A buffer that multiplications in token form read has a bit; those beyond [`LAST`] share one. It is *dirty* where a thread may
//! have written it since its last fence, and *wanted* where a multiplication may read it later.
//!
//! 1. An operation makes bits dirty (gen): what it writes, and at an await of copies (`cp.async`), all that copies write.
//! 2. A fence stands before each barrier and arrival with a bit that is dirty and wanted, and before a multiplication of one that is
//!    dirty. Nothing is dirty after it. In the summary of a region, only the bits that the fence is for count as clean, since it may
//!    not be inserted.
//! 3. Forward, with what an operation with regions leaves dirty worked out before: a loop begins with that as well.
//!
//! **Cost.** Linear.

use crate::analysis::memory::{Access, BufferOrigin, Effects, buffer_origin, effects};
use crate::analysis::skeleton::Skeleton;
use crate::analysis::token_origins::TokenOrigins;
use crate::analysis::views::base;
use crate::utils::block_wide;
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect};
use async_dialects::names::{async_, gpux};
use async_mlir::calls::is_call;
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::llvm::is_pointer;
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{affine, attr, gpu, nvgpu, nvvm, scf};
use async_mlir::nvgpu::described_matrix;
use async_mlir::nvvm::is_async_shared_proxy;
use rustc_hash::FxHashMap;

/// The last bit.
const LAST: usize = 63;

/// Bits of buffers.
type Bits = u64;

/// What a buffer is known by.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Root<'c> {
    Value(Value<'c>),
    Global(&'c str),
    Dynamic,
}

fn root(memory: Value<'_>) -> Option<Root<'_>> {
    let memory = base(memory);
    match buffer_origin(memory) {
        BufferOrigin::Allocation | BufferOrigin::Attribution(_) => Some(Root::Value(memory)),
        BufferOrigin::Global(name) => Some(Root::Global(name)),
        BufferOrigin::Dynamic => Some(Root::Dynamic),
        BufferOrigin::Argument(_) | BufferOrigin::Unknown => None,
    }
}

/// Puts fences into `function`.
pub(super) fn insert<'c>(function: Op<'c>, skeleton: &Skeleton<'c>) {
    let sites = skeleton.sites.iter().copied();
    // Of those in counted form, the program has seen to it.
    let in_token_form = |op: &Op| op.is(gpux::WGMMA) && op.num_results() == 2;
    let multiplications: Vec<Op> = sites.filter(in_token_form).collect();
    if multiplications.is_empty() {
        return;
    }
    let mut fences = Fences {
        bits: FxHashMap::default(),
        reads: FxHashMap::default(),
        wanted: FxHashMap::default(),
        left: FxHashMap::default(),
        copied: 0,
        skeleton,
        origins: TokenOrigins::new(skeleton),
    };
    for &op in &multiplications {
        let matrices = op
            .operands()
            .filter(|value| described_matrix(value.ty()).is_some());
        let read = matrices.fold(0, |read, matrix| read | fences.bit_of(matrix));
        fences.reads.insert(op, read);
    }
    for op in function.self_and_nested() {
        fences.copied |= fences.copies_to(op);
    }
    fences.find_wanted(function);
    let blocks: Vec<Block> = function.regions().flat_map(Region::blocks).collect();
    // Of branches between blocks, it is not followed where they go.
    let left = blocks
        .iter()
        .fold(0, |left, block| left | fences.leaves_block(*block));
    let start = if blocks.len() > 1 { left } else { 0 };
    for block in blocks {
        fences.put(block, start);
    }
}

struct Fences<'a, 'c> {
    bits: FxHashMap<Root<'c>, Bits>,
    /// What each multiplication reads.
    reads: FxHashMap<Op<'c>, Bits>,
    /// What may be read after a barrier or an arrival.
    wanted: FxHashMap<Op<'c>, Bits>,
    /// What each operation with regions may leave dirty.
    left: FxHashMap<Op<'c>, Bits>,
    /// What copies write.
    copied: Bits,
    skeleton: &'a Skeleton<'c>,
    origins: TokenOrigins,
}

impl<'c> Fences<'_, 'c> {
    /// The bit of the buffer that a descriptor is of.
    fn bit_of(&mut self, descriptor: Value<'c>) -> Bits {
        let made = descriptor.defining_op();
        let made = made.filter(|op| op.is(nvgpu::WARPGROUP_GENERATE_DESCRIPTOR));
        let Some(root) = made.and_then(|op| root(op.operand(0))) else {
            return Bits::MAX;
        };
        let next = 1 << self.bits.len().min(LAST);
        *self.bits.entry(root).or_insert(next)
    }

    /// The bits of the buffers that `memory` may be in.
    fn bits_of(&self, memory: Value<'c>) -> Bits {
        let root = root(memory);
        let is_global =
            memory.ty().is_mem_ref() && !is_workgroup(memory.ty()) && !is_workgroup(base(memory).ty());
        match root {
            _ if is_global => 0,
            Some(root) => {
                let all = self.bits.get(&root).copied();
                // One that nobody is known to read, but a descriptor from elsewhere may be of it.
                all.unwrap_or(0) | self.of_anything()
            }
            None => Bits::MAX,
        }
    }

    /// What is read by multiplications whose matrices are not known, which is all.
    fn of_anything(&self) -> Bits {
        if self.reads.values().any(|read| *read == Bits::MAX) {
            1 << LAST
        } else {
            0
        }
    }

    /// What copies of a thread, which `op` starts, write.
    fn copies_to(&self, op: Op<'c>) -> Bits {
        // What completes on an mbarrier writes through the async proxy.
        let issue = Completion::of(op).filter(|completion| {
            completion.effect == GroupEffect::Issue
                && completion.scope == ExecutionScope::Thread
                && completion.queue.is_some()
        });
        issue
            .and_then(|issue| issue.destination)
            .map_or(0, |memory| self.bits_of(memory))
    }

    /// Returns true if copies of the thread may be complete after `op`.
    fn completes_copies(&self, op: Op<'c>) -> bool {
        if op.is(async_::AWAIT) {
            let tokens = op.operands();
            let mut tokens = tokens.map(|value| self.skeleton.tokens.get(&value));
            return tokens.any(|token| {
                token.is_none_or(|&token| {
                    let queues = self.origins.queues().iter();
                    let mut queues = queues.filter(|queue| !queue.has_convergent_commits());
                    self.origins.may_be_foreign(token)
                        || queues.any(|&queue| self.origins.may_be(token, queue))
                })
            });
        }
        Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Wait)
    }

    /// What `op`, which has no regions, makes dirty.
    fn written_by(&self, op: Op<'c>) -> Bits {
        if self.completes_copies(op) {
            return self.copied;
        }
        // It is stated to read what the multiplication does; and an mbarrier is no matrix.
        let is_no_write = op.is(nvgpu::WARPGROUP_GENERATE_DESCRIPTOR) || is_on_mbarriers(op);
        if is_no_write || Completion::of(op).is_some() {
            return 0;
        }
        match effects(op) {
            Effects::Known(effects) => {
                let written = effects.iter().filter(|effect| effect.access == Access::Write);
                written.fold(0, |all, effect| all | self.bits_of(effect.memory))
            }
            Effects::Unknown if is_call(op) => Bits::MAX,
            // What names no memory is an instruction of another kind.
            Effects::Unknown => {
                let memory = op
                    .operands()
                    .filter(|value| value.ty().is_mem_ref() || is_pointer(value.ty()));
                memory.fold(0, |all, memory| all | self.bits_of(memory))
            }
        }
    }

    /// Finds what may be read after each barrier and arrival: what is read later, or in a loop around it.
    fn find_wanted(&mut self, function: Op<'c>) {
        let blocks: Vec<Block> = function.regions().flat_map(Region::blocks).collect();
        let all = self.reads.values().fold(0, |all, read| all | read);
        let several = blocks.len() > 1;
        let mut later = 0;
        for op in blocks
            .into_iter()
            .rev()
            .flat_map(|block| block.ops().into_iter().rev())
        {
            let inside = op.self_and_nested();
            let around = inside.iter().filter_map(|op| self.reads.get(op));
            let around = around.fold(later, |all, read| all | read);
            let releases = inside.into_iter().filter(|op| releases(*op));
            self.wanted
                .extend(releases.map(|release| (release, if several { all } else { around })));
            later = around;
        }
    }

    /// What `block` may leave dirty of what is written in it.
    fn leaves_block(&mut self, block: Block<'c>) -> Bits {
        block.ops().into_iter().fold(0, |dirty, op| self.after(op, dirty))
    }

    /// What is dirty after `op`.
    fn after(&mut self, op: Op<'c>, dirty: Bits) -> Bits {
        if op.num_regions() > 0 {
            return dirty | self.leaves(op);
        }
        let cleaned = self.cleaned_by(op);
        dirty & !cleaned | self.written_by(op)
    }

    /// What is fenced before `op`, or by it, if it is dirty.
    fn cleaned_by(&self, op: Op<'c>) -> Bits {
        let is_fence = op.is(nvvm::FENCE_PROXY) && op.attr(attr::KIND).is_some_and(is_async_shared_proxy);
        let fenced = self.reads.get(&op).or_else(|| self.wanted.get(&op)).copied();
        if is_fence { Bits::MAX } else { fenced.unwrap_or(0) }
    }

    /// What an operation with regions may leave dirty of what it writes.
    fn leaves(&mut self, op: Op<'c>) -> Bits {
        if let Some(&left) = self.left.get(&op) {
            return left;
        }
        let blocks = op.regions().flat_map(Region::blocks);
        let left = blocks.fold(0, |left, block| left | self.leaves_block(block));
        self.left.insert(op, left);
        left
    }

    /// Puts fences into `block`, where `dirty` is dirty where it begins.
    fn put(&mut self, block: Block<'c>, mut dirty: Bits) {
        for op in block.ops() {
            if op.num_regions() > 0 {
                let repeats = !matches!(op.name(), scf::IF | affine::IF | scf::INDEX_SWITCH);
                let inside = if repeats { dirty | self.leaves(op) } else { dirty };
                for block in op.regions().flat_map(Region::blocks) {
                    self.put(block, inside);
                }
            } else if dirty & self.cleaned_by(op) != 0 && !op.is(nvvm::FENCE_PROXY) {
                block_wide::fence(op.context(), op.location()).before(op);
                // What it fences is all.
                dirty = 0;
            }
            dirty = self.after(op, dirty);
        }
    }
}

/// Returns true if other threads may know by `op` of what this one wrote: a barrier, of all threads or of some, or an arrival.
fn releases(op: Op<'_>) -> bool {
    matches!(
        op.name(),
        gpu::BARRIER
            | nvvm::BARRIER0
            | nvvm::BARRIER
            | nvvm::BARRIER_ARRIVE
            | nvgpu::MBARRIER_ARRIVE
            | nvgpu::MBARRIER_ARRIVE_EXPECT_TX
            | nvgpu::MBARRIER_ARRIVE_NOCOMPLETE
            | nvvm::MBARRIER_ARRIVE
            | nvvm::MBARRIER_ARRIVE_DROP
            | nvvm::MBARRIER_ARRIVE_DROP_EXPECT_TX
            | nvvm::MBARRIER_ARRIVE_DROP_NOCOMPLETE
            | nvvm::MBARRIER_ARRIVE_EXPECT_TX
            | nvvm::MBARRIER_ARRIVE_NOCOMPLETE
    )
}

/// Returns true if `op` works on an mbarrier alone, which is no part of a matrix.
fn is_on_mbarriers(op: Op<'_>) -> bool {
    matches!(
        op.name(),
        nvgpu::MBARRIER_CREATE
            | nvgpu::MBARRIER_GET
            | nvgpu::MBARRIER_INIT
            | nvgpu::MBARRIER_ARRIVE
            | nvgpu::MBARRIER_ARRIVE_EXPECT_TX
            | nvgpu::MBARRIER_ARRIVE_NOCOMPLETE
            | nvgpu::MBARRIER_TEST_WAIT
            | nvgpu::MBARRIER_TRY_WAIT_PARITY
            | nvvm::MBARRIER_INIT
            | nvvm::MBARRIER_INVAL
            | nvvm::MBARRIER_ARRIVE
            | nvvm::MBARRIER_ARRIVE_DROP
            | nvvm::MBARRIER_ARRIVE_DROP_EXPECT_TX
            | nvvm::MBARRIER_ARRIVE_DROP_NOCOMPLETE
            | nvvm::MBARRIER_ARRIVE_EXPECT_TX
            | nvvm::MBARRIER_ARRIVE_NOCOMPLETE
            | nvvm::MBARRIER_EXPECT_TX
            | nvvm::MBARRIER_TEST_WAIT
            | nvvm::MBARRIER_TRY_WAIT
            | nvvm::MBARRIER_TRY_WAIT_PARITY
    )
}
