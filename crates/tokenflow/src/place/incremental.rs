//! Incremental solving: commits that differ from known ones in few places are solved and compared around these places
//! alone.
//!
//! Where both automata of [`crate::automaton`] are in the states that they have with the known commits, all is as it was up to
//! the next step whose commits differ. A trial ends at the first await that forces more.

use super::legality::Legality;
use super::{Options, QueuePlacer};
use crate::automaton::{Automaton, AwaitOutcome, Body, State};
use crate::compare::Translation;
use crate::counts::{QueueSolution, counts, wait_of};
use crate::eval::{Evaluator, N};
use crate::program::{Await, Commits};
use crate::straight_line::StraightLine;

/// Solves for commits near known ones, and compares the solutions with the known one.
pub(super) struct Incremental<'a> {
    placer: &'a QueuePlacer<'a>,
    body: Body<'a>,
    known: QueueSolution,
    legality: Option<Legality<'a>>,
    /// Made when first used.
    run: Option<KnownRun>,
    eval: Option<Evaluator<'a>>,
}

/// A run of both automata with the known commits, the comparison being with themselves.
struct KnownRun {
    /// The counts.
    n: Vec<N>,
    /// For each step, its letter and action.
    letters: Vec<u32>,
    actions: Vec<u32>,
    /// The states before each step, and at the end.
    states: Vec<State>,
    pairs: Vec<State>,
    /// The place of the automaton for comparisons.
    for_trials: usize,
    /// The counts of a trial, at the awaits of the steps that it ran.
    trial: Vec<N>,
}

/// The solution for changed commits.
pub(super) struct Changed {
    pub solution: QueueSolution,
    /// True if some await forces less.
    pub less: bool,
    /// True if something is left open that was not.
    pub left_open: bool,
}

/// What is known of a change.
pub(super) enum TrialResult {
    /// Something is forced more, or not committed when it is awaited.
    More,
    NoMore(Changed),
    /// It can't be told from the steps around it.
    Unknown,
}

impl QueuePlacer<'_> {
    /// Returns what commits near those of `known` are tried with, if its body allows that.
    pub(super) fn incremental(&self, known: &QueueSolution) -> Option<Incremental<'_>> {
        Some(Incremental {
            placer: self,
            body: self.body().filter(|_| self.trials > 0)?,
            known: known.clone(),
            legality: None,
            run: None,
            eval: None,
        })
    }
}

impl<'a> Incremental<'a> {
    /// The steps of the body.
    pub fn line(&self) -> &'a StraightLine {
        self.body.line
    }

    /// Does what [`QueuePlacer::is_legal`] does. The options are the same each time, and `padding` is, where `commits` are the
    /// known ones, `of_known`.
    pub fn is_legal(
        &mut self,
        (commits, padding): (&Commits, &Commits),
        of_known: &Commits,
        options: &Options,
    ) -> bool {
        let legality = self.legality.get_or_insert_with(|| {
            let known = (&self.known.commits, of_known);
            Legality::new(self.placer, self.body, known, options)
        });
        legality.is_legal(commits, padding)
    }

    /// Solves for `commits` and compares with the known solution.
    pub fn try_commits(&mut self, commits: &Commits) -> TrialResult {
        let result = self.around_changes(commits).unwrap_or(TrialResult::Unknown);
        if cfg!(debug_assertions) {
            self.verify(commits, &result);
        }
        result
    }

    /// Panics if the whole program says otherwise.
    fn verify(&self, commits: &Commits, result: &TrialResult) {
        let whole = self.placer.solve(commits.clone());
        let comparison = self.placer.compare(&self.known, &whole);
        let opens = whole.uncovered.iter().any(|w| !self.known.uncovered.contains(w));
        match result {
            TrialResult::Unknown => {}
            TrialResult::More => assert!(opens || !comparison.forces_no_more(), "something is forced more"),
            TrialResult::NoMore(changed) => {
                assert_eq!(changed.solution, whole, "the solution of the whole program");
                assert!(!opens && comparison.forces_no_more(), "nothing is forced more");
                assert_eq!(
                    (changed.less, changed.left_open),
                    (comparison.less, comparison.left_open)
                );
            }
        }
    }

    /// Runs the automata where they are not in the known states; `None` if they can't tell.
    fn around_changes(&mut self, commits: &Commits) -> Option<TrialResult> {
        let (body, known) = (self.body, &self.known);
        let mut automaton = self.placer.automaton(body);
        if self.run.is_none() {
            self.run = Some(KnownRun::new(&mut automaton, body, &mut self.eval, known)?);
        }
        let run = self.run.as_mut()?;
        let mut changes = body.line.changed(&known.commits, commits).into_iter().peekable();
        let mut at = *changes.peek()?;
        let (mut state, mut pairs) = (run.states[at], run.pairs[at]);
        let (mut awaits, mut less) = (Vec::new(), false);
        loop {
            if (state, pairs) == (run.states[at], run.pairs[at]) {
                let Some(&next) = changes.peek() else { break };
                (at, state, pairs) = (next, run.states[next], run.pairs[next]);
            }
            if at == body.line.len() {
                break;
            }
            let letter = match changes.next_if_eq(&at) {
                Some(_) => automaton.letter(body, at, commits),
                None => run.letters[at],
            };
            let read = automaton.read(body, &mut self.eval, (state, at, letter), commits)?;
            for (w, &outcome) in body
                .line
                .awaits(at..at + 1)
                .zip(automaton.awaits(body, at, &read))
            {
                if outcome.open && !known.uncovered.iter().any(|open| open.0 as usize == w) {
                    return Some(TrialResult::More);
                }
                if !automaton.pairs[run.for_trials].knows(outcome.n) {
                    return None;
                }
                run.trial[w] = outcome.n;
                awaits.push((w, outcome));
            }
            let both = (
                Translation::new(&known.commits, &run.n),
                Translation::new(commits, &run.trial),
            );
            let read_both = automaton.pairs[run.for_trials].read(
                body,
                (pairs, at),
                (run.actions[at], read.action),
                both,
            )?;
            let Some(next) = read_both.to else {
                return Some(TrialResult::More);
            };
            less |= read_both.less;
            (at, state, pairs) = (at + 1, read.to, next);
        }
        Some(TrialResult::NoMore(Changed {
            solution: changed_solution(known, commits, &awaits),
            less,
            left_open: automaton.pairs[run.for_trials].leaves_open(pairs),
        }))
    }
}

/// The known solution with other commits, and what became of some awaits.
fn changed_solution(
    known: &QueueSolution,
    commits: &Commits,
    awaits: &[(usize, AwaitOutcome)],
) -> QueueSolution {
    let mut solution = known.clone();
    solution.commits.clone_from(commits);
    for &(w, outcome) in awaits {
        solution.waits[w] = wait_of(outcome.n, outcome.age);
    }
    let is_open = |w: Await| match awaits.binary_search_by_key(&(w.0 as usize), |(w, _)| *w) {
        Ok(i) => awaits[i].1.open,
        Err(_) => true,
    };
    // None is open that was not.
    solution.uncovered.retain(|&w| is_open(w));
    solution
}

impl KnownRun {
    fn new<'a>(
        automaton: &mut Automaton,
        body: Body<'a>,
        eval: &mut Option<Evaluator<'a>>,
        known: &QueueSolution,
    ) -> Option<Self> {
        let n = counts(&known.waits);
        let for_trials = automaton.for_trials(&n);
        let translation = Translation::new(&known.commits, &n);
        let (mut letters, mut actions) = (Vec::new(), Vec::new());
        let (mut states, mut pairs) = (vec![automaton.start()], vec![automaton.pairs[for_trials].start()]);
        for step in 0..body.line.len() {
            let letter = automaton.letter(body, step, &known.commits);
            let read = automaton.read(body, eval, (states[step], step, letter), &known.commits)?;
            let both = (translation, translation);
            let read_both = automaton.pairs[for_trials].read(
                body,
                (pairs[step], step),
                (read.action, read.action),
                both,
            )?;
            letters.push(letter);
            actions.push(read.action);
            states.push(read.to);
            pairs.push(read_both.to?);
        }
        Some(Self {
            trial: n.clone(),
            for_trials,
            n,
            letters,
            actions,
            states,
            pairs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brute_force::queues;
    use crate::oracle::generate::{Style, config, long};
    use proptest::prelude::*;
    use std::cell::Cell;

    /// Single changes, against the whole program solved and compared anew.
    #[test]
    fn changes_are_solved_as_the_whole_is() {
        let known = Cell::new(0);
        let mut runner = proptest::test_runner::TestRunner::new(config(60));
        let result = runner.run(&(long(Style::Tokens), any::<u64>()), |(recipe, seed)| {
            let program = recipe.program();
            for queue in queues(&program) {
                let placer = QueuePlacer::new(&program, queue, &Options::default());
                let base = placer.solve(program.one_group_each(queue));
                let Some(mut incremental) = placer.incremental(&base) else {
                    continue;
                };
                for i in 0..10 {
                    let mut commits = base.commits.clone();
                    let slot = seed.rotate_left(5 * i) % u64::from(program.slots);
                    let n = &mut commits[usize::try_from(slot).expect("a slot")];
                    *n = 1 - *n;
                    let result = incremental
                        .around_changes(&commits)
                        .unwrap_or(TrialResult::Unknown);
                    incremental.verify(&commits, &result);
                    known.set(known.get() + u32::from(!matches!(result, TrialResult::Unknown)));
                }
            }
            Ok(())
        });
        assert!(result.is_ok(), "{result:?}");
        assert!(
            known.get() > 0,
            "some changes can be told from the steps around them"
        );
    }
}
