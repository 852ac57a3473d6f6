//! Tracks asynchronous reads that are pending until they are awaited: a load may overwrite what they read
//! after the await, and once all threads have come that far.
//!
//! Conservative: a token may stand for all that may be bound to it, on any path. Linear in the number of tokens and of the places
//! that pass them on, since a token that may stand for reads of more than [`MAX_BUFFERS`] buffers stands for reads of any.

use super::accesses::{BufferNumbering, is_warpgroup_reader};
use crate::analysis::op_classifier::AsyncOpClassifier;
use crate::analysis::skeleton;
use async_dialects::names::async_;
use async_mlir::ir::{Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::phases::Buffer;

/// The most buffers that are told apart for a token.
const MAX_BUFFERS: usize = 16;

/// The buffers that a token stands for reads of.
#[derive(Clone, Default)]
struct ReadBuffers {
    known: Vec<usize>,
    any: bool,
}

impl ReadBuffers {
    /// Adds `other`; returns true if that changed anything.
    fn add(&mut self, other: &Self) -> bool {
        let before = (self.known.len(), self.any);
        self.any |= other.any;
        for buffer in &other.known {
            if !self.known.contains(buffer) {
                self.known.push(*buffer);
            }
        }
        if self.any || self.known.len() > MAX_BUFFERS {
            (self.known, self.any) = (Vec::new(), true);
        }
        before != (self.known.len(), self.any)
    }
}

/// The reads of a function that go on until they are awaited.
pub(super) struct PendingReads<'c> {
    by_token: FxHashMap<Value<'c>, ReadBuffers>,
}

impl<'c> PendingReads<'c> {
    /// Those of `function`.
    pub fn of(function: Op<'c>, buffers: &mut BufferNumbering<'c>) -> Self {
        let ops = function.self_and_nested().into_iter();
        let readers: Vec<Op> = ops.filter(|op| is_warpgroup_reader(*op)).collect();
        let mut by_token = FxHashMap::default();
        if readers.is_empty() {
            return Self { by_token };
        }
        let skeleton = skeleton::read(function, &AsyncOpClassifier::default(), &FxHashSet::default());
        let mut read = vec![ReadBuffers::default(); skeleton.program.tokens as usize];
        let mut flows = vec![Vec::new(); read.len()];
        for &(from, to) in skeleton.bindings.iter().chain(&skeleton.joins) {
            flows[from.0 as usize].push(to.0 as usize);
        }
        let mut work = Vec::new();
        for op in readers {
            let own = op.results().filter_map(|result| skeleton.tokens.get(&result));
            for token in own.map(|token| token.0 as usize) {
                for (buffer, _) in buffers.accesses(op) {
                    match buffer {
                        Buffer::Known(number) => read[token].known.push(number),
                        Buffer::Any => read[token].any = true,
                    }
                }
                work.push(token);
            }
        }
        while let Some(from) = work.pop() {
            let own = read[from].clone();
            let grown = flows[from].iter().copied().filter(|to| read[*to].add(&own));
            work.extend(grown);
        }
        for (value, token) in &skeleton.tokens {
            let read = &read[token.0 as usize];
            if read.any || !read.known.is_empty() {
                by_token.insert(*value, read.clone());
            }
        }
        Self { by_token }
    }

    /// What is read no longer once `wait`, if it is an await, is over.
    pub fn completed_by(&self, wait: Op<'c>) -> Vec<Buffer> {
        if !wait.is(async_::AWAIT) {
            return Vec::new();
        }
        let mut all = ReadBuffers::default();
        for read in wait.operands().filter_map(|token| self.by_token.get(&token)) {
            all.add(read);
        }
        let any = all.any.then_some(Buffer::Any);
        all.known.into_iter().map(Buffer::Known).chain(any).collect()
    }
}
