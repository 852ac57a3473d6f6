//! Step 4: solves the minimum-cost hitting set problem: the cheapest set that has a place of each path.
//!
//! Paths and places are taken out as long as one of these rules applies: a path that has all places of another one is hit with
//! it; a place that is on no path more than another one, and costs no less, is never needed; neither is one if each of its paths has
//! a place that any number of times costs less; the only place of a path is chosen.
//! That solves what is left of straight lines, and of most lines of loops. The rest falls apart into parts that share no place; each is searched by branch
//! and bound.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What a place costs: compared from the first number to the last, and added up number by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub(super) struct Cost(pub [u32; 11]);

impl Cost {
    /// Any number of places with a larger number together cost less than one with a smaller number.
    fn level(self) -> usize {
        self.0.iter().position(|part| *part > 0).unwrap_or(self.0.len())
    }

    fn plus(self, other: Self) -> Self {
        let mut sum = self;
        for (a, b) in sum.0.iter_mut().zip(other.0) {
            *a = a.saturating_add(b);
        }
        sum
    }
}

/// So many nodes of a search are visited for each part, as long as that takes no more than so many looks at a place.
const NODES: usize = 20_000;
const LOOKS: usize = 4_000_000;

/// Returns places, one at least of each path. Of places that are as good, the last one is chosen.
pub(super) fn hitting_set(paths: &[Vec<usize>], cost: impl Fn(usize) -> Cost) -> Vec<usize> {
    let mut chosen = BTreeSet::new();
    for part in parts(paths) {
        let mut problem = Problem::new(&part, &cost);
        problem.reduce();
        chosen.extend(&problem.chosen);
        let rest: Vec<Vec<usize>> = problem
            .paths
            .values()
            .map(|path| path.iter().copied().collect())
            .collect();
        for part in parts(&rest) {
            chosen.extend(Search::new(part, &cost).run());
        }
    }
    chosen.into_iter().collect()
}

/// Groups paths that share places, directly or over others.
fn parts(paths: &[Vec<usize>]) -> Vec<Vec<Vec<usize>>> {
    let mut group: Vec<usize> = (0..paths.len()).collect();
    let mut first_with = BTreeMap::new();
    for (i, path) in paths.iter().enumerate() {
        for place in path {
            let other = *first_with.entry(*place).or_insert(i);
            let (a, b) = (root(&mut group, other), root(&mut group, i));
            group[a.max(b)] = a.min(b);
        }
    }
    let mut parts: BTreeMap<usize, Vec<Vec<usize>>> = BTreeMap::new();
    for (i, path) in paths.iter().enumerate() {
        parts.entry(root(&mut group, i)).or_default().push(path.clone());
    }
    parts.into_values().collect()
}

/// The number of the group that `i` is in, with path compression.
fn root(group: &mut [usize], mut i: usize) -> usize {
    while group[i] != i {
        group[i] = group[group[i]];
        i = group[i];
    }
    i
}

/// What is left of a part while it is made smaller.
struct Problem<'a> {
    cost: &'a dyn Fn(usize) -> Cost,
    paths: BTreeMap<usize, BTreeSet<usize>>,
    /// The largest level of the places of each path. No rule takes out the only place that has it.
    levels: Vec<usize>,
    /// On which paths each place is.
    on: BTreeMap<usize, BTreeSet<usize>>,
    chosen: Vec<usize>,
    /// The paths and places that a rule may apply to.
    changed_paths: BTreeSet<usize>,
    changed_places: BTreeSet<usize>,
}

impl<'a> Problem<'a> {
    fn new(paths: &[Vec<usize>], cost: &'a dyn Fn(usize) -> Cost) -> Self {
        let mut on: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (i, path) in paths.iter().enumerate() {
            for place in path {
                on.entry(*place).or_default().insert(i);
            }
        }
        let levels = paths.iter().map(|path| {
            let levels = path.iter().map(|place| cost(*place).level());
            levels.max().unwrap_or(0)
        });
        let levels = levels.collect();
        let sets = paths.iter().map(|path| path.iter().copied().collect());
        Self {
            cost,
            levels,
            paths: sets.enumerate().collect(),
            chosen: Vec::new(),
            changed_paths: (0..paths.len()).collect(),
            changed_places: on.keys().copied().collect(),
            on,
        }
    }

    fn reduce(&mut self) {
        loop {
            if let Some(path) = self.changed_paths.pop_first() {
                self.reduce_path(path);
            } else if let Some(place) = self.changed_places.pop_first() {
                self.reduce_place(place);
            } else {
                break;
            }
        }
    }

    /// Chooses the only place of a path, or takes out the paths that this one implies.
    fn reduce_path(&mut self, id: usize) {
        let Some(path) = self.paths.get(&id) else { return };
        if path.len() == 1
            && let Some(&place) = path.first()
        {
            self.chosen.push(place);
            for path in self.on.get(&place).cloned().unwrap_or_default() {
                self.remove_path(path);
            }
            return;
        }
        for implied in self.implied(id, path) {
            self.remove_path(implied);
        }
    }

    /// The paths that have all places of `path`, among them the one that fewest others have.
    fn implied(&self, id: usize, path: &BTreeSet<usize>) -> Vec<usize> {
        let candidates = path.iter().map(|place| &self.on[place]).min_by_key(|on| on.len());
        let longer = candidates.into_iter().flatten().copied().filter(|other| {
            let longer = &self.paths[other];
            *other != id && path.len() <= longer.len() && path.is_subset(longer)
        });
        longer.collect()
    }

    fn remove_path(&mut self, path: usize) {
        for place in self.paths.remove(&path).unwrap_or_default() {
            if let Some(on) = self.on.get_mut(&place) {
                on.remove(&path);
                self.changed_places.insert(place);
                if on.is_empty() {
                    self.on.remove(&place);
                }
            }
        }
    }

    /// Takes a place out that is never needed.
    fn reduce_place(&mut self, id: usize) {
        let Some(on) = self.on.get(&id) else { return };
        let level = (self.cost)(id).level();
        if !on.iter().all(|path| self.levels[*path] > level) && !self.is_dominated(id, on) {
            return;
        }
        for path in self.on.remove(&id).unwrap_or_default() {
            if let Some(places) = self.paths.get_mut(&path) {
                places.remove(&id);
                // It may imply others now.
                self.changed_paths.insert(path);
            }
        }
    }

    /// Returns true if another place than `id` is on all of its paths, `on`, and no worse.
    fn is_dominated(&self, id: usize, on: &BTreeSet<usize>) -> bool {
        let paths = on.iter().map(|path| &self.paths[path]);
        let rank = |place: usize| ((self.cost)(place), Reverse(place));
        let own = rank(id);
        let shortest = paths.min_by_key(|path| path.len());
        shortest.into_iter().flatten().any(|other| {
            *other != id
                && on.len() <= self.on[other].len()
                && rank(*other) < own
                && on.is_subset(&self.on[other])
        })
    }
}

/// A search through all sets, the most promising first.
struct Search<'a> {
    paths: Vec<Vec<usize>>,
    cost: &'a dyn Fn(usize) -> Cost,
    best: (Cost, Vec<usize>),
    /// How many nodes may be visited.
    budget: usize,
}

impl<'a> Search<'a> {
    fn new(paths: Vec<Vec<usize>>, cost: &'a dyn Fn(usize) -> Cost) -> Self {
        let greedy = greedy(&paths, cost);
        let places: usize = paths.iter().map(Vec::len).sum();
        Self {
            best: (total(&greedy, cost), greedy),
            paths,
            cost,
            budget: NODES.min(LOOKS / places.max(1)),
        }
    }

    fn run(mut self) -> Vec<usize> {
        self.visit(&mut BTreeSet::new(), Cost::default(), &mut BTreeSet::new());
        self.best.1
    }

    /// Completes `chosen` in all ways that are cheaper than the best one, without the places in `excluded`.
    fn visit(&mut self, chosen: &mut BTreeSet<usize>, cost: Cost, excluded: &mut BTreeSet<usize>) {
        if self.budget == 0 || cost.plus(self.bound(chosen, excluded)) >= self.best.0 {
            return;
        }
        self.budget -= 1;
        let open = self
            .paths
            .iter()
            .filter(|path| !path.iter().any(|place| chosen.contains(place)));
        let free = |path: &Vec<usize>| path.iter().filter(|place| !excluded.contains(place)).count();
        let Some(path) = open.min_by_key(|path| free(path)) else {
            self.best = (cost, chosen.iter().copied().collect());
            return;
        };
        let mut places: Vec<usize> = path
            .iter()
            .copied()
            .filter(|place| !excluded.contains(place))
            .collect();
        places.sort_by_key(|place| ((self.cost)(*place), Reverse(*place)));
        for &place in &places {
            chosen.insert(place);
            self.visit(chosen, cost.plus((self.cost)(place)), excluded);
            chosen.remove(&place);
            excluded.insert(place);
        }
        for place in &places {
            excluded.remove(place);
        }
    }

    /// What paths that share no place cost at least.
    fn bound(&self, chosen: &BTreeSet<usize>, excluded: &BTreeSet<usize>) -> Cost {
        let mut used: BTreeSet<usize> = BTreeSet::new();
        let mut bound = Cost::default();
        for path in &self.paths {
            if path
                .iter()
                .any(|place| chosen.contains(place) || used.contains(place))
            {
                continue;
            }
            let free = path.iter().filter(|place| !excluded.contains(place));
            let Some(cheapest) = free.map(|place| (self.cost)(*place)).min() else {
                return Cost([u32::MAX; 11]);
            };
            bound = bound.plus(cheapest);
            used.extend(path);
        }
        bound
    }
}

/// Chooses the place on most paths that are left, again and again, and then drops what is not needed.
fn greedy(paths: &[Vec<usize>], cost: &dyn Fn(usize) -> Cost) -> Vec<usize> {
    let mut on: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, path) in paths.iter().enumerate() {
        for place in path {
            on.entry(*place).or_default().push(i);
        }
    }
    let rank = |place: usize, open: usize| (open, Reverse(cost(place)), place);
    let mut open: BTreeMap<usize, usize> = on.iter().map(|(place, on)| (*place, on.len())).collect();
    let mut queue: BTreeSet<_> = open.iter().map(|(place, open)| rank(*place, *open)).collect();
    let mut hits = vec![0_usize; paths.len()];
    let mut chosen = Vec::new();
    while let Some((count, _, place)) = queue.pop_last().filter(|(count, ..)| *count > 0) {
        debug_assert_eq!(open.get(&place), Some(&count), "a place has one rank");
        chosen.push(place);
        for &path in &on[&place] {
            hits[path] += 1;
            if hits[path] > 1 {
                continue;
            }
            for &other in paths[path].iter().filter(|other| **other != place) {
                let Some(count) = open.get_mut(&other) else {
                    continue;
                };
                if queue.remove(&rank(other, *count)) {
                    queue.insert(rank(other, *count - 1));
                }
                *count -= 1;
            }
        }
    }
    chosen.retain(|place| {
        let needed = on[place].iter().any(|path| hits[*path] == 1);
        if !needed {
            on[place].iter().for_each(|path| hits[*path] -= 1);
        }
        needed
    });
    chosen
}

fn total(places: &[usize], cost: &dyn Fn(usize) -> Cost) -> Cost {
    places
        .iter()
        .fold(Cost::default(), |sum, place| sum.plus(cost(*place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_set_is_cheaper(
            paths in prop::collection::vec(prop::collection::btree_set(0..10_usize, 1..5), 0..9),
            costs in prop::collection::vec((0..2_u32, 0..3_u32), 10),
        ) {
            let paths: Vec<Vec<usize>> = paths.into_iter().map(|path| path.into_iter().collect()).collect();
            let cost = |place: usize| {
                let mut cost = Cost::default();
                (cost.0[0], cost.0[1]) = costs[place];
                cost.0[2] = 1;
                cost
            };
            let hits = |set: &[usize]| paths.iter().all(|path| path.iter().any(|place| set.contains(place)));
            let all = (0..1_usize << 10).map(|bits| (0..10).filter(|i| bits >> i & 1 == 1).collect::<Vec<_>>());
            let best = all.filter(|set| hits(set)).map(|set| total(&set, &cost)).min();
            let found = hitting_set(&paths, cost);
            prop_assert!(hits(&found));
            prop_assert_eq!(Some(total(&found, &cost)), best);
        }
    }
}
