//! Builds the conflict graph: which events can't share an id.
//!
//! Where all events of a pair of engines are in one block that is executed once, binary flags get their ids
//! on the way ([`interval_coloring`](super::interval_coloring)): thousands that are set at a time make
//! millions of conflicts. Counting flags have none there, since one that is set later and waited for earlier
//! implies the other.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::happens_before::{Observer, PlacedEvents, Walk};
use super::interval_coloring::IntervalColoring;
use super::{BlockId, EngineId, EventId, FlagKind, Node, Options, Program};
use crate::ids::IndexVec;

/// The events of a pair of engines, and which of them conflict.
#[derive(Default)]
pub(super) struct ConflictGraph {
    /// The events in the order in which they are first set.
    pub(super) events: Vec<EventId>,
    known: FxHashSet<EventId>,
    edges: FxHashMap<EventId, FxHashSet<EventId>>,
    /// Events of which each two conflict; the most that were seen, up to one more than the limit.
    pub(super) clique: Vec<EventId>,
}

impl ConflictGraph {
    pub(super) fn has(&self, a: EventId, b: EventId) -> bool {
        self.edges.get(&a).is_some_and(|others| others.contains(&b))
    }

    pub(super) fn neighbors(&self, event: EventId) -> impl Iterator<Item = EventId> {
        self.edges.get(&event).into_iter().flatten().copied()
    }

    fn first_seen(&mut self, event: EventId) {
        if self.known.insert(event) {
            self.events.push(event);
        }
    }

    fn add(&mut self, a: EventId, b: EventId) {
        self.edges.entry(a).or_default().insert(b);
        self.edges.entry(b).or_default().insert(a);
    }

    /// Adds that `event` conflicts with each of `others`, until a clique is larger than `limit`.
    fn conflict(&mut self, event: EventId, others: impl Iterator<Item = EventId>, limit: usize) {
        let others: Vec<EventId> = others.filter(|&other| other != event).collect();
        for &other in &others {
            self.add(event, other);
        }
        // The one that is known may do with one more.
        if !self.clique.contains(&event) && self.clique.iter().all(|&member| self.has(event, member)) {
            self.clique.push(event);
            return;
        }
        if others.len() < self.clique.len() {
            return;
        }
        let mut clique = vec![event];
        for other in others {
            if !clique.contains(&other) && clique[1..].iter().all(|&member| self.has(member, other)) {
                clique.push(other);
            }
            if clique.len() > limit {
                break;
            }
        }
        if clique.len() > self.clique.len() {
            self.clique = clique;
        }
    }
}

/// What is known of the events of a pair of engines.
pub(super) enum Conflicts {
    /// All are in one block that is executed once, and flags are binary.
    Intervals(IntervalColoring),
    /// They are not.
    ConflictGraph(ConflictGraph),
}

/// Works out which events can't share an id. By pair of engines; none for those without events.
pub(super) fn conflicts(
    program: &Program,
    placed: &PlacedEvents,
    options: &Options,
) -> BTreeMap<(EngineId, EngineId), Conflicts> {
    let mut finder = Finder {
        options,
        pairs: pairs(program, placed, options.kind),
    };
    Walk::new(program, placed).block(BlockId(0), 0, true, &mut finder);
    finder.pairs
}

/// Each pair of engines that has events, without what is known of them.
fn pairs(
    program: &Program,
    placed: &PlacedEvents,
    kind: FlagKind,
) -> BTreeMap<(EngineId, EngineId), Conflicts> {
    let mut is_repeated: IndexVec<BlockId, bool> = program.blocks.iter().map(|_| false).collect();
    for (id, block) in program.blocks.with_ids() {
        for node in &block.nodes {
            match node {
                Node::Operation(_) => {}
                Node::Branch(arms) => {
                    for &arm in arms {
                        is_repeated[arm] = is_repeated[id];
                    }
                }
                Node::Loop(body) => is_repeated[*body] = true,
            }
        }
    }
    let mut blocks: BTreeMap<(EngineId, EngineId), BTreeSet<BlockId>> = BTreeMap::new();
    for event in &placed.events {
        blocks
            .entry((event.from, event.to))
            .or_default()
            .insert(event.block);
    }
    let start = |blocks: BTreeSet<BlockId>| match blocks.first() {
        Some(&block) if kind == FlagKind::Binary && blocks.len() == 1 && !is_repeated[block] => {
            Conflicts::Intervals(IntervalColoring::default())
        }
        _ => Conflicts::ConflictGraph(ConflictGraph::default()),
    };
    blocks
        .into_iter()
        .map(|(pair, blocks)| (pair, start(blocks)))
        .collect()
}

struct Finder<'a, 'o> {
    options: &'a Options<'o>,
    pairs: BTreeMap<(EngineId, EngineId), Conflicts>,
}

impl Observer for Finder<'_, '_> {
    fn before_set(&mut self, walk: &Walk, id: EventId) {
        let event = &walk.placed.events[id];
        let pair = (event.from, event.to);
        let limit = (self.options.limit)(event.from, event.to);
        match self.pairs.get_mut(&pair) {
            Some(Conflicts::Intervals(intervals)) => intervals.set(id, pair, walk, limit),
            Some(Conflicts::ConflictGraph(graph)) => {
                graph.first_seen(id);
                if self.options.kind == FlagKind::Binary && graph.clique.len() <= limit {
                    let in_flight = walk.in_flight(event.from, event.to);
                    let unknown = walk.unknown_waits(event.from, event.to).map(|wait| wait.event);
                    graph.conflict(id, in_flight.chain(unknown), limit);
                }
            }
            None => {}
        }
    }

    /// Counting flags: who set first is to be waited for first.
    fn before_wait(&mut self, walk: &Walk, id: EventId) {
        let event = &walk.placed.events[id];
        let limit = (self.options.limit)(event.from, event.to);
        if let Some(Conflicts::ConflictGraph(graph)) = self.pairs.get_mut(&(event.from, event.to))
            && self.options.kind == FlagKind::Counting
            && graph.clique.len() <= limit
        {
            let in_flight = walk.in_flight(event.from, event.to);
            graph.conflict(id, in_flight.take_while(|&other| other != id), limit);
        }
    }
}
