//! The product automaton, which compares two translations by the pairs of ages that they reach.

use super::cached_map::CachedMap;
use super::interner::Interner;
use super::{Automaton, Body, MOST, State};
use crate::age::Age;
use crate::compare::{Pair, StepwiseComparison, Translation, age_limit, is_left_open};
use crate::eval::{NO_WAIT, WaitCount};
use crate::program::{Await, Site};
use std::ops::Range;

/// Ages are told apart up to so many commits beyond the largest count met: others may need more.
const BEYOND: usize = 8;

/// What a pair of actions does in a state.
#[derive(Clone, Copy)]
pub(crate) struct PairTransition {
    /// The next state; `None` if a trial ends here, since the second translation forces more.
    pub to: Option<State>,
    /// True if the second translation forces less.
    pub less: bool,
    /// Where what is forced more is in [`PairAutomaton::more`].
    more: (u32, u32),
}

/// Pairs of ages, and how far back from the step an operation is that has them.
type Member = (Pair, u32);

/// An automaton for comparisons.
pub(crate) struct PairAutomaton {
    /// An age in either translation that no count is as large as.
    age_limits: [Age; 2],
    /// True if all that is asked is whether the second translation forces more. No operations are known then, so that more
    /// states are alike.
    trials: bool,
    states: Interner<Member>,
    transitions: CachedMap<(State, u32, u32), PairTransition>,
    /// Awaits of a step, with operations that are forced too early, both counted from the step.
    more: Vec<(u32, u32)>,
}

impl PairAutomaton {
    fn new(age_limits: [Age; 2], trials: bool) -> Self {
        Self {
            age_limits,
            trials,
            states: Interner::new(),
            transitions: CachedMap::default(),
            more: Vec::new(),
        }
    }

    /// Returns true if ages are told apart far enough for a count.
    pub fn knows(&self, n: WaitCount) -> bool {
        n == NO_WAIT
            || self
                .age_limits
                .iter()
                .all(|limit| age_limit(&[n], None) <= *limit)
    }

    /// The state before the first step.
    pub fn start(&mut self) -> State {
        self.states.number(&[])
    }

    /// Returns true if something is committed in the first translation and not in the second.
    pub fn leaves_open(&self, state: State) -> bool {
        let members = self.states.sequence(state);
        members.iter().any(|(pair, _)| is_left_open(*pair))
    }

    /// What a transition of a step forces more: at an await, an operation of each age, the oldest first.
    pub fn forced_more(
        &self,
        body: Body,
        step: usize,
        transition: &PairTransition,
    ) -> impl Iterator<Item = (Await, Site)> {
        let (first_await, first_site) = first(body, step);
        let Range { start, end } = transition.more.0 as usize..transition.more.1 as usize;
        let more = self.more[start..end].iter();
        more.map(move |(w, back)| (Await(first_await + w), Site(first_site.wrapping_sub(*back))))
    }

    /// Reads the actions of both translations at a step. `None` if too much is remembered.
    pub fn read(
        &mut self,
        body: Body,
        (state, step): (State, usize),
        actions: (u32, u32),
        translations: (Translation, Translation),
    ) -> Option<PairTransition> {
        let key = (state, actions.0, actions.1);
        if let Some(known) = self.transitions.get(actions.1, key) {
            return Some(known);
        }
        if self.transitions.len() == MOST {
            return None;
        }
        let transition = self.run(body, (state, step), translations)?;
        self.transitions.insert(actions.1, key, transition);
        Some(transition)
    }

    /// Runs a step from a state.
    fn run(
        &mut self,
        body: Body,
        (state, step): (State, usize),
        translations: (Translation, Translation),
    ) -> Option<PairTransition> {
        let ((first_await, first_site), (_, next_site)) = (first(body, step), first(body, step + 1));
        let from = self.states.sequence(state);
        let members = from.iter();
        let pairs = members.map(|&(pair, back)| (pair, Site(first_site.wrapping_sub(back))));
        let mut comparison = StepwiseComparison::new(
            body.program_info,
            body.queue,
            translations,
            self.age_limits,
            pairs,
        );
        if self.trials {
            comparison = comparison.until_more();
        }
        let goes_on = comparison.run_step(&body.line.step(body.program, body.program_info, step));
        let start = self.more.len();
        let more = comparison.forced_more();
        self.more
            .extend(more.map(|(w, site)| (w.0 - first_await, first_site.wrapping_sub(site.0))));
        let ended = self.trials && self.more.len() > start;
        if !goes_on && !ended {
            return None;
        }
        let members = comparison.pairs().iter().map(|&(pair, site)| {
            let back = next_site.wrapping_sub(site.0);
            (pair, if self.trials { 0 } else { back })
        });
        let members: Vec<Member> = members.collect();
        Some(PairTransition {
            to: (!ended).then(|| self.states.number(&members)),
            less: comparison.forces_less(),
            more: (u32::try_from(start).ok()?, u32::try_from(self.more.len()).ok()?),
        })
    }
}

/// The numbers of the first await and operation of a step.
fn first(body: Body, step: usize) -> (u32, u32) {
    let awaits = body.line.first_await(step);
    (
        u32::try_from(awaits).unwrap_or(u32::MAX),
        body.line.first_site(step),
    )
}

impl Automaton {
    /// The automaton for trials near a translation with these counts, as its place in [`Automaton::pairs`].
    pub fn for_trials(&mut self, n: &[WaitCount]) -> usize {
        let needed = age_limit(n, None);
        let mut known = self.pairs.iter();
        let fits = |pairs: &PairAutomaton| pairs.trials && needed <= pairs.age_limits[0];
        known.position(fits).unwrap_or_else(|| {
            let age_limit = (0..BEYOND).fold(needed, |age, _| age.commit());
            self.pairs.push(PairAutomaton::new([age_limit; 2], true));
            self.pairs.len() - 1
        })
    }

    /// The automaton for comparisons with these age limits, likewise.
    pub(super) fn for_comparisons(&mut self, age_limits: [Age; 2]) -> usize {
        let mut known = self.pairs.iter();
        let fits = |pairs: &PairAutomaton| !pairs.trials && pairs.age_limits == age_limits;
        known.position(fits).unwrap_or_else(|| {
            self.pairs.push(PairAutomaton::new(age_limits, false));
            self.pairs.len() - 1
        })
    }
}
