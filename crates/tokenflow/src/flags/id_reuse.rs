//! Adds events in the opposite direction where a flag could be set again before its last wait is known to be
//! over.

use std::collections::BTreeMap;

use super::happens_before::{Frame, Observer, PlacedEvents, Walk};
use super::{BlockId, EngineId, Event, EventId, Point, Program, Purpose};

/// Adds events until each event's flag is known to be taken back before it is set again.
///
/// What is further inside comes first, since its events may suffice for the loops around.
pub(super) fn add_reuse_events(program: &Program, placed: &mut PlacedEvents) {
    loop {
        let mut found = Found::default();
        Walk::new(program, placed).block(BlockId(0), 0, true, &mut found);
        let Some(innermost) = found.missing.keys().map(Key::rank).max() else {
            return;
        };
        let missing = found
            .missing
            .into_iter()
            .filter(|(key, _)| key.rank() == innermost);
        let events: Vec<Event> = missing.map(|(key, ends)| ends.event(&key)).collect();
        debug_assert!(
            events.iter().all(|event| !placed.events.contains(event)),
            "an event does not lead back"
        );
        placed.add(events);
    }
}

/// Where an event has to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    depth: usize,
    block: BlockId,
    from: EngineId,
    to: EngineId,
    /// Within one iteration: the event whose flag is set twice.
    of: Option<EventId>,
}

impl Key {
    /// The larger, the further inside.
    fn rank(&self) -> (usize, bool) {
        (self.depth, self.of.is_some())
    }
}

/// From where to where.
#[derive(Clone, Copy)]
struct Endpoints {
    set: Point,
    wait: Point,
}

impl Endpoints {
    fn event(self, key: &Key) -> Event {
        Event {
            purpose: Purpose::Reuse,
            block: key.block,
            from: key.from,
            to: key.to,
            set: self.set,
            wait: self.wait,
            is_carried: key.of.is_none(),
        }
    }
}

#[derive(Default)]
struct Found {
    missing: BTreeMap<Key, Endpoints>,
}

impl Observer for Found {
    fn before_set(&mut self, walk: &Walk, id: EventId) {
        let event = &walk.placed.events[id];
        let set = walk.frames(None);
        let missing = walk
            .unknown_waits_for(id)
            .map(|wait| missing(id, event, &walk.frames(Some(wait)), &set));
        // The innermost: it may imply those further out.
        let Some((key, way)) = missing.max_by_key(|(key, _)| key.rank()) else {
            return;
        };
        self.missing
            .entry(key)
            .and_modify(|known| {
                known.set = known.set.later(way.set);
                known.wait = known.wait.earlier(way.wait);
            })
            .or_insert(way);
    }

    fn before_wait(&mut self, _: &Walk, _: EventId) {}
}

/// The event that leads from a wait to the next setting.
fn missing(id: EventId, event: &Event, wait: &[Frame], set: &[Frame]) -> (Key, Endpoints) {
    let same_block = wait.iter().zip(set).take_while(|(a, b)| a.block == b.block);
    let next_iteration = same_block.clone().position(|(a, b)| a.iteration != b.iteration);
    let depth = next_iteration.unwrap_or_else(|| same_block.count() - 1);
    let block = wait[depth].block;
    // The event's own places, if the block is its own and this is not its setting before the loop, nor its wait after it.
    let own =
        |frames: &[Frame], point: Point| (block == event.block && frames.len() == depth + 1).then_some(point);
    let key = Key {
        depth,
        block,
        from: event.to,
        to: event.from,
        of: next_iteration.is_none().then_some(id),
    };
    let way = Endpoints {
        set: own(wait, event.wait).unwrap_or(Point::After(wait[depth].node)),
        wait: own(set, event.set).unwrap_or(Point::Before(set[depth].node)),
    };
    (key, way)
}
