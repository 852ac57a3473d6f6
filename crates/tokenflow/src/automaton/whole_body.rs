//! Runs the automata over the whole body: solves for commits, and compares translations.

use super::{Automaton, Body};
use crate::compare::{Comparison, Translation, age_limit};
use crate::counts::{QueueSolution, wait_of};
use crate::eval::WaitCount;
use crate::program::{Await, Commits};
use std::rc::Rc;

/// Of so many translations the actions are known.
const RECENT: usize = 4;

/// A translation that was met not long ago.
pub(super) struct Recent {
    commits: Commits,
    n: Vec<WaitCount>,
    /// For each step.
    actions: Rc<[u32]>,
}

impl Automaton {
    /// Solves for `commits`; `None` if that has to be done without the automaton.
    pub fn solve(&mut self, body: Body, commits: &Commits) -> Option<QueueSolution> {
        let awaits = body.program.awaits as usize;
        let mut solution = QueueSolution {
            commits: commits.clone(),
            waits: Vec::with_capacity(awaits),
            reads: vec![None; awaits],
            uncovered: Vec::new(),
        };
        let mut n = Vec::with_capacity(awaits);
        let mut actions = Vec::with_capacity(body.line.len());
        let (mut eval, mut state) = (None, self.start());
        for step in 0..body.line.len() {
            let letter = self.letter(body, step, commits);
            let transition = self.read(body, &mut eval, (state, step, letter), commits)?;
            for outcome in self.awaits(body, step, &transition) {
                if outcome.open {
                    let w = u32::try_from(n.len()).ok()?;
                    solution.uncovered.push(Await(w));
                }
                n.push(outcome.n);
                solution.waits.push(wait_of(outcome.n, outcome.age));
            }
            actions.push(transition.action);
            state = transition.to;
        }
        self.met(commits, n, actions.into());
        Some(solution)
    }

    /// Compares translation `b` with translation `a`; `None` if that has to be done without the automaton.
    pub fn compare(&mut self, body: Body, a: Translation, b: Translation) -> Option<Comparison> {
        let pairs = self.for_comparisons([a, b].map(|translation| age_limit(translation.n, None)));
        let (actions_a, actions_b) = (self.actions(body, a), self.actions(body, b));
        let pairs = &mut self.pairs[pairs];
        let mut comparison = Comparison::default();
        let mut state = pairs.start();
        for (step, actions) in actions_a
            .iter()
            .copied()
            .zip(actions_b.iter().copied())
            .enumerate()
        {
            let transition = pairs.read(body, (state, step), actions, (a, b))?;
            comparison.less |= transition.less;
            for (w, site) in pairs.forced_more(body, step, &transition) {
                comparison.more.entry(w).or_default().push(site);
            }
            state = transition.to?;
        }
        comparison.left_open = pairs.leaves_open(state);
        Some(comparison)
    }

    /// The action of each step.
    pub fn actions(&mut self, body: Body, translation: Translation) -> Rc<[u32]> {
        let mut recent = self.recent.iter();
        let known =
            recent.position(|known| known.n == translation.n && known.commits == *translation.commits);
        if let Some(known) = known.and_then(|i| self.recent.remove(i)) {
            let actions = Rc::clone(&known.actions);
            self.recent.push_back(known);
            return actions;
        }
        let actions = (0..body.line.len()).map(|step| {
            let letter = self.letter(body, step, translation.commits);
            self.action(body, step, letter, translation.n)
        });
        let actions: Rc<[u32]> = actions.collect();
        self.met(translation.commits, translation.n.to_vec(), Rc::clone(&actions));
        actions
    }

    /// Remembers the actions of a translation.
    fn met(&mut self, commits: &Commits, n: Vec<WaitCount>, actions: Rc<[u32]>) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        let commits = commits.clone();
        self.recent.push_back(Recent { commits, n, actions });
    }
}
