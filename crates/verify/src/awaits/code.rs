//! A queue as the checker sees it: its groups, and what else happens between the instructions about them.

use crate::groups;
use crate::groups::code::{Block, BlockId, Fifo, Instr, Token};

/// What operations access: those of the same memory are alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Memory(pub u32);

/// A way to access memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Access(pub u32);

/// A function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// Control flow, tokens, commits, waits and awaits. An `Issue` only defines its token.
    pub groups: groups::Code,
    /// By block, what happens before the instruction of a place, in order.
    pub events: Vec<Vec<(usize, Event)>>,
    /// True if a caller goes on where execution ends.
    pub returns: bool,
}

/// Something that happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// An operation is issued, and joins the open group of a FIFO.
    Issue {
        /// The FIFO.
        fifo: Fifo,
        /// What it accesses until it is complete.
        memory: Memory,
        /// The tokens that it is complete by.
        tokens: Vec<Token>,
        /// True if all threads of the block issue and await it together.
        of_block: bool,
    },
    /// A token that stands for the open group of a FIFO.
    Group(Fifo, Token),
    /// Memory is accessed.
    Access(Access),
    /// All threads of the block come together, at the same place.
    Barrier,
    /// Other threads may be told something: they may do anything then.
    Signal,
}

/// An event or an instruction.
pub(super) enum Step<'a> {
    /// An event, with its place among those of the block.
    Event(usize, &'a Event),
    Instr(Instr),
}

impl Code {
    /// All that happens in a block, in order.
    pub(super) fn steps(&self, id: BlockId) -> impl Iterator<Item = Step<'_>> {
        let block: Block = self.groups.block(id).copied().unwrap_or_default();
        let events = self.events.get(id.0 as usize).map_or(&[][..], Vec::as_slice);
        let mut events = events.iter().enumerate().peekable();
        let mut instrs = block
            .instrs
            .range()
            .zip(block.instrs.of(&self.groups.instrs))
            .peekable();
        std::iter::from_fn(move || {
            let next = instrs.peek().map_or(usize::MAX, |(place, _)| *place);
            match events.next_if(|(_, (place, _))| *place <= next) {
                Some((number, (_, event))) => Some(Step::Event(number, event)),
                None => instrs.next().map(|(_, instr)| Step::Instr(*instr)),
            }
        })
    }
}
