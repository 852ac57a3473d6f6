//! Commits that differ from known ones in few places: solved and compared around these places alone.
//!
//! All that a step of the body hands on is the age of each token that is used later, for the counts; and the ages of what
//! is in flight, for the comparison. Where both are as with the known commits, and no commit differs from there on, all
//! else is as it was.

use super::occupancy::Legality;
use super::{Options, Part};
use crate::age::Age;
use crate::compare::{Stretch, Translation, oldest};
use crate::eval::{Evaluator, N, NO_WAIT, View};
use crate::line::Line;
use crate::program::{Await, Commits};
use crate::solve::{QueueSolution, counts, wait_of};
use std::cell::OnceCell;
use std::ops::Range;

/// With fewer steps than this, nearly all of them are around any change.
const STEPS: usize = 24;

/// Nor are fewer trials than this worth the states of all steps.
const TRIALS: usize = 8;

/// Ages are told apart up to so many commits beyond the largest count: others may need more than the known ones.
const BEYOND: usize = 8;

/// Translations near a known one.
pub(super) struct Nearby<'a> {
    part: &'a Part<'a>,
    line: &'a Line,
    known: QueueSolution,
    /// Its counts.
    n: Vec<N>,
    legality: Option<Legality<'a>>,
    /// Made when first used.
    states: OnceCell<Option<States<'a>>>,
}

/// What the known solution comes to at each step.
struct States<'a> {
    eval: Evaluator<'a>,
    /// The ages of [`Line::alive`].
    alive: Vec<Age>,
    /// The ages of what is in flight before each step, one step after the other.
    in_flight: Vec<Age>,
    /// For each step and the end, where its own begin.
    first: Vec<usize>,
    /// An age that no count is as large as.
    oldest: Age,
    /// The counts of a trial.
    n: Vec<N>,
}

/// What a change of commits comes to.
pub(super) struct Changed {
    pub solution: QueueSolution,
    /// True if some await forces less.
    pub less: bool,
    /// True if something is left open that was not.
    pub left_open: bool,
}

/// What is known of a change.
pub(super) enum Trial {
    /// Something is forced more, or not committed when it is awaited.
    More,
    NoMore(Changed),
    /// It can't be told from the steps around it.
    Unknown,
}

impl<'p> Part<'p> {
    /// Returns what commits near those of `known` are tried with, if its body allows that.
    pub(super) fn nearby(&self, known: &QueueSolution) -> Option<Nearby<'_>> {
        let line = self.line.get_or_init(|| {
            let plain = self.drop_implied && !self.reads() && !self.index.covered && self.trials >= TRIALS;
            plain
                .then(|| Line::new(self.program, &self.index, self.queue))
                .flatten()
        });
        let line = line.as_ref().filter(|line| line.len() >= STEPS)?;
        Some(Nearby {
            part: self,
            line,
            known: known.clone(),
            n: counts(&known.waits),
            legality: None,
            states: OnceCell::new(),
        })
    }
}

impl<'a> Nearby<'a> {
    /// The steps of the body.
    pub fn line(&self) -> &'a Line {
        self.line
    }

    /// Does what [`Part::is_legal`] does. The options are the same each time, and `padding` is, where `commits` are the
    /// known ones, `of_known`.
    pub fn is_legal(
        &mut self,
        (commits, padding): (&Commits, &Commits),
        of_known: &Commits,
        options: &Options,
    ) -> bool {
        let legality = self.legality.get_or_insert_with(|| {
            Legality::new(self.part, self.line, (&self.known.commits, of_known), options)
        });
        legality.is_legal(commits, padding)
    }

    /// Solves for `commits` and compares with the known solution.
    pub fn try_commits(&mut self, commits: &Commits) -> Trial {
        let trial = self.around_changes(commits);
        if cfg!(debug_assertions) {
            self.verify(commits, &trial);
        }
        trial
    }

    /// Panics if the whole program says otherwise.
    fn verify(&self, commits: &Commits, trial: &Trial) {
        let whole = self.part.solve(commits.clone());
        let comparison = self.part.compare(&self.known, &whole);
        let opens = whole.open.iter().any(|w| !self.known.open.contains(w));
        match trial {
            Trial::Unknown => {}
            Trial::More => assert!(opens || !comparison.forces_no_more(), "something is forced more"),
            Trial::NoMore(changed) => {
                assert_eq!(changed.solution, whole, "the solution of the whole program");
                assert!(!opens && comparison.forces_no_more(), "nothing is forced more");
                assert_eq!(
                    (changed.less, changed.left_open),
                    (comparison.less, comparison.left_open)
                );
            }
        }
    }

    fn around_changes(&mut self, commits: &Commits) -> Trial {
        let Some((first, last)) = self.line.changed(&self.known.commits, commits) else {
            return Trial::Unknown;
        };
        let (part, line, known, n) = (self.part, self.line, &self.known, &self.n);
        self.states.get_or_init(|| States::new(part, line, known, n));
        let Some(Some(states)) = self.states.get_mut() else {
            return Trial::Unknown;
        };
        let Some(solved) = states.solve(part, line, commits, (first, last)) else {
            return Trial::Unknown;
        };
        if solved.open.iter().any(|w| !known.open.contains(w)) {
            return Trial::More;
        }
        states.compare(part, line, (known, n), (commits, &solved), last)
    }
}

/// A solution from some step to another.
struct Solved {
    steps: Range<usize>,
    /// The awaits in them that are met with an open group.
    open: Vec<Await>,
}

impl<'a> States<'a> {
    fn new(part: &'a Part<'a>, line: &Line, known: &QueueSolution, n: &[N]) -> Option<Self> {
        let mut oldest = oldest(n, None);
        for _ in 0..BEYOND {
            oldest = oldest.commit();
        }
        let mut eval = Evaluator::new(part.program, &part.index, part.queue, &known.commits, View::Done);
        eval.begin(std::iter::empty());
        let translation = Translation::new(&known.commits, n);
        let both = (translation, translation);
        let mut stretch = Stretch::new(&part.index, part.queue, both, oldest, &[]);
        let (mut alive, mut first, mut in_flight) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..line.len() {
            let step = line.step(part.program, &part.index, i);
            alive.extend(line.alive(i).iter().map(|&token| eval.age(token)));
            first.push(in_flight.len());
            in_flight.extend(stretch.ages());
            if !eval.run_step(&step) || !stretch.run_step(&step) {
                return None;
            }
        }
        first.push(in_flight.len());
        debug_assert_eq!(eval.n, n, "the known solution");
        Some(Self {
            n: n.to_vec(),
            eval,
            alive,
            in_flight,
            first,
            oldest,
        })
    }

    /// Solves for `commits` from step `first` on, where they may be others up to step `last`; `None` if control does not
    /// come to the end.
    fn solve(
        &mut self,
        part: &'a Part<'a>,
        line: &Line,
        commits: &Commits,
        (first, last): (usize, usize),
    ) -> Option<Solved> {
        let eval = &mut self.eval;
        eval.commits.clone_from(commits);
        eval.open.clear();
        let ages = self.alive[line.alive_at(first)].iter().copied();
        eval.begin(line.alive(first).iter().copied().zip(ages));
        let mut at = first;
        while at < line.len() {
            let known = self.alive[line.alive_at(at)].iter();
            if at > last
                && line
                    .alive(at)
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
            if !eval.run_step(&line.step(part.program, &part.index, at)) {
                return None;
            }
            at += 1;
        }
        let open = eval.open.iter().map(|&w| Await(w));
        Some(Solved {
            steps: first..at,
            open: open.collect(),
        })
    }

    /// Compares what was solved with the known solution.
    fn compare(
        &mut self,
        part: &Part,
        line: &Line,
        (known, n): (&QueueSolution, &[N]),
        (commits, solved): (&Commits, &Solved),
        last: usize,
    ) -> Trial {
        let awaits = line.awaits(solved.steps.clone());
        self.n[awaits.clone()].copy_from_slice(&self.eval.n[awaits.clone()]);
        let trial = self.compare_counts(part, line, (known, n), (commits, solved), last);
        self.n[awaits.clone()].copy_from_slice(&n[awaits]);
        trial
    }

    fn compare_counts(
        &self,
        part: &Part,
        line: &Line,
        (known, n): (&QueueSolution, &[N]),
        (commits, solved): (&Commits, &Solved),
        last: usize,
    ) -> Trial {
        let awaits = line.awaits(solved.steps.clone());
        if oldest(&self.n[awaits], None) > self.oldest {
            return Trial::Unknown;
        }
        let both = (
            Translation::new(&known.commits, n),
            Translation::new(commits, &self.n),
        );
        let in_flight = |step: usize| &self.in_flight[self.first[step]..self.first[step + 1]];
        let mut at = solved.steps.start;
        let mut stretch = Stretch::new(&part.index, part.queue, both, self.oldest, in_flight(at));
        while at < line.len() && (at <= last || at < solved.steps.end || !stretch.is_at(in_flight(at))) {
            if !stretch.run_step(&line.step(part.program, &part.index, at)) {
                return Trial::More;
            }
            at += 1;
        }
        Trial::NoMore(Changed {
            less: stretch.forces_less(),
            left_open: at == line.len() && stretch.leaves_open(),
            solution: self.solution(line, known, commits, solved),
        })
    }

    /// The known solution, changed to what was solved.
    fn solution(
        &self,
        line: &Line,
        known: &QueueSolution,
        commits: &Commits,
        solved: &Solved,
    ) -> QueueSolution {
        let awaits = line.awaits(solved.steps.clone());
        let mut solution = known.clone();
        solution.commits.clone_from(commits);
        let new = self.eval.n[awaits.clone()]
            .iter()
            .zip(&self.eval.measured[awaits.clone()]);
        for (wait, (&n, &age)) in solution.waits[awaits.clone()].iter_mut().zip(new) {
            *wait = wait_of(n, age);
        }
        solution.open.retain(|w| !awaits.contains(&(w.0 as usize)));
        solution.open.extend(&solved.open);
        solution.open.sort_unstable();
        solution
    }
}
