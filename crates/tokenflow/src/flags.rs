//! Places flags between engines: where they are set and waited for, and with which ids.
//!
//! The machine has several **engines**, each of which executes its own instructions in program order, and as fast or slow as it
//! likes. They meet at **flags** alone: `set_flag <a, b, id>` is an instruction of engine `a`, which sets the flag when all that
//! stands before it on `a` is finished; `wait_flag <a, b, id>` is one of engine `b`, and nothing after it on `b` begins before the
//! flag is set. The wait takes the flag back. An **event** is a flag's setting and the wait for it.
//!
//! [`plan`] takes a program in its final order, with the dependences between engines, and returns events with ids, so that
//!
//! - every dependence holds, however fast the engines are, and no event can go: each is for a dependence that the order within
//!   the engines and the other events don't imply (the transitive reduction). Not minimized are those that make an id free for its
//!   next use ([`Purpose::Reuse`]), and those that wait earlier than their consumers ([`Event::wait`]); either may imply others;
//! - with binary flags, a flag is never set while it may still be set: a path of program order within engines and of events leads from
//!   each wait to the next setting of its id, around back edges and in branches as well;
//! - with counting flags, each wait gets the setting that it is for: those that share an id are waited for in the order in which they are set;
//! - each pair of engines uses the fewest ids for which that is so, or [`Usage::at_least`] says how few could do.
//!
//! "No event can go" and "fewest" are exact without branches and loops. Where paths meet, what is known is
//! joined engine by engine: if one path orders an engine by one event, and the other path by another, it
//! counts as not ordered. That costs a flag in one of thousands of random programs.
//!
//! # Control flow
//!
//! All engines take the same path through the program. Dependences are between nodes of one block; a node may be a branch or a loop,
//! which then stands for whatever is in it. Where a loop carries a dependence from one iteration to the next, its flag is set once
//! before the loop and waited for once after it, so that each iteration can wait, and each can set.
//!
//! # Method
//!
//! One walk in program order keeps, for each pair of engines x and y, what of y's work may be unfinished when
//! x's next instruction begins (`happens_before.rs`): vector clocks, but for branches, after which that need
//! not be one interval. A loop's body is walked twice, and a loop in the second walk once: the second
//! iteration begins with the least knowledge of the one before it, and what is known never gets less. So a
//! walk costs O(n d e²) for n nodes, d nested loops, e engines.
//!
//! 1. `place.rs`: a dependence whose producer may be unfinished when its consumer begins gets an event; at
//!    one consumer, latest producer first.
//! 2. `id_reuse.rs`: if an event's flag may still be set when it is set again, another event leads back to
//!    the engine that sets it.
//! 3. `conflicts.rs`, `coloring.rs`: events of one pair that can't share an id are the edges of a graph; ids
//!    are its colors. Without branches and loops that is an interval graph (from the setting, until the
//!    setting engine knows of the wait), where first fit in program order is optimal
//!    (`interval_coloring.rs`). Elsewhere it is a circular-arc graph or worse, where coloring is NP-hard: a
//!    search with a budget of nodes follows.

mod coloring;
mod conflicts;
mod happens_before;
mod id_reuse;
mod interval_coloring;
mod place;
mod time_set;

use crate::ids::{IndexVec, ids};
pub use crate::schedule::EngineId;

ids! {
    /// A block of a [`Program`]; 0 is the outermost.
    BlockId;
    /// An event of a [`Plan`].
    EventId;
}

/// A program in its final order.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// How many engines there are.
    pub engines: usize,
    /// The blocks. Each but the first is in one node of one earlier block.
    pub blocks: IndexVec<BlockId, Block>,
}

/// Nodes in program order.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Dependences within one execution of the block: the producer stands before the consumer.
    pub dependences: Vec<Dependence>,
    /// Of the body of a loop: from one iteration to the next. The two may stand in any order, and be one node.
    pub carried: Vec<Dependence>,
}

/// What stands in a block.
#[derive(Clone, Debug)]
pub enum Node {
    /// An operation of one engine.
    Operation(EngineId),
    /// One of several blocks is executed.
    Branch(Vec<BlockId>),
    /// A block is executed any number of times, or not at all.
    Loop(BlockId),
}

/// What engine `to` does in the node `consumer` begins when all is finished that engine `from` does in the node `producer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dependence {
    /// Number of the producer in its block.
    pub producer: usize,
    /// Number of the consumer in the same block.
    pub consumer: usize,
    /// The producer's engine.
    pub from: EngineId,
    /// The consumer's engine; another one.
    pub to: EngineId,
    /// It is for everything that engine `from` did until the producer ended, not for what it did in there alone: one stands for many, whose
    /// producers need not have been executed.
    pub is_of_all: bool,
}

/// A place next to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// Before the node of this number.
    Before(usize),
    /// After it.
    After(usize),
}

impl Point {
    /// The node that it is next to.
    pub fn node(self) -> usize {
        let (Self::Before(node) | Self::After(node)) = self;
        node
    }

    /// Returns true if it is before the node.
    pub fn is_before(self) -> bool {
        matches!(self, Self::Before(_))
    }

    /// Its number in the order of the block.
    fn position(self) -> usize {
        match self {
            Self::Before(node) => 2 * node,
            Self::After(node) => 2 * node + 1,
        }
    }

    fn later(self, other: Self) -> Self {
        std::cmp::max_by_key(self, other, |point| point.position())
    }

    fn earlier(self, other: Self) -> Self {
        std::cmp::min_by_key(self, other, |point| point.position())
    }
}

/// What an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A dependence.
    Dependence(Dependence),
    /// Other events' ids are free again.
    Reuse,
}

/// A flag's setting on one engine and the wait for it on another.
///
/// At one place, waits for dependences stand first, then waits for reuse that a loop carries, then settings and waits for reuse
/// within an iteration, settings for reuse that a loop carries, and settings for dependences; each kind in the order of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is for.
    pub purpose: Purpose,
    /// The block of both places.
    pub block: BlockId,
    /// The engine that sets the flag.
    pub from: EngineId,
    /// The engine that waits.
    pub to: EngineId,
    /// Where the flag is set.
    pub set: Point,
    /// Where it is waited for: before the consumer, or after the producer, if the consumer is in the next iteration, and later
    /// in it than the producer, since the flag is taken back before it is set again.
    pub wait: Point,
    /// The wait is in the iteration after that of the setting. The flag is set before the loop as well, and waited for after it.
    pub is_carried: bool,
}

impl Event {
    /// The ranks of the wait and of the setting, at their places.
    fn ranks(&self) -> (u8, u8) {
        match (self.purpose, self.is_carried) {
            (Purpose::Dependence(_), _) => (0, 5),
            (Purpose::Reuse, true) => (1, 4),
            (Purpose::Reuse, false) => (3, 2),
        }
    }
}

/// A flag is set or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The flag of this event is set.
    Set(EventId),
    /// It is waited for.
    Wait(EventId),
}

/// What flags do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FlagKind {
    /// A flag is set or not. Setting it twice loses one.
    #[default]
    Binary,
    /// A flag counts how often it was set, however often that is.
    Counting,
}

/// What [`plan`] is to obey.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The kind of flags.
    pub kind: FlagKind,
    /// The number of flags from one engine to another.
    pub limit: &'a dyn Fn(EngineId, EngineId) -> usize,
    /// How many events the search for fewer ids may look at, again and again, for each pair of engines.
    pub budget: usize,
}

/// How many ids a pair of engines uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The engine that sets.
    pub from: EngineId,
    /// The engine that waits.
    pub to: EngineId,
    /// The number of ids.
    pub ids: usize,
    /// The events need at least so many: if fewer than `ids`, the search ended early.
    pub at_least: usize,
}

/// Events and their ids.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The events.
    pub events: IndexVec<EventId, Event>,
    /// The id of each, from 0 for each pair of engines.
    pub ids: IndexVec<EventId, usize>,
    /// What each pair of engines uses, if it uses any.
    pub usage: Vec<Usage>,
}

impl Plan {
    /// What stands in each of so many blocks, in its order. What stands before and after loops that carry events is not in it:
    /// [`Plan::carried`].
    pub fn steps(&self, blocks: usize) -> IndexVec<BlockId, Vec<(Point, Step)>> {
        let mut ranked: IndexVec<BlockId, Vec<(u8, Point, Step)>> = (0..blocks).map(|_| Vec::new()).collect();
        for (id, event) in self.events.with_ids() {
            let (wait, set) = event.ranks();
            ranked[event.block].push((wait, event.wait, Step::Wait(id)));
            ranked[event.block].push((set, event.set, Step::Set(id)));
        }
        let sorted = ranked.into_iter().map(|mut steps| {
            steps.sort_by_key(|&(rank, point, _)| (point.position(), rank));
            steps.into_iter().map(|(_, point, step)| (point, step)).collect()
        });
        sorted.collect()
    }

    /// By each of so many blocks, the events that a loop with this body carries: their flags are set right before it, and waited for right after it, in this order.
    pub fn carried(&self, blocks: usize) -> IndexVec<BlockId, Vec<EventId>> {
        let mut carried: IndexVec<BlockId, Vec<EventId>> = (0..blocks).map(|_| Vec::new()).collect();
        for (id, event) in self.events.with_ids().filter(|(_, event)| event.is_carried) {
            carried[event.block].push(id);
        }
        carried
    }
}

/// More flags are needed than there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverLimit {
    /// The engine that sets.
    pub from: EngineId,
    /// The engine that waits.
    pub to: EngineId,
    /// How many flags there are.
    pub limit: usize,
    /// Events that need more flags than there are. Any one fewer of them would do with the limit, unless `is_proven` is false.
    pub events: Vec<Event>,
    /// False if the search for ids ended at its budget, so that the limit may suffice after all.
    pub is_proven: bool,
}

/// Places events, and gives them ids.
///
/// # Errors
///
/// Says which events need more flags than there are.
///
/// # Panics
///
/// If a node, block or engine is named that is not in the program.
pub fn plan(program: &Program, options: &Options) -> Result<Plan, OverLimit> {
    let mut placed = place::place(program);
    if options.kind == FlagKind::Binary {
        id_reuse::add_reuse_events(program, &mut placed);
    }
    let conflicts = conflicts::conflicts(program, &placed, options);
    coloring::color(placed.events, &conflicts, options)
}
