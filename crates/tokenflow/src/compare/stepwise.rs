//! Compares two translations over a range of the body's steps.

use super::lockstep::{Lockstep, Pair, Pairs};
use super::{EarlyExit, Translation};
use crate::age::Age;
use crate::program::{Await, Queue, Site};
use crate::program_info::ProgramInfo;
use crate::straight_line::Step;

/// A comparison of two translations from some step of the body on, one step at a time.
pub(crate) struct StepwiseComparison<'a> {
    run: Lockstep<'a>,
    /// The ages of all that is in flight.
    pairs: Pairs,
}

impl<'a> StepwiseComparison<'a> {
    /// Begins where what is in flight has these pairs of ages; the age limits are older than any count of either.
    pub fn new(
        program_info: &'a ProgramInfo,
        queue: Queue,
        both: (Translation<'a>, Translation<'a>),
        age_limits: [Age; 2],
        pairs: impl Iterator<Item = (Pair, Site)>,
    ) -> Self {
        Self {
            run: Lockstep::up_to(program_info, queue, false, both, age_limits),
            pairs: pairs.collect(),
        }
    }

    /// Ends as soon as something is forced more.
    pub fn until_more(mut self) -> Self {
        self.run.early_exit = EarlyExit::OnMore;
        self
    }

    /// Runs a step of the body; returns false if the comparison ends there.
    pub fn run_step(&mut self, step: &Step) -> bool {
        match step {
            Step::Start(slot) => {
                self.run.commits_at(*slot, &mut self.pairs);
                true
            }
            Step::Item(item, info) => self.run.item(item, &mut info.iter(), &mut self.pairs, true),
        }
    }

    /// The pairs of ages of what is in flight, each with some operation that has it.
    pub fn pairs(&self) -> &[(Pair, Site)] {
        &self.pairs
    }

    /// Returns true if something was forced less.
    pub fn forces_less(&self) -> bool {
        self.run.less
    }

    /// What was forced more: at an await, an operation of each age, the oldest first.
    pub fn forced_more(&self) -> impl Iterator<Item = (Await, Site)> {
        let awaits = self.run.more.iter();
        awaits.flat_map(|(&w, sites)| sites.values().rev().map(move |&site| (w, site)))
    }
}
