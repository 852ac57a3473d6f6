//! Which events can't share an id.

use rustc_hash::{FxHashMap, FxHashSet};

use super::machine::{Machine, Observer, Placed};
use super::{BlockId, EngineId, EventId, Kind, Options, Program};

/// The events of a pair of engines, and which of them conflict.
#[derive(Default)]
pub(super) struct Graph {
    /// The events in the order in which they are first set.
    pub(super) events: Vec<EventId>,
    known: FxHashSet<EventId>,
    edges: FxHashMap<EventId, FxHashSet<EventId>>,
    /// Events of which each two conflict; the most that were seen, up to one more than the limit.
    pub(super) clique: Vec<EventId>,
}

impl Graph {
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
        let mut clique = vec![event];
        for other in others.filter(|&other| other != event) {
            self.add(event, other);
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

/// By pair of engines; none for those without events.
pub(super) type Conflicts = Vec<((EngineId, EngineId), Graph)>;

/// Works out which events can't share an id.
pub(super) fn conflicts(program: &Program, placed: &Placed, options: &Options) -> Conflicts {
    let mut finder = Finder {
        options,
        graphs: FxHashMap::default(),
    };
    Machine::new(program, placed).block(BlockId(0), 0, true, &mut finder);
    let mut conflicts: Conflicts = finder.graphs.into_iter().collect();
    conflicts.sort_unstable_by_key(|&(pair, _)| pair);
    conflicts
}

struct Finder<'a, 'o> {
    options: &'a Options<'o>,
    graphs: FxHashMap<(EngineId, EngineId), Graph>,
}

impl Observer for Finder<'_, '_> {
    fn before_set(&mut self, machine: &Machine, id: EventId) {
        let event = &machine.placed.events[id];
        let limit = (self.options.limit)(event.from, event.to);
        let graph = self.graphs.entry((event.from, event.to)).or_default();
        graph.first_seen(id);
        if self.options.kind == Kind::Binary && graph.clique.len() <= limit {
            let in_flight = &machine.in_flight[machine.pair(event.from, event.to)];
            let unknown = machine.unknown_waits(event.from, event.to).map(|wait| wait.event);
            graph.conflict(id, in_flight.iter().copied().chain(unknown), limit);
        }
    }

    /// Counting flags: who set first is to be waited for first.
    fn before_wait(&mut self, machine: &Machine, id: EventId) {
        let event = &machine.placed.events[id];
        let limit = (self.options.limit)(event.from, event.to);
        let graph = self.graphs.entry((event.from, event.to)).or_default();
        if self.options.kind == Kind::Counting && graph.clique.len() <= limit {
            let in_flight = &machine.in_flight[machine.pair(event.from, event.to)];
            let earlier = in_flight.iter().copied().take_while(|&other| other != id);
            graph.conflict(id, earlier, limit);
        }
    }
}
