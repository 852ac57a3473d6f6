//! Assigns ids to events: colors the graph of conflicts, by first fit and then by DSATUR within a budget.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::conflicts::{ConflictGraph, Conflicts};
use super::interval_coloring::IntervalColoring;
use super::{EngineId, Event, EventId, Options, OverLimit, Plan, Usage};
use crate::ids::IndexVec;

/// Up to so many events that don't fit are reduced to those that show why.
const MOST_TO_REDUCE: usize = 64;

/// Gives each event an id.
pub(super) fn color(
    events: IndexVec<EventId, Event>,
    conflicts: &BTreeMap<(EngineId, EngineId), Conflicts>,
    options: &Options,
) -> Result<Plan, OverLimit> {
    let mut ids: IndexVec<EventId, usize> = events.iter().map(|_| 0).collect();
    let mut usage = Vec::new();
    for (&(from, to), conflicts) in conflicts {
        let limit = (options.limit)(from, to);
        let colored = match conflicts {
            Conflicts::Intervals(intervals) => of_intervals(intervals),
            Conflicts::ConflictGraph(graph) => of_graph(graph, limit, options.budget),
        };
        let colored = colored.map_err(|(culprits, is_proven)| OverLimit {
            from,
            to,
            limit,
            events: culprits.iter().map(|&event| events[event]).collect(),
            is_proven,
        })?;
        usage.push(Usage {
            from,
            to,
            ids: colored.colors.iter().max().map_or(0, |most| most + 1),
            at_least: colored.at_least,
        });
        for (&event, color) in colored.events.iter().zip(colored.colors) {
            ids[event] = color;
        }
    }
    Ok(Plan { events, ids, usage })
}

/// The ids of a pair of engines.
struct Coloring<'a> {
    events: &'a [EventId],
    colors: Vec<usize>,
    /// They need at least so many.
    at_least: usize,
}

/// Events that need more than the limit, and whether that is proven.
type Culprits = (Vec<EventId>, bool);

fn of_intervals(intervals: &IntervalColoring) -> Result<Coloring<'_>, Culprits> {
    if let Some(clique) = &intervals.clique {
        return Err((clique.clone(), true));
    }
    Ok(Coloring {
        events: &intervals.events,
        colors: intervals.ids.clone(),
        at_least: intervals.ids.iter().max().map_or(0, |most| most + 1),
    })
}

fn of_graph(graph: &ConflictGraph, limit: usize, budget: usize) -> Result<Coloring<'_>, Culprits> {
    if graph.clique.len() > limit {
        let clique: FxHashSet<EventId> = graph.clique.iter().copied().collect();
        let in_order = graph
            .events
            .iter()
            .copied()
            .filter(|event| clique.contains(event));
        return Err((in_order.collect(), true));
    }
    let (colors, at_least) = fewest(graph, &graph.events, budget);
    if colors.iter().any(|&color| color >= limit) {
        let (culprits, is_proven) = reduce(graph, limit, budget);
        return Err((culprits, is_proven && at_least > limit));
    }
    Ok(Coloring {
        events: &graph.events,
        colors,
        at_least,
    })
}

/// Colors for `events`, and a lower bound on their number.
fn fewest(graph: &ConflictGraph, events: &[EventId], budget: usize) -> (Vec<usize>, usize) {
    let number: FxHashMap<EventId, usize> = events
        .iter()
        .enumerate()
        .map(|(number, &event)| (event, number))
        .collect();
    let neighbors = events.iter().map(|&event| {
        let mut others: Vec<_> = graph
            .neighbors(event)
            .filter_map(|other| number.get(&other).copied())
            .collect();
        others.sort_unstable();
        others
    });
    let neighbors: Vec<Vec<usize>> = neighbors.collect();
    let mut best = first_fit(&neighbors);
    let clique = graph
        .clique
        .iter()
        .filter(|event| number.contains_key(event))
        .count();
    let mut at_least = clique.max(usize::from(!events.is_empty()));
    let mut search = Search {
        neighbors: &neighbors,
        budget,
        colors: Vec::new(),
    };
    while let used @ 1.. = best.iter().max().map_or(0, |most| most + 1)
        && used > at_least
    {
        match search.with(used - 1) {
            Some(true) => best = search.colors.iter().map(|color| color.unwrap_or(0)).collect(),
            Some(false) => at_least = used,
            None => break,
        }
    }
    (best, at_least)
}

/// The least color that no earlier neighbor has.
fn first_fit(neighbors: &[Vec<usize>]) -> Vec<usize> {
    let mut colors: Vec<usize> = Vec::with_capacity(neighbors.len());
    for others in neighbors {
        let mut taken: Vec<usize> = others
            .iter()
            .filter_map(|&other| colors.get(other).copied())
            .collect();
        taken.sort_unstable();
        taken.dedup();
        let free = taken.iter().enumerate().find(|&(color, &taken)| color != taken);
        colors.push(free.map_or(taken.len(), |(color, _)| color));
    }
    colors
}

/// Backtracking over the event with the fewest colors left (DSATUR: Brélaz, CACM 22(4), 1979).
struct Search<'a> {
    neighbors: &'a [Vec<usize>],
    budget: usize,
    colors: Vec<Option<usize>>,
}

impl Search<'_> {
    /// Returns whether `most` colors suffice; nothing if the budget is spent.
    fn with(&mut self, most: usize) -> Option<bool> {
        self.colors = vec![None; self.neighbors.len()];
        self.rest(most, 0)
    }

    fn is_taken(&self, node: usize, color: usize) -> bool {
        self.neighbors[node]
            .iter()
            .any(|&other| self.colors[other] == Some(color))
    }

    fn rest(&mut self, most: usize, used: usize) -> Option<bool> {
        self.budget = self.budget.checked_sub(self.colors.len())?;
        let open = (0..self.colors.len()).filter(|&node| self.colors[node].is_none());
        let Some(node) = open.max_by_key(|&node| {
            let saturation = (0..used).filter(|&color| self.is_taken(node, color)).count();
            (saturation, self.neighbors[node].len(), std::cmp::Reverse(node))
        }) else {
            return Some(true);
        };
        // Colors that nobody has are all alike.
        for color in 0..most.min(used + 1) {
            if !self.is_taken(node, color) {
                self.colors[node] = Some(color);
                if self.rest(most, used.max(color + 1))? {
                    return Some(true);
                }
                self.colors[node] = None;
            }
        }
        Some(false)
    }
}

/// Events that need more than `limit` ids, minimal by inclusion, and whether that is proven.
fn reduce(graph: &ConflictGraph, limit: usize, budget: usize) -> (Vec<EventId>, bool) {
    let needs_more = |events: &[EventId]| fewest(graph, events, budget).1 > limit;
    let mut events = graph.events.clone();
    if events.len() > MOST_TO_REDUCE || !needs_more(&events) {
        return (events, false);
    }
    let mut next = 0;
    while next < events.len() {
        let event = events.remove(next);
        if !needs_more(&events) {
            events.insert(next, event);
            next += 1;
        }
    }
    (events, true)
}
