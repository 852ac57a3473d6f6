//! Computes which operations can define a token (reaching definitions): of which queues, and whether from
//! elsewhere.
//!
//! A token that can come from elsewhere (another engine, a call, a function argument) must stay in the IR, and so must
//! every value that control flow binds it to: those that are bound to one another stay or go together.

use super::skeleton::Skeleton;
use async_dialects::completion::GroupQueue;
use async_mlir::ir::Value;
use tokenflow::Token;

/// The origins of a function's tokens.
pub struct TokenOrigins {
    queues: Vec<GroupQueue>,
    /// By token.
    of: Vec<Origin>,
    /// True for tokens that stay in the IR: spread along bindings in both directions, and along joins in theirs.
    kept: Vec<bool>,
    /// True for tokens that are bound to what may be pending, or that what may be pending is bound to.
    pending: Vec<bool>,
}

/// Where a token can come from; of the queues one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Origin {
    done: u64,
    read: u64,
    block_wide: bool,
    foreign: bool,
}

impl Origin {
    /// Adds other origins; returns true if that changed anything.
    fn add(&mut self, other: Self) -> bool {
        let before = *self;
        self.done |= other.done;
        self.read |= other.read;
        self.block_wide |= other.block_wide;
        self.foreign |= other.foreign;
        before != *self
    }
}

/// The bit of a queue.
///
/// # Panics
///
/// If there are more than 64 queues, which is as many engines.
fn bit(queues: &[GroupQueue], queue: GroupQueue) -> u64 {
    let Some(index) = queues.iter().position(|known| *known == queue) else {
        return 0;
    };
    assert!(index < 64, "no more than 64 queues");
    1 << index
}

impl TokenOrigins {
    /// Follows all tokens of `skeleton` from where they are defined.
    pub fn new(skeleton: &Skeleton) -> Self {
        let n = skeleton.program.tokens as usize;
        let queues = skeleton.queues.clone();
        let mut origins = vec![Origin::default(); n];
        for &(token, queue) in &skeleton.issued {
            origins[token.0 as usize].done |= bit(&queues, queue);
        }
        for &(token, queue) in &skeleton.reads {
            origins[token.0 as usize].read |= bit(&queues, queue);
        }
        for token in &skeleton.block_wide {
            origins[token.0 as usize].block_wide = true;
        }
        for token in &skeleton.foreign {
            origins[token.0 as usize].foreign = true;
        }
        let (bindings, joins) = (&skeleton.bindings, &skeleton.joins);
        let flows = Successors::new(n, || bindings.iter().chain(joins).copied());
        let none = Origin::default();
        let mut work: Vec<usize> = (0..n).filter(|&token| origins[token] != none).collect();
        while let Some(from) = work.pop() {
            for &to in flows.of(from) {
                let added = origins[from];
                if origins[to].add(added) {
                    work.push(to);
                }
            }
        }
        let back = bindings.iter().map(|&(from, to)| (to, from));
        let both = Successors::new(n, || bindings.iter().chain(joins).copied().chain(back.clone()));
        let foreign = origins.iter().map(|origin| origin.foreign).collect();
        let any = origins.iter().map(|origin| *origin != none).collect();
        Self {
            kept: spread(foreign, &both),
            pending: spread(any, &both),
            queues,
            of: origins,
        }
    }

    /// The queues of the function.
    pub fn queues(&self) -> &[GroupQueue] {
        &self.queues
    }

    /// Returns true if `token` can come from an operation of `queue`.
    pub fn may_be(&self, token: Token, queue: GroupQueue) -> bool {
        self.of[token.0 as usize].done & bit(&self.queues, queue) != 0
    }

    /// Returns true if `token` can come from an operation of some queue.
    pub fn has_queue(&self, token: Token) -> bool {
        let origin = self.of[token.0 as usize];
        origin.done | origin.read != 0
    }

    /// Returns true if `token` can say that an operation of `queue` has read its sources.
    pub fn may_be_read(&self, token: Token, queue: GroupQueue) -> bool {
        self.of[token.0 as usize].read & bit(&self.queues, queue) != 0
    }

    /// Returns true if `token` can come from an operation that all threads of the block execute together.
    pub fn may_be_block_wide(&self, token: Token) -> bool {
        self.of[token.0 as usize].block_wide
    }

    /// Returns true if `token` can come from something that this function doesn't define or that is no operation of a
    /// queue.
    pub fn may_be_foreign(&self, token: Token) -> bool {
        self.of[token.0 as usize].foreign
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

/// The edges of a graph of tokens, by where they start.
struct Successors {
    /// For each token, where its successors begin in `targets`; and the end of all.
    starts: Vec<usize>,
    targets: Vec<usize>,
}

impl Successors {
    fn new<I: Iterator<Item = (Token, Token)>>(tokens: usize, edges: impl Fn() -> I) -> Self {
        let mut starts = vec![0; tokens + 1];
        for (from, _) in edges() {
            starts[from.0 as usize + 1] += 1;
        }
        for token in 0..tokens {
            starts[token + 1] += starts[token];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[tokens]];
        for (from, to) in edges() {
            let place = &mut next[from.0 as usize];
            targets[*place] = to.0 as usize;
            *place += 1;
        }
        Self { starts, targets }
    }

    fn of(&self, token: usize) -> &[usize] {
        &self.targets[self.starts[token]..self.starts[token + 1]]
    }
}

/// Spreads what is true of some tokens along edges.
fn spread(mut kept: Vec<bool>, next: &Successors) -> Vec<bool> {
    let mut work: Vec<usize> = (0..kept.len()).filter(|&token| kept[token]).collect();
    while let Some(token) = work.pop() {
        for &other in next.of(token) {
            if !std::mem::replace(&mut kept[other], true) {
                work.push(other);
            }
        }
    }
    kept
}
