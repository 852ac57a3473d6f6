//! Step 3: finds which values stay in registers from round to round: loop-carried values of the kernel, one
//! for each lag.
//!
//! What a statement of stage `s` defines in a round is needed by later stages in later rounds, and what the loop carries was
//! yielded an iteration earlier. In the kernel, such a value is a loop-carried value for every lag at which somebody reads it:
//! the pair (v, l) stands for `v` of iteration `t - l` at the start of round `t`.

use super::{Problem, StatementId};
use crate::ids::{IndexVec, ids};

ids! {
    /// A value that is defined in the loop.
    ValueId;
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// A statement defines it.
    Statement(StatementId),
    /// The loop carries it: an initial value in iteration 0, and later what this other value, which a statement defines, was an
    /// iteration earlier.
    Carried(ValueId),
}

/// Where a value is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// It has been there since the start of the round, with this lag.
    Start(ValueId, u32),
    /// A statement defines it in the round.
    Defined(ValueId),
}

/// The values of a loop.
#[derive(Clone, Debug)]
pub struct Values<'p> {
    problem: &'p Problem,
    definitions: IndexVec<ValueId, Definition>,
}

impl<'p> Values<'p> {
    /// The values of a loop. A carried value must be fed by one that a statement defines.
    #[must_use]
    pub fn new(problem: &'p Problem, definitions: IndexVec<ValueId, Definition>) -> Self {
        Self { problem, definitions }
    }

    /// The statement that decides when a value is there.
    #[must_use]
    pub fn defined_by(&self, value: ValueId) -> StatementId {
        match self.definitions[value] {
            Definition::Statement(by) => by,
            Definition::Carried(from) => match self.definitions[from] {
                Definition::Statement(by) => by,
                Definition::Carried(_) => {
                    unreachable!("what feeds a carried value is defined by a statement")
                }
            },
        }
    }

    /// The least lag at which a value is there when a round starts.
    #[must_use]
    pub fn available(&self, value: ValueId) -> u32 {
        let stage = self.problem.statements[self.defined_by(value)].stage;
        match self.definitions[value] {
            Definition::Statement(_) => stage + 1,
            Definition::Carried(_) => stage,
        }
    }

    /// Where a statement that is executed at `order` of a round finds a value of this lag; `None` if it is not defined by then. A
    /// statement finds what it has defined itself.
    #[must_use]
    pub fn read(&self, value: ValueId, lag: u32, order: u32) -> Option<Source> {
        let available = self.available(value);
        if lag >= available {
            return Some(Source::Start(value, lag));
        }
        let by = self.problem.statements[self.defined_by(value)];
        let from = match self.definitions[value] {
            Definition::Statement(_) => value,
            Definition::Carried(from) => from,
        };
        (lag + 1 == available && by.order <= order).then_some(Source::Defined(from))
    }

    /// What a value of this lag, which is there at the start of each round, becomes at the end of one.
    #[must_use]
    pub fn next(&self, value: ValueId, lag: u32) -> Source {
        if lag > self.available(value) {
            return Source::Start(value, lag - 1);
        }
        Source::Defined(match self.definitions[value] {
            Definition::Statement(_) => value,
            Definition::Carried(from) => from,
        })
    }

    /// The pairs of a value and a lag that have to be carried from round to round so that each of `read` is there at the start of
    /// every round; by value, then lag.
    #[must_use]
    pub fn rotation(&self, read: impl IntoIterator<Item = (ValueId, u32)>) -> Vec<(ValueId, u32)> {
        let mut longest: IndexVec<ValueId, Option<u32>> = IndexVec::filled(None, self.definitions.len());
        for (value, lag) in read {
            longest[value] = longest[value].max(Some(lag));
        }
        let values = (0..longest.len()).map(ValueId);
        values
            .filter_map(|value| Some((value, longest[value]?)))
            .flat_map(|(value, longest)| (self.available(value)..=longest).map(move |lag| (value, lag)))
            .collect()
    }
}
