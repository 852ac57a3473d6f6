//! Incremental solving: commits that differ from known ones in few places are solved and compared around
//! these places alone.
//!
//! Where both automata of [`crate::automaton`] are in the states that they have with the known commits, all is as it was up to
//! the next step whose commits differ. A trial ends at the first await that forces more.

use super::incremental_legality::Legality;
use super::{Options, QueuePlacer};
use crate::automaton::{Automaton, AwaitOutcome, Body, State};
use crate::compare::Translation;
use crate::counts::{QueueSolution, counts, wait_of};
use crate::eval::{Evaluator, WaitCount};
use crate::program::{Await, Commits};
use crate::straight_line::{StraightLine, differences};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// A slot, and how many commits it has in place of the known number.
pub(super) type Change = (usize, u32);

/// Solves for commits near known ones, and compares the solutions with the known one.
pub(super) struct IncrementalSolver<'a> {
    placer: &'a QueuePlacer<'a>,
    body: Body<'a>,
    known: QueueSolution,
    /// The known commits, and while a trial runs its changes.
    commits: Commits,
    /// The steps with changes.
    steps: Vec<usize>,
    legality: Option<Legality<'a>>,
    /// Made when first used.
    run: Option<Rc<RefCell<KnownRun>>>,
    eval: Option<Evaluator<'a>>,
}

/// A run of both automata with the known commits, the comparison being with themselves.
pub(super) struct KnownRun {
    commits: Commits,
    /// The counts.
    n: Vec<WaitCount>,
    /// For each step, its letter and action.
    letters: Vec<u32>,
    actions: Vec<u32>,
    /// The states before each step, and at the end.
    states: Vec<State>,
    pairs: Vec<State>,
    /// The place of the automaton for comparisons.
    for_trials: usize,
    /// The counts of a trial, at the awaits of the steps that it ran.
    trial: Vec<WaitCount>,
    /// For the states before a step and another letter there, the steps in which something was found to be forced more.
    rejected: FxHashMap<(State, State, u32), Range<usize>>,
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
    pub(super) fn incremental(&self, known: &QueueSolution) -> Option<IncrementalSolver<'_>> {
        Some(IncrementalSolver {
            placer: self,
            body: self.body().filter(|_| self.trials > 0)?,
            known: known.clone(),
            commits: known.commits.clone(),
            steps: Vec::new(),
            legality: None,
            run: None,
            eval: None,
        })
    }
}

impl<'a> IncrementalSolver<'a> {
    /// The steps of the body.
    pub fn line(&self) -> &'a StraightLine {
        self.body.line
    }

    /// Works out what may be open with the known commits, of which as many at each slot as `padding` says may be empty.
    pub fn prepare_legality(&mut self, padding: &Commits, options: &Options) {
        self.legality.get_or_insert_with(|| {
            let known = (&self.known.commits, padding);
            Legality::new(self.placer, self.body, known, options)
        });
    }

    /// Does what [`QueuePlacer::is_legal`] does for the known commits with some changes, in the order of their slots;
    /// `padding` is the one prepared for, but for the slots that change.
    pub fn is_legal(&mut self, changes: &[Change], padding: &Commits) -> bool {
        self.apply(changes);
        let legality = self.legality.as_mut();
        let is_legal =
            legality.is_some_and(|legality| legality.is_legal(&self.commits, padding, &self.steps));
        self.undo(changes);
        is_legal
    }

    /// Returns true if it is known already that a change forces more.
    pub fn is_rejected(&mut self, changes: &[Change]) -> bool {
        self.apply(changes);
        let rejected = match (&self.run, self.steps.as_slice()) {
            (Some(run), &[step]) => {
                let letter = self
                    .placer
                    .automaton(self.body)
                    .letter(self.body, step, &self.commits);
                run.borrow().is_rejected(step, letter, None)
            }
            _ => false,
        };
        self.undo(changes);
        rejected
    }

    /// The changes that make the known commits `commits`.
    pub fn changes_to(&self, commits: &Commits) -> Vec<Change> {
        let slots = differences(&self.known.commits, commits);
        slots.map(|slot| (slot, commits[slot])).collect()
    }

    /// Solves for the known commits with some changes, in the order of their slots, and compares with the known solution.
    pub fn try_changes(&mut self, changes: &[Change]) -> TrialResult {
        self.apply(changes);
        let result = self.around_changes().unwrap_or(TrialResult::Unknown);
        if cfg!(debug_assertions) {
            self.verify(&self.commits, &result);
        }
        self.undo(changes);
        result
    }

    fn apply(&mut self, changes: &[Change]) {
        self.steps.clear();
        for &(slot, n) in changes {
            self.commits[slot] = n;
            let step = self.body.line.step_of(slot);
            if self.steps.last() != Some(&step) {
                self.steps.push(step);
            }
        }
    }

    fn undo(&mut self, changes: &[Change]) {
        for &(slot, _) in changes {
            self.commits[slot] = self.known.commits[slot];
        }
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
    fn around_changes(&mut self) -> Option<TrialResult> {
        let (body, known, commits) = (self.body, &self.known, &self.commits);
        let mut automaton = self.placer.automaton(body);
        if self.run.is_none() {
            self.run = Some(KnownRun::of(
                self.placer,
                &mut automaton,
                body,
                &mut self.eval,
                known,
            )?);
        }
        let mut run = self.run.as_ref()?.borrow_mut();
        run.try_commits(
            &mut automaton,
            body,
            &mut self.eval,
            (known, commits, &self.steps),
        )
    }
}

impl KnownRun {
    /// Returns true if another letter at a step forces more by what is known, with no further change before `next`.
    fn is_rejected(&self, at: usize, letter: u32, next: Option<usize>) -> bool {
        let Some(steps) = self.rejected.get(&(self.states[at], self.pairs[at], letter)) else {
            return false;
        };
        let end = at + steps.len();
        next.is_none_or(|next| next >= end) && self.letters.get(at..end) == Some(&self.letters[steps.clone()])
    }

    /// Solves for `commits`, which differ from the known ones in some steps.
    fn try_commits<'a>(
        &mut self,
        automaton: &mut Automaton,
        body: Body<'a>,
        eval: &mut Option<Evaluator<'a>>,
        (known, commits, steps): (&QueueSolution, &Commits, &[usize]),
    ) -> Option<TrialResult> {
        let mut steps = steps.iter().copied().peekable();
        let mut at = *steps.peek()?;
        let (mut state, mut pairs) = (self.states[at], self.pairs[at]);
        let (mut awaits, mut less) = (Vec::new(), false);
        // The last place where the states were the known ones, and the letter there.
        let mut origin = None;
        loop {
            if (state, pairs) == (self.states[at], self.pairs[at]) {
                let Some(next) = steps.next() else { break };
                (at, state, pairs) = (next, self.states[next], self.pairs[next]);
                let letter = automaton.letter(body, at, commits);
                if self.is_rejected(at, letter, steps.peek().copied()) {
                    return Some(TrialResult::More);
                }
                origin = Some((at, letter));
            } else if at == body.line.len() {
                break;
            }
            let letter = match origin {
                Some((origin, letter)) if origin == at => letter,
                _ => match steps.next_if_eq(&at) {
                    Some(_) => {
                        origin = None;
                        automaton.letter(body, at, commits)
                    }
                    None => self.letters[at],
                },
            };
            let mut reject = || {
                if let Some((origin, letter)) = origin {
                    let key = (self.states[origin], self.pairs[origin], letter);
                    self.rejected.insert(key, origin..at + 1);
                }
                Some(TrialResult::More)
            };
            let read = automaton.read(body, eval, (state, at, letter), commits)?;
            for (w, &outcome) in body
                .line
                .awaits(at..at + 1)
                .zip(automaton.awaits(body, at, &read))
            {
                if outcome.open && !known.uncovered.iter().any(|open| open.0 as usize == w) {
                    return reject();
                }
                if !automaton.pairs[self.for_trials].knows(outcome.n) {
                    return None;
                }
                self.trial[w] = outcome.n;
                awaits.push((w, outcome));
            }
            let both = (
                Translation::new(&known.commits, &self.n),
                Translation::new(commits, &self.trial),
            );
            let read_both = automaton.pairs[self.for_trials].read(
                body,
                (pairs, at),
                (self.actions[at], read.action),
                both,
            )?;
            let Some(next) = read_both.to else {
                return reject();
            };
            less |= read_both.less;
            (at, state, pairs) = (at + 1, read.to, next);
        }
        Some(TrialResult::NoMore(Changed {
            solution: changed_solution(known, commits, &awaits),
            less,
            left_open: automaton.pairs[self.for_trials].leaves_open(pairs),
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
    /// Returns the run of a solution, which may be known from the last time.
    fn of<'a>(
        placer: &QueuePlacer,
        automaton: &mut Automaton,
        body: Body<'a>,
        eval: &mut Option<Evaluator<'a>>,
        known: &QueueSolution,
    ) -> Option<Rc<RefCell<Self>>> {
        let mut last = placer.known_run.borrow_mut();
        if let Some(run) = &*last
            && run.borrow().commits == known.commits
        {
            return Some(Rc::clone(run));
        }
        let run = Rc::new(RefCell::new(Self::new(automaton, body, eval, known)?));
        *last = Some(Rc::clone(&run));
        Some(run)
    }

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
            commits: known.commits.clone(),
            trial: n.clone(),
            rejected: FxHashMap::default(),
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
                    let slot = seed.rotate_left(5 * i) % u64::from(program.slots);
                    let slot = usize::try_from(slot).expect("a slot");
                    let changes = [(slot, 1 - base.commits[slot])];
                    incremental.apply(&changes);
                    let result = incremental.around_changes().unwrap_or(TrialResult::Unknown);
                    incremental.verify(&incremental.commits, &result);
                    incremental.undo(&changes);
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
