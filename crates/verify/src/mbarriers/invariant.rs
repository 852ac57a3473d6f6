//! Inductive invariants of code: all that is known where its blocks begin, in each of the states that they begin in.
//!
//! Inductive: what a node says and what its block does imply what the nodes that come next say, so that one look
//! at each is enough ([`check_invariant()`](super::check_invariant())).

use super::certificate::NodeId;
use super::code::{BlockId, Token, Var};
use super::int::Int;
use super::slot::Slot;
use super::state::{Slots, State};

/// An inductive invariant of code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Invariant {
    /// The nodes; the first one is where the code begins.
    pub nodes: Vec<Node>,
}

/// A state in which a block begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The block.
    pub block: BlockId,
    /// The mbarriers.
    pub slots: Vec<Slot>,
    /// How many times threads have gathered, at most, since the last time that the thread that issues knows to be over.
    pub gathered: u8,
    /// Variables that are used later.
    pub vars: Vec<(Var, Int)>,
    /// Tokens that are used later: for each role the slots on which loads may be in flight, as it knows.
    pub tokens: Vec<(Token, Vec<Slots>)>,
    /// For each edge of the block the node that it leads to; `None` if it leaves the function, or is not taken.
    pub successors: Vec<Option<NodeId>>,
}

/// How many times threads have gathered since what is said of the slots, and since the thread that issues has waited for them. These tell
/// no states apart: of several, the largest count, which say least.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ages {
    slots: Box<[u8]>,
    gathered: u8,
}

impl Ages {
    /// Those at a point.
    #[must_use]
    pub fn of(state: &State) -> Self {
        Self {
            slots: state.slots.iter().map(Slot::age).collect(),
            gathered: state.gathered,
        }
    }

    /// Those of a node.
    #[must_use]
    pub fn at(node: &Node) -> Self {
        Self {
            slots: node.slots.iter().map(Slot::age).collect(),
            gathered: node.gathered,
        }
    }

    /// Takes the larger ones; returns true if that changes any.
    pub fn join(&mut self, other: &Self) -> bool {
        let all = self.slots.iter_mut().chain([&mut self.gathered]);
        let others = other.slots.iter().chain([&other.gathered]);
        let mut changed = false;
        for (age, other) in all.zip(others) {
            changed |= *age < *other;
            *age = (*age).max(*other);
        }
        changed
    }

    /// Returns true if none of `other` is larger.
    #[must_use]
    pub fn cover(&self, other: &Self) -> bool {
        !self.clone().join(other)
    }

    /// Makes them those of `state`.
    pub fn restore(&self, state: &mut State) {
        for (slot, age) in state.slots.iter_mut().zip(&self.slots) {
            *slot = slot.with_age(*age);
        }
        state.gathered = self.gathered;
    }

    /// `slots`, each with its age.
    #[must_use]
    pub fn with(&self, slots: &[Slot]) -> Vec<Slot> {
        let slots = slots.iter().zip(&self.slots);
        slots.map(|(slot, age)| slot.with_age(*age)).collect()
    }

    /// How many times threads have gathered since the thread that issues has waited for them.
    #[must_use]
    pub fn gathered(&self) -> u8 {
        self.gathered
    }
}
