//! The body of a straight line as an automaton, of which only the part is built that is run.
//!
//! Unrolled and inlined code repeats itself, and so do the states before its steps: what a step does to a state is worked
//! out once, and looked up for each further copy of the step, with each placement that is tried.
//!
//! - The *class* of a step is what it says but for names ([`mod@classes`]): tokens are known by their places among those that
//!   are live before the step, or as the step's own.
//! - A *letter* is a class, and the commits at the slots of the step. What is read is a word of letters, one for each step.
//! - For counts, a *state* is the age of each token that is live before the step. A letter leads from a state to the next
//!   one, and decides the counts of the step's awaits: the evaluator knows nothing else of what comes before, and each
//!   await outside of a loop is given its count when it is reached.
//! - For comparisons ([`mod@pairs`]), a state is the set of pairs of ages that something in flight has in both translations,
//!   and what is read is a pair of *actions*: letters with the counts of the step's awaits.
//!
//! Cost: a step whose letter was read in the same state before costs a lookup or two, any other one a run of the evaluator
//! or of the comparison, on this step alone.

mod classes;
mod interner;
mod pairs;
mod whole;

pub(crate) use pairs::PairAutomaton;

use self::interner::Interner;
use self::whole::Recent;
use crate::age::Age;
use crate::eval::{CompletionKind, Evaluator, N, NO_WAIT};
use crate::program::{Commits, Program, Queue};
use crate::program_info::ProgramInfo;
use crate::straight_line::StraightLine;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// No more transitions than this are remembered: code that does not repeat itself is run faster without.
const MOST: usize = 1 << 18;

/// The state of an automaton.
pub(crate) type State = u32;

/// What an automaton runs.
#[derive(Clone, Copy)]
pub(crate) struct Body<'a> {
    pub program: &'a Program,
    pub index: &'a ProgramInfo,
    pub queue: Queue,
    pub line: &'a StraightLine,
}

/// What a letter does in a state.
#[derive(Clone, Copy)]
pub(crate) struct Transition {
    pub to: State,
    /// The letter, with the counts of the step's awaits.
    pub action: u32,
    /// Where those begin in [`Automaton::awaits`].
    first_await: u32,
}

/// What becomes of an await.
#[derive(Clone, Copy)]
pub(crate) struct AwaitOutcome {
    pub n: N,
    pub age: Age,
    /// True if it is reached with an open group.
    pub open: bool,
}

/// The automata for counts and comparisons, as far as they are built.
pub(crate) struct Automaton {
    class: Vec<u32>,
    letters: Interner<u32>,
    /// The letter of a class and commits that fit a number.
    packed: FxHashMap<(u32, u32), u32>,
    actions: Interner<u32>,
    ages: Interner<Age>,
    transitions: FxHashMap<(State, u32), Transition>,
    awaits: Vec<AwaitOutcome>,
    /// For comparisons.
    pub pairs: Vec<PairAutomaton>,
    /// The translations met last.
    recent: VecDeque<Recent>,
    /// A buffer.
    words: Vec<u32>,
}

impl Automaton {
    /// Returns the automaton of a body that nothing was run of.
    pub fn new(body: Body) -> Self {
        Self {
            class: classes::classes(body.program, body.line),
            letters: Interner::new(),
            packed: FxHashMap::default(),
            actions: Interner::new(),
            ages: Interner::new(),
            transitions: FxHashMap::default(),
            awaits: Vec::new(),
            pairs: Vec::new(),
            recent: VecDeque::new(),
            words: Vec::new(),
        }
    }

    /// The state before the first step.
    pub fn start(&mut self) -> State {
        self.ages.number(&[])
    }

    /// The letter of a step with these commits.
    pub fn letter(&mut self, body: Body, step: usize, commits: &Commits) -> u32 {
        let class = self.class[step];
        let commits = &commits[body.line.slots(step..step + 1)];
        // Nearly all steps have few slots, and few commits there: those fit a number.
        let packed = commits.iter().try_fold(1_u32, |packed, &n| {
            let fits = n < 8 && packed < 1 << 28;
            fits.then_some(packed << 3 | n)
        });
        if let Some(&letter) = packed.and_then(|packed| self.packed.get(&(class, packed))) {
            return letter;
        }
        self.words.clear();
        self.words.push(class);
        self.words.extend_from_slice(commits);
        let letter = self.letters.number(&self.words);
        self.packed.extend(packed.map(|packed| ((class, packed), letter)));
        letter
    }

    /// The action of a step with this letter and these counts.
    pub fn action(&mut self, body: Body, step: usize, letter: u32, n: &[N]) -> u32 {
        let n = &n[body.line.awaits(step..step + 1)];
        self.words.clear();
        self.words.push(letter);
        self.words.extend(n.iter().map(|&n| u32::from(n)));
        self.actions.number(&self.words)
    }

    /// What a transition of `step` makes of its awaits.
    pub fn awaits(&self, body: Body, step: usize, transition: &Transition) -> &[AwaitOutcome] {
        let first = transition.first_await as usize;
        &self.awaits[first..first + body.line.awaits(step..step + 1).len()]
    }

    /// Reads the letter of a step with these commits. `None` if control does not return from it, or too much is remembered.
    pub fn read<'a>(
        &mut self,
        body: Body<'a>,
        eval: &mut Option<Evaluator<'a>>,
        (state, step, letter): (State, usize, u32),
        commits: &Commits,
    ) -> Option<Transition> {
        if let Some(known) = self.transitions.get(&(state, letter)) {
            return Some(*known);
        }
        if self.transitions.len() == MOST {
            return None;
        }
        let eval = eval.get_or_insert_with(|| {
            let done = CompletionKind::Done;
            Evaluator::new(body.program, body.index, body.queue, commits, done)
        });
        let transition = self.run(body, eval, (state, step, letter), commits)?;
        self.transitions.insert((state, letter), transition);
        Some(transition)
    }

    /// Runs a step from a state.
    fn run<'a>(
        &mut self,
        body: Body<'a>,
        eval: &mut Evaluator<'a>,
        (state, step, letter): (State, usize, u32),
        commits: &Commits,
    ) -> Option<Transition> {
        let line = body.line;
        let (slots, awaits) = (line.slots(step..step + 1), line.awaits(step..step + 1));
        eval.commits[slots.clone()].copy_from_slice(&commits[slots]);
        eval.n[awaits.clone()].fill(NO_WAIT);
        eval.measured[awaits.clone()].fill(Age::DONE);
        eval.uncovered.clear();
        let ages = self.ages.sequence(state);
        eval.begin(line.live_in(step).iter().copied().zip(ages.iter().copied()));
        if !eval.run_step(&line.step(body.program, body.index, step)) {
            return None;
        }
        let after: &[_] = if step + 1 < line.len() {
            line.live_in(step + 1)
        } else {
            &[]
        };
        let ages: Vec<Age> = after.iter().map(|&token| eval.age(token)).collect();
        let first_await = u32::try_from(self.awaits.len()).ok()?;
        for w in awaits {
            self.awaits.push(AwaitOutcome {
                n: eval.n[w],
                age: eval.measured[w],
                open: u32::try_from(w).is_ok_and(|w| eval.uncovered.contains(&w)),
            });
        }
        Some(Transition {
            to: self.ages.number(&ages),
            action: self.action(body, step, letter, &eval.n),
            first_await,
        })
    }
}
