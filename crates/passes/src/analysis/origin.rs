//! Where a token can come from: which queues' operations, and whether from elsewhere.
//!
//! A token that can come from elsewhere (another engine, a call, a function argument) must stay in the IR, and so must
//! every value that control flow binds it to: those that are bound to one another stay or go together.

use super::skeleton::Skeleton;
use super::vocabulary::HardwareQueue;
use async_dialects::ir::Value;
use tokenflow::Token;

/// The origins of a function's tokens.
pub struct Origins {
    /// Two bits for each queue, [`BLOCK_WIDE`] and [`FOREIGN`].
    bits: Vec<u8>,
    /// True for tokens that stay in the IR.
    kept: Vec<bool>,
    /// True for tokens that are bound to what may be pending, or that what may be pending is bound to.
    pending: Vec<bool>,
}

const FOREIGN: u8 = 1 << 7;
const BLOCK_WIDE: u8 = 1 << 6;

fn bit(queue: HardwareQueue) -> u8 {
    1 << queue as u8
}

/// The bit of a queue's reads.
fn read_bit(queue: HardwareQueue) -> u8 {
    bit(queue) << HardwareQueue::ALL.len()
}

impl Origins {
    /// Follows all tokens of `skeleton` from where they are defined.
    pub fn new(skeleton: &Skeleton) -> Self {
        let n = skeleton.program.tokens as usize;
        let mut origins = vec![0; n];
        for &(token, queue) in &skeleton.issued {
            origins[token.0 as usize] |= bit(queue);
        }
        for &(token, queue) in &skeleton.reads {
            origins[token.0 as usize] |= read_bit(queue);
        }
        for token in &skeleton.block_wide {
            origins[token.0 as usize] |= BLOCK_WIDE;
        }
        for token in &skeleton.foreign {
            origins[token.0 as usize] |= FOREIGN;
        }
        let mut flows = vec![Vec::new(); n];
        for &(from, to) in skeleton.bindings.iter().chain(&skeleton.joins) {
            flows[from.0 as usize].push(to.0 as usize);
        }
        let mut work: Vec<usize> = (0..n).filter(|&token| origins[token] != 0).collect();
        while let Some(from) = work.pop() {
            for &to in &flows[from] {
                let both = origins[to] | origins[from];
                if both != origins[to] {
                    origins[to] = both;
                    work.push(to);
                }
            }
        }
        let kept = spread(FOREIGN, &origins, &skeleton.bindings, &skeleton.joins);
        let pending = spread(u8::MAX, &origins, &skeleton.bindings, &skeleton.joins);
        Self {
            bits: origins,
            kept,
            pending,
        }
    }

    /// Returns true if `token` can come from an operation of `queue`.
    pub fn may_be(&self, token: Token, queue: HardwareQueue) -> bool {
        self.bits[token.0 as usize] & bit(queue) != 0
    }

    /// Returns true if `token` can come from an operation of some queue.
    pub fn has_queue(&self, token: Token) -> bool {
        let queues = HardwareQueue::ALL.into_iter();
        queues
            .into_iter()
            .any(|queue| self.may_be(token, queue) || self.may_be_read(token, queue))
    }

    /// Returns true if `token` can say that an operation of `queue` has read its sources.
    pub fn may_be_read(&self, token: Token, queue: HardwareQueue) -> bool {
        self.bits[token.0 as usize] & read_bit(queue) != 0
    }

    /// Returns true if `token` can come from an operation that all threads of the block execute together.
    pub fn may_be_block_wide(&self, token: Token) -> bool {
        self.bits[token.0 as usize] & BLOCK_WIDE != 0
    }

    /// Returns true if `token` can come from something that this function doesn't define or that is no operation of a
    /// queue.
    pub fn may_be_foreign(&self, token: Token) -> bool {
        self.bits[token.0 as usize] & FOREIGN != 0
    }

    /// Returns true if `token` stays in the IR.
    pub fn is_kept(&self, token: Token) -> bool {
        self.kept[token.0 as usize]
    }

    /// Returns true if `token` can't be anything but complete, and nothing else is bound to what it is bound to.
    pub fn is_complete(&self, token: Token) -> bool {
        !self.pending[token.0 as usize]
    }

    /// Returns true if `value` is a token that stays in the IR, or no token at all.
    pub fn keeps(&self, skeleton: &Skeleton, value: Value) -> bool {
        skeleton
            .tokens
            .get(&value)
            .is_none_or(|&token| self.is_kept(token))
    }
}

/// Spreads what is true of tokens with one of the origins `of` along bindings in both directions, and along joins in
/// theirs.
fn spread(of: u8, origins: &[u8], bindings: &[(Token, Token)], joins: &[(Token, Token)]) -> Vec<bool> {
    let mut kept: Vec<bool> = origins.iter().map(|origin| origin & of != 0).collect();
    let mut next = vec![Vec::new(); origins.len()];
    for (from, to) in bindings {
        next[from.0 as usize].push(to.0 as usize);
        next[to.0 as usize].push(from.0 as usize);
    }
    for (from, to) in joins {
        next[from.0 as usize].push(to.0 as usize);
    }
    let mut work: Vec<usize> = (0..kept.len()).filter(|&token| kept[token]).collect();
    while let Some(token) = work.pop() {
        for &other in &next[token] {
            if !std::mem::replace(&mut kept[other], true) {
                work.push(other);
            }
        }
    }
    kept
}
