//! Reads a function into [`Code`].
//!
//! Control flow is what MLIR's interfaces say, and what operations do to groups is what `AsyncCompletionOpInterface` says. An operation
//! with regions of which nothing is known runs them in any order, any number of times. A token of which nothing here can be in flight
//! (an mbarrier's, or one that a call returns) is complete.
//!
//! A queue of the hardware is two FIFOs, since an operation has read its sources long before all is written: a commit is one of both, a
//! wait for reads is one of the second alone.

use super::code::{Block, BlockId, Code, Edge, EdgeKind, Fifo, Instr, Loop, Token};
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_dialects::names::async_;
use async_mlir::control_flow::{
    self, EdgeTarget, branch_edges, constant_trip_count, entry_edges, region_exit_edges, selected_values,
};
use async_mlir::ir::{self, Op, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::{gpu, nvgpu, scf};
use rustc_hash::{FxHashMap, FxHashSet};

/// A function as code.
pub struct Reading<'c> {
    /// The code.
    pub code: Code,
    /// The operation of each await, by its place.
    awaits: FxHashMap<(BlockId, usize), Op<'c>>,
}

impl<'c> Reading<'c> {
    /// The operation whose await is the instruction at `place` of `block`.
    #[must_use]
    pub fn await_at(&self, block: BlockId, place: usize) -> Option<Op<'c>> {
        self.awaits.get(&(block, place)).copied()
    }
}

/// Reads the body of `function`. Values whose type satisfies `is_token` are tokens.
pub fn read<'c>(function: Op<'c>, is_token: &dyn Fn(Type<'c>) -> bool) -> Reading<'c> {
    let mut reader = Reader {
        is_token,
        code: Code::default(),
        awaits: FxHashMap::default(),
        tokens: FxHashMap::default(),
        num_tokens: 0,
        queues: Vec::new(),
        blocks: FxHashMap::default(),
        complete: FxHashSet::default(),
        has_reads: Vec::new(),
    };
    let flow = Flow {
        op: function,
        entries: None,
        is_function: true,
        counted: None,
        after: None,
    };
    reader.regions(&flow);
    reader.drop_complete_tokens();
    reader.drop_reads_that_nobody_awaits();
    Reading {
        code: reader.code,
        awaits: reader.awaits,
    }
}

/// The regions of an operation.
struct Flow<'c> {
    op: Op<'c>,
    /// The edges on which they are entered, if control flow is known.
    entries: Option<Vec<control_flow::Edge<'c>>>,
    is_function: bool,
    /// The loop that it is, if its trip count is constant.
    counted: Option<Loop>,
    /// The block after the operation.
    after: Option<BlockId>,
}

struct Reader<'a, 'c> {
    is_token: &'a dyn Fn(Type<'c>) -> bool,
    code: Code,
    awaits: FxHashMap<(BlockId, usize), Op<'c>>,
    tokens: FxHashMap<Value<'c>, Token>,
    num_tokens: u32,
    queues: Vec<GroupQueue>,
    /// By queue, whether there are tokens of reads.
    has_reads: Vec<bool>,
    blocks: FxHashMap<ir::Block<'c>, BlockId>,
    /// Tokens that no queue has anything to do with.
    complete: FxHashSet<Token>,
}

impl<'c> Reader<'_, 'c> {
    // Tokens and FIFOs.

    fn is_token(&self, value: Value<'c>) -> bool {
        (self.is_token)(value.ty())
    }

    fn new_token(&mut self) -> Token {
        self.num_tokens += 1;
        Token(self.num_tokens - 1)
    }

    fn token(&mut self, value: Value<'c>) -> Token {
        if let Some(&token) = self.tokens.get(&value) {
            return token;
        }
        let token = self.new_token();
        self.tokens.insert(value, token);
        token
    }

    fn tokens(&mut self, values: impl Iterator<Item = Value<'c>>) -> Vec<Token> {
        let mut tokens = Vec::new();
        for value in values {
            if self.is_token(value) {
                tokens.push(self.token(value));
            }
        }
        tokens
    }

    /// The FIFOs of `queue`: of what its operations write, and of what they read.
    fn fifos(&mut self, queue: GroupQueue) -> (Fifo, Fifo) {
        let known = self.queues.iter().position(|known| *known == queue);
        let number = known.unwrap_or_else(|| {
            self.queues.push(queue);
            self.has_reads.push(false);
            self.queues.len() - 1
        });
        let first = u8::try_from(2 * number).unwrap_or(u8::MAX - 1);
        (Fifo(first), Fifo(first + 1))
    }

    // Blocks.

    fn new_block(&mut self) -> BlockId {
        let id = BlockId(u32::try_from(self.code.blocks.len()).unwrap_or(u32::MAX));
        self.code.blocks.push(Block::default());
        id
    }

    fn block(&mut self, id: BlockId) -> &mut Block {
        &mut self.code.blocks[id.0 as usize]
    }

    fn push(&mut self, id: BlockId, instr: Instr) {
        self.block(id).instrs.push(instr);
    }

    /// Reads all blocks of the regions of `flow`.
    fn regions(&mut self, flow: &Flow<'c>) {
        for region in flow.op.regions() {
            for block in region.blocks() {
                let id = self.new_block();
                self.blocks.insert(block, id);
                let params = self.tokens(block.args());
                self.block(id).params = params;
            }
        }
        if flow.is_function {
            // Nobody binds them.
            if let Some(entry) = self.code.blocks.first_mut() {
                entry.params.clear();
            }
        }
        for region in flow.op.regions() {
            for block in region.blocks() {
                self.read_block(block, flow);
            }
        }
    }

    fn read_block(&mut self, block: ir::Block<'c>, flow: &Flow<'c>) {
        let mut at = self.blocks[&block];
        let terminator = block.terminator();
        let mut next = block.first();
        while let Some(op) = next {
            next = op.next();
            if Some(op) != terminator {
                at = self.op(op, at);
            }
        }
        let edges = self.exits(terminator, flow, at);
        self.block(at).edges = edges;
    }

    // Operations.

    /// Reads `op`, which comes next in block `at`; returns the block that goes on after it.
    fn op(&mut self, op: Op<'c>, at: BlockId) -> BlockId {
        match op.name() {
            async_::AWAIT => self.await_tokens(op, at),
            async_::READY | async_::JOIN => {
                let of = self.tokens(op.operands());
                self.join(op.result(0), of, at);
            }
            _ if op.is_function() => {}
            _ => match Completion::of(op) {
                Some(completion) if completion.queue.is_some() => self.group_op(op, &completion, at),
                _ => return self.other(op, at),
            },
        }
        at
    }

    fn await_tokens(&mut self, op: Op<'c>, at: BlockId) {
        let tokens = self.tokens(op.operands());
        if !tokens.is_empty() {
            let place = self.block(at).instrs.len();
            self.awaits.insert((at, place), op);
            self.push(at, Instr::Await(tokens));
        }
    }

    fn join(&mut self, value: Value<'c>, of: Vec<Token>, at: BlockId) {
        if self.is_token(value) {
            let token = self.token(value);
            self.push(at, Instr::Join(token, of));
        }
    }

    /// Reads an operation of a queue.
    fn group_op(&mut self, op: Op<'c>, completion: &Completion<'c>, at: BlockId) {
        let Some(queue) = completion.queue else { return };
        let (writes, reads) = self.fifos(queue);
        if matches!(completion.effect, GroupEffect::Issue | GroupEffect::Commit) {
            for (value, fifo) in [(completion.done, writes), (completion.read, reads)] {
                if let Some(value) = value.filter(|value| self.is_token(*value)) {
                    let token = self.token(value);
                    self.push(at, Instr::Issue(fifo, token));
                    self.has_reads[usize::from(fifo.0 / 2)] |= fifo == reads;
                }
            }
        }
        match completion.effect {
            GroupEffect::Issue | GroupEffect::None => {}
            GroupEffect::Commit => {
                self.push(at, Instr::Commit(writes));
                self.push(at, Instr::Commit(reads));
            }
            GroupEffect::Wait => {
                let n = u64::from(completion.pending);
                if !completion.waits_for_reads {
                    self.push(at, Instr::Wait(writes, n));
                }
                self.push(at, Instr::Wait(reads, n));
                if op.is(nvgpu::DEVICE_ASYNC_WAIT) {
                    self.await_tokens(op, at);
                }
            }
        }
    }

    fn other(&mut self, op: Op<'c>, at: BlockId) -> BlockId {
        if op.num_regions() > 0 {
            return self.region_op(op, at);
        }
        if op.num_results() == 0 {
            return at;
        }
        let results = self.tokens(op.results());
        if results.is_empty() {
            return at;
        }
        let selected = selected_values(op).unwrap_or_default();
        if selected.is_empty() {
            self.complete.extend(&results);
        }
        let of = self.tokens(selected.into_iter());
        for token in results {
            self.push(at, Instr::Join(token, of.clone()));
        }
        at
    }

    // Control flow.

    fn region_op(&mut self, op: Op<'c>, at: BlockId) -> BlockId {
        let some_threads = matches!(op.name(), scf::FORALL | gpu::WARP_EXECUTE_ON_LANE_0);
        let entries = entry_edges(op).filter(|_| !some_threads);
        let trip = entries.as_ref().and_then(|_| constant_trip_count(op));
        let counted = trip.map(|trip| {
            self.code.trips.push(trip);
            Loop(u32::try_from(self.code.trips.len() - 1).unwrap_or(u32::MAX))
        });
        let before = (self.code.blocks.len(), self.code.trips.len() - usize::from(counted.is_some()));
        let after = self.new_block();
        let params = self.tokens(op.results());
        self.block(after).params = params;
        let flow = Flow {
            op,
            entries,
            is_function: false,
            counted,
            after: Some(after),
        };
        self.regions(&flow);
        if self.code.blocks[before.0..].iter().all(does_nothing) {
            // Most control flow has nothing to do with tokens.
            self.code.blocks.truncate(before.0);
            self.code.trips.truncate(before.1);
            return at;
        }
        let mut edges = match &flow.entries {
            Some(entries) => self.edges(entries, |i| op.region(i).first(), &flow, (at, false)),
            None => self.anywhere(&flow, at),
        };
        if let Some(trip) = trip {
            edges.retain(|edge| (edge.kind == EdgeKind::Plain) == (trip == 0));
        }
        self.block(at).edges = edges;
        after
    }

    /// The edges on which control may leave block `at`, which ends with this terminator.
    fn exits(&mut self, terminator: Option<Op<'c>>, flow: &Flow<'c>, at: BlockId) -> Vec<Edge> {
        let Some(terminator) = terminator else {
            return self.anywhere(flow, at);
        };
        let successors: Vec<ir::Block> = terminator.successors().collect();
        if !successors.is_empty() {
            return match branch_edges(terminator) {
                Some(edges) => self.edges(&edges, |i| successors.get(i).copied(), flow, (at, false)),
                None => successors.iter().map(|to| self.blind(*to, at)).collect(),
            };
        }
        if flow.is_function {
            return vec![Edge {
                kind: EdgeKind::Plain,
                to: None,
                args: Vec::new(),
            }];
        }
        let known = flow.entries.as_ref().and_then(|_| region_exit_edges(terminator));
        match known {
            Some(edges) => self.edges(&edges, |i| flow.op.region(i).first(), flow, (at, true)),
            None => self.anywhere(flow, at),
        }
    }

    /// Those of `edges`, which begin in block `at`, that constants don't rule out. `leave` says that they end an iteration, if `flow` is a
    /// loop.
    fn edges(
        &mut self,
        edges: &[control_flow::Edge<'c>],
        block: impl Fn(usize) -> Option<ir::Block<'c>>,
        flow: &Flow<'c>,
        (at, leave): (BlockId, bool),
    ) -> Vec<Edge> {
        let possible = edges.iter().filter(|edge| edge.possible);
        let edges = possible.map(|edge| {
            let inside = match edge.to {
                EdgeTarget::Index(i) => block(i),
                EdgeTarget::After => None,
            };
            let to = inside.map(|block| self.blocks[&block]).or(flow.after);
            let kind = match (flow.counted, inside, leave) {
                (Some(l), Some(_), false) => EdgeKind::Enter(l),
                (Some(l), Some(_), true) => EdgeKind::Back(l),
                (Some(l), None, true) => EdgeKind::Exit(l),
                _ => EdgeKind::Plain,
            };
            let targets: Vec<Value> = match inside {
                Some(block) => block.args().collect(),
                None => flow.op.results().collect(),
            };
            Edge {
                kind,
                to,
                args: self.bound(&edge.bindings, &targets, at),
            }
        });
        edges.collect()
    }

    /// What `bindings`, at the end of block `at`, bind to those of `targets` that are tokens.
    fn bound(&mut self, bindings: &[(Value<'c>, Value<'c>)], targets: &[Value<'c>], at: BlockId) -> Vec<Token> {
        let mut args = Vec::new();
        // An edge binds values in the order of what it binds them to.
        let mut bindings = bindings.iter();
        for target in targets {
            if self.is_token(*target) {
                let bound = bindings.find(|(_, to)| to == target);
                let from = bound.map(|(from, _)| *from).filter(|from| self.is_token(*from));
                args.push(match from {
                    Some(from) => self.token(from),
                    None => self.complete(at),
                });
            }
        }
        args
    }

    /// A token that nothing known is bound to: what escapes to where it can't be followed is complete by then.
    fn complete(&mut self, at: BlockId) -> Token {
        let token = self.new_token();
        self.push(at, Instr::Join(token, Vec::new()));
        token
    }

    /// Edges from block `at` to every region of `flow` and after it.
    fn anywhere(&mut self, flow: &Flow<'c>, at: BlockId) -> Vec<Edge> {
        let blocks: Vec<ir::Block> = flow.op.regions().filter_map(ir::Region::first).collect();
        let mut edges: Vec<Edge> = blocks.iter().map(|to| self.blind(*to, at)).collect();
        let args = flow.op.results().filter(|result| self.is_token(*result)).count();
        edges.push(Edge {
            kind: EdgeKind::Plain,
            to: flow.after,
            args: (0..args).map(|_| self.complete(at)).collect(),
        });
        edges
    }

    /// An edge of which nothing is known but where it leads.
    fn blind(&mut self, to: ir::Block<'c>, at: BlockId) -> Edge {
        let id = self.blocks[&to];
        let args = self.block(id).params.len();
        Edge {
            kind: EdgeKind::Plain,
            to: Some(id),
            args: (0..args).map(|_| self.complete(at)).collect(),
        }
    }

    /// Leaves complete tokens out of awaits and joins: where order does not matter (in a graph region), uses may come before definitions.
    fn drop_complete_tokens(&mut self) {
        if self.complete.is_empty() {
            return;
        }
        for instr in self.code.blocks.iter_mut().flat_map(|block| &mut block.instrs) {
            if let Instr::Await(of) | Instr::Join(_, of) = instr {
                of.retain(|token| !self.complete.contains(token));
            }
        }
    }

    /// Leaves out the FIFOs of reads that no token is of.
    fn drop_reads_that_nobody_awaits(&mut self) {
        if self.has_reads.iter().all(|has_reads| *has_reads) {
            return;
        }
        let has_reads = &self.has_reads;
        let is_used = |fifo: Fifo| fifo.0 % 2 == 0 || has_reads[usize::from(fifo.0 / 2)];
        let mut moved = Vec::new();
        for (block, id) in self.code.blocks.iter_mut().zip(0..) {
            let mut place = 0;
            let mut kept = 0;
            block.instrs.retain(|instr| {
                let keep = match instr {
                    Instr::Commit(fifo) | Instr::Wait(fifo, _) => is_used(*fifo),
                    _ => true,
                };
                if matches!(instr, Instr::Await(_)) {
                    moved.push((BlockId(id), place, kept));
                }
                place += 1;
                kept += usize::from(keep);
                keep
            });
        }
        let awaits = &mut self.awaits;
        let moved = moved.into_iter().filter_map(|(id, from, to)| Some(((id, to), awaits.remove(&(id, from))?)));
        let moved: FxHashMap<_, _> = moved.collect();
        self.awaits = moved;
    }
}

/// Returns true if `block` has nothing to do with tokens.
fn does_nothing(block: &Block) -> bool {
    block.instrs.is_empty() && block.params.is_empty()
}
