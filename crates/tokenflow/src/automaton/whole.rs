//! Solves and compares for the whole body.

use super::{Automaton, Body};
use crate::compare::{Comparison, Translation, age_limit};
use crate::counts::{QueueSolution, wait_of};
use crate::program::{Await, Commits};

impl Automaton {
    /// Solves for `commits`; `None` if that has to be done without the automaton.
    pub fn solve(&mut self, body: Body, commits: &Commits) -> Option<QueueSolution> {
        let mut eval = None;
        let mut solution = QueueSolution {
            commits: commits.clone(),
            waits: Vec::with_capacity(body.program.awaits as usize),
            reads: vec![None; body.program.awaits as usize],
            uncovered: Vec::new(),
        };
        let mut state = self.start();
        for step in 0..body.line.len() {
            let letter = self.letter(body, step, commits);
            let transition = self.read(body, &mut eval, (state, step, letter), commits)?;
            for await_ in self.awaits(body, step, &transition) {
                if await_.open {
                    let w = u32::try_from(solution.waits.len()).ok()?;
                    solution.uncovered.push(Await(w));
                }
                solution.waits.push(wait_of(await_.n, await_.age));
            }
            state = transition.to;
        }
        Some(solution)
    }

    /// Compares translation `b` with translation `a`; `None` if `b` forces more, or that has to be done without the
    /// automaton.
    pub fn compare(&mut self, body: Body, a: Translation, b: Translation) -> Option<Comparison> {
        self.widen(age_limit(a.n, None).max(age_limit(b.n, None)));
        let mut comparison = Comparison::default();
        let mut state = self.start_comparison();
        for step in 0..body.line.len() {
            let actions = [a, b].map(|translation| {
                let letter = self.letter(body, step, translation.commits);
                self.action(body, step, letter, translation.n)
            });
            let transition = self.read_both(body, (state, step), actions.into(), (a, b))?;
            comparison.less |= transition.less;
            state = transition.to?;
        }
        comparison.left_open = self.leaves_open(state);
        Some(comparison)
    }
}
