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

/// What something has to know: its number.
pub type NeedId = usize;

/// A fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fact {
    /// The engine that does it.
    pub engine: usize,
    /// Its band. What happens in a block, between two loops or branches, happens once each, and what of that is of one band has numbers that
    /// follow each other.
    pub band: usize,
}

/// What something has to know.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Need {
    /// Numbers of lists of facts. Many share them.
    pub lists: Vec<usize>,
    /// True if perhaps not all of these facts are needed, which the reader is asked.
    pub is_filtered: bool,
}

/// Code in structured control flow.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// How many engines there are.
    pub engines: usize,
    /// The facts.
    pub facts: Vec<Fact>,
    /// The flags.
    pub flags: Vec<Flag>,
    /// Lists of facts, each in order.
    pub lists: Vec<Vec<FactId>>,
    /// What something has to know.
    pub needs: Vec<Need>,
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
    /// That all waits for it are over.
    pub waited: NeedId,
}

/// What stands in a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instr {
    /// An operation of `engine`, which needs to know some facts, and does `does`.
    Run {
        /// The engine.
        engine: usize,
        /// What it needs to know.
        needs: Vec<NeedId>,
        /// What it does.
        does: Vec<FactId>,
    },
    /// `engine` needs to know some facts: which way to go.
    Know {
        /// The engine.
        engine: usize,
        /// What it needs to know.
        needs: Vec<NeedId>,
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
    /// What facts become in the next iteration, in order.
    pub aged: Vec<(FactId, FactId)>,
    /// Engines that need to know some facts after `before`, before they do or set anything.
    pub due: Vec<(usize, Vec<NeedId>)>,
}
