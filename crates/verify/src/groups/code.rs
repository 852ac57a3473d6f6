//! Code as the checker sees it: a flat control-flow graph with what issues, commits, waits and awaits.
//!
//! Lists are [spans](Span) of common arrays: there may be millions of blocks.

use super::lists::list_for;

/// A token: a set of asynchronous operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Token(pub u32);

/// A FIFO of groups. A queue of the hardware is one for what its operations write, and one for what they read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Fifo(pub u8);

/// A loop of constant trip count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Loop(pub u32);

/// A block, by its place in [`Code::blocks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A part of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// All that was added to an array since it had `start` elements.
    #[must_use]
    pub fn since<T>(start: usize, array: &[T]) -> Self {
        let end = u32::try_from(array.len()).expect("no function has as many operations");
        Self {
            start: u32::try_from(start).unwrap_or(end),
            end,
        }
    }

    /// The places of the elements.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The elements.
    #[must_use]
    pub fn of<T>(self, array: &[T]) -> &[T] {
        array.get(self.range()).unwrap_or_default()
    }
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// Trip counts, by [`Loop`].
    pub trips: Vec<u64>,
    /// The blocks; execution begins with the first one.
    pub blocks: Vec<Block>,
    /// The instructions of all blocks.
    pub instrs: Vec<Instr>,
    /// The edges of all blocks.
    pub edges: Vec<Edge>,
    /// The tokens of all lists of tokens.
    pub tokens: Vec<Token>,
}

/// About how much code there will be, as far as that is known. Most of the time that a list takes to grow goes into memory that is touched for
/// the first time, and each size that it has on its way is elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Expected {
    /// The number of tokens.
    pub tokens: usize,
    /// The number of awaits.
    pub awaits: usize,
    /// The number of waits.
    pub waits: usize,
    /// The number of instructions.
    pub instrs: usize,
    /// The number of blocks; half the number of edges.
    pub blocks: usize,
}

/// Instructions in a row, then a choice of edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// The tokens that edges to this block bind, all at once.
    pub params: Span,
    /// What happens, in order.
    pub instrs: Span,
    /// Where control may go next; with no edge, execution ends here.
    pub edges: Span,
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instr {
    /// Issues an operation, which joins the open group of a FIFO. The token stands for it alone.
    Issue(Fifo, Token),
    /// Closes the open group.
    Commit(Fifo),
    /// Blocks until all closed groups but the last so many have landed (PTX ISA, `cp.async.wait_group`).
    Wait(Fifo, u32),
    /// The place where the operations of all the tokens have to be complete.
    Await(Span),
    /// Makes a token of the operations of others; of none, it is complete.
    Join(Token, Span),
}

/// A transfer of control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The part that it has in loops of constant trip count.
    pub kind: EdgeKind,
    /// Its target; `None` if it leaves the function.
    pub to: Option<BlockId>,
    /// What it binds to the parameters of its target.
    pub args: Span,
}

/// The part that an [`Edge`] has in a loop of constant trip count, whose counter runs from 0 to the trip count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeKind {
    /// None.
    Plain,
    /// To the first iteration.
    Enter(Loop),
    /// To the next iteration; not taken after the last one.
    Back(Loop),
    /// Out of the loop, after the last iteration.
    Exit(Loop),
}

impl Code {
    /// Empty code, with memory for what is expected.
    #[must_use]
    pub fn with_capacity(expected: Expected) -> Self {
        Self {
            trips: Vec::new(),
            blocks: list_for(expected.blocks),
            instrs: list_for(expected.instrs),
            edges: list_for(2 * expected.blocks),
            tokens: list_for(2 * expected.tokens),
        }
    }

    /// The trip count of a loop, if there is such a loop.
    #[must_use]
    pub fn trip(&self, l: Loop) -> Option<u64> {
        self.trips.get(l.0 as usize).copied()
    }

    /// The block of this number, if there is one.
    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(id.0 as usize)
    }

    /// One more than the largest token that occurs, and one more than the largest FIFO.
    #[must_use]
    pub fn num_tokens_and_fifos(&self) -> (usize, usize) {
        let in_lists = self.tokens.iter().map(|token| token.0 as usize + 1);
        let mut tokens = in_lists.max().unwrap_or(0);
        let mut fifos = 0;
        for instr in &self.instrs {
            if let Instr::Issue(_, token) | Instr::Join(token, _) = instr {
                tokens = tokens.max(token.0 as usize + 1);
            }
            if let Instr::Issue(fifo, _) | Instr::Commit(fifo) | Instr::Wait(fifo, _) = instr {
                fifos = fifos.max(usize::from(fifo.0) + 1);
            }
        }
        (tokens, fifos)
    }
}
