//! Runs a single-block body as a finite automaton that is built lazily: only the part that is run.
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

mod cached_map;
mod classes;
mod interner;
mod pairs;
mod whole_body;

pub(crate) use interner::Interner;
pub(crate) use pairs::PairAutomaton;

use self::cached_map::CachedMap;
use self::whole_body::Recent;
use crate::age::Age;
use crate::eval::{CompletionKind, Evaluator, NO_WAIT, WaitCount};
use crate::program::{Commits, Program, Queue};
use crate::program_info::ProgramInfo;
use crate::straight_line::StraightLine;
use std::collections::VecDeque;

/// No more transitions than this are remembered: code that does not repeat itself is run faster without.
const MOST: usize = 1 << 18;

/// The state of an automaton.
pub(crate) type State = u32;

/// What an automaton runs.
#[derive(Clone, Copy)]
pub(crate) struct Body<'a> {
    pub program: &'a Program,
    pub program_info: &'a ProgramInfo,
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
    pub n: WaitCount,
    pub age: Age,
    /// True if it is reached with an open group.
    pub open: bool,
}

/// The automata for counts and comparisons, as far as they are built.
pub(crate) struct Automaton {
    class: Vec<u32>,
    letters: Interner<u32>,
    /// The letter of a class and commits that fit a number.
    packed: CachedMap<(u32, u32), u32>,
    actions: Interner<u32>,
    ages: Interner<Age>,
    transitions: CachedMap<(State, u32), Transition>,
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
            packed: CachedMap::default(),
            actions: Interner::new(),
            ages: Interner::new(),
            transitions: CachedMap::default(),
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
        let known = packed.and_then(|packed| self.packed.get(class, (class, packed)));
        if let Some(letter) = known {
            return letter;
        }
        self.words.clear();
        self.words.push(class);
        self.words.extend_from_slice(commits);
        let letter = self.letters.number(&self.words);
        if let Some(packed) = packed {
            self.packed.insert(class, (class, packed), letter);
        }
        letter
    }

    /// The action of a step with this letter and these counts.
    pub fn action(&mut self, body: Body, step: usize, letter: u32, n: &[WaitCount]) -> u32 {
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
        if let Some(known) = self.transitions.get(letter, (state, letter)) {
            return Some(known);
        }
        if self.transitions.len() == MOST {
            return None;
        }
        let eval = eval.get_or_insert_with(|| {
            let done = CompletionKind::Done;
            Evaluator::new(body.program, body.program_info, body.queue, commits, done)
        });
        let transition = self.run(body, eval, (state, step, letter), commits)?;
        self.transitions.insert(letter, (state, letter), transition);
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
        if !eval.run_step(&line.step(body.program, body.program_info, step)) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brute_force::{commits, queues};
    use crate::compare::{EarlyExit, Translation, compare};
    use crate::counts::{counts, solve_queue};
    use crate::oracle::build::{Build, Q};
    use crate::oracle::generate::{Recipe, Style, config, long, structured};
    use proptest::prelude::*;

    /// The same statements many times in a row.
    fn unrolled() -> impl Strategy<Value = Recipe> {
        structured(Style::Tokens).prop_map(|recipe| Recipe {
            stmts: recipe.stmts.iter().cycle().take(24).cloned().collect(),
            ..recipe
        })
    }

    proptest! {
        #![proptest_config(config(40))]

        #[test]
        fn finds_what_runs_of_the_whole_program_find(
            recipe in prop_oneof![unrolled(), long(Style::Tokens)],
            seed in any::<u64>(),
        ) {
            let program = recipe.program();
            let program_info = &ProgramInfo::new(&program);
            for queue in queues(&program).filter(|queue| !program_info.reads[usize::from(queue.0)]) {
                let Some(line) = &StraightLine::new(&program, program_info, queue) else { continue };
                let body = Body { program: &program, program_info, queue, line };
                let mut automaton = Automaton::new(body);
                let mut solutions = Vec::new();
                for seed in [0, seed, seed | seed.rotate_left(7)] {
                    let commits = commits(&program, queue, seed);
                    let whole = solve_queue(&program, queue, commits.clone(), true);
                    if let Some(found) = automaton.solve(body, &commits) {
                        prop_assert_eq!(&found, &whole);
                    }
                    let n = counts(&whole.waits);
                    solutions.push((commits, n));
                }
                for a in &solutions {
                    for b in [&solutions[0], &solutions[1]] {
                        let (a, b) = (Translation::new(&a.0, &a.1), Translation::new(&b.0, &b.1));
                        if let Some(found) = automaton.compare(body, a, b) {
                            let whole = compare(&program, program_info, queue, (a, b), EarlyExit::Never);
                            prop_assert_eq!(found, whole);
                        }
                    }
                }
            }
        }
    }

    /// Blocks that differ in a single token, with the same tokens alive before and after it.
    fn alike(b: &mut Build, kind: u64) {
        let (first, second) = (b.copy(), b.copy());
        let [third] = match kind & 3 {
            0 => b.if_else(|_| [first], |_| [first]),
            1 => b.if_else(|_| [second], |_| [second]),
            2 => b.if_else(|b| [b.copy()], |b| [b.copy()]),
            _ => [b.copy()],
        };
        let some = [first, second, third][usize::try_from(kind >> 2).expect("below 4") % 3];
        b.await_all(&[some]);
        b.await_all(&[first, second, third]);
    }

    proptest! {
        #![proptest_config(config(40))]

        #[test]
        fn steps_that_differ_in_a_token_are_told_apart(seed in any::<u64>()) {
            let mut b = Build::new();
            (0..16).for_each(|i| alike(&mut b, seed >> (4 * i) & 15));
            let program = b.finish();
            let program_info = &ProgramInfo::new(&program);
            let line = &StraightLine::new(&program, program_info, Q).expect("a line");
            let body = Body { program: &program, program_info, queue: Q, line };
            let all = program.one_group_each(Q);
            let found = Automaton::new(body).solve(body, &all).expect("control comes to the end");
            prop_assert_eq!(found, solve_queue(&program, Q, all, true));
        }
    }

    /// Copies in a rolling window.
    fn window(copies: usize) -> Program {
        let mut b = Build::new();
        let mut tokens = Vec::new();
        for _ in 0..copies {
            tokens.push(b.copy());
            if let [.., oldest, _, _] = tokens.as_slice() {
                let oldest = *oldest;
                b.await_all(&[oldest]);
            }
        }
        b.finish()
    }

    #[test]
    fn looks_repeated_steps_up() {
        let remembered = |copies: usize| {
            let program = window(copies);
            let program_info = &ProgramInfo::new(&program);
            let line = &StraightLine::new(&program, program_info, Q).expect("a line");
            let body = Body {
                program: &program,
                program_info,
                queue: Q,
                line,
            };
            let mut automaton = Automaton::new(body);
            let all = program.one_group_each(Q);
            let mut fewer = all.clone();
            fewer[line.slots(10..20)].fill(0);
            for commits in [&all, &fewer] {
                automaton.solve(body, commits).expect("control comes to the end");
            }
            automaton.transitions.len()
        };
        assert_eq!(remembered(30), remembered(300));
    }
}
