//! Evaluates a program on ages, for one queue: an abstract interpretation over the lattice of ages.
//!
//! Notation: `n(w)` is the count of await `w`'s wait (or none), the *state* at a point is the age of
//! every token there, over all paths that lead to it (the minimum).
//!
//! A token is known by its age in the **frame** of the graph that defines it; a frame inside maps
//! that age to the one at the point reached, by one [`AgeMap`]. A straight line thus costs the same
//! however many tokens are alive around it. Inside a frame, tokens of equal age form a class
//! (union-find), so that a commit or wait costs one step per age and not one per token.
//!
//! Where paths meet, maps and ages are met element by element. Loops of unknown trip count run to a
//! fixed point; loops of constant trip count are stepped, until a state comes back (then whole
//! periods are skipped). Since ages are few, both end soon.
//!
//! Cost: (items) x (ages) for straight-line code and branches, times the rounds that loops need.

mod graph;
mod tokens;

use self::graph::{Remembered, meet};
use self::tokens::Tokens;
use crate::age::{Age, AgeMap};
use crate::program::{
    Await, Commits, Item, Nested, Program, Queue, Repeat, Slot, Token, ensure_sufficient_stack,
};
use crate::program_info::{GraphInfo, ProgramInfo};
use crate::straight_line::Step;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The count of a wait; [`NO_WAIT`] if there is none.
pub(crate) type WaitCount = u8;
/// No wait is emitted.
pub(crate) const NO_WAIT: WaitCount = u8::MAX;

/// Steps of a constant-trip loop after which it is treated as one of unknown trip count.
const STEP_LIMIT: usize = 4096;

/// Returns the count of a wait for a token of this age.
pub(crate) fn count(age: Age) -> WaitCount {
    match age {
        Age::DONE => NO_WAIT,
        Age::OPEN => 0,
        age => age.groups().map_or(NO_WAIT, |n| n.min(crate::age::MAX_COUNT)),
    }
}

/// Which of the two completions of an operation is looked at.
#[derive(Clone, Copy)]
pub(crate) enum CompletionKind<'p> {
    /// That of the operation itself. Waits for reads do nothing here.
    Done,
    /// That of its reads. What the operation itself waits for has been read, too: the counts are those
    /// of the waits at each await.
    Read(&'p [WaitCount]),
}

impl CompletionKind<'_> {
    /// Returns the ages that an operation's two tokens begin with, if an operation of this queue begins with `age`:
    /// its own, and that of its reads.
    fn ages(self, age: Age) -> (Age, Age) {
        match self {
            Self::Done => (age, Age::DONE),
            Self::Read(_) => (Age::DONE, age),
        }
    }

    /// Returns true if a wait, for reads alone or not, counts here.
    pub fn sees(self, read: bool) -> bool {
        !read || matches!(self, Self::Read(_))
    }
}

/// How awaits are treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Outside of loops: each await is reached once and gets the count of the age found.
    Assign,
    /// Inside a loop: an await's count shrinks to the smallest age found so far.
    Tighten,
    /// Counts are given; the smallest age found is measured.
    Measure,
    /// No wait completes anything; the smallest age found is measured.
    Distance,
    /// The same, but an age that is not the same on all paths is taken for the greatest, and the greatest age found is
    /// measured.
    ConstantDistance,
}

impl Mode {
    /// Returns true if no wait completes anything.
    fn ignores_waits(self) -> bool {
        matches!(self, Self::Distance | Self::ConstantDistance)
    }
}

/// The state after a graph: what it did to tokens from before, and the ages handed out.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub table: AgeMap,
    pub results: Vec<Age>,
}

pub(crate) struct Evaluator<'p> {
    pub program: &'p Program,
    pub program_info: &'p ProgramInfo,
    queue: Queue,
    pub commits: Commits,
    view: CompletionKind<'p>,
    pub mode: Mode,
    /// True if waits of the program itself are passed over.
    pub awaits_alone: bool,
    /// `n(w)` of every await.
    pub n: Vec<WaitCount>,
    /// The smallest age measured at every await, or the greatest.
    pub measured: Vec<Age>,
    /// Awaits that were reached with a token whose group is still open, or that has no wait to complete it.
    pub uncovered: BTreeSet<u32>,
    /// If others than these are found to be uncovered, the run ends.
    pub may_be_uncovered: Option<&'p [Await]>,
    /// True if the run ended for that reason: control does not return from what was run.
    pub gave_up: bool,
    /// Grows with every change of `n`; outcomes remembered for another version don't count.
    pub version: u64,
    /// Block evaluations so far.
    pub work: u64,
    tokens: Tokens<'p>,
    memo: Vec<Vec<Remembered>>,
}

impl<'p> Evaluator<'p> {
    pub fn new(
        program: &'p Program,
        program_info: &'p ProgramInfo,
        queue: Queue,
        commits: &Commits,
        view: CompletionKind<'p>,
    ) -> Self {
        Self {
            program,
            program_info,
            queue,
            commits: commits.clone(),
            view,
            mode: Mode::Assign,
            awaits_alone: false,
            n: vec![NO_WAIT; program.awaits as usize],
            measured: vec![Age::DONE; program.awaits as usize],
            uncovered: BTreeSet::new(),
            may_be_uncovered: None,
            gave_up: false,
            version: 0,
            work: 0,
            tokens: Tokens::new(program, program_info),
            memo: (0..program_info.graphs).map(|_| Vec::new()).collect(),
        }
    }

    /// Returns the age of `token` at the point reached.
    pub fn age(&mut self, token: Token) -> Age {
        self.tokens.age(token)
    }

    // Items.

    fn commits_at(&mut self, slot: Option<Slot>) {
        let Some(slot) = slot else { return };
        for _ in 0..self.commits[slot.0 as usize] {
            self.tokens.step(Age::commit);
        }
    }

    fn await_tokens(&mut self, w: usize, tokens: &[Token]) {
        if let CompletionKind::Read(done) = self.view {
            self.wait(done[w]);
        }
        let age = self.tokens.youngest(tokens);
        self.measured[w] = if self.mode == Mode::ConstantDistance {
            self.measured[w].max(age)
        } else {
            self.measured[w].min(age)
        };
        if age == Age::OPEN {
            self.uncovered(u32::try_from(w).unwrap_or(u32::MAX));
        }
        if matches!(self.mode, Mode::Assign | Mode::Tighten) && count(age) < self.n[w] {
            self.n[w] = count(age);
            self.version += 1;
        }
        self.wait(self.n[w]);
    }

    /// Notes an await that has no wait of its own and is reached with something that is not complete.
    fn check_covered(&mut self, w: u32, tokens: &[Token]) {
        if !self.mode.ignores_waits() && self.tokens.youngest(tokens) != Age::DONE {
            self.uncovered(w);
        }
    }

    fn uncovered(&mut self, w: u32) {
        self.uncovered.insert(w);
        self.gave_up |= self
            .may_be_uncovered
            .is_some_and(|some| !some.contains(&Await(w)));
    }

    fn wait(&mut self, n: WaitCount) {
        if n <= crate::age::MAX_COUNT && !self.mode.ignores_waits() {
            self.tokens.step(|age| age.wait(n));
        }
    }

    /// Runs one item; returns false if control does not return from it.
    fn item(&mut self, item: &'p Item, inner: &mut std::slice::Iter<'p, GraphInfo>) -> bool {
        let outcome = match item {
            Item::Issue {
                queue,
                token,
                read,
                slot,
                ..
            } => {
                let here = *queue == self.queue;
                let age = if here { Age::OPEN } else { Age::DONE };
                let (own, of_reads) = self.view.ages(age);
                for (token, age) in [(token, own), (read, of_reads)] {
                    if let Some(token) = token {
                        self.tokens.define(*token, age);
                    }
                }
                self.commits_at(*slot);
                return true;
            }
            Item::Commit { queue, token } => {
                let here = *queue == self.queue;
                if here {
                    self.tokens.step(Age::commit);
                }
                if let Some(token) = token {
                    let age = if here { Age::NEWEST } else { Age::DONE };
                    self.tokens.define(*token, self.view.ages(age).0);
                }
                return true;
            }
            Item::Wait { queue, n, read } => {
                if *queue == self.queue && self.view.sees(*read) && !self.awaits_alone {
                    self.wait(WaitCount::try_from(*n).unwrap_or(NO_WAIT));
                }
                return true;
            }
            Item::Await {
                site,
                tokens,
                covered,
            } => {
                if *covered {
                    self.check_covered(site.0, tokens);
                } else {
                    self.await_tokens(site.0 as usize, tokens);
                }
                return !self.gave_up;
            }
            Item::Point(slot) => {
                self.commits_at(Some(*slot));
                return true;
            }
            Item::Join { token, of } => {
                let age = self.tokens.youngest(of);
                self.tokens.define(*token, age);
                return true;
            }
            Item::Nested(nested) => {
                let info = next_info(inner);
                ensure_sufficient_stack(|| self.nested(nested, info))
            }
            Item::Repeat(repeat) => {
                let info = next_info(inner);
                ensure_sufficient_stack(|| self.repeat(repeat, info))
            }
        };
        let Some(outcome) = outcome else { return false };
        self.tokens.step(|age| outcome.table.apply(age));
        for (token, age) in crate::program_info::defs(item).zip(&outcome.results) {
            self.tokens.define(token, *age);
        }
        self.commits_at(item.after());
        true
    }

    fn nested(&mut self, nested: &'p Nested, info: &'p GraphInfo) -> Option<Outcome> {
        let inits = self.tokens.ages(&nested.inits);
        if self.mode == Mode::Assign && info.cyclic {
            self.solve_loop(info, |this| this.graph(&nested.graph, info, &inits))
        } else {
            self.graph(&nested.graph, info, &inits)
        }
    }

    fn repeat(&mut self, repeat: &'p Repeat, info: &'p GraphInfo) -> Option<Outcome> {
        let inits = self.tokens.ages(&repeat.inits);
        if self.mode == Mode::Assign && repeat.trip > 1 {
            self.solve_loop(info, |this| this.iterations(repeat, info, &inits))
        } else {
            self.iterations(repeat, info, &inits)
        }
    }

    /// Runs the iterations of a constant-trip loop.
    fn iterations(&mut self, repeat: &'p Repeat, info: &'p GraphInfo, inits: &[Age]) -> Option<Outcome> {
        let mut state = Outcome {
            table: AgeMap::identity(),
            results: inits.to_vec(),
        };
        let mut seen = FxHashMap::default();
        let mut i = 0;
        while i < repeat.trip {
            let key = (self.version, state.table, state.results.clone());
            if let Some(before) = seen.insert(key, i) {
                // The state of iteration `before` came back: skip whole periods.
                let left = (repeat.trip - i) % (i - before);
                i = repeat.trip - left;
                seen.clear();
                if left == 0 {
                    break;
                }
            }
            if seen.len() > STEP_LIMIT {
                return self.unknown_iterations(repeat, info, state);
            }
            state = self.iteration(repeat, info, &state)?;
            i += 1;
        }
        Some(state)
    }

    fn iteration(&mut self, repeat: &'p Repeat, info: &'p GraphInfo, state: &Outcome) -> Option<Outcome> {
        self.tokens.enter(state.table);
        let body = self.graph(&repeat.body, info, &state.results);
        self.tokens.leave();
        let mut next = body?;
        let mut table = state.table;
        table.then(&next.table);
        next.table = table;
        Some(next)
    }

    /// Runs iterations to a fixed point, as if at least one and any number of them could be left.
    fn unknown_iterations(
        &mut self,
        repeat: &'p Repeat,
        info: &'p GraphInfo,
        mut state: Outcome,
    ) -> Option<Outcome> {
        loop {
            let next = self.iteration(repeat, info, &state)?;
            if !meet(&mut state, &next, self.mode) {
                return Some(state);
            }
        }
    }

    // The body, item by item.

    /// Begins anywhere in the body, where tokens from before have these ages.
    pub fn begin(&mut self, alive: impl Iterator<Item = (Token, Age)>) {
        // What is remembered may be of other commits.
        self.version += 1;
        self.tokens.clear();
        self.tokens.enter(AgeMap::identity());
        for (token, age) in alive {
            self.tokens.define(token, age);
        }
    }

    /// Runs a step of the body; returns false if control does not return from it.
    pub fn run_step(&mut self, step: &Step<'p>) -> bool {
        match step {
            Step::Start(slot) => {
                self.commits_at(*slot);
                true
            }
            Step::Item(item, info) => self.item(item, &mut info.iter()),
        }
    }
}

fn next_info<'p>(inner: &mut std::slice::Iter<'p, GraphInfo>) -> &'p GraphInfo {
    inner
        .next()
        .unwrap_or_else(|| unreachable!("the tree has an entry for every inner graph"))
}
