//! Incremental solving: commits that differ from known ones in few places are solved and compared around these places
//! alone.
//!
//! All that a step of the body hands on is the age of each token that is used later, for the counts; and the ages of what
//! is in flight, for the comparison. Where both are as with the known commits, and no commit differs from there on, all
//! else is as it was.

use super::open_groups::Legality;
use super::{Options, QueuePlacer};
use crate::age::Age;
use crate::compare::{StepwiseComparison, Translation, age_limit};
use crate::counts::{QueueSolution, counts, wait_of};
use crate::eval::{CompletionKind, Evaluator, N, NO_WAIT};
use crate::program::{Await, Commits};
use crate::straight_line::StraightLine;
use std::cell::OnceCell;
use std::ops::{Range, RangeInclusive};

/// With fewer steps than this, nearly all of them are around any change.
const STEPS: usize = 24;

/// Nor are fewer trials than this worth the states of all steps.
const TRIALS: usize = 8;

/// Ages are told apart up to so many commits beyond the largest count: others may need more than the known ones.
const BEYOND: usize = 8;

/// Solves for commits near known ones, and compares the solutions with the known one.
pub(super) struct Incremental<'a> {
    placer: &'a QueuePlacer<'a>,
    line: &'a StraightLine,
    known: QueueSolution,
    /// Its counts.
    n: Vec<N>,
    legality: Option<Legality<'a>>,
    /// Made when first used.
    states: OnceCell<Option<States<'a>>>,
}

/// The states of the known solution at each step.
struct States<'a> {
    eval: Evaluator<'a>,
    /// The ages of [`StraightLine::live_in`].
    live_in: Vec<Age>,
    /// The ages of what is in flight before each step, one step after the other.
    in_flight: Vec<Age>,
    /// For each step and the end, where its own begin.
    first: Vec<usize>,
    /// An age that no count is as large as.
    age_limit: Age,
    /// The counts of a trial.
    n: Vec<N>,
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

impl<'p> QueuePlacer<'p> {
    /// Returns what commits near those of `known` are tried with, if its body allows that.
    pub(super) fn incremental(&self, known: &QueueSolution) -> Option<Incremental<'_>> {
        let line = self.straight_line.get_or_init(|| {
            let plain = self.drop_implied
                && !self.commits_all()
                && !self.program_info.covered
                && self.trials >= TRIALS;
            plain
                .then(|| StraightLine::new(self.program, &self.program_info, self.queue))
                .flatten()
        });
        let line = line.as_ref().filter(|line| line.len() >= STEPS)?;
        Some(Incremental {
            placer: self,
            line,
            known: known.clone(),
            n: counts(&known.waits),
            legality: None,
            states: OnceCell::new(),
        })
    }
}

impl<'a> Incremental<'a> {
    /// The steps of the body.
    pub fn line(&self) -> &'a StraightLine {
        self.line
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
            Legality::new(self.placer, self.line, (&self.known.commits, of_known), options)
        });
        legality.is_legal(commits, padding)
    }

    /// Solves for `commits` and compares with the known solution.
    pub fn try_commits(&mut self, commits: &Commits) -> TrialResult {
        let result = self.around_changes(commits);
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

    fn around_changes(&mut self, commits: &Commits) -> TrialResult {
        let Some((first, last)) = self.line.changed(&self.known.commits, commits) else {
            return TrialResult::Unknown;
        };
        let (placer, line) = (self.placer, self.line);
        let known = Known {
            solution: &self.known,
            n: &self.n,
        };
        self.states.get_or_init(|| States::new(placer, line, known));
        let Some(Some(states)) = self.states.get_mut() else {
            return TrialResult::Unknown;
        };
        let Some(solved) = states.solve(placer, line, commits, first..=last) else {
            return TrialResult::Unknown;
        };
        if solved
            .uncovered
            .iter()
            .any(|w| !known.solution.uncovered.contains(w))
        {
            return TrialResult::More;
        }
        let trial = Trial {
            commits,
            solved: &solved,
            last_change: last,
        };
        states.compare(placer, line, known, trial)
    }
}

/// The known solution.
#[derive(Clone, Copy)]
struct Known<'a> {
    solution: &'a QueueSolution,
    /// Its counts.
    n: &'a [N],
}

/// What is tried.
#[derive(Clone, Copy)]
struct Trial<'a> {
    commits: &'a Commits,
    solved: &'a Solved,
    /// The last step whose commits are changed.
    last_change: usize,
}

/// A solution from some step to another.
struct Solved {
    steps: Range<usize>,
    /// The awaits in them that are reached with an open group.
    uncovered: Vec<Await>,
}

impl<'a> States<'a> {
    fn new(placer: &'a QueuePlacer<'a>, line: &StraightLine, known: Known) -> Option<Self> {
        let Known { solution, n } = known;
        let mut age_limit = age_limit(n, None);
        for _ in 0..BEYOND {
            age_limit = age_limit.commit();
        }
        let mut eval = Evaluator::new(
            placer.program,
            &placer.program_info,
            placer.queue,
            &solution.commits,
            CompletionKind::Done,
        );
        eval.begin(std::iter::empty());
        let translation = Translation::new(&solution.commits, n);
        let both = (translation, translation);
        let mut comparison =
            StepwiseComparison::new(&placer.program_info, placer.queue, both, age_limit, &[]);
        let (mut live_in, mut first, mut in_flight) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..line.len() {
            let step = line.step(placer.program, &placer.program_info, i);
            live_in.extend(line.live_in(i).iter().map(|&token| eval.age(token)));
            first.push(in_flight.len());
            in_flight.extend(comparison.ages());
            if !eval.run_step(&step) || !comparison.run_step(&step) {
                return None;
            }
        }
        first.push(in_flight.len());
        debug_assert_eq!(eval.n, n, "the known solution");
        Some(Self {
            n: n.to_vec(),
            eval,
            live_in,
            in_flight,
            first,
            age_limit,
        })
    }

    /// Solves for `commits`, which are the known ones but for those of the steps `changed`; `None` if control does not reach
    /// the end.
    fn solve(
        &mut self,
        placer: &'a QueuePlacer<'a>,
        line: &StraightLine,
        commits: &Commits,
        changed: RangeInclusive<usize>,
    ) -> Option<Solved> {
        let (first, last) = changed.into_inner();
        let eval = &mut self.eval;
        eval.commits.clone_from(commits);
        eval.uncovered.clear();
        let ages = self.live_in[line.live_in_range(first)].iter().copied();
        eval.begin(line.live_in(first).iter().copied().zip(ages));
        let mut at = first;
        while at < line.len() {
            let known = self.live_in[line.live_in_range(at)].iter();
            if at > last
                && line
                    .live_in(at)
                    .iter()
                    .zip(known)
                    .all(|(&token, &age)| eval.age(token) == age)
            {
                break;
            }
            for w in line.awaits(at..at + 1) {
                eval.n[w] = NO_WAIT;
                eval.measured[w] = Age::DONE;
            }
            if !eval.run_step(&line.step(placer.program, &placer.program_info, at)) {
                return None;
            }
            at += 1;
        }
        let open = eval.uncovered.iter().map(|&w| Await(w));
        Some(Solved {
            steps: first..at,
            uncovered: open.collect(),
        })
    }

    /// Compares what was solved with the known solution.
    fn compare(
        &mut self,
        placer: &QueuePlacer,
        line: &StraightLine,
        known: Known,
        trial: Trial,
    ) -> TrialResult {
        let awaits = line.awaits(trial.solved.steps.clone());
        self.n[awaits.clone()].copy_from_slice(&self.eval.n[awaits.clone()]);
        let result = self.compare_counts(placer, line, known, trial);
        self.n[awaits.clone()].copy_from_slice(&known.n[awaits]);
        result
    }

    fn compare_counts(
        &self,
        placer: &QueuePlacer,
        line: &StraightLine,
        known: Known,
        trial: Trial,
    ) -> TrialResult {
        let awaits = line.awaits(trial.solved.steps.clone());
        if age_limit(&self.n[awaits], None) > self.age_limit {
            return TrialResult::Unknown;
        }
        let both = (
            Translation::new(&known.solution.commits, known.n),
            Translation::new(trial.commits, &self.n),
        );
        let in_flight = |step: usize| &self.in_flight[self.first[step]..self.first[step + 1]];
        let Trial {
            solved, last_change, ..
        } = trial;
        let mut at = solved.steps.start;
        let mut comparison = StepwiseComparison::new(
            &placer.program_info,
            placer.queue,
            both,
            self.age_limit,
            in_flight(at),
        );
        while at < line.len()
            && (at <= last_change || at < solved.steps.end || !comparison.is_at(in_flight(at)))
        {
            if !comparison.run_step(&line.step(placer.program, &placer.program_info, at)) {
                return TrialResult::More;
            }
            at += 1;
        }
        TrialResult::NoMore(Changed {
            less: comparison.forces_less(),
            left_open: at == line.len() && comparison.leaves_open(),
            solution: self.solution(line, known, trial),
        })
    }

    /// The known solution, changed to what was solved.
    fn solution(&self, line: &StraightLine, known: Known, trial: Trial) -> QueueSolution {
        let awaits = line.awaits(trial.solved.steps.clone());
        let mut solution = known.solution.clone();
        solution.commits.clone_from(trial.commits);
        let new = self.eval.n[awaits.clone()]
            .iter()
            .zip(&self.eval.measured[awaits.clone()]);
        for (wait, (&n, &age)) in solution.waits[awaits.clone()].iter_mut().zip(new) {
            *wait = wait_of(n, age);
        }
        solution.uncovered.retain(|w| !awaits.contains(&(w.0 as usize)));
        solution.uncovered.extend(&trial.solved.uncovered);
        solution.uncovered.sort_unstable();
        solution
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
                    let result = incremental.around_changes(&commits);
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
