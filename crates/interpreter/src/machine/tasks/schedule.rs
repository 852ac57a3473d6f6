//! Which task runs: as late as it can, only when somebody waits for it; as early as it can; or as the adversary chooses
//! before each access of memory.

use super::{Machine, State, Stop, Tasks};
use crate::adversary::Adversary;
use crate::machine::program::SLICE;

/// Instructions of a task between two looks at how many accesses are remembered.
const TIDY_EVERY: u64 = 1 << 12;

impl Machine<'_> {
    /// The task that runs next, after `last`; `None` if none can.
    pub(super) fn next_task(&mut self, last: usize) -> Option<usize> {
        if std::mem::take(&mut self.is_other_turn) && self.tasks.ready.len() > 1 {
            // A kernel may wait for one that runs at the same time.
            let mut ready = self.tasks.ready.range(last + 1..).chain(&self.tasks.ready);
            return ready.next().copied();
        }
        match self.memory.adversary() {
            Adversary::Late => self.wanted_task(),
            Adversary::Early => self.tasks.ready.last().copied(),
            Adversary::Random(_) | Adversary::Exhaustive { .. } => self.chosen_task(last),
        }
    }

    /// Runs a task until it waits or ends, or another one is to run.
    pub(super) fn run_task(&mut self, task: usize, each: &mut dyn FnMut(u64)) -> Result<(), Stop> {
        let began = self.steps;
        while self.threads[task].state == State::Running {
            self.step(task)?;
            // The host may wait for what a kernel writes.
            self.is_other_turn |= self.code.is_program && self.steps - began >= SLICE;
            if self.steps.is_multiple_of(TIDY_EVERY) {
                self.memory.tidy();
                each(self.steps);
            }
            let is_interrupted = self.is_other_turn || self.is_interrupted(task);
            if self.threads[task].state == State::Running && is_interrupted {
                return Ok(());
            }
        }
        // The function itself has no instruction that ends its task.
        if task == 0 && self.threads[task].state == State::Done {
            self.end_task(0, Vec::new(), Vec::new());
        }
        Ok(())
    }

    fn is_interrupted(&self, task: usize) -> bool {
        let ready = &self.tasks.ready;
        match self.memory.adversary() {
            Adversary::Late => false,
            Adversary::Early => ready.last().is_some_and(|last| *last > task),
            Adversary::Random(_) | Adversary::Exhaustive { .. } => {
                ready.len() > 1 && self.code.instrs[self.threads[task].pc].op.is_access()
            }
        }
    }

    fn chosen_task(&mut self, last: usize) -> Option<usize> {
        let mut choices: Vec<usize> = self.tasks.ready.iter().copied().collect();
        if choices.len() > 1 && choices.contains(&last) {
            if self.memory.may_already() {
                return Some(last);
            }
            choices.retain(|task| *task != last);
        }
        while choices.len() > 1 {
            let half = choices.split_off(choices.len() / 2);
            if self.memory.may_already() {
                choices = half;
            }
        }
        choices.first().copied()
    }

    /// The task that somebody waits for: the function, as long as it can run.
    fn wanted_task(&mut self) -> Option<usize> {
        loop {
            let Some(&task) = self.tasks.wanted.last() else {
                let open = self.tasks.next_open()?;
                self.tasks.wanted.push(open);
                continue;
            };
            if self.tasks.is_complete(task) {
                self.tasks.wanted.pop();
            } else if self.tasks.ready.contains(&task) {
                return Some(task);
            } else {
                let this = &self.tasks.all[task];
                let has_ended = this.values.is_some();
                let waits_for = if has_ended { &this.tokens } else { &this.waits_for };
                let open = self.tasks.open(waits_for).next()?;
                self.tasks.wanted.push(open);
            }
        }
    }
}

impl Tasks {
    /// The first task that is not complete.
    fn next_open(&mut self) -> Option<usize> {
        while self.first_open < self.all.len() && self.is_complete(self.first_open) {
            self.first_open += 1;
        }
        (self.first_open < self.all.len()).then_some(self.first_open)
    }
}
