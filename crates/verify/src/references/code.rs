//! Code as the checker of references sees it: a control-flow graph with what adds and drops references.

/// A token, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Token(pub u32);

/// A function. Execution begins with the first block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// The number of tokens.
    pub tokens: u32,
    /// Tokens that the caller holds references of while the function runs.
    pub borrowed: Vec<Token>,
}

/// Instructions in a row, then a choice of edges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// The tokens that edges to this block define.
    pub params: Vec<Token>,
    /// What happens, in order.
    pub instrs: Vec<Instr>,
    /// Where control may go next.
    pub edges: Vec<Edge>,
    /// True if the function returns at the end of the block. Without that and without edges, the program ends there.
    pub returns: bool,
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instr {
    /// Defines a token, with a reference.
    Define(Token),
    /// Defines a token that is one of others, without a reference of its own.
    Select(Token, Vec<Token>),
    /// Needs a token.
    Use(Token),
    /// Adds a reference.
    Retain(Token),
    /// Drops a reference, or hands it over to someone else.
    Release(Token),
}

/// A transfer of control.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edge {
    /// The number of its target.
    pub to: usize,
    /// The tokens whose references it hands over to the parameters of its target; `None` for what is none, such as a null pointer.
    pub args: Vec<Option<Token>>,
}
