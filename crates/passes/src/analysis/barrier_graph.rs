//! Reads a function into the [`Kernel`] that barriers are placed on.
//!
//! Control flow is read through MLIR's interfaces. It must be structured: regions of one block each. There is a step for each
//! operation that accesses memory of the workgroup, or that asynchronous accesses begin or end at, and one where ways part or
//! meet.

mod buffers;

use self::buffers::{Buffers, Elsewhere, anything};
use super::cfg::{Edge as IrEdge, RegionFlow, Target};
use super::footprints::{BufferKey, Mask, is_asynchronous};
use super::memory::{Access as MemoryAccess, Effects, effects};
use super::uniformity::may_diverge;
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect, GroupQueue};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::control_flow::constant_trip_count;
use async_mlir::gpu::{block_size, is_barrier};
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::names::{attr, gpu, memref, nvgpu, nvvm, scf};
use async_mlir::nvgpu::copy_token;
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use tokenflow::Token;
use tokenflow::barriers::{
    Access, AccessId, AccessKind, Action, BufferId, EdgeKind, Issue, Kernel, LoopId, RegionId, StepId, Symbol,
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
}

/// An access to memory that is not the workgroup's.
#[derive(Clone, Copy, Debug)]
pub struct GlobalAccess<'c> {
    /// The buffer; `None` if it may be any.
    pub buffer: Option<Value<'c>>,
    /// False if it is only read.
    pub written: bool,
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
    keep_barriers: bool,
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
        keep_barriers,
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
    count_iterations(&mut out.kernel);
    Ok(out)
}

/// Tells as many iterations of each loop apart as it takes for every rotation to come round.
fn count_iterations(kernel: &mut Kernel) {
    let accesses = kernel.accesses.iter();
    let symbols = accesses.flat_map(|access| {
        access
            .footprint
            .offset
            .terms
            .iter()
            .map(|(_, symbol)| symbol.clone())
    });
    for symbol in symbols.collect::<FxHashSet<Symbol>>() {
        let most = |n: usize| u8::try_from(n).map_or(MAX_COUNTED, |n| n.min(MAX_COUNTED));
        let (of, count) = match symbol {
            Symbol::Periodic { of, values } => (of, most(values.len())),
            Symbol::Rotation { of, modulus, .. } => {
                (of, most(usize::try_from(modulus).unwrap_or(usize::MAX)))
            }
            Symbol::Iteration(of) => (of, 4),
            Symbol::Value(..) => continue,
        };
        let counted = &mut kernel.loops[of].counted;
        *counted = (*counted).max(count);
    }
}

/// Iterations beyond these are not told apart.
const MAX_COUNTED: u8 = 16;

/// The one block of a region.
fn single_block<'c>(op: Op<'c>, region: Region<'c>) -> Result<Block<'c>, PassError<'c>> {
    let mut blocks = region.blocks().into_iter();
    match (blocks.next(), blocks.next()) {
        (Some(block), None) => Ok(block),
        _ => {
            let message = "has branches between blocks, between which barriers can't be placed";
            Err(PassError::new(op, message).note(op, "run --lift-cf-to-scf first"))
        }
    }
}

impl<'c> Reader<'c> {
    fn step(&mut self, action: Action, op: Op<'c>) -> StepId {
        let kernel = &mut self.out.kernel;
        let step = kernel.add_step(action, self.in_loop, self.divergent);
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

    fn bindings(&mut self, edge: &IrEdge<'c>) -> Vec<(Token, Token)> {
        let tokens = edge.bindings.iter().filter(|(from, _)| is_any_token(*from));
        let tokens: Vec<(Value, Value)> = tokens.copied().collect();
        tokens
            .into_iter()
            .map(|(from, to)| (self.token(from), self.token(to)))
            .collect()
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
                let accesses = accesses.collect();
                self.now(op, accesses);
                let step = self.step(Action::None, op);
                let anything = GlobalAccess {
                    buffer: None,
                    written: true,
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
            list.extend(
                touched
                    .workgroup
                    .into_iter()
                    .map(|footprint| Access { footprint, kind }),
            );
            let buffer = match touched.global {
                Elsewhere::Nothing => continue,
                Elsewhere::Buffer(buffer) => Some(buffer),
                Elsewhere::Anything => None,
            };
            let step = self.step(Action::None, op);
            let written = kind != AccessKind::Read;
            self.out.global.push((step, GlobalAccess { buffer, written }));
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

    /// Accesses that `op` begins.
    fn later(&mut self, op: Op<'c>, completion: Option<Completion<'c>>, accesses: Vec<Access>) {
        if accesses.is_empty() {
            return;
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

    fn regions(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        let flow = RegionFlow::new(op);
        let regions: Vec<Region> = op.regions().filter(|region| region.first().is_some()).collect();
        let blocks = regions
            .iter()
            .map(|region| single_block(op, *region))
            .collect::<Result<Vec<Block>, _>>();
        let (Some(entries), Ok(blocks)) = (flow.known_entries(), &blocks) else {
            self.opaque(op);
            return Ok(());
        };
        let outer = (self.divergent, self.mask.clone(), self.in_loop);
        let head = self.step(Action::None, op);
        self.accesses(op);
        let head = self.last.pop().map_or(head, |(last, ..)| last);
        self.last.clear();
        if may_diverge(op) && self.divergent.is_none() {
            let depth = outer.2.map_or(0, |inner| self.out.kernel.loops[inner].depth + 1);
            self.divergent = Some(self.out.kernel.regions.push(depth));
        }
        let exits: Vec<Vec<IrEdge>> = blocks
            .iter()
            .map(|block| flow.exits(block.terminator()))
            .collect();
        let place = |to: Target<'c>| match to {
            Target::After => None,
            Target::Block(block) => blocks.iter().position(|known| *known == block),
        };
        let trips = constant_trip_count(op).filter(|_| op.is(scf::FOR) && !op.has_attr(attr::UNSIGNED_CMP));
        let repeats = trips != Some(1)
            && exits.iter().enumerate().any(|(from, edges)| {
                edges
                    .iter()
                    .any(|edge| place(edge.to).is_some_and(|to| to <= from))
            });
        let entered = repeats.then(|| self.out.kernel.add_loop(outer.2, 1, trips));
        let entered = entered.inspect(|entered| self.buffers.footprints.values.add_loop(op, *entered));
        self.in_loop = entered.or(outer.2);
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for (i, &block) in blocks.iter().enumerate() {
            self.mask = self.mask_of_arm(op, i, &outer.1);
            let first = block.first().or_else(|| block.terminator()).unwrap_or(op);
            starts.push(self.step(Action::None, first));
            self.block(block)?;
            ends.push(self.last.pop().map(|(end, ..)| end));
            self.last.clear();
        }
        (self.divergent, self.mask, self.in_loop) = outer;
        let mut after: Vec<End> = Vec::new();
        for edge in entries.iter().filter(|edge| edge.possible) {
            let bindings = self.bindings(edge);
            match place(edge.to) {
                Some(to) => {
                    let kind = entered.map_or(EdgeKind::Plain, EdgeKind::Enter);
                    self.out.kernel.connect(head, starts[to], kind, bindings);
                }
                // A loop that always runs is not skipped.
                None if trips.is_none_or(|trips| trips == 0) => after.push((head, EdgeKind::Plain, bindings)),
                None => {}
            }
        }
        for (from, edges) in exits.iter().enumerate() {
            let Some(end) = ends[from] else { continue };
            for edge in edges.iter().filter(|edge| edge.possible) {
                let bindings = self.bindings(edge);
                match (place(edge.to), entered) {
                    (Some(to), Some(entered)) if to <= from => {
                        self.out
                            .kernel
                            .connect(end, starts[to], EdgeKind::Back(entered), bindings);
                    }
                    (Some(to), _) if to > from => {
                        self.out
                            .kernel
                            .connect(end, starts[to], EdgeKind::Plain, bindings);
                    }
                    (Some(_), _) => {}
                    (None, entered) => {
                        let kind = entered.map_or(EdgeKind::Plain, EdgeKind::Leave);
                        after.push((end, kind, bindings));
                    }
                }
            }
        }
        self.last = after;
        let next = op.next().unwrap_or(op);
        self.step(Action::None, next);
        Ok(())
    }

    /// Which threads come to region `number` of `op`.
    fn mask_of_arm(&mut self, op: Op<'c>, number: usize, outer: &Mask) -> Mask {
        if !may_diverge(op) {
            return outer.clone();
        }
        let outer = outer.as_ref().filter(|_| op.is(scf::IF))?;
        let condition = self.buffers.footprints.values.of(op.operand(0))?;
        let known = condition
            .offset
            .terms
            .is_empty()
            .then_some(condition.offset.constant)?;
        let comes = outer.iter().enumerate().map(|(thread, comes)| {
            let own = condition.threads.as_ref().map_or(0, |threads| threads[thread]);
            *comes && (own.wrapping_add(known) != 0) == (number == 0)
        });
        let comes: Vec<bool> = comes.collect();
        Some(Rc::from(comes))
    }

    /// An operation whose control flow is not known: threads may do all that is in it, in any order, again and again.
    fn opaque(&mut self, op: Op<'c>) {
        let outer = (self.divergent, self.mask.take(), self.in_loop);
        let head = self.step(Action::None, op);
        if self.divergent.is_none() {
            let depth = outer.2.map_or(0, |inner| self.out.kernel.loops[inner].depth + 1);
            self.divergent = Some(self.out.kernel.regions.push(depth));
        }
        let entered = self.out.kernel.add_loop(outer.2, 1, None);
        self.in_loop = Some(entered);
        self.last = vec![(head, EdgeKind::Enter(entered), Vec::new())];
        let start = self.step(Action::None, op);
        for inner in op.self_and_nested() {
            if is_barrier(inner) {
                let step = self.step(Action::None, inner);
                self.out.barriers.push((step, inner));
            } else {
                self.accesses(inner);
            }
        }
        let end = self.step(Action::None, op);
        self.out
            .kernel
            .connect(end, start, EdgeKind::Back(entered), Vec::new());
        (self.divergent, self.mask, self.in_loop) = outer;
        self.last = vec![
            (end, EdgeKind::Leave(entered), Vec::new()),
            (head, EdgeKind::Plain, Vec::new()),
        ];
        self.step(Action::None, op.next().unwrap_or(op));
    }
}

/// Returns true if `value` is a token of any kind.
fn is_any_token(value: Value<'_>) -> bool {
    is_token(value.ty()) || value.ty() == copy_token(value.context())
}
