//! Reads a function into [`Code`]: part of what is trusted. What an operation accesses, and what is a view of what, `async-locations` says.
//!
//! Control flow is read through MLIR's interfaces. An operation in which threads may take different ways, or whose control flow is not
//! known, is one step.

mod divergent;

use super::code::{ALL_WARPS, Block, BlockId, BufferId, Code, Edge, Instr, Issue, Step, Token};
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_dialects::names::{async_, gpux_attr};
use async_dialects::types::is_token;
use async_locations::buffer_views::BufferViews;
use async_locations::cfg::{Edge as IrEdge, RegionFlow, Target};
use async_locations::memory::{Access, Effects, effects, is_workgroup_alloc};
use async_locations::uniformity::may_diverge;
use async_locations::warps::warps_of_arm;
use async_mlir::control_flow::{Bindings, constant_trip_count};
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block as IrBlock, Op, Region, Value};
use async_mlir::melior::ir::Location;
use async_mlir::memory_effects::memory_effects;
use async_overlap::ids::IndexVec;
use rustc_hash::FxHashMap;

/// A function as code, and where each step is.
#[derive(Default)]
pub struct Reading<'c> {
    /// The code.
    pub code: Code,
    /// The place of each step, by block.
    pub places: IndexVec<BlockId, Vec<Location<'c>>>,
}

struct Reader<'a, 'c> {
    out: Reading<'c>,
    views: &'a BufferViews<'c>,
    /// The buffer that each root of `views` is of.
    buffers: &'a [BufferId],
    tokens: FxHashMap<Value<'c>, Token>,
    queues: Vec<GroupQueue>,
    /// The block that is being read.
    at: BlockId,
}

/// Reads the body of `function`, where `views` follows roots, and each of these is of one of `buffers`.
#[must_use]
pub fn read<'c>(function: Op<'c>, views: &BufferViews<'c>, buffers: &[BufferId]) -> Reading<'c> {
    let mut reader = Reader {
        out: Reading::default(),
        views,
        buffers,
        tokens: FxHashMap::default(),
        queues: Vec::new(),
        at: BlockId(0),
    };
    reader.at = reader.block();
    if branches_diverge(function) {
        reader.divergent(function);
    } else if let Some(first) = function.regions().next().and_then(Region::first) {
        let entry = IrEdge {
            to: Target::Block(first),
            possible: true,
            bindings: Bindings::new(),
        };
        reader.regions(&RegionFlow::of_function(function), &[entry]);
    }
    reader.out
}

/// Returns true if threads may go different ways at a branch between blocks of a region of `op`.
fn branches_diverge(op: Op<'_>) -> bool {
    let blocks = op.regions().flat_map(Region::blocks);
    let mut ends = blocks.filter_map(IrBlock::terminator);
    ends.any(|end| end.successors().len() > 1 && may_diverge(end))
}

impl<'c> Reader<'_, 'c> {
    fn block(&mut self) -> BlockId {
        self.out.places.push(Vec::new());
        self.out.code.blocks.push(Block::default())
    }

    /// Adds a step of `op`, if it has instructions.
    fn step(&mut self, instrs: Vec<Instr>, op: Op<'c>) {
        if !instrs.is_empty() {
            self.out.code.blocks[self.at].steps.push(Step(instrs));
            self.out.places[self.at].push(op.location());
        }
    }

    fn token(&mut self, value: Value<'c>) -> Token {
        let next = Token(u32::try_from(self.tokens.len()).unwrap_or(u32::MAX));
        *self.tokens.entry(value).or_insert(next)
    }

    fn tokens(&mut self, values: impl IntoIterator<Item = Value<'c>>) -> Vec<Token> {
        let values = values.into_iter().filter(|value| is_token(value.ty()));
        values.map(|value| self.token(value)).collect()
    }

    fn queue(&mut self, queue: GroupQueue) -> u8 {
        let known = self.queues.iter().position(|known| *known == queue);
        let number = known.unwrap_or_else(|| {
            self.queues.push(queue);
            self.queues.len() - 1
        });
        u8::try_from(number).unwrap_or(u8::MAX)
    }

    fn buffer(&self, memory: Value<'c>) -> Option<BufferId> {
        self.views.buffer(memory).map(|root| self.buffers[root])
    }

    /// Reads the blocks that `flow` is about, which are entered from here.
    fn regions(&mut self, flow: &RegionFlow<'c>, entries: &[IrEdge<'c>]) {
        let mut open: Vec<(BlockId, IrEdge)> = entries.iter().map(|edge| (self.at, edge.clone())).collect();
        let mut begins: FxHashMap<IrBlock, BlockId> = FxHashMap::default();
        for block in flow.op().regions().flat_map(Region::blocks) {
            self.at = self.block();
            begins.insert(block, self.at);
            let end = block.terminator();
            let mut next = block.first();
            while let Some(op) = next.filter(|op| Some(*op) != end) {
                next = op.next();
                self.op(op);
            }
            open.extend(flow.exits(end).into_iter().map(|edge| (self.at, edge)));
        }
        self.at = self.block();
        for (from, edge) in open.into_iter().filter(|(_, edge)| edge.possible) {
            let to = match edge.to {
                Target::Block(block) => begins.get(&block).copied(),
                Target::After => (!flow.is_function()).then_some(self.at),
            };
            let tokens = edge.bindings.iter().filter(|(from, _)| is_token(from.ty()));
            let bindings = tokens
                .map(|(from, to)| (self.token(*from), self.token(*to)))
                .collect();
            if let Some(to) = to {
                self.out.code.blocks[from].edges.push(Edge { to, bindings });
            }
        }
    }

    fn op(&mut self, op: Op<'c>) {
        if op.is_function() {
            return;
        }
        if op.num_regions() == 0 {
            let mut instrs = self.synchronization(op);
            instrs.extend(self.accesses(op));
            return self.step(instrs, op);
        }
        let flow = RegionFlow::new(op);
        let is_known = !op.is(async_::REGION) && !may_diverge(op) && !branches_diverge(op);
        let Some(entries) = flow.known_entries().filter(|_| is_known) else {
            return self.divergent(op);
        };
        let own = self.accesses(op);
        self.step(own, op);
        // A loop that always runs is not skipped.
        let always_runs = constant_trip_count(op).is_some_and(|trips| trips > 0);
        let entries = entries
            .iter()
            .filter(|edge| !always_runs || edge.to != Target::After);
        self.regions(&flow, &entries.cloned().collect::<Vec<_>>());
    }

    /// What `op`, without regions, makes of tokens, and what it waits for.
    fn synchronization(&mut self, op: Op<'c>) -> Vec<Instr> {
        let made = self.tokens(op.results());
        let of = self.tokens(op.operands());
        let mut instrs = Vec::new();
        if op.is(async_::JOIN) {
            return made
                .into_iter()
                .map(|token| Instr::Join(token, of.clone()))
                .collect();
        }
        let completion = Completion::of(op);
        let issues = completion.is_some_and(|completion| completion.effect == GroupEffect::Issue);
        // What is issued first waits for what it depends on.
        if (op.is(async_::AWAIT) || issues) && !of.is_empty() {
            instrs.push(Instr::Await(of, ALL_WARPS));
        }
        if !made.is_empty() {
            instrs.push(Instr::Define(made));
        }
        if is_barrier(op) {
            instrs.push(Instr::Barrier);
        }
        if is_workgroup_alloc(op) {
            instrs.extend(self.buffer(op.result(0)).map(Instr::Allocate));
        }
        let Some((completion, queue)) = completion.and_then(|known| Some((known, known.queue?))) else {
            return instrs;
        };
        let queue = self.queue(queue);
        match completion.effect {
            GroupEffect::Commit => instrs.push(Instr::Commit(queue)),
            GroupEffect::Wait => instrs.push(Instr::Wait {
                queue,
                pending: completion.pending,
                reads: completion.waits_for_reads,
            }),
            GroupEffect::None | GroupEffect::Issue => {}
        }
        instrs
    }

    /// What `op` itself accesses.
    fn accesses(&mut self, op: Op<'c>) -> Vec<Instr> {
        let Effects::Known(effects) = effects(op) else {
            // Only what can't be followed anyway.
            return Vec::new();
        };
        // What says nothing of itself may read what it writes.
        let may_read = memory_effects(op).is_none() && Completion::of(op).is_none();
        let mut instrs = Vec::new();
        for effect in effects {
            let Some(buffer) = self.buffer(effect.memory) else {
                continue;
            };
            match effect.access {
                Access::Free => {}
                Access::Read | Access::AsyncRead => instrs.push(self.access(op, buffer, false)),
                Access::Write if may_read => {
                    instrs.push(self.access(op, buffer, false));
                    instrs.push(self.access(op, buffer, true));
                }
                Access::Write | Access::AsyncWrite => instrs.push(self.access(op, buffer, true)),
            }
        }
        instrs
    }

    /// An access of `buffer` by `op`.
    fn access(&mut self, op: Op<'c>, buffer: BufferId, writes: bool) -> Instr {
        let forever = Issue {
            buffer,
            writes,
            tokens: Vec::new(),
            queue: None,
            warps: ALL_WARPS,
        };
        if op.ancestors().any(|around| around.is(async_::REGION)) {
            return Instr::Issue(forever);
        }
        let Some(completion) = Completion::of(op).filter(|known| known.effect == GroupEffect::Issue) else {
            return Instr::access(buffer, writes);
        };
        let read = completion.read.filter(|_| !writes);
        let tokens = self.tokens(read.into_iter().chain(completion.done));
        let queue = completion.queue.filter(|_| tokens.is_empty());
        Instr::Issue(Issue {
            tokens,
            queue: queue.map(|queue| self.queue(queue)),
            warps: warps_that_await(op),
            ..forever
        })
    }
}

/// The warps that have to await `op`, as bits: those that execute it. A load that names the warp that issues it is complete for all threads
/// once any of them has awaited it.
fn warps_that_await(op: Op<'_>) -> u32 {
    if op.has_attr(gpux_attr::ISSUER) {
        return 0;
    }
    let arm = op.parent().and_then(|around| {
        let number = around.regions().position(|region| region.first() == op.block())?;
        warps_of_arm(around, number)
    });
    arm.unwrap_or(ALL_WARPS)
}
