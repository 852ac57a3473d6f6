//! Compares two translations over a range of the body's steps, where they are alike before it.

use super::lockstep::{Lockstep, Pairs, is_left_open};
use super::{EarlyExit, Translation};
use crate::age::Age;
use crate::program::{Queue, Site};
use crate::program_info::ProgramInfo;
use crate::straight_line::Step;

/// A comparison of two translations that are alike up to some step of the body, one step at a time.
pub(crate) struct StepwiseComparison<'a> {
    run: Lockstep<'a>,
    /// The ages of all that is in flight.
    pairs: Pairs,
}

impl<'a> StepwiseComparison<'a> {
    /// Begins where what is in flight has the same `ages` in both; `age_limit` is older than any count.
    pub fn new(
        program_info: &'a ProgramInfo,
        queue: Queue,
        (a, b): (Translation<'a>, Translation<'a>),
        age_limit: Age,
        ages: &[Age],
    ) -> Self {
        let mut run = Lockstep::new(program_info, queue, false, a, b);
        run.early_exit = EarlyExit::OnMore;
        run.age_limit = [age_limit; 2];
        Self {
            run,
            pairs: ages.iter().map(|&age| ((age, age), Site(0))).collect(),
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

    /// The ages in the first translation.
    pub fn ages(&self) -> impl Iterator<Item = Age> {
        self.pairs.iter().map(|((age, _), _)| *age)
    }

    /// Returns true if what is in flight has these ages in both.
    pub fn is_at(&self, ages: &[Age]) -> bool {
        let pairs = self.pairs.iter().map(|(pair, _)| *pair);
        pairs.eq(ages.iter().map(|&age| (age, age)))
    }

    /// Returns true if something was forced less.
    pub fn forces_less(&self) -> bool {
        self.run.less
    }

    /// Returns true if something is committed in the first translation and not in the second.
    pub fn leaves_open(&self) -> bool {
        self.pairs.iter().any(|(pair, _)| is_left_open(*pair))
    }
}
