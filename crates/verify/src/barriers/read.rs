//! Reads a function into [`Code`]: part of what is trusted. Where accesses are, `async-locations` says.
//!
//! Control flow is read through MLIR's interfaces, and has to be structured: regions of one block each. Code whose control flow is not known
//! is taken to run in any order, any number of times.

mod regions;

use super::code::{
    ALL_WARPS, Block, BlockId, Class, ClassId, Code, Edge, EdgeKind, Instr, Issue, Kind, Threads, Token,
};
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect, GroupQueue};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_locations::buffers::{Buffers, anything};
use async_locations::footprints::{Mask, is_asynchronous};
use async_locations::memory::{Access, Effects, effects};
use async_locations::warps::{all_warps, barrier_of_warps, num_warps};
use async_mlir::gpu::{block_size, is_barrier};
use async_mlir::ir::{Op, Region, Value, Walk};
use async_mlir::names::{attr, memref, nvgpu, nvvm};
use async_overlap::ids::IndexVec;
use async_overlap::{BufferId, Footprint, LoopId, Offset, ThreadBytes, count_iterations};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// A function as code, and the operations that it is of.
#[derive(Default)]
pub struct Reading<'c> {
    /// The code.
    pub code: Code,
    /// The operation of each instruction, by block.
    pub ops: IndexVec<BlockId, Vec<Op<'c>>>,
}

/// The operations of a function that barriers of the block are in.
///
/// All threads have to come to a barrier, so they take the same way through these. A pass that removes barriers says what they were before.
#[derive(Clone, Debug, Default)]
pub struct AroundBarriers<'c>(FxHashSet<Op<'c>>);

impl<'c> AroundBarriers<'c> {
    /// Those of `function`.
    #[must_use]
    pub fn of(function: Op<'c>) -> Self {
        let mut known = FxHashSet::default();
        function.walk(|op| {
            if is_barrier(op) {
                let mut around = op.ancestors().take_while(|around| *around != function);
                while around.next().is_some_and(|around| known.insert(around)) {}
            }
            Walk::Advance
        });
        Self(known)
    }
}

/// What makes two accesses the same.
type ClassKey = (BufferId, Vec<(Option<*const ThreadBytes>, Offset)>, Kind);

struct Reader<'c, 'b> {
    out: Reading<'c>,
    buffers: Buffers<'c>,
    classes: FxHashMap<ClassKey, ClassId>,
    tokens: FxHashMap<Value<'c>, Token>,
    queues: Vec<GroupQueue>,
    around_barriers: &'b AroundBarriers<'c>,
    /// The block that is being read.
    at: BlockId,
    in_loop: Option<LoopId>,
    /// The first block of the outermost loop around.
    outermost: Option<BlockId>,
    threads: Threads,
    /// Which threads come by.
    mask: Mask,
}

/// Reads the body of `function`; `None` if its control flow is not structured.
#[must_use]
pub fn read<'c>(function: Op<'c>, around_barriers: &AroundBarriers<'c>) -> Option<Reading<'c>> {
    let buffers = Buffers::new(function);
    let all = block_size(function).and_then(|_| buffers.footprints.values.num_threads());
    let warps = num_warps(function).map_or(u32::MAX, all_warps);
    let mut reader = Reader {
        out: Reading::default(),
        buffers,
        classes: FxHashMap::default(),
        tokens: FxHashMap::default(),
        queues: Vec::new(),
        around_barriers,
        at: BlockId(0),
        in_loop: None,
        outermost: None,
        threads: Threads {
            warps,
            ..Threads::default()
        },
        mask: all.map(|threads| vec![true; threads as usize].into()),
    };
    reader.out.code.warps = warps;
    reader.at = reader.new_block();
    if let Some(region) = function
        .regions()
        .next()
        .filter(|region| region.first().is_some())
    {
        let mut blocks = region.blocks().into_iter();
        let (first, None) = (blocks.next()?, blocks.next()) else {
            return None;
        };
        reader.block(first);
    }
    let Code { loops, classes, .. } = &mut reader.out.code;
    count_iterations(loops, classes.iter().map(|class| &class.footprint));
    Some(reader.out)
}

impl<'c> Reading<'c> {
    /// The operation of an instruction.
    #[must_use]
    pub fn op(&self, block: BlockId, instr: usize) -> Option<Op<'c>> {
        self.ops.get(block)?.get(instr).copied()
    }

    /// The operation that accesses as `class` does, and that comes last before the instruction, or if there is none, last of all.
    #[must_use]
    pub fn last_before(&self, class: ClassId, (block, instr): (BlockId, usize)) -> Option<Op<'c>> {
        let mut found = (None, None);
        for (id, code) in self.code.blocks.with_ids() {
            for (i, op) in code
                .instrs
                .iter()
                .zip(&self.ops[id])
                .enumerate()
                .filter_map(|(i, (instr, op))| {
                    let accesses = match instr {
                        Instr::Access(classes) => classes.contains(&class),
                        Instr::Issue(issues) => issues.iter().any(|issue| issue.class == class),
                        _ => false,
                    };
                    accesses.then_some((i, *op))
                })
            {
                if (id, i) < (block, instr) {
                    found.0 = Some(op);
                }
                found.1 = Some(op);
            }
        }
        found.0.or(found.1)
    }
}

impl<'c> Reader<'c, '_> {
    fn new_block(&mut self) -> BlockId {
        let loops = &self.out.code.loops;
        let block = Block {
            depth: self.in_loop.map_or(0, |inner| loops[inner].depth + 1),
            threads: self.threads,
            first_after: BlockId(self.out.code.blocks.len()),
            ..Block::default()
        };
        self.out.ops.push(Vec::new());
        let id = self.out.code.blocks.push(block);
        if self.in_loop.is_some() {
            let first = *self.outermost.get_or_insert(id);
            self.out.code.blocks[id].first_after = first;
        } else {
            self.outermost = None;
        }
        id
    }

    fn connect(&mut self, from: BlockId, to: BlockId, kind: EdgeKind, bindings: Vec<(Token, Token)>) {
        let edge = Edge {
            to,
            kind,
            bindings,
            adds: false,
        };
        self.out.code.blocks[from].edges.push(edge);
    }

    fn emit(&mut self, instr: Instr, op: Op<'c>) {
        self.out.code.blocks[self.at].instrs.push(instr);
        self.out.ops[self.at].push(op);
    }

    fn token(&mut self, value: Value<'c>) -> Token {
        let next = Token(u32::try_from(self.tokens.len()).unwrap_or(u32::MAX));
        *self.tokens.entry(value).or_insert(next)
    }

    fn tokens_of(&mut self, values: impl IntoIterator<Item = Value<'c>>) -> Vec<Token> {
        values.into_iter().map(|value| self.token(value)).collect()
    }

    /// Reads what is in `block`.
    fn block(&mut self, block: async_mlir::ir::Block<'c>) {
        let terminator = block.terminator();
        let mut next = block.first();
        while let Some(op) = next.filter(|op| Some(*op) != terminator) {
            next = op.next();
            self.op(op);
        }
    }

    fn op(&mut self, op: Op<'c>) {
        if op.is_function() {
            return;
        }
        let is_one_warp = || self.mask.as_ref().is_some_and(|threads| threads.len() <= 32);
        if op.is(nvvm::BAR_WARP_SYNC) && is_one_warp() && op.operand(0).as_constant_int() == Some(-1) {
            self.emit(Instr::BarrierOf(ALL_WARPS), op);
        } else if is_barrier(op) {
            self.emit(Instr::Barrier, op);
        } else if let Some(warps) = barrier_of_warps(op).filter(|_| self.threads.whole && self.threads.apart)
        {
            self.emit(Instr::BarrierOf(warps & self.threads.warps), op);
        } else {
            match op.name() {
                async_::AWAIT => {
                    let tokens = self.tokens_of(op.operands());
                    self.emit(Instr::Await(tokens), op);
                }
                async_::JOIN | async_::READY => {
                    let of = self.tokens_of(op.operands());
                    let token = self.token(op.result(0));
                    self.emit(Instr::Join(token, of), op);
                }
                async_::REGION => self.asynchronous(op),
                _ => {
                    self.completion(op);
                    if op.num_regions() > 0 {
                        self.regions(op);
                    } else {
                        self.accesses(op);
                    }
                }
            }
        }
    }

    /// An `async.region`: it awaits what it depends on, and is complete when what it yields is.
    fn asynchronous(&mut self, op: Op<'c>) {
        self.await_dependences(op);
        self.regions(op);
        let end = op.region(0).first().and_then(async_mlir::ir::Block::terminator);
        let yielded = self.tokens_of(end.into_iter().flat_map(dependences));
        let token = self.token(op.result(0));
        self.emit(Instr::Join(token, yielded), op);
    }

    fn await_dependences(&mut self, op: Op<'c>) {
        let needed = self.tokens_of(dependences(op));
        if !needed.is_empty() {
            self.emit(Instr::Await(needed), op);
        }
    }

    /// A commit or a wait.
    fn completion(&mut self, op: Op<'c>) {
        let Some(completion) = Completion::of(op) else {
            return;
        };
        let Some(queue) = completion.queue else { return };
        let queue = self.queue(queue);
        let instr = match completion.effect {
            GroupEffect::Commit => Instr::Commit(queue, completion.done.map(|token| self.token(token))),
            // Without a count it is for its token, and for what was committed before.
            GroupEffect::Wait if op.is(nvgpu::DEVICE_ASYNC_WAIT) && !op.has_attr(attr::NVGPU_NUM_GROUPS) => {
                Instr::AwaitGroup(queue, self.tokens_of(op.operands()))
            }
            GroupEffect::Wait => Instr::Wait {
                queue,
                pending: completion.pending,
                reads: completion.waits_for_reads,
            },
            GroupEffect::None | GroupEffect::Issue => return,
        };
        self.emit(instr, op);
    }

    fn queue(&mut self, queue: GroupQueue) -> u8 {
        let known = self.queues.iter().position(|known| *known == queue);
        let number = known.unwrap_or_else(|| {
            self.queues.push(queue);
            self.queues.len() - 1
        });
        u8::try_from(number).unwrap_or(u8::MAX)
    }

    fn class(&mut self, footprint: Footprint, kind: Kind) -> ClassId {
        let sets = footprint.sets();
        let sets = sets.map(|(bytes, offset)| (bytes.map(Rc::as_ptr), offset.clone()));
        let key = (footprint.buffer, sets.collect(), kind);
        let classes = &mut self.out.code.classes;
        *self
            .classes
            .entry(key)
            .or_insert_with(|| classes.push(Class { footprint, kind }))
    }

    /// What `op` itself accesses.
    fn accesses(&mut self, op: Op<'c>) {
        let Effects::Known(effects) = effects(op) else {
            let mut accessed: Vec<(Footprint, Kind)> = self
                .buffers
                .reachable(op)
                .into_iter()
                .map(|buffer| (anything(buffer), Kind::Write))
                .collect();
            // What others do to buffers that this function does not mention they order among themselves.
            accessed.push((anything(self.buffers.footprints.foreign()), Kind::Atomic));
            let classes = accessed
                .into_iter()
                .map(|(footprint, kind)| self.class(footprint, kind));
            let classes = classes.collect();
            return self.emit(Instr::Access(classes), op);
        };
        let (mut now, mut later) = (Vec::new(), Vec::new());
        for effect in effects {
            let kind = match effect.access {
                Access::Free => continue,
                _ if op.is(memref::ATOMIC_RMW) => Kind::Atomic,
                Access::Read | Access::AsyncRead => Kind::Read,
                Access::Write | Access::AsyncWrite => Kind::Write,
            };
            let list = if is_asynchronous(op, effect.access) {
                &mut later
            } else {
                &mut now
            };
            for footprint in self.buffers.of(op, effect, &self.mask).workgroup {
                list.push((footprint, kind));
            }
        }
        if !now.is_empty() {
            let classes = now
                .into_iter()
                .map(|(footprint, kind)| self.class(footprint, kind));
            let classes = classes.collect();
            self.emit(Instr::Access(classes), op);
        }
        if !later.is_empty() {
            self.await_dependences(op);
            self.issue(op, later);
        }
    }

    /// Accesses that `op` begins.
    fn issue(&mut self, op: Op<'c>, accesses: Vec<(Footprint, Kind)>) {
        let completion = Completion::of(op);
        let block_wide = completion.is_some_and(|completion| completion.scope == ExecutionScope::Block);
        let queue = completion.and_then(|completion| completion.queue);
        let queue = queue.map(|queue| self.queue(queue));
        let (done, read) = completion.map_or((None, None), |completion| (completion.done, completion.read));
        let issues = accesses.into_iter().map(|(footprint, kind)| {
            let read = read.filter(|_| kind == Kind::Read);
            Issue {
                class: self.class(footprint, kind),
                tokens: self.tokens_of(done.into_iter().chain(read)),
                queue,
                block_wide,
            }
        });
        let issues = issues.collect();
        self.emit(Instr::Issue(issues), op);
    }
}

/// The tokens that `op`, which issues something, awaits before.
fn dependences(op: Op<'_>) -> Vec<Value<'_>> {
    op.operands().filter(|value| is_token(value.ty())).collect()
}

/// The blocks of the regions of `op`, each of which has one; `None` if one has several.
fn single_blocks<'c>(op: Op<'c>) -> Option<Vec<async_mlir::ir::Block<'c>>> {
    let regions = op.regions().filter(|region| region.first().is_some());
    let single = |region: Region<'c>| {
        let mut blocks = region.blocks().into_iter();
        blocks.next().filter(|_| blocks.next().is_none())
    };
    regions.map(single).collect()
}
