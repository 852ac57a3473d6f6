//! Compares two translations over a range of the body's steps.

use super::lockstep::{Lockstep, Pair, Pairs};
use super::{EarlyExit, Translation};
use crate::age::Age;
use crate::program::{Queue, Site};
use crate::program_info::ProgramInfo;
use crate::straight_line::Step;

/// A comparison of two translations from some step of the body on, one step at a time.
pub(crate) struct StepwiseComparison<'a> {
    run: Lockstep<'a>,
    /// The ages of all that is in flight.
    pairs: Pairs,
}

impl<'a> StepwiseComparison<'a> {
    /// Begins where what is in flight has these pairs of ages; `age_limit` is older than any count.
    pub fn new(
        index: &'a ProgramInfo,
        queue: Queue,
        both: (Translation<'a>, Translation<'a>),
        age_limit: Age,
        pairs: &[Pair],
    ) -> Self {
        let mut run = Lockstep::up_to(index, queue, false, both, [age_limit; 2]);
        run.early_exit = EarlyExit::OnMore;
        Self {
            run,
            pairs: pairs.iter().map(|&pair| (pair, Site(0))).collect(),
        }
    }

    /// Runs a step of the body; returns false if something is forced more.
    pub fn run_step(&mut self, step: &Step) -> bool {
        match step {
            Step::Start(slot) => {
                self.run.commits_at(*slot, &mut self.pairs);
                true
            }
            Step::Item(item, info) => self.run.item(item, &mut info.iter(), &mut self.pairs, true),
        }
    }

    /// The pairs of ages of what is in flight.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        self.pairs.iter().map(|(pair, _)| *pair)
    }

    /// Returns true if something was forced less.
    pub fn forces_less(&self) -> bool {
        self.run.less
    }
}
