//! Phase 8: which number of its ring each phase has, where that is known in closed form.
//!
//! The arms of a ring are numbered from 0, in the order in which they happen. A number is a **linear** expression
//! `c + Σ aᵢ·kᵢ + Σ bᵢ·Tᵢ` of the iterations `k` of loops around and the trip counts `T` of loops before, as long as
//!
//! - every way through a region arms the ring equally often, and
//! - what a loop hands around advances by that in each iteration: its value is guessed from the first iteration and
//!   checked against what the loop hands on.
//!
//! All numbers of a ring are known, or the ring is **carried**: the running program counts. It also does where a number in
//! closed form is dear: slot and parity are its remainder and quotient by the depth, in 64 bits as indices are. By a power of
//! two that is a shift or a mask. By anything else it is a multiplication, and another one for a factor, in each iteration:
//! to count up, compare and select, in 32 bits, costs less.

use super::bundles::{Bundles, EdgeId, Phase};
use super::counts::MANY;
use super::homes::{By, Homes};
use super::rings::{RingId, Rings};
use super::tree::{BlockId, RegionId, Step, Tree, Trips};
use std::collections::{BTreeMap, HashMap};

/// A number that is made while the program runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unknown {
    /// Which iteration of a loop it is, from 0.
    Iteration(RegionId),
    /// How often a loop runs.
    Trips(RegionId),
}

impl Unknown {
    /// The loop.
    fn region(self) -> RegionId {
        match self {
            Self::Iteration(region) | Self::Trips(region) => region,
        }
    }
}

/// A linear expression.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Linear {
    /// The constant.
    pub constant: u64,
    /// The factors of what is not known.
    pub factors: BTreeMap<Unknown, u64>,
}

/// The most terms of a number: with more, counting costs less.
const TERMS: usize = 4;

impl Linear {
    fn is_short(&self) -> bool {
        self.factors.len() <= TERMS
    }

    /// Returns true if slot and parity of a ring take more than shifts and masks.
    fn is_dear(&self, tree: &Tree, depth: u64) -> bool {
        let mut factors = self.factors.iter();
        let is_dear = |(unknown, factor): (&Unknown, &u64)| {
            !factor.is_power_of_two() || tree.regions[unknown.region()].divides
        };
        !self.factors.is_empty() && (!depth.is_power_of_two() || factors.any(is_dear))
    }

    /// The sum, if numbers so large are computed with at all.
    fn plus(&self, constant: u64) -> Option<Self> {
        Some(Self {
            constant: sum(self.constant, constant)?,
            factors: self.factors.clone(),
        })
    }

    /// The sum with what may be less than 0.
    fn shifted(&self, shift: i64) -> Option<Self> {
        Some(Self {
            constant: self.constant.checked_add_signed(shift)?,
            factors: self.factors.clone(),
        })
    }

    fn plus_times(&self, factor: u64, unknown: Unknown) -> Option<Self> {
        let mut all = self.clone();
        if factor > 0 {
            let known = all.factors.entry(unknown).or_default();
            *known = sum(*known, factor)?;
        }
        Some(all)
    }

    /// The same, where `unknown` is `value`.
    fn at(&self, unknown: Unknown, value: u64) -> Option<Self> {
        let mut rest = self.clone();
        match rest.factors.remove(&unknown) {
            None => Some(rest),
            Some(factor) => rest.plus(factor.checked_mul(value)?),
        }
    }
}

fn sum(a: u64, b: u64) -> Option<u64> {
    a.checked_add(b).filter(|sum| *sum < MANY)
}

/// The numbers of phases, by ring; `None` for rings that are carried.
pub(super) struct Numbers {
    /// Of each bundle, where its phase is opened.
    pub bundle: Vec<Option<Linear>>,
    /// Of each variable, where it is defined.
    pub var: Vec<Option<Linear>>,
    /// Of each ring, how often it has been armed when everything ends.
    pub end: Vec<Option<Linear>>,
    /// True for rings that are carried since not all of their numbers are known.
    pub carried: Vec<bool>,
    /// True for rings that had better be carried.
    pub dear: Vec<bool>,
}

/// Numbers all phases; `sure` are the rings whose phases are surely waited for.
pub(super) fn numbers(
    tree: &Tree,
    homes: &Homes,
    bundles: &Bundles,
    rings: &Rings,
    sure: &[bool],
    scope: BlockId,
) -> Numbers {
    let mut work = Numberer {
        tree,
        homes,
        rings,
        bundles,
        now: vec![Some(Linear::default()); rings.depth.len()],
        bound: HashMap::new(),
        out: Numbers {
            bundle: vec![None; rings.bundle.len()],
            var: vec![None; bundles.vars.len()],
            end: Vec::new(),
            carried: vec![false; rings.depth.len()],
            dear: Vec::new(),
        },
    };
    for (var, bound) in bundles.bound.iter().enumerate() {
        for &((region, edge), phase) in bound {
            work.bound.entry((region, edge)).or_default().push((var, phase));
        }
    }
    work.block(scope);
    work.out.end = work.now.clone();
    // Who waits for all phases has nothing to wait for in the end.
    for (ring, end) in work.out.end.iter().enumerate() {
        work.out.carried[ring] |= end.is_none() && !sure[ring];
    }
    for (bundle, number) in work.out.bundle.iter().enumerate() {
        work.out.carried[rings.bundle[bundle]] |= number.is_none();
    }
    for (var, number) in work.out.var.iter().enumerate() {
        work.out.carried[rings.var[var]] |= number.is_none();
    }
    work.out.dear = dear(tree, bundles, rings, &work.out);
    work.out
}

/// For each ring, whether it had better be carried although all its numbers are known.
fn dear(tree: &Tree, bundles: &Bundles, rings: &Rings, numbers: &Numbers) -> Vec<bool> {
    let mut dear = vec![false; rings.depth.len()];
    let of_bundles = rings.bundle.iter().zip(&numbers.bundle);
    for (&ring, number) in of_bundles.chain(rings.var.iter().zip(&numbers.var)) {
        let number = number.as_ref();
        dear[ring] |= number.is_some_and(|number| number.is_dear(tree, rings.depth[ring]));
    }
    // Nothing is carried where nothing can be.
    let closed = |region: RegionId| tree.regions[region].closed;
    for (region, through) in rings.counts.through.iter().enumerate() {
        for &ring in through.keys() {
            dear[ring] &= !closed(region);
        }
    }
    for (var, bound) in bundles.bound.iter().enumerate() {
        dear[rings.var[var]] &= !bound.iter().any(|&((region, _), _)| closed(region));
    }
    dear
}

struct Numberer<'t> {
    tree: &'t Tree,
    homes: &'t Homes,
    rings: &'t Rings,
    bundles: &'t Bundles,
    /// How often each ring has been armed by now.
    now: Vec<Option<Linear>>,
    /// What an edge binds.
    bound: HashMap<EdgeId, Vec<(usize, Option<Phase>)>>,
    out: Numbers,
}

/// What is known where a loop is entered.
struct Entered {
    id: RegionId,
    /// How often each ring is armed in an iteration, if always equally often.
    steps: BTreeMap<RingId, Option<u64>>,
    /// How often each was armed before.
    before: HashMap<RingId, Option<Linear>>,
    /// What variables are bound to, before the first iteration or behind a loop without any.
    firsts: HashMap<usize, Option<Linear>>,
}

impl Entered {
    /// How often a ring is armed in an iteration.
    fn step(&self, ring: RingId) -> Option<u64> {
        self.steps.get(&ring).copied().unwrap_or(Some(0))
    }
}

impl Numberer<'_> {
    fn block(&mut self, block: BlockId) {
        let opened = self.rings.opened.get(&block).cloned().unwrap_or_default();
        let mut opened = opened.into_iter().peekable();
        for (i, step) in self.tree.blocks[block].steps.iter().enumerate() {
            while let Some((_, ring, bundle)) = opened.next_if(|(step, ..)| *step == i) {
                let now = self.now[ring].as_ref();
                self.out.bundle[bundle] = now.and_then(|now| now.shifted(self.rings.shift[bundle]));
                self.now[ring] = self.now[ring].as_ref().and_then(|now| now.plus(1));
            }
            if let Step::Region(region) = step {
                crate::program::deep(|| self.region(*region));
            }
        }
    }

    fn number(&self, phase: Phase) -> Option<&Linear> {
        match phase {
            Phase::Bundle(bundle) => self.out.bundle[bundle].as_ref(),
            Phase::Var(var) => self.out.var[var].as_ref(),
        }
    }

    /// What an edge binds a variable to, if that has a number.
    fn handed(&self, region: RegionId, edge: usize) -> Vec<(usize, Option<Linear>)> {
        let bound = self.bound.get(&(region, edge)).into_iter().flatten();
        bound
            .map(|&(var, phase)| (var, phase.and_then(|phase| self.number(phase).cloned())))
            .collect()
    }

    fn region(&mut self, id: RegionId) {
        let counted = match self.tree.regions[id].trips {
            Trips::Constant(_) | Trips::Counted => true,
            Trips::Free => false,
        };
        if counted {
            self.counted(id);
        } else {
            self.free(id);
        }
    }

    /// A loop whose iterations are numbered.
    fn counted(&mut self, id: RegionId) {
        let body = self.tree.regions[id].blocks[0];
        let totals = self.rings.counts.totals[body].iter();
        let steps = totals.map(|(&ring, arms)| {
            let equal = arms.least == arms.most && arms.most < MANY;
            (ring, equal.then_some(arms.most))
        });
        let steps: BTreeMap<RingId, Option<u64>> = steps.collect();
        let before = steps.keys().map(|&ring| (ring, self.now[ring].clone())).collect();
        let entered = Entered {
            id,
            firsts: self.handed_by(id, |from| from.is_none()).into_iter().collect(),
            steps,
            before,
        };
        self.enter(&entered);
        self.block(body);
        self.check_around(&entered);
        self.leave(&entered);
    }

    /// Guesses what each iteration begins with.
    fn enter(&mut self, entered: &Entered) {
        let iteration = Unknown::Iteration(entered.id);
        for (&ring, &step) in &entered.steps {
            let start = entered.before[&ring].as_ref().zip(step);
            self.now[ring] = start.and_then(|(start, step)| start.plus_times(step, iteration));
        }
        for (&var, first) in &entered.firsts {
            let start = first.as_ref().zip(entered.step(self.rings.var[var]));
            let is_param = !self.is_result(var);
            self.out.var[var] = start
                .filter(|_| is_param)
                .and_then(|(first, step)| first.plus_times(step, iteration));
        }
    }

    /// What is handed on must be what the next iteration was taken to begin with.
    fn check_around(&mut self, entered: &Entered) {
        let iteration = Unknown::Iteration(entered.id);
        for (var, handed) in self.handed_by(entered.id, |from| from.is_some()) {
            let first = entered.firsts.get(&var);
            if let (None, Trips::Constant(trips)) = (first, self.tree.regions[entered.id].trips) {
                // What comes out of a loop that surely runs is what its last iteration hands on.
                let last = trips.saturating_sub(1);
                self.out.var[var] = handed.and_then(|handed| handed.at(iteration, last));
                if self.out.var[var].is_none() {
                    self.lose(var);
                }
                continue;
            }
            let start = first
                .and_then(Option::as_ref)
                .zip(entered.step(self.rings.var[var]));
            let expected = start.and_then(|(first, step)| first.plus_times(step, iteration)?.plus(step));
            if expected.is_none() || expected != handed {
                self.lose(var);
            }
        }
    }

    /// What comes out of the loop, and how often rings have been armed by then.
    fn leave(&mut self, entered: &Entered) {
        let trips = self.tree.regions[entered.id].trips;
        let behind = |start: &Linear, step: u64| match trips {
            Trips::Constant(trips) => start.plus(trips.checked_mul(step)?),
            _ => start.plus_times(step, Unknown::Trips(entered.id)),
        };
        for (&var, first) in &entered.firsts {
            if !self.is_result(var) {
                continue;
            }
            let ring = self.rings.var[var];
            let start = first.as_ref().zip(entered.step(ring));
            let result = start.and_then(|(first, step)| behind(first, step));
            self.out.var[var] = result.filter(|_| !self.out.carried[ring]);
        }
        for (&ring, &step) in &entered.steps {
            let start = entered.before[&ring].as_ref().zip(step);
            let behind = start.and_then(|(start, step)| behind(start, step));
            self.now[ring] = behind.filter(Linear::is_short);
        }
    }

    /// What edges of a region bind variables to, if that has a number.
    fn handed_by(&self, id: RegionId, from: impl Fn(Option<usize>) -> bool) -> Vec<(usize, Option<Linear>)> {
        let edges = self.tree.regions[id].edges.iter().enumerate();
        let edges = edges.filter(|(_, edge)| from(edge.from));
        edges.flat_map(|(e, _)| self.handed(id, e)).collect()
    }

    fn is_result(&self, var: usize) -> bool {
        let token = self.bundles.vars[var][0];
        matches!(self.homes.defs[token.0 as usize].by, By::Region(_))
    }

    fn lose(&mut self, var: usize) {
        self.out.var[var] = None;
        self.out.carried[self.rings.var[var]] = true;
    }

    /// A region whose blocks are run as the edges say.
    fn free(&mut self, id: RegionId) {
        let region = &self.tree.regions[id];
        let through = self.rings.counts.through[id].clone();
        let before: Vec<Option<Linear>> = through.keys().map(|&ring| self.now[ring].clone()).collect();
        let repeats = region.repeats();
        for (b, &block) in region.blocks.iter().enumerate() {
            // The arms of blocks before it are not counted: a block that comes behind another one has no number.
            let known = !repeats && region.edges_to(Some(b)).all(|(_, edge)| edge.from.is_none());
            for (&ring, before) in through.keys().zip(&before) {
                self.now[ring] = before.clone().filter(|_| known);
            }
            self.bind(id, Some(b));
            self.block(block);
        }
        for ((&ring, arms), before) in through.iter().zip(before) {
            let equal = !repeats && arms.least == arms.most;
            self.now[ring] = before.filter(|_| equal).and_then(|before| before.plus(arms.most));
        }
        self.bind(id, None);
    }

    /// Numbers the variables that the edges to a block of a region, or behind it, bind: if all bind the same number.
    fn bind(&mut self, id: RegionId, to: Option<usize>) {
        let edges: Vec<usize> = self.tree.regions[id].edges_to(to).map(|(e, _)| e).collect();
        let mut found: BTreeMap<usize, Option<Linear>> = BTreeMap::new();
        for edge in edges {
            for (var, number) in self.handed(id, edge) {
                let same = found.entry(var).or_insert_with(|| number.clone());
                if *same != number {
                    *same = None;
                }
            }
        }
        for (var, number) in found {
            if number.is_none() {
                self.lose(var);
            }
            self.out.var[var] = number;
        }
    }
}
