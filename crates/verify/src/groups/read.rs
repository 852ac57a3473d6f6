//! Reads a function into [`Code`].
//!
//! Control flow is what MLIR's interfaces say, and what operations do to groups is what `AsyncCompletionOpInterface` says. An operation
//! with regions of which nothing is known runs them in any order, any number of times. A token of which nothing here can be in flight
//! (an mbarrier's, or one that a call returns) is complete.
//!
//! A queue of the hardware is two FIFOs, since an operation has read its sources long before all is written: a commit is one of both, a
//! wait for reads is one of the second alone.

mod arms;
mod numbering;
mod reading;
mod regions;

use super::code::{Block, BlockId, Code, Expected, Fifo, Instr, Span, Token};
use super::lists::list_for;
use async_dialects::completion::{Group, GroupEffect, GroupOp, GroupOpFinder, GroupQueue, TokenOp};
use async_mlir::control_flow::selected_values;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::Type;
use numbering::Numbering;
pub use reading::{Noted, Reading};
use regions::Flow;
use rustc_hash::FxHashSet;
use std::iter::successors;

/// What a wait that names tokens is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitRole {
    /// A wait, and an await of its tokens.
    Both,
    /// An await alone: it goes, since others have waited.
    Await,
    /// A wait alone: nobody knows what its tokens are.
    Wait,
}

/// The tokens of a function, and the waits that name them.
#[derive(Clone, Copy)]
pub struct Vocabulary<'a, 'c> {
    /// The type of tokens.
    pub token: Type<'c>,
    /// The role of a wait; of those that name no tokens, a [`WaitRole::Wait`].
    pub role: &'a dyn Fn(Op<'c>) -> WaitRole,
    /// There is memory for so much from the beginning.
    pub expected: Expected,
}

impl<'c> Vocabulary<'_, 'c> {
    fn is_token(self, value: Value<'c>) -> bool {
        value.ty() == self.token
    }
}

/// A queue whose operations are read alone.
#[derive(Clone, Copy)]
pub struct Focus<'a, 'c> {
    /// The queue; tokens of others are complete.
    pub queue: GroupQueue,
    /// Returns true if an operation is left out.
    pub skips: &'a dyn Fn(Op<'c>) -> bool,
    /// Returns true if it is to be known where an operation stands.
    pub notes: &'a dyn Fn(Op<'c>) -> bool,
}

/// Reads the body of `function`.
pub fn read<'c>(function: Op<'c>, vocabulary: Vocabulary<'_, 'c>) -> Reading<'c> {
    read_with(function, vocabulary, None)
}

/// Reads what the body of `function` has to do with one queue.
pub fn read_queue<'c>(function: Op<'c>, vocabulary: Vocabulary<'_, 'c>, focus: Focus<'_, 'c>) -> Reading<'c> {
    read_with(function, vocabulary, Some(focus))
}

fn read_with<'c>(
    function: Op<'c>,
    vocabulary: Vocabulary<'_, 'c>,
    focus: Option<Focus<'_, 'c>>,
) -> Reading<'c> {
    let finder = GroupOpFinder::new(vocabulary.token);
    // Few functions have tokens of reads.
    let without_reads = Reader::read(function, &finder, vocabulary, focus, false);
    let reader = without_reads.unwrap_or_else(|| {
        let with_reads = Reader::read(function, &finder, vocabulary, focus, true);
        with_reads.unwrap_or_else(|| unreachable!("nothing is missing with the FIFOs of reads"))
    });
    Reading {
        code: reader.code,
        awaits: reader.awaits,
        waits: reader.waits,
        tokens: reader.tokens,
        noted: reader.noted,
        queues: reader.queues,
        with_reads: reader.with_reads,
    }
}

/// How much code there is at some point.
struct Mark {
    trips: usize,
    blocks: usize,
    instrs: usize,
    edges: usize,
    tokens: usize,
    noted: usize,
}

struct Reader<'a, 'c> {
    finder: &'a GroupOpFinder<'c>,
    vocabulary: Vocabulary<'a, 'c>,
    focus: Option<Focus<'a, 'c>>,
    noted: Vec<Noted<'c>>,
    code: Code,
    awaits: Vec<(usize, Op<'c>)>,
    waits: Vec<(usize, Op<'c>)>,
    tokens: Numbering<'c>,
    queues: Vec<GroupQueue>,
    /// True if there are FIFOs of reads.
    with_reads: bool,
    /// True if a token needs one that there is not.
    lacks_reads: bool,
    /// Where the current block begins.
    start: usize,
    /// Tokens that no queue has anything to do with.
    complete: FxHashSet<Token>,
}

impl<'a, 'c> Reader<'a, 'c> {
    /// Reads a function; `None` if the FIFOs of reads are needed, but left out.
    fn read(
        function: Op<'c>,
        finder: &'a GroupOpFinder<'c>,
        vocabulary: Vocabulary<'a, 'c>,
        focus: Option<Focus<'a, 'c>>,
        with_reads: bool,
    ) -> Option<Self> {
        let expected = vocabulary.expected;
        let mut reader = Self {
            finder,
            vocabulary,
            focus,
            noted: Vec::new(),
            code: Code::with_capacity(expected),
            awaits: list_for(expected.awaits),
            waits: list_for(expected.waits),
            tokens: Numbering::with_capacity(expected.tokens),
            queues: Vec::new(),
            with_reads,
            lacks_reads: false,
            start: 0,
            complete: FxHashSet::default(),
        };
        let mut flow = Flow::of_function(function);
        reader.add_blocks(&mut flow);
        if let Some(entry) = reader.code.blocks.first_mut() {
            // Nobody binds them.
            entry.params = Span::default();
        }
        reader.read_blocks(&flow);
        reader.drop_complete_tokens();
        (!reader.lacks_reads).then_some(reader)
    }

    // Tokens and FIFOs.

    fn is_token(&self, value: Value<'c>) -> bool {
        self.vocabulary.is_token(value)
    }

    /// Makes a list of those of `values` that are tokens.
    fn list(&mut self, values: impl Iterator<Item = Value<'c>>) -> Span {
        let start = self.code.tokens.len();
        for value in values {
            if self.is_token(value) {
                let token = self.tokens.number(value);
                self.code.tokens.push(token);
            }
        }
        Span::since(start, &self.code.tokens)
    }

    /// The FIFOs of `queue`: of what its operations write, and of what they read.
    fn fifos(&mut self, queue: GroupQueue) -> (Fifo, Fifo) {
        let known = self.queues.iter().position(|known| *known == queue);
        let number = known.unwrap_or_else(|| {
            self.queues.push(queue);
            self.queues.len() - 1
        });
        let first = u8::try_from(2 * number).unwrap_or(u8::MAX - 1);
        (Fifo(first), Fifo(first + 1))
    }

    // Blocks.

    fn new_block(&mut self, params: Span) -> BlockId {
        let id = u32::try_from(self.code.blocks.len()).unwrap_or(u32::MAX);
        self.code.blocks.push(Block {
            params,
            ..Block::default()
        });
        BlockId(id)
    }

    fn mark(&self) -> Mark {
        Mark {
            trips: self.code.trips.len(),
            blocks: self.code.blocks.len(),
            instrs: self.code.instrs.len(),
            edges: self.code.edges.len(),
            tokens: self.code.tokens.len(),
            noted: self.noted.len(),
        }
    }

    /// Returns true if nothing that has to do with tokens was added since `mark`, nor noted.
    fn is_plain_since(&self, mark: &Mark) -> bool {
        self.code.instrs.len() == mark.instrs
            && self.code.tokens.len() == mark.tokens
            && self.noted.len() == mark.noted
    }

    fn go_back_to(&mut self, mark: &Mark) {
        self.code.trips.truncate(mark.trips);
        self.code.blocks.truncate(mark.blocks);
        self.code.edges.truncate(mark.edges);
    }

    /// Ends block `at` with the edges since `start`.
    fn end_block(&mut self, at: BlockId, start: usize) {
        let block = &mut self.code.blocks[at.0 as usize];
        block.edges = Span::since(start, &self.code.edges);
        block.instrs = Span::since(self.start, &self.code.instrs);
    }

    /// Numbers the blocks of all regions of `flow`.
    fn add_blocks(&mut self, flow: &mut Flow<'c>) {
        flow.first = u32::try_from(self.code.blocks.len()).unwrap_or(u32::MAX);
        for region in flow.op.regions() {
            flow.blocks
                .extend(successors(region.first(), |block| block.next()));
        }
        if flow.blocks.len() > Flow::FEW {
            flow.places = Some(flow.blocks.iter().copied().zip(0..).collect());
        }
        for block in &flow.blocks {
            let params = self.list(block.args());
            self.new_block(params);
        }
    }

    fn read_blocks(&mut self, flow: &Flow<'c>) {
        for (&block, id) in flow.blocks.iter().zip(flow.first..) {
            let mut at = BlockId(id);
            self.start = self.code.instrs.len();
            let mut terminator = None;
            let mut next = block.first();
            for found in self.finder.ops(block.first()) {
                next = self.note(next, Some(found.op), at);
                if found.is_terminator {
                    terminator = Some(found.op);
                } else {
                    at = self.op(&found, at);
                }
            }
            self.note(next, None, at);
            let start = self.code.edges.len();
            self.add_exits(terminator, flow);
            self.end_block(at, start);
        }
    }

    // Operations.

    /// Notes the operations from `first` to `last`, or to the end of the block; returns the one that comes next.
    fn note(&mut self, first: Option<Op<'c>>, last: Option<Op<'c>>, block: BlockId) -> Option<Op<'c>> {
        let focus = self.focus?;
        let mut next = first;
        while let Some(op) = next {
            if (focus.notes)(op) {
                let place = self.code.instrs.len();
                self.noted.push(Noted { block, place, op });
            }
            next = op.next();
            if Some(op) == last {
                break;
            }
        }
        next
    }

    /// Reads an operation, which comes next in block `at`; returns the block that goes on after it.
    fn op(&mut self, found: &GroupOp<'c>, at: BlockId) -> BlockId {
        let op = found.op;
        if self.focus.is_some_and(|focus| (focus.skips)(op)) {
            return at;
        }
        let is_looked_at = |group: &&Group| self.focus.is_none_or(|focus| focus.queue == group.queue);
        if let Some(group) = found.group.as_ref().filter(is_looked_at) {
            self.group_op(op, group);
            return at;
        }
        match found.token_op {
            TokenOp::Await => self.await_tokens(op),
            TokenOp::Join => {
                let of = self.list(op.operands());
                let token = self.tokens.number(op.result(0));
                self.code.instrs.push(Instr::Join(token, of));
            }
            TokenOp::Other if op.num_regions() == 0 => self.other(op),
            TokenOp::Other if op.is_function() => {}
            TokenOp::Other => return self.region_op(op, at),
        }
        at
    }

    fn await_tokens(&mut self, op: Op<'c>) {
        let tokens = self.list(op.operands());
        self.awaits.push((self.code.instrs.len(), op));
        self.code.instrs.push(Instr::Await(tokens));
    }

    /// Reads an operation of a queue.
    fn group_op(&mut self, op: Op<'c>, group: &Group<'c>) {
        let role = if group.effect == GroupEffect::Wait {
            (self.vocabulary.role)(op)
        } else {
            WaitRole::Wait
        };
        let (writes, reads) = self.fifos(group.queue);
        let fifos = [
            (writes, group.done, group.waits_for_reads),
            (reads, group.read, false),
        ];
        for (fifo, token, is_passed_over) in fifos {
            let token = token.filter(|value| self.is_token(*value));
            if fifo == reads && !self.with_reads {
                self.lacks_reads |= token.is_some();
                continue;
            }
            if let Some(value) = token {
                let token = self.tokens.number(value);
                self.code.instrs.push(Instr::Issue(fifo, token));
            }
            match group.effect {
                GroupEffect::Commit => self.code.instrs.push(Instr::Commit(fifo)),
                GroupEffect::Wait if !is_passed_over && role != WaitRole::Await => {
                    // A wait for all is there for what operations write.
                    if fifo == writes || group.waits_for_reads {
                        self.waits.push((self.code.instrs.len(), op));
                    }
                    self.code.instrs.push(Instr::Wait(fifo, group.pending));
                }
                _ => {}
            }
        }
        if role != WaitRole::Wait {
            self.await_tokens(op);
        }
    }

    /// Reads an operation without regions of which nothing is known but that it may select one of its operands.
    fn other(&mut self, op: Op<'c>) {
        let is_token = |value: &Value<'c>| self.is_token(*value);
        let results: Vec<Value> = op.results().filter(is_token).collect();
        if results.is_empty() {
            return;
        }
        let selected = selected_values(op).unwrap_or_default();
        let of = self.list(selected.iter().copied());
        for result in results {
            let token = self.tokens.number(result);
            if selected.is_empty() {
                self.complete.insert(token);
            }
            self.code.instrs.push(Instr::Join(token, of));
        }
    }

    /// Leaves complete tokens out of awaits and joins: where order does not matter (in a graph region), uses may come before definitions.
    fn drop_complete_tokens(&mut self) {
        if self.complete.is_empty() {
            return;
        }
        for instr in &mut self.code.instrs {
            if let Instr::Await(of) | Instr::Join(_, of) = instr {
                let start = self.code.tokens.len();
                let left = |token: &Token| !self.complete.contains(token);
                if of.of(&self.code.tokens).iter().all(left) {
                    continue;
                }
                let left: Vec<Token> = of.of(&self.code.tokens).iter().copied().filter(left).collect();
                self.code.tokens.extend(left);
                *of = Span::since(start, &self.code.tokens);
            }
        }
    }
}
