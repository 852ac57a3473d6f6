//! Proves that a solution is optimal: that no other one forces less.
//!
//! Groups complete in order, so whatever the commits, an await completes every operation that is no younger than one that it
//! awaits. A solution whose awaits complete nothing else forces no more than any other solution, which then need not be found.
//!
//! What is in flight is known by its age, and by the tokens that it is no younger than: its own, and those of later operations.
//! Each operation is followed by itself, on all paths, through a body that is a straight line of steps without loops.
//!
//! This is an automaton as well, which reads the actions of [`crate::automaton`]: its state is what is in flight before a step.
//!
//! Cost: a lookup for a step that has been read in the same state before. Linear in the body in any case, since nothing is said
//! where more than [`MOST`] operations differ at a time.

use super::QueuePlacer;
use crate::age::Age;
use crate::automaton::{Body, Interner};
use crate::compare::{Translation, age_limit};
use crate::counts::{QueueSolution, counts};
use crate::eval::NO_WAIT;
use crate::program::{Await, Graph, Item, Nested, Queue, Slot, Target, Token, ensure_sufficient_stack};
use crate::program_info::GraphInfo;
use crate::straight_line::Step;
use rustc_hash::FxHashMap;

/// So many operations that differ in age or tokens may be in flight at a time.
const MOST: usize = 64;

/// A set of the tokens in scope, a bit for each.
type Tokens = u64;

/// The age of an operation, and the tokens that it is no younger than.
type InFlight = (Age, Tokens);

impl QueuePlacer<'_> {
    /// Returns true if no solution forces less than this one on any execution; false if that is not known.
    pub(super) fn forces_least(&self, solution: &QueueSolution) -> bool {
        self.least(solution).is_some()
    }

    /// `None` if some await completes what it need not, or that is not known.
    fn least(&self, solution: &QueueSolution) -> Option<()> {
        let body = self.body().filter(|_| solution.uncovered.is_empty())?;
        let n = counts(&solution.waits);
        let translation = Translation::new(&solution.commits, &n);
        let actions = self.automaton(body).actions(body, translation);
        let mut walk = Walk {
            queue: self.queue,
            translation,
            age_limit: age_limit(&n, None),
            scope: Vec::new(),
        };
        let mut states = Interner::new();
        let mut transitions: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut state = states.number(&[]);
        for (step, &action) in actions.iter().enumerate() {
            state = match transitions.get(&(state, action)) {
                Some(&next) => next,
                None => {
                    let next = states.number(&walk.step(body, step, &states.sequence(state))?);
                    transitions.insert((state, action), next);
                    next
                }
            };
        }
        Some(())
    }
}

struct Walk<'a> {
    queue: Queue,
    translation: Translation<'a>,
    /// An age that no count is as large as.
    age_limit: Age,
    /// The token of each bit.
    scope: Vec<Token>,
}

impl Walk<'_> {
    /// Returns what is in flight after a step, by the tokens that are alive then.
    fn step(&mut self, body: Body, step: usize, before: &[InFlight]) -> Option<Vec<InFlight>> {
        let line = body.line;
        let mut in_flight = before.to_vec();
        self.scope.clear();
        self.scope.extend_from_slice(line.live_in(step));
        match line.step(body.program, body.program_info, step) {
            Step::Start(slot) => self.commits_at(slot, &mut in_flight),
            Step::Item(item, info) => self.item(item, &mut info.iter(), &mut in_flight)?,
        }
        let after: &[Token] = if step + 1 < line.len() {
            line.live_in(step + 1)
        } else {
            &[]
        };
        let moves: Vec<(Tokens, Tokens)> = (0..)
            .zip(after)
            .map(|(to, token)| (self.bit(*token), 1 << to))
            .collect();
        for (_, known) in &mut in_flight {
            *known = moved(*known, &moves);
        }
        normalize(&mut in_flight)?;
        Some(in_flight)
    }

    /// Adds a token to the scope; `None` if there are too many.
    fn define(&mut self, token: Token) -> Option<Tokens> {
        let bit = u32::try_from(self.scope.len()).ok()?;
        self.scope.push(token);
        1_u64.checked_shl(bit)
    }

    /// The bit of a token in scope, or none.
    fn bit(&self, token: Token) -> Tokens {
        let place = self.scope.iter().rposition(|known| *known == token);
        place.map_or(0, |place| 1 << place)
    }

    fn bits(&self, tokens: &[Token]) -> Tokens {
        tokens.iter().fold(0, |bits, token| bits | self.bit(*token))
    }

    fn commits_at(&self, slot: Option<Slot>, in_flight: &mut [InFlight]) {
        let Some(slot) = slot else { return };
        for _ in 0..self.translation.commits[slot.0 as usize] {
            for (age, _) in &mut *in_flight {
                *age = age.commit().min(self.age_limit);
            }
        }
    }

    fn item(
        &mut self,
        item: &Item,
        inner: &mut std::slice::Iter<GraphInfo>,
        in_flight: &mut Vec<InFlight>,
    ) -> Option<()> {
        match item {
            Item::Issue {
                queue, token, slot, ..
            } => {
                let own = token.map_or(Some(0), |token| self.define(token))?;
                if *queue == self.queue {
                    // All else is older.
                    for (_, known) in in_flight.iter_mut() {
                        *known |= own;
                    }
                    in_flight.push((Age::OPEN, own));
                }
                self.commits_at(*slot, in_flight);
            }
            Item::Await { site, tokens, .. } => self.await_at(*site, tokens, in_flight)?,
            Item::Join { token, of } => {
                let of = self.bits(of);
                let bit = self.define(*token)?;
                let joined = in_flight.iter_mut().filter(|(_, known)| *known & of != 0);
                joined.for_each(|(_, known)| *known |= bit);
            }
            Item::Point(slot) => self.commits_at(Some(*slot), in_flight),
            Item::Nested(nested) => {
                let info = inner.next()?;
                *in_flight = ensure_sufficient_stack(|| self.nested(nested, info, in_flight))?;
                self.commits_at(nested.after, in_flight);
            }
            Item::Commit { queue, token: None } if *queue != self.queue => {}
            Item::Wait { queue, .. } if *queue != self.queue => {}
            Item::Commit { .. } | Item::Wait { .. } | Item::Repeat(_) => return None,
        }
        Some(())
    }

    fn await_at(&self, site: Await, tokens: &[Token], in_flight: &mut Vec<InFlight>) -> Option<()> {
        let n = self.translation.n[site.0 as usize];
        if n == NO_WAIT {
            return Some(());
        }
        let awaited = self.bits(tokens);
        let is_completed = |age: Age| age.wait(n) == Age::DONE;
        if in_flight
            .iter()
            .any(|(age, known)| is_completed(*age) && known & awaited == 0)
        {
            return None;
        }
        in_flight.retain(|(age, _)| !is_completed(*age));
        Some(())
    }

    /// Runs a graph without loops.
    fn nested(&mut self, nested: &Nested, info: &GraphInfo, in_flight: &[InFlight]) -> Option<Vec<InFlight>> {
        if info.has_loop {
            return None;
        }
        let Nested {
            graph,
            inits,
            results,
            ..
        } = nested;
        for result in results {
            self.define(*result)?;
        }
        let outer = self.scope.len();
        let params = graph.blocks.iter().flat_map(|block| &block.params);
        for param in params {
            self.define(*param)?;
        }
        let entry = graph.blocks.first()?;
        let mut arrived: Vec<Vec<InFlight>> = vec![Vec::new(); graph.blocks.len()];
        arrived[0] = self.bind(in_flight, inits, &entry.params);
        let mut out = Vec::new();
        for &b in &info.sequence {
            let mut in_flight = std::mem::take(&mut arrived[b]);
            self.block(graph, info, b, &mut in_flight)?;
            for edge in &graph.blocks[b].edges {
                match edge.to {
                    Target::Exit => out.extend(self.bind(&in_flight, &edge.args, results)),
                    Target::Block(to) => {
                        let bound = self.bind(&in_flight, &edge.args, &graph.blocks[to].params);
                        arrived[to].extend(bound);
                    }
                }
            }
        }
        self.scope.truncate(outer);
        let known_outside = 1_u64
            .checked_shl(u32::try_from(outer).ok()?)
            .map_or(Tokens::MAX, |bit| bit - 1);
        for (_, known) in &mut out {
            *known &= known_outside;
        }
        normalize(&mut out)?;
        Some(out)
    }

    fn block(
        &mut self,
        graph: &Graph,
        info: &GraphInfo,
        b: usize,
        in_flight: &mut Vec<InFlight>,
    ) -> Option<()> {
        normalize(in_flight)?;
        let block = &graph.blocks[b];
        self.commits_at(block.start, in_flight);
        let mut inner = info.blocks[b].inner.iter();
        for item in &block.items {
            self.item(item, &mut inner, in_flight)?;
        }
        Some(())
    }

    /// What is in flight where an edge hands `args` to `targets`.
    fn bind(&self, in_flight: &[InFlight], args: &[Token], targets: &[Token]) -> Vec<InFlight> {
        let args = args.iter().map(|arg| self.bit(*arg));
        let moves: Vec<(Tokens, Tokens)> = args.zip(targets.iter().map(|target| self.bit(*target))).collect();
        let bound = in_flight
            .iter()
            .map(|&(age, known)| (age, known | moved(known, &moves)));
        bound.collect()
    }
}

/// The second of each pair of bits whose first is in `known`.
fn moved(known: Tokens, moves: &[(Tokens, Tokens)]) -> Tokens {
    let moves = moves.iter().filter(|(from, _)| known & from != 0);
    moves.fold(0, |all, (_, to)| all | to)
}

/// Sorts, and forgets doubles; `None` if too many are left.
fn normalize(in_flight: &mut Vec<InFlight>) -> Option<()> {
    in_flight.sort_unstable();
    in_flight.dedup();
    (in_flight.len() <= MOST).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brute_force::commits;
    use crate::oracle::build::{Build, Q};
    use crate::oracle::generate::config;
    use crate::program::{Commits, Program};
    use crate::solve::Options;
    use proptest::prelude::*;
    use std::cell::Cell;

    /// Conditional copies in a rolling window.
    fn branches() -> Program {
        let mut b = Build::new();
        let mut tokens = Vec::new();
        for _ in 0..30 {
            let [token] = b.if_else(|b| [b.copy()], |b| [b.ready()]);
            tokens.push(token);
            if let [.., oldest, _, _] = tokens.as_slice() {
                let oldest = *oldest;
                b.await_all(&[oldest]);
            }
        }
        b.finish()
    }

    #[test]
    fn a_group_for_each_branch_forces_the_least_and_one_for_each_copy_does_not() {
        let program = branches();
        let placer = QueuePlacer::new(&program, Q, &Options::default());
        let each_copy = placer.solve(program.one_group_each(Q));
        assert!(!placer.forces_least(&each_copy));
        let mut each_branch = vec![0; program.slots as usize];
        for item in &program.body.blocks[0].items {
            if let (Item::Nested(_), Some(slot)) = (item, item.after()) {
                each_branch[slot.0 as usize] = 1;
            }
        }
        assert!(placer.forces_least(&placer.solve(each_branch)));
    }

    #[test]
    fn what_a_choice_leaves_out_is_not_awaited() {
        let mut b = Build::new();
        for _ in 0..30 {
            let (first, second) = (b.copy(), b.copy());
            let [chosen] = b.if_else(|_| [first], |_| [second]);
            b.await_all(&[chosen]);
            b.await_all(&[second]);
        }
        let program = b.finish();
        let placer = QueuePlacer::new(&program, Q, &Options::default());
        assert!(!placer.forces_least(&placer.solve(program.one_group_each(Q))));
    }

    /// Copies, under a condition or not, and awaits of them, mostly of the oldest.
    fn staged(steps: &[(u8, u8)]) -> Program {
        let mut b = Build::new();
        let mut tokens = Vec::new();
        for &(kind, pick) in steps {
            match kind {
                0 | 1 => tokens.push(b.copy()),
                2 | 3 => tokens.extend(b.if_else(|b| [b.copy()], |b| [b.ready()])),
                4 => tokens.extend(b.if_else(|b| [b.copy()], |b| [b.copy()])),
                _ if tokens.is_empty() => {}
                5 => {
                    let any = tokens.remove(usize::from(pick) % tokens.len());
                    b.await_all(&[any]);
                }
                6 => {
                    let (first, last) = (tokens.remove(0), tokens.pop());
                    tokens.push(b.join(&[&[first], last.as_slice()].concat()));
                }
                _ => {
                    let awaited: Vec<Token> =
                        tokens.drain(..=usize::from(pick) % tokens.len().min(2)).collect();
                    b.await_all(&awaited);
                }
            }
        }
        b.finish()
    }

    /// Against other commits, which never force less.
    #[test]
    fn nothing_forces_less() {
        let least = Cell::new(0);
        let mut runner = proptest::test_runner::TestRunner::new(config(400));
        let steps = proptest::collection::vec((0..14_u8, any::<u8>()), 24..40);
        let result = runner.run(&(steps, any::<u64>()), |(steps, seed)| {
            let program = staged(&steps);
            let placer = QueuePlacer::new(&program, Q, &Options::default());
            let seeds = (0..8).map(|i| if i == 0 { 0 } else { seed.rotate_left(8 * i) | 1 });
            let mut all: Vec<Commits> = seeds.map(|seed| commits(&program, Q, seed)).collect();
            all.push(
                program.body.blocks[0]
                    .items
                    .iter()
                    .fold(all[0].clone(), |mut all, item| {
                        // One group for each branch.
                        if let Item::Nested(nested) = item {
                            nested.graph.visit(&mut |item| {
                                item.after().into_iter().for_each(|slot| all[slot.0 as usize] = 0);
                            });
                            nested.after.into_iter().for_each(|slot| all[slot.0 as usize] = 1);
                        }
                        all
                    }),
            );
            let solutions = all.into_iter().map(|commits| placer.solve(commits));
            let solutions: Vec<QueueSolution> = solutions.filter(|s| s.uncovered.is_empty()).collect();
            for solution in solutions.iter().filter(|solution| placer.forces_least(solution)) {
                let waits = solution.waits.iter().any(Option::is_some);
                least.set(least.get() + u32::from(waits));
                for other in &solutions {
                    prop_assert!(placer.compare(other, solution).forces_no_more());
                }
            }
            Ok(())
        });
        assert!(result.is_ok(), "{result:?}");
        assert!(least.get() > 0, "some force the least");
    }
}
