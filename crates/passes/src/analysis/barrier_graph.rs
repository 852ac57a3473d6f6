//! Builds the [`Kernel`] that barriers are placed on: the steps of a function, their accesses and control
//! flow.
//!
//! Control flow is read through MLIR's interfaces. It must be structured: regions of one block each. There is a step for each
//! operation that accesses memory of the workgroup, or that asynchronous accesses begin or end at, and one where ways part or
//! meet.

mod regions;

use super::cfg::how_to_structure;
use super::footprints::{BufferKey, Mask, is_asynchronous};
use super::memory::{Access as MemoryAccess, Effects, effects};
use super::warps::{all_warps, barrier_of_warps, num_warps};
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect, GroupQueue};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_locations::buffers::{Buffers, GlobalBuffer, GlobalFootprint, anything};
use async_mlir::gpu::{block_size, is_barrier};
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::names::{attr, gpu, memref, nvgpu, nvvm};
use async_mlir::nvgpu::copy_token;
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::Token;
use tokenflow::barriers::{
    Access, AccessId, AccessKind, Action, BufferId, EdgeKind, Issue, Kernel, LoopId, RegionId, StepId, Warps,
    count_iterations,
};
use tokenflow::ids::IndexVec;

/// A function's graph, and what its numbers stand for.
#[derive(Default)]
pub struct BarrierGraph<'c> {
    /// The graph.
    pub kernel: Kernel,
    /// The operation of each step; where ways part or meet, the one that comes next.
    pub ops: IndexVec<StepId, Op<'c>>,
    /// The operation of each access.
    pub accesses: IndexVec<AccessId, Op<'c>>,
    /// What each buffer is.
    pub buffers: IndexVec<BufferId, BufferKey<'c>>,
    /// The barriers that the function has.
    pub barriers: Vec<(StepId, Op<'c>)>,
    /// The accesses to memory that other blocks can access, too.
    pub global: Vec<(StepId, GlobalAccess<'c>)>,
    /// Divergent regions with barriers whose order is not followed: they are taken to be right as they are.
    pub trusted: FxHashSet<RegionId>,
}

/// An access to memory that is not the workgroup's.
#[derive(Clone, Debug)]
pub struct GlobalAccess<'c> {
    /// The buffer; `None` if it may be any.
    pub buffer: Option<Value<'c>>,
    /// False if it is only read.
    pub written: bool,
    /// What is accessed of the buffer, if that is known.
    pub footprint: Option<GlobalFootprint<'c>>,
}

/// Where control comes from.
type End = (StepId, EdgeKind, Vec<(Token, Token)>);

struct Reader<'c> {
    out: BarrierGraph<'c>,
    buffers: Buffers<'c>,
    tokens: FxHashMap<Value<'c>, Token>,
    queues: Vec<GroupQueue>,
    last: Vec<End>,
    in_loop: Option<LoopId>,
    divergent: Option<RegionId>,
    /// Which threads come by.
    mask: Mask,
    warps: Warps,
    /// True if it depends on a condition whether threads of a divergent region come by.
    unsure: bool,
    keep_barriers: bool,
    /// The operations that barriers are in.
    with_barriers: FxHashSet<Op<'c>>,
}

/// Reads the body of `function`; with `keep_barriers`, those that it has stay.
///
/// # Errors
///
/// Where control flow is not structured.
pub fn read(function: Op<'_>, keep_barriers: bool) -> Result<BarrierGraph<'_>, PassError<'_>> {
    let buffers = Buffers::new(function);
    let all = block_size(function).and_then(|_| buffers.footprints.values.num_threads());
    let mut reader = Reader {
        out: BarrierGraph::default(),
        buffers,
        tokens: FxHashMap::default(),
        queues: Vec::new(),
        last: Vec::new(),
        in_loop: None,
        divergent: None,
        mask: all.map(|threads| vec![true; threads as usize].into()),
        warps: Warps {
            may: num_warps(function).map_or(u32::MAX, all_warps),
            ..Warps::ALL
        },
        unsure: false,
        keep_barriers,
        with_barriers: regions::with_barriers(function),
    };
    if let Some(region) = function
        .regions()
        .next()
        .filter(|region| region.first().is_some())
    {
        let block = single_block(function, region)?;
        let first = block.terminator().unwrap_or(function);
        reader.step(Action::None, block.first().unwrap_or(first));
        reader.block(block)?;
    }
    let mut out = reader.out;
    out.kernel.buffers = reader.buffers.footprints.buffers;
    out.buffers = reader.buffers.footprints.keys;
    let kernel = &mut out.kernel;
    let footprints = kernel.accesses.iter().map(|access| &access.footprint);
    count_iterations(&mut kernel.loops, footprints);
    Ok(out)
}

/// The one block of a region.
fn single_block<'c>(op: Op<'c>, region: Region<'c>) -> Result<Block<'c>, PassError<'c>> {
    let mut blocks = region.blocks().into_iter();
    match (blocks.next(), blocks.next()) {
        (Some(block), None) => Ok(block),
        _ => {
            let message = "has branches between blocks, between which barriers can't be placed";
            Err(PassError::new(op, message).note(op, how_to_structure(op)))
        }
    }
}

impl<'c> Reader<'c> {
    fn step(&mut self, action: Action, op: Op<'c>) -> StepId {
        let kernel = &mut self.out.kernel;
        let step = kernel.add_step(action, self.in_loop, self.divergent);
        kernel.steps[step].warps = self.warps;
        for (from, kind, bindings) in self.last.drain(..) {
            kernel.connect(from, step, kind, bindings);
        }
        self.last.push((step, EdgeKind::Plain, Vec::new()));
        self.out.ops.push(op);
        step
    }

    fn token(&mut self, value: Value<'c>) -> Token {
        let next = Token(u32::try_from(self.tokens.len()).unwrap_or(u32::MAX));
        *self.tokens.entry(value).or_insert(next)
    }

    /// Reads what is in `block`, and a step at its end.
    fn block(&mut self, block: Block<'c>) -> Result<(), PassError<'c>> {
        let terminator = block.terminator();
        let mut next = block.first();
        while let Some(op) = next.filter(|op| Some(*op) != terminator) {
            next = op.next();
            self.op(op)?;
        }
        if let Some(end) = terminator.or_else(|| block.parent_op()) {
            self.step(Action::None, end);
        }
        Ok(())
    }

    fn op(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        if op.is_function() {
            return Ok(());
        }
        if op.is(gpu::LAUNCH) {
            let message = "is not a function yet, so no barrier can be placed in it";
            return Err(PassError::new(op, message).note(op, "run --gpu-kernel-outlining first"));
        }
        let is_one_warp = || self.mask.as_ref().is_some_and(|threads| threads.len() <= 32);
        if op.is(nvvm::BAR_WARP_SYNC) && is_one_warp() && op.operand(0).as_constant_int() == Some(-1) {
            self.step(Action::Barrier, op);
            return Ok(());
        }
        if is_barrier(op) {
            let action = if self.keep_barriers && self.divergent.is_none() {
                Action::Barrier
            } else {
                Action::None
            };
            let step = self.step(action, op);
            self.out.barriers.push((step, op));
            return Ok(());
        }
        if let Some(warps) = barrier_of_warps(op).filter(|_| self.warps.whole && self.divergent.is_some()) {
            // What is between two of them is taken to be right.
            self.out.trusted.extend(self.divergent);
            self.step(Action::BarrierOf(warps & self.warps.may), op);
            return Ok(());
        }
        match op.name() {
            async_::AWAIT => {
                let tokens = op.operands().map(|token| self.token(token)).collect();
                self.step(Action::Await(tokens), op);
                return Ok(());
            }
            async_::JOIN | async_::READY => {
                let of = op.operands().map(|token| self.token(token)).collect();
                let token = self.token(op.result(0));
                self.step(Action::Join(token, of), op);
                return Ok(());
            }
            async_::REGION => return self.asynchronous(op),
            _ => {}
        }
        self.completion(op);
        if op.num_regions() > 0 {
            self.regions(op)
        } else {
            self.accesses(op);
            Ok(())
        }
    }

    /// An `async.region`: it awaits what it depends on, and is complete when what it yields is.
    fn asynchronous(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        let needed: Vec<Token> = dependences(op)
            .into_iter()
            .map(|token| self.token(token))
            .collect();
        if !needed.is_empty() {
            self.step(Action::Await(needed), op);
        }
        self.regions(op)?;
        let end = op.region(0).first().and_then(Block::terminator);
        let yielded = end.into_iter().flat_map(dependences);
        let yielded = yielded.map(|token| self.token(token)).collect();
        let token = self.token(op.result(0));
        self.step(Action::Join(token, yielded), op.next().unwrap_or(op));
        Ok(())
    }

    /// A commit or a wait.
    fn completion(&mut self, op: Op<'c>) {
        let Some(completion) = Completion::of(op) else {
            return;
        };
        let Some(queue) = completion.queue else { return };
        let number = self.queue(queue);
        let action = match completion.effect {
            GroupEffect::Commit => {
                let token = completion.done.map(|token| self.token(token));
                Action::Commit(number, token)
            }
            // Without a count it is for its token, and for what was committed before.
            GroupEffect::Wait if op.is(nvgpu::DEVICE_ASYNC_WAIT) && !op.has_attr(attr::NVGPU_NUM_GROUPS) => {
                let tokens = op.operands().map(|token| self.token(token)).collect();
                Action::AwaitGroup(number, tokens)
            }
            GroupEffect::Wait => Action::Wait {
                queue: number,
                pending: completion.pending,
                reads: completion.waits_for_reads,
            },
            GroupEffect::None | GroupEffect::Issue => return,
        };
        self.step(action, op);
    }

    fn queue(&mut self, queue: GroupQueue) -> u8 {
        let known = self.queues.iter().position(|known| *known == queue);
        let number = known.unwrap_or_else(|| {
            self.queues.push(queue);
            self.queues.len() - 1
        });
        u8::try_from(number).unwrap_or(u8::MAX)
    }

    /// What `op` itself accesses.
    fn accesses(&mut self, op: Op<'c>) {
        let completion = Completion::of(op);
        let effects = match effects(op) {
            Effects::Known(effects) => effects,
            Effects::Unknown => {
                let buffers = self.buffers.reachable(op);
                let accesses = buffers.into_iter().map(|buffer| Access {
                    footprint: anything(buffer),
                    kind: AccessKind::Write,
                });
                // What others do to buffers that this function does not mention they order among themselves: barriers between two
                // calls stay, as between accesses of global memory. But what a call has returned others may have written.
                let foreign = Access {
                    footprint: anything(self.buffers.footprints.foreign()),
                    kind: AccessKind::Atomic,
                };
                let accesses = accesses.chain([foreign]).collect();
                self.now(op, accesses);
                let step = self.step(Action::None, op);
                let anything = GlobalAccess {
                    buffer: None,
                    written: true,
                    footprint: None,
                };
                self.out.global.push((step, anything));
                return;
            }
        };
        let (mut now, mut later) = (Vec::new(), Vec::new());
        for effect in effects {
            let kind = match effect.access {
                MemoryAccess::Free => continue,
                _ if op.is(memref::ATOMIC_RMW) => AccessKind::Atomic,
                MemoryAccess::Read | MemoryAccess::AsyncRead => AccessKind::Read,
                MemoryAccess::Write | MemoryAccess::AsyncWrite => AccessKind::Write,
            };
            let touched = self.buffers.of(op, effect, &self.mask);
            let list = if is_asynchronous(op, effect.access) {
                &mut later
            } else {
                &mut now
            };
            list.extend(touched.workgroup.into_iter().map(|mut footprint| {
                footprint.certain &= !self.unsure;
                Access { footprint, kind }
            }));
            let (buffer, footprint) = match touched.global {
                GlobalBuffer::None => continue,
                GlobalBuffer::This(buffer) => (
                    Some(buffer),
                    self.buffers.global_footprint(op, effect, &self.mask),
                ),
                GlobalBuffer::Any => (None, None),
            };
            let step = self.step(Action::None, op);
            let written = kind != AccessKind::Read;
            let access = GlobalAccess {
                buffer,
                written,
                footprint,
            };
            self.out.global.push((step, access));
        }
        self.now(op, now);
        self.later(op, completion, later);
    }

    fn access(&mut self, op: Op<'c>, access: Access) -> AccessId {
        self.out.accesses.push(op);
        self.out.kernel.accesses.push(access)
    }

    /// Accesses that are over when `op` is.
    fn now(&mut self, op: Op<'c>, accesses: Vec<Access>) {
        if !accesses.is_empty() {
            let accesses = accesses
                .into_iter()
                .map(|access| self.access(op, access))
                .collect();
            self.step(Action::Access(accesses), op);
        }
    }

    /// Accesses that `op` begins, once what it depends on is complete.
    fn later(&mut self, op: Op<'c>, completion: Option<Completion<'c>>, accesses: Vec<Access>) {
        if accesses.is_empty() {
            return;
        }
        let needed = dependences(op).into_iter();
        let needed: Vec<Token> = needed.map(|token| self.token(token)).collect();
        if !needed.is_empty() {
            self.step(Action::Await(needed), op);
        }
        // What all threads execute together orders itself, as its lowering sees to it.
        let block_wide = completion.is_some_and(|completion| completion.scope == ExecutionScope::Block);
        let done = completion
            .and_then(|completion| completion.done)
            .map(|token| self.token(token));
        let read = completion
            .and_then(|completion| completion.read)
            .map(|token| self.token(token));
        let queue = completion
            .and_then(|completion| completion.queue)
            .map(|queue| self.queue(queue));
        let issues = accesses.into_iter().map(|access| {
            let read = read.filter(|_| access.kind == AccessKind::Read);
            Issue {
                access: self.access(op, access),
                tokens: done.into_iter().chain(read).collect(),
                queue,
                block_wide,
            }
        });
        let issues = issues.collect();
        self.step(Action::Issue(issues), op);
    }
}

/// The tokens that `op`, which issues something, awaits before.
#[must_use]
pub fn dependences(op: Op<'_>) -> Vec<Value<'_>> {
    op.operands().filter(|value| is_token(value.ty())).collect()
}

/// Returns true if `value` is a token of any kind.
fn is_any_token(value: Value<'_>) -> bool {
    is_token(value.ty()) || value.ty() == copy_token(value.context())
}
