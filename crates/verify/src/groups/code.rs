//! Code as the checker sees it: a flat control-flow graph with what issues, commits, waits and awaits.

/// A token: a set of asynchronous operations in flight.
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

/// A function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// Trip counts, by [`Loop`].
    pub trips: Vec<u64>,
    /// The blocks; execution begins with the first one.
    pub blocks: Vec<Block>,
}

/// Instructions in a row, then a choice of edges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// What edges to this block bind, all at once.
    pub params: Vec<Token>,
    /// What happens, in order.
    pub instrs: Vec<Instr>,
    /// Where control may go next; of no edge, execution ends here.
    pub edges: Vec<Edge>,
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instr {
    /// Issues an operation, which joins the open group of a FIFO. The token stands for it alone.
    Issue(Fifo, Token),
    /// Closes the open group.
    Commit(Fifo),
    /// Blocks until all closed groups but the last so many have landed (PTX ISA, `cp.async.wait_group`).
    Wait(Fifo, u64),
    /// The place where the operations of all the tokens have to be complete.
    Await(Vec<Token>),
    /// Makes a token of the operations of others; of none, it is complete.
    Join(Token, Vec<Token>),
}

/// A transfer of control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The part that it has in loops of constant trip count.
    pub kind: EdgeKind,
    /// Its target; `None` if it leaves the function.
    pub to: Option<BlockId>,
    /// What it binds to the parameters of its target.
    pub args: Vec<Token>,
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
    /// The trip count of a loop, if there is such a loop.
    #[must_use]
    pub fn trip(&self, loop_: Loop) -> Option<u64> {
        self.trips.get(loop_.0 as usize).copied()
    }

    /// The block of this number, if there is one.
    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(id.0 as usize)
    }

    /// One more than the largest token that occurs.
    #[must_use]
    pub fn num_tokens(&self) -> usize {
        let of_instr = |instr: &Instr| match instr {
            Instr::Issue(_, token) => Some(token.0),
            Instr::Await(tokens) => tokens.iter().map(|token| token.0).max(),
            Instr::Join(token, of) => of.iter().chain([token]).map(|token| token.0).max(),
            Instr::Commit(_) | Instr::Wait(..) => None,
        };
        let of_block = |block: &Block| {
            let bound = block.edges.iter().flat_map(|edge| &edge.args).chain(&block.params);
            let used = block.instrs.iter().filter_map(of_instr);
            used.chain(bound.map(|token| token.0)).max()
        };
        self.blocks
            .iter()
            .filter_map(of_block)
            .max()
            .map_or(0, |token| token as usize + 1)
    }
}
