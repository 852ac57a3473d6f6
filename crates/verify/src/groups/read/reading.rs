//! Code, and the operations and values of the function that it was read from.

use super::numbering::Numbering;
use crate::groups::certificate::Certificate;
use crate::groups::check::{Fault, Refusal};
use crate::groups::code::{BlockId, Code, Fifo, Token};
use async_dialects::completion::GroupQueue;
use async_mlir::ir::{Op, Value};

/// A function as code.
pub struct Reading<'c> {
    /// The code.
    pub code: Code,
    /// The operations of awaits, by the places of their instructions among all of the code, in order.
    pub(super) awaits: Vec<(usize, Op<'c>)>,
    /// The operations of waits, likewise.
    pub(super) waits: Vec<(usize, Op<'c>)>,
    pub(super) tokens: Numbering<'c>,
    /// Operations that were to be noted, block by block in order.
    pub noted: Vec<Noted<'c>>,
    pub(super) queues: Vec<GroupQueue>,
    pub(super) with_reads: bool,
}

impl<'c> Reading<'c> {
    /// The operation of the wait at this place among all instructions.
    #[must_use]
    pub fn wait_at(&self, place: usize) -> Option<Op<'c>> {
        let found = self.waits.binary_search_by_key(&place, |(at, _)| *at);
        found.ok().map(|i| self.waits[i].1)
    }

    /// The queue of `fifo`.
    #[must_use]
    pub fn queue(&self, fifo: Fifo) -> Option<GroupQueue> {
        self.queues.get(usize::from(fifo.0 / 2)).copied()
    }

    /// The number of awaits.
    #[must_use]
    pub fn num_awaits(&self) -> usize {
        self.awaits.len()
    }

    /// The operations of awaits, in order.
    pub fn awaits(&self) -> impl Iterator<Item = Op<'c>> {
        self.awaits.iter().map(|(_, op)| *op)
    }

    /// The tokens that are values of the function, in order; others are complete.
    pub fn tokens(&self) -> impl Iterator<Item = (Token, Value<'c>)> {
        self.tokens.values()
    }

    /// Forgets which values tokens are, and frees that memory: from here on, no value is a token. A check needs it only for a certificate.
    pub fn forget_values(&mut self) {
        self.tokens = Numbering::default();
    }

    /// The token that a value of the function is.
    #[must_use]
    pub fn token(&self, value: Value<'c>) -> Option<Token> {
        self.tokens.get(value)
    }

    /// The FIFOs, in order: the queue of each, and whether it is that of what the queue's operations read.
    pub fn fifos(&self) -> impl Iterator<Item = (Fifo, GroupQueue, bool)> {
        let numbers = (0_u8..).step_by(2).zip(&self.queues);
        let both = numbers.flat_map(|(first, queue)| {
            [
                (Fifo(first), *queue, false),
                (Fifo(first.saturating_add(1)), *queue, true),
            ]
        });
        both.filter(|(_, _, reads)| !reads || self.with_reads)
    }

    /// The await that `certificate` is refused for; `None` if it is refused for something else.
    #[must_use]
    pub fn refused_await(&self, certificate: &Certificate, refusal: &Refusal) -> Option<Op<'c>> {
        let Fault::Awaited { instr, .. } = refusal.fault else {
            return None;
        };
        let node = certificate.nodes.get(refusal.node.0 as usize)?;
        self.await_at(node.block, instr)
    }

    /// The operation of the await that stands at this place of a block.
    #[must_use]
    pub fn await_at(&self, block: BlockId, place: usize) -> Option<Op<'c>> {
        let instrs = self.code.block(block)?.instrs.range();
        let found = self
            .awaits
            .binary_search_by_key(&(instrs.start + place), |(at, _)| *at);
        found.ok().map(|i| self.awaits[i].1)
    }
}

/// An operation among instructions.
#[derive(Clone, Copy)]
pub struct Noted<'c> {
    /// The block.
    pub block: BlockId,
    /// The place of the instruction that comes next, among those of all blocks.
    pub place: usize,
    /// The operation.
    pub op: Op<'c>,
}
