//! A function as the checker of flags sees it.

/// Whether flags count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagKind {
    /// A flag is set or not. Setting it twice loses one.
    Binary,
    /// A flag counts how often it was set; a wait takes one.
    Counting,
}

/// Something that an engine does, again and again, and that others have to know to be finished: its number.
pub type FactId = usize;

/// Code in structured control flow.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// How many engines there are.
    pub engines: usize,
    /// The engine of each fact.
    pub facts: Vec<usize>,
    /// The flags.
    pub flags: Vec<Flag>,
    /// Facts that something has to know. Many share such a list.
    pub needs: Vec<Vec<FactId>>,
    /// The blocks. The first one is the outermost.
    pub blocks: Vec<Vec<Instr>>,
    /// How many loops there are.
    pub loops: usize,
}

/// A flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flag {
    /// The engine that sets it.
    pub from: usize,
    /// The engine that waits for it.
    pub to: usize,
    /// The number of the list of [`Code::needs`] that says that all waits for it are over.
    pub waited: usize,
}

/// What stands in a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instr {
    /// An operation of `engine`, which needs to know all of some lists of [`Code::needs`], and does `does`.
    Run {
        /// The engine.
        engine: usize,
        /// Numbers of lists.
        needs: Vec<usize>,
        /// What it does.
        does: Vec<FactId>,
    },
    /// `engine` needs to know all of some lists of [`Code::needs`]: which way to go.
    Know {
        /// The engine.
        engine: usize,
        /// Numbers of lists.
        needs: Vec<usize>,
    },
    /// A flag is set.
    Set(usize),
    /// A flag is waited for. Then that is a fact.
    Wait(usize, FactId),
    /// One of several blocks is executed.
    Branch(Vec<usize>),
    /// A loop.
    Loop(Loop),
}

/// A loop: `before`, and as long as its condition holds, `after` and `before` again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Its number.
    pub number: usize,
    /// The first block.
    pub before: usize,
    /// The other one.
    pub after: usize,
    /// What facts become in the next iteration.
    pub aged: Vec<(FactId, FactId)>,
    /// Engines that need to know some lists of [`Code::needs`] after `before`, before they do or set anything.
    pub due: Vec<(usize, Vec<usize>)>,
}
