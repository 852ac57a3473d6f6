//! Computes which memory dependences engines have to wait for, where each engine keeps its order.
//!
//! Operations are in their final order, and each engine keeps it. So an access waits, for each engine, for
//! the last operation there that conflicts with it: what that engine did before is finished by then. That is
//! so unless the operation may not be executed, as what is inside of a branch or loop; then those before it
//! count as well. Nothing has to be known of other engines in between.
//!
//! The operations are gone through once, or twice if the block is a loop's body: then the second round is the
//! next iteration.
//!
//! Cost: for each access, the places that were accessed before in its component, each counted once for an
//! engine, and up to [`MOST_POSSIBLE`] accesses of each engine that may not have been executed. Those before
//! are summarized: whatever the engine did up to them.

use super::effects::{Access, Effects};
use super::memory_dependences::{MemoryDependence, components};
use crate::analysis::alias::Root;
use async_dialects::names::gpux_attr;
use async_mlir::ir::Op;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use tokenflow::schedule::EngineId;

/// So many accesses that may not have been executed are told apart.
const MOST_POSSIBLE: usize = 32;

/// A dependence, and whether it is on everything that the producers' engines did up to the producer.
pub(crate) type CrossDependence<'c> = (MemoryDependence<'c>, bool);

/// The engine that does something; nothing for what runs on none.
type Place = Option<EngineId>;

/// An operation of the block, by its position, and what does the access in it.
type Position<'c> = (usize, Op<'c>);

/// Something that an engine did, with what is known of it.
struct Past<'c, T> {
    at: Position<'c>,
    is_certain: bool,
    what: T,
}

/// What an engine did, from the earliest to the latest.
struct History<'c, T> {
    kept: Vec<Past<'c, T>>,
    /// The last of those that are not kept: all up to it.
    summary: Option<Position<'c>>,
}

impl<T> Default for History<'_, T> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            summary: None,
        }
    }
}

impl<'c, T> History<'c, T> {
    /// Adds what comes last, in whose stead nothing else is to be kept for which `stands_for` is true.
    fn add(&mut self, past: Past<'c, T>, stands_for: impl Fn(&T) -> bool) {
        self.forget(past.at.0, past.is_certain, stands_for);
        let is_possible = |past: &Past<'c, T>| !past.is_certain;
        self.kept.push(past);
        if self.kept.iter().filter(|past| is_possible(past)).count() > MOST_POSSIBLE
            && let Some(first) = self.kept.iter().position(is_possible)
        {
            self.summary = Some(self.kept.remove(first).at);
        }
    }

    /// Forgets that for which something at `position` stands.
    fn forget(&mut self, position: usize, is_certain: bool, stands_for: impl Fn(&T) -> bool) {
        self.kept
            .retain(|past| !((is_certain || past.at.0 == position) && stands_for(&past.what)));
    }

    /// The last position where something that `matters` was certain.
    fn last_certain(&self, matters: impl Fn(&Past<'c, T>) -> bool) -> Option<usize> {
        let mut last = self.kept.iter().rev();
        let last = last.find(|past| past.is_certain && matters(past))?;
        Some(last.at.0)
    }

    /// What `matters` from position `from` on, and whether all before counts as well.
    fn since(
        &self,
        from: usize,
        matters: impl Fn(&Past<'c, T>) -> bool,
    ) -> impl Iterator<Item = (Position<'c>, bool)> {
        let kept = self.kept.iter();
        let kept = kept.filter(move |past| past.at.0 >= from && matters(past));
        let summary = self.summary.filter(|summary| summary.0 >= from);
        kept.map(|past| (past.at, false))
            .chain(summary.map(|summary| (summary, true)))
    }
}

/// What an engine read and wrote in a component.
type Accesses<'a, 'c> = [History<'c, &'a Access<'c>>; 2];

struct Scan<'a, 'c, F> {
    ops: &'a [Op<'c>],
    /// The engines of an operation of the block, or of what is inside of it.
    engines_of: F,
    component_of: FxHashMap<Root<'c>, usize>,
    /// By component and engine.
    components: Vec<BTreeMap<Place, Accesses<'a, 'c>>>,
    /// Of each engine, what nothing is known of, and what may not pass such.
    fences: BTreeMap<Place, History<'c, ()>>,
    ordered: BTreeMap<Place, History<'c, ()>>,
    found: Vec<CrossDependence<'c>>,
}

/// What memory orders between engines among `ops`, of which `effects` are known, in a block that `repeats` or does not. `engines_of` says where the
/// operation of a number, or one inside of it, accesses memory.
pub(crate) fn dependences<'c>(
    ops: &[Op<'c>],
    effects: &[Effects<'c>],
    repeats: bool,
    engines_of: impl FnMut((usize, Op<'c>)) -> Vec<EngineId>,
) -> Vec<CrossDependence<'c>> {
    let (component_of, number) = components(effects);
    let mut scan = Scan {
        ops,
        engines_of,
        component_of,
        components: (0..number).map(|_| BTreeMap::new()).collect(),
        fences: BTreeMap::new(),
        ordered: BTreeMap::new(),
        found: Vec::new(),
    };
    for position in 0..ops.len() * (1 + usize::from(repeats)) {
        scan.visit(position, &effects[position % ops.len()]);
    }
    scan.found
}

impl<'a, 'c, F: FnMut((usize, Op<'c>)) -> Vec<EngineId>> Scan<'a, 'c, F> {
    fn visit(&mut self, position: usize, effects: &'a Effects<'c>) {
        let op = self.ops[position % self.ops.len()];
        // What is inside of an operation that runs on an engine is a part of it. The two regions of a loop are ends of blocks.
        let is_certain = op.num_regions() == 0 && !op.is_terminator() || op.has_attr(gpux_attr::ENGINE);
        let own = (position, op);
        if effects.is_fence {
            self.come_after(all_of(&self.ordered), own);
        }
        if effects.stays || !effects.accesses.is_empty() {
            self.come_after(all_of(&self.fences), own);
        }
        for access in &effects.accesses {
            self.meet(position, access);
        }
        if effects.is_fence || effects.stays {
            for place in self.places(own) {
                self.order(place, own, is_certain);
                if effects.is_fence {
                    let fences = self.fences.entry(place).or_default();
                    fences.add(event(own, is_certain), |()| true);
                }
            }
        }
        for access in &effects.accesses {
            for place in self.places((position, access.op)) {
                self.order(place, (position, access.op), is_certain);
                let component = &mut self.components[self.component_of[&access.place.root]];
                let accesses = component.entry(place).or_default();
                let stands_for = |past: &&Access<'c>| access.stands_for(past);
                if access.writes {
                    accesses[0].forget(position, is_certain, stands_for);
                }
                let past = Past {
                    at: (position, access.op),
                    is_certain,
                    what: access,
                };
                accesses[usize::from(access.writes)].add(past, stands_for);
            }
        }
    }

    /// Notes that an engine did something that may not pass a fence.
    fn order(&mut self, place: Place, at: Position<'c>, is_certain: bool) {
        let ordered = self.ordered.entry(place).or_default();
        ordered.add(event(at, is_certain), |()| true);
    }

    /// Where an operation of the block, or one inside of it, does what it does.
    fn places(&mut self, (position, op): Position<'c>) -> Vec<Place> {
        let engines = (self.engines_of)((position % self.ops.len(), op));
        if engines.is_empty() {
            return vec![None];
        }
        engines.into_iter().map(Some).collect()
    }

    /// Finds what `access` has to come after.
    fn meet(&mut self, position: usize, access: &Access<'c>) {
        let number = self.ops.len();
        let conflicts = |past: &Past<'c, &'a Access<'c>>| {
            let at_once = past.at.0 / number == position / number;
            past.at.0 < position && past.what.conflicts(access, at_once)
        };
        let component = &self.components[self.component_of[&access.place.root]];
        let mut found = Vec::new();
        for accesses in component.values() {
            // Reads don't conflict with each other.
            let relevant = &accesses[usize::from(!access.writes)..];
            let certain = relevant
                .iter()
                .filter_map(|history| history.last_certain(conflicts));
            let from = certain.max().unwrap_or(0);
            found.extend(relevant.iter().flat_map(|history| history.since(from, conflicts)));
        }
        self.come_after(found, (position, access.op));
    }

    /// Notes dependences, unless they are within the second round.
    fn come_after(&mut self, past: Vec<(Position<'c>, bool)>, to: Position<'c>) {
        let number = self.ops.len();
        let past = past
            .into_iter()
            .filter(|(from, _)| from.0 < number && from.0 != to.0);
        self.found.extend(past.map(|(from, is_of_all)| {
            let dependence = MemoryDependence {
                from,
                to: (to.0 % number, to.1),
                distance: u32::from(to.0 >= number),
            };
            (dependence, is_of_all)
        }));
    }
}

fn event(at: Position<'_>, is_certain: bool) -> Past<'_, ()> {
    Past {
        at,
        is_certain,
        what: (),
    }
}

/// All that the engines did, as far as it is kept.
fn all_of<'c>(histories: &BTreeMap<Place, History<'c, ()>>) -> Vec<(Position<'c>, bool)> {
    let since = histories.values().flat_map(|history| {
        let from = history.last_certain(|_| true).unwrap_or(0);
        history.since(from, |_| true)
    });
    since.collect()
}
