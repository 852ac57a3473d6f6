//! The program skeleton: everything about a program that decides when an asynchronous group is
//! complete, and nothing else.
//!
//! A [`Program`] is a tree of control-flow graphs. A [`Graph`] holds blocks with token parameters;
//! an op with regions is an [`Item::Nested`] inside a block, whose own graph holds the blocks of all
//! its regions. A loop that runs a constant number of times is an [`Item::Repeat`]. Tokens are in
//! SSA form: each is defined once, and a nested graph may use the tokens of the graphs around it.
//!
//! Slots, awaits and loops are numbered in program order, a loop or block before what is inside of it
//! and a slot after an item after the item.
//!
//! Execution: a graph starts at block 0 and runs a block's items in order, then takes one of the
//! block's edges; every choice is independent of every other one. An edge to [`Target::Exit`] leaves
//! the graph and hands its arguments to the item's results. A block without edges ends the program.

use std::cell::Cell;

/// A token: an SSA value that says when asynchronous work is complete.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Token(pub u32);

/// An asynchronous operation of the program text, in program order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Site(pub u32);

/// An await of the program text, in program order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Await(pub u32);

/// A place of the program text where commits may be inserted, see [`Commits`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// A constant-trip loop of the program text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LoopId(pub u32);

/// A hardware FIFO, numbered from 0 (see [`Program::queues`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Queue(pub u8);

/// A whole function body.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Program {
    /// The body; leaving it by an exit edge is a return.
    pub body: Graph,
    /// How many tokens there are; they are numbered from 0.
    pub tokens: u32,
    /// How many asynchronous operations there are.
    pub sites: u32,
    /// How many awaits there are.
    pub awaits: u32,
    /// How many commit slots there are.
    pub slots: u32,
    /// How many constant-trip loops there are.
    pub loops: u32,
    /// How many hardware FIFOs the program uses.
    pub queues: u8,
    /// What each queue asks of commits that are inserted; a queue beyond the end asks nothing.
    pub commit_rules: Vec<CommitRules>,
}

/// What a queue asks of commits that are inserted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommitRules {
    /// Groups may be empty.
    pub empty_groups: bool,
    /// Commits may be where the threads of a warp may diverge ([`Block::divergent`]).
    pub divergent: bool,
    /// Every operation is committed by the end of the program. So it is in any case where an operation of the queue
    /// has a token of its reads.
    pub all: bool,
}

impl Default for CommitRules {
    fn default() -> Self {
        Self {
            empty_groups: true,
            divergent: true,
            all: false,
        }
    }
}

/// A control-flow graph; execution starts at block 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Graph {
    /// The blocks; edges name them by their place here.
    pub blocks: Vec<Block>,
}

/// A straight line of items.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Block {
    /// Tokens that the incoming edges bind; those of block 0 are bound from outside.
    pub params: Vec<Token>,
    /// Where commits before the first item go; `None` where nothing can be inserted.
    pub start: Option<Slot>,
    /// What happens, in order.
    pub items: Vec<Item>,
    /// True if the threads of a warp may be here at different times, for all that is known.
    pub divergent: bool,
    /// Where control may go next; empty where the program ends.
    pub edges: Vec<Edge>,
}

/// A possible transfer of control.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// Where control goes.
    pub to: Target,
    /// The tokens that are bound to the target block's parameters, or handed out of the graph.
    pub args: Vec<Token>,
}

/// The target of an [`Edge`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// A block of the same graph.
    Block(usize),
    /// Out of the graph: after the item that holds it, or to the next iteration of a repeat.
    Exit,
}

/// One step of a block.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// Issues an asynchronous operation, which joins the open group of its queue.
    Issue {
        /// Which operation.
        site: Site,
        /// Its queue.
        queue: Queue,
        /// The token of the operation, if it has one.
        token: Option<Token>,
        /// A token that is complete when the operation has read its sources, which may be long before it is
        /// complete itself.
        read: Option<Token>,
        /// Where its group may be committed; `None` if commits are given by the program alone.
        slot: Option<Slot>,
    },
    /// A commit of the program itself: closes the open group of a queue.
    Commit {
        /// The queue.
        queue: Queue,
        /// A token that denotes the group just closed, if the op makes one.
        token: Option<Token>,
    },
    /// A wait of the program itself: until at most `n` groups are in flight.
    Wait {
        /// The queue.
        queue: Queue,
        /// How many groups may stay in flight.
        n: u32,
        /// True if this waits for reads alone, and completes nothing else.
        read: bool,
    },
    /// Blocks until all the tokens are complete; this is what gets translated.
    Await {
        /// Which await.
        site: Await,
        /// The tokens.
        tokens: Vec<Token>,
        /// True if waits of the program complete its tokens: it has no wait of its own, and commits stand where those
        /// waits cover them.
        covered: bool,
    },
    /// A token that is complete when all of `of` are; of none: complete already. Also stands for a
    /// selection between tokens, since both are minima of ages.
    Join {
        /// The token defined.
        token: Token,
        /// The tokens joined.
        of: Vec<Token>,
    },
    /// A place of its own where commits may be inserted, in addition to those next to other items.
    Point(Slot),
    /// An op with regions.
    Nested(Box<Nested>),
    /// A loop that runs its body exactly `trip` times.
    Repeat(Box<Repeat>),
}

/// An op with regions; block 0 of the graph is where it is entered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Nested {
    /// The blocks of its regions; block 0 takes `inits`.
    pub graph: Graph,
    /// The arguments of block 0's parameters.
    pub inits: Vec<Token>,
    /// Bound by the arguments of the exit edge that is taken.
    pub results: Vec<Token>,
    /// Where commits right after the op go.
    pub after: Option<Slot>,
}

/// A loop of constant trip count. The arguments of an exit edge of the body start the next
/// iteration, or are the results after the last one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Repeat {
    /// Which loop.
    pub id: LoopId,
    /// How often the body runs.
    pub trip: u64,
    /// True if the caller can peel iterations off the front of this loop.
    pub peelable: bool,
    /// The body; the parameters of its block 0 are the tokens carried around the loop.
    pub body: Graph,
    /// The carried tokens' values on entry, also the results if `trip` is 0.
    pub inits: Vec<Token>,
    /// The carried tokens' values afterwards.
    pub results: Vec<Token>,
    /// Where commits right after the loop go.
    pub after: Option<Slot>,
}

/// How many commits are inserted at each [`Slot`], for one queue.
pub type Commits = Vec<u32>;

impl Program {
    /// Makes an empty program of one block that returns.
    #[must_use]
    pub fn new(queues: u8) -> Self {
        Self {
            queues,
            ..Self::default()
        }
    }

    /// What `queue` asks of commits that are inserted.
    #[must_use]
    pub fn rules(&self, queue: Queue) -> CommitRules {
        let rules = self.commit_rules.get(usize::from(queue.0));
        rules.copied().unwrap_or_default()
    }

    /// Returns a new token.
    pub fn token(&mut self) -> Token {
        Token(next(&mut self.tokens))
    }

    /// Returns a new site.
    pub fn site(&mut self) -> Site {
        Site(next(&mut self.sites))
    }

    /// Returns a new await.
    pub fn new_await(&mut self) -> Await {
        Await(next(&mut self.awaits))
    }

    /// Returns a new slot.
    pub fn slot(&mut self) -> Slot {
        Slot(next(&mut self.slots))
    }

    /// Returns a new loop.
    pub fn new_loop(&mut self) -> LoopId {
        LoopId(next(&mut self.loops))
    }

    /// The commits of one group per operation: one after every operation that has a slot.
    #[must_use]
    pub fn one_group_each(&self, queue: Queue) -> Commits {
        let mut commits = vec![0; self.slots as usize];
        self.body.visit(&mut |item| {
            if let Item::Issue {
                queue: q,
                slot: Some(slot),
                ..
            } = item
                && *q == queue
            {
                commits[slot.0 as usize] = 1;
            }
        });
        commits
    }
}

impl Graph {
    /// Calls `f` on every item of the graph and of the graphs inside it, in program order.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Item)) {
        ensure_sufficient_stack(|| {
            for block in &self.blocks {
                for item in &block.items {
                    f(item);
                    if let Some(inner) = item.graph() {
                        inner.visit(f);
                    }
                }
            }
        });
    }
}

impl From<Nested> for Item {
    fn from(nested: Nested) -> Self {
        Self::Nested(Box::new(nested))
    }
}

impl From<Repeat> for Item {
    fn from(repeat: Repeat) -> Self {
        Self::Repeat(Box::new(repeat))
    }
}

impl Item {
    /// The graph inside the item, if it has one.
    #[must_use]
    pub fn graph(&self) -> Option<&Graph> {
        match self {
            Self::Nested(nested) => Some(&nested.graph),
            Self::Repeat(repeat) => Some(&repeat.body),
            _ => None,
        }
    }

    /// The slot right after the item, if it has one; of a point, its own.
    #[must_use]
    pub fn after(&self) -> Option<Slot> {
        match self {
            Self::Issue { slot, .. } => *slot,
            Self::Point(slot) => Some(*slot),
            Self::Nested(nested) => nested.after,
            Self::Repeat(repeat) => repeat.after,
            _ => None,
        }
    }
}

/// So many levels of nesting fit any stack.
const SHALLOW: u32 = 8;

thread_local! {
    /// How many levels of nesting this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs `f` with enough stack for one more level of nesting.
///
/// Only deep nesting looks at the stack: to learn where it ends can take a thread as long as to solve a small program.
pub(crate) fn ensure_sufficient_stack<R>(f: impl FnOnce() -> R) -> R {
    struct Level(u32);
    impl Drop for Level {
        fn drop(&mut self) {
            DEPTH.set(self.0);
        }
    }
    let level = Level(DEPTH.get());
    DEPTH.set(level.0 + 1);
    if level.0 < SHALLOW {
        f()
    } else {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, f)
    }
}

fn next(counter: &mut u32) -> u32 {
    let id = *counter;
    *counter += 1;
    id
}
