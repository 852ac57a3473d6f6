//! Small trees at random.

use super::{Build, FirstSteps};
use crate::phases::tree::{AccessKind, Buffer, Inst, Tree, Trips};
use crate::program::Token;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};

/// What random trees may have.
#[derive(Clone, Copy)]
pub(in crate::phases) struct Shape {
    /// Tokens that edges bind.
    pub binds: bool,
    /// Loops.
    pub loops: bool,
    /// Loops that run any number of times.
    pub any_trips: bool,
}

/// Trees of all sorts.
pub(in crate::phases) const ALL: Shape = Shape {
    binds: true,
    loops: true,
    any_trips: true,
};

/// Any small tree all of whose loads can have phases. Shrinking takes choices away, or makes them simpler.
pub(in crate::phases) fn any_tree(shape: Shape) -> impl Strategy<Value = Tree> {
    let trees = prop::collection::vec(any::<u16>(), 0..=120).prop_map(move |choices| {
        let random = Random {
            choices: RefCell::new(choices.into_iter()),
            shape,
            budget: Cell::new(16),
        };
        let (mut b, mut scope) = (Build::new(), Vec::new());
        random.fill(&mut b, &mut scope, 0);
        if random.below(2) == 0 {
            b.wait(&scope);
        }
        b.tree.buffers = BUFFERS;
        b.tree
    });
    trees.prop_filter("a token that no phase can follow", |tree| {
        FirstSteps::new(tree).partition.unallocated.is_empty()
    })
}

const BUFFERS: usize = 2;

/// The choices that make a tree; where they run out, the simplest one is taken.
struct Random {
    choices: RefCell<std::vec::IntoIter<u16>>,
    shape: Shape,
    /// How many more instructions there may be.
    budget: Cell<u32>,
}

impl Random {
    fn below(&self, n: u16) -> usize {
        usize::from(self.choices.borrow_mut().next().unwrap_or(0) % n)
    }

    fn buffer(&self) -> Buffer {
        match self.below(7) {
            6 => Buffer::Any,
            n => Buffer::Known(n % BUFFERS),
        }
    }

    /// Mostly recent tokens, and sometimes a complete one.
    fn pick(&self, b: &mut Build, scope: &[Token]) -> Token {
        match self.below(8) {
            back if back < 7 && !scope.is_empty() => scope[scope.len() - 1 - back % scope.len().min(3)],
            _ => b.join(&[]),
        }
    }

    fn picks(&self, b: &mut Build, scope: &[Token], n: usize) -> Vec<Token> {
        (0..n).map(|_| self.pick(b, scope)).collect()
    }

    /// Fills a block; `scope` has the tokens that may be used, and gets those of the block.
    fn fill(&self, b: &mut Build, scope: &mut Vec<Token>, depth: u32) {
        for _ in 0..=1 + self.below(4) {
            let Some(left) = self.budget.get().checked_sub(1) else {
                return;
            };
            self.budget.set(left);
            match self.below(if depth < 2 { 14 } else { 9 }) {
                0..=2 => scope.push(b.load_to(self.buffer())),
                3 | 4 => {
                    let n = 1 + self.below(2);
                    let tokens = self.picks(b, scope, n);
                    b.wait(&tokens);
                }
                5 => {
                    let of = self.picks(b, scope, 2);
                    scope.push(b.join(&of));
                }
                6 => b.push(if self.below(3) == 0 {
                    Inst::Fence
                } else {
                    Inst::Barrier
                }),
                7 => {
                    let kind = [AccessKind::Read, AccessKind::Write][self.below(2)];
                    b.access(self.buffer(), kind);
                }
                8 => {
                    b.store(self.buffer());
                }
                9 | 10 => self.branch(b, scope, depth + 1),
                _ if !self.shape.loops => self.branch(b, scope, depth + 1),
                13 if self.shape.any_trips => self.looped(b, scope, depth + 1),
                _ => self.counted(b, scope, depth + 1),
            }
        }
    }

    /// How many tokens edges bind.
    fn bound(&self) -> usize {
        if self.shape.binds { self.below(3) } else { 0 }
    }

    fn branch(&self, b: &mut Build, scope: &mut Vec<Token>, depth: u32) {
        let n = self.bound();
        let arm = |b: &mut Build, scope: &[Token]| {
            let mut inner = scope.to_vec();
            self.fill(b, &mut inner, depth);
            self.picks(b, &inner, n)
        };
        let results = b.if_(|b| arm(b, scope), |b| arm(b, scope));
        scope.extend(results);
    }

    /// A block of a loop, which passes on any tokens, or a new one and all but the first of its arguments.
    fn around(&self, b: &mut Build, scope: &[Token], params: &[Token], depth: u32) -> Vec<Token> {
        let mut inner = [scope, params].concat();
        self.fill(b, &mut inner, depth);
        if self.below(2) == 0 || params.is_empty() {
            return self.picks(b, &inner, params.len());
        }
        let new = b.load_to(self.buffer());
        params[1..].iter().copied().chain([new]).collect()
    }

    fn counted(&self, b: &mut Build, scope: &mut Vec<Token>, depth: u32) {
        let trips = match self.below(2) {
            0 if self.shape.any_trips => Trips::Counted,
            _ => Trips::Constant([1, 2, 3][self.below(3)]),
        };
        let n = self.bound();
        let inits = self.picks(b, scope, n);
        let results = b.for_(trips, &inits, |b, params| self.around(b, scope, params, depth));
        scope.extend(results);
    }

    fn looped(&self, b: &mut Build, scope: &mut Vec<Token>, depth: u32) {
        let n = self.bound();
        let inits = self.picks(b, scope, n);
        let results = b.while_(
            &inits,
            |b, params| self.around(b, scope, params, depth),
            |b, params| self.around(b, scope, params, depth),
        );
        scope.extend(results);
    }
}
