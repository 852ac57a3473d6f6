//! Walks through a program in its order and tracks what each engine knows of the others: the happens-before
//! order, with a set of points in time where a vector clock has one. To set a flag is a release, to wait for
//! it an acquire.

use std::collections::BTreeMap;
use std::ops::Range;

use super::time_set::TimeSet;
use super::{BlockId, EngineId, Event, EventId, Node, Point, Program, Step};
use crate::ids::{Id, IndexVec};
use rustc_hash::FxHashMap;

/// Stack for one more block; programs may be nested as deeply as their authors like.
const RED_ZONE: usize = 64 * 1024;
const STACK: usize = 1024 * 1024;

/// The order of steps in a block: by position, and kind.
type Rank = (usize, u8);

/// The events of a program, and what stands at each place of each block.
pub(super) struct PlacedEvents {
    pub(super) events: IndexVec<EventId, Event>,
    steps: IndexVec<BlockId, Vec<(Rank, Step)>>,
    carried: IndexVec<BlockId, Vec<EventId>>,
}

impl PlacedEvents {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            events: IndexVec::default(),
            steps: program.blocks.iter().map(|_| Vec::new()).collect(),
            carried: program.blocks.iter().map(|_| Vec::new()).collect(),
        }
    }

    pub(super) fn add(&mut self, events: Vec<Event>) {
        let mut blocks = Vec::new();
        for event in events {
            let id = self.events.push(event);
            let (wait, set) = event.ranks();
            let steps = &mut self.steps[event.block];
            steps.push(((event.wait.position(), wait), Step::Wait(id)));
            steps.push(((event.set.position(), set), Step::Set(id)));
            if event.is_carried {
                self.carried[event.block].push(id);
            }
            blocks.push(event.block);
        }
        blocks.dedup();
        for block in blocks {
            self.steps[block].sort_by_key(|&(place, _)| place);
        }
    }

    fn at(&self, block: BlockId, point: Point) -> &[(Rank, Step)] {
        let steps = &self.steps[block];
        let position = point.position();
        let start = steps.partition_point(|&((other, _), _)| other < position);
        let end = steps.partition_point(|&((other, _), _)| other <= position);
        &steps[start..end]
    }
}

/// What an engine knows: of each engine, when there was work that may be unfinished.
pub(super) type Knowledge = IndexVec<EngineId, TimeSet>;

/// Where a walk is: each node that it is in, innermost last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) block: BlockId,
    /// The iteration of the loop whose body the block is, 0 or 1.
    pub(super) iteration: usize,
    pub(super) node: usize,
}

/// What is asked at each setting of a flag.
pub(super) trait Observer {
    fn before_set(&mut self, walk: &Walk, event: EventId);
    fn before_wait(&mut self, walk: &Walk, event: EventId);
}

/// Nothing is asked.
impl Observer for () {
    fn before_set(&mut self, _: &Walk, _: EventId) {}
    fn before_wait(&mut self, _: &Walk, _: EventId) {}
}

/// A dependence on something that the walk has passed.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub(super) from: EngineId,
    pub(super) to: EngineId,
    /// When the producer ran.
    pub(super) time: Range<usize>,
    /// An operation of the consumer's engine may have begun too early.
    pub(super) is_broken: bool,
}

/// A state to go back to.
#[derive(Clone)]
pub(super) struct Checkpoint {
    now: usize,
    operations: Vec<usize>,
    knowledge: IndexVec<EngineId, Knowledge>,
}

/// A wait that the walk came by.
#[derive(Clone, Copy, Debug)]
pub(super) struct PastWait {
    pub(super) time: usize,
    pub(super) event: EventId,
    frame: usize,
}

/// The state of a walk.
pub(super) struct Walk<'a> {
    program: &'a Program,
    pub(super) placed: &'a PlacedEvents,
    now: usize,
    /// When each engine had an operation.
    operations: IndexVec<EngineId, Vec<usize>>,
    knowledge: IndexVec<EngineId, Knowledge>,
    /// What a flag that is set releases to who waits for it.
    released: FxHashMap<EventId, Knowledge>,
    /// Events that are set and not waited for, by pair, and when each was set.
    in_flight: Vec<BTreeMap<usize, EventId>>,
    set_at: FxHashMap<EventId, usize>,
    past: Vec<Vec<PastWait>>,
    past_of: FxHashMap<EventId, Vec<PastWait>>,
    frames: Vec<(Option<usize>, Frame)>,
    frame: Option<usize>,
    pub(super) watched: Vec<Watch>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(program: &'a Program, placed: &'a PlacedEvents) -> Self {
        let engines = program.engines;
        let nothing: Knowledge = (0..engines).map(|_| TimeSet::from(0)).collect();
        Self {
            program,
            placed,
            now: 0,
            operations: (0..engines).map(|_| Vec::new()).collect(),
            knowledge: (0..engines).map(|_| nothing.clone()).collect(),
            released: FxHashMap::default(),
            in_flight: vec![BTreeMap::new(); engines * engines],
            set_at: FxHashMap::default(),
            past: vec![Vec::new(); engines * engines],
            past_of: FxHashMap::default(),
            frames: Vec::new(),
            frame: None,
            watched: Vec::new(),
        }
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            now: self.now,
            operations: self.operations.iter().map(Vec::len).collect(),
            knowledge: self.knowledge.clone(),
        }
    }

    /// Goes back. Waits that were seen since then stay known: that is for walks that nobody observes.
    pub(super) fn go_back(&mut self, checkpoint: &Checkpoint) {
        self.now = checkpoint.now;
        for (operations, &count) in self.operations.iter_mut().zip(&checkpoint.operations) {
            operations.truncate(count);
        }
        self.knowledge.clone_from(&checkpoint.knowledge);
    }

    pub(super) fn now(&self) -> usize {
        self.now
    }

    /// The number of a pair of engines.
    pub(super) fn pair(&self, from: EngineId, to: EngineId) -> usize {
        from.index() * self.program.engines + to.index()
    }

    fn operation(&mut self, engine: EngineId) {
        let mut watched = std::mem::take(&mut self.watched);
        for watch in watched
            .iter_mut()
            .filter(|watch| watch.to == engine && !watch.is_broken)
        {
            watch.is_broken = self.may_be_unfinished(engine, watch.from, &watch.time);
        }
        self.watched = watched;
        self.operations[engine].push(self.now);
        self.now += 1;
    }

    /// Looks at every dependence that is watched.
    pub(super) fn check_watched(&mut self) {
        let mut watched = std::mem::take(&mut self.watched);
        for watch in &mut watched {
            watch.is_broken |= self.may_be_unfinished(watch.to, watch.from, &watch.time);
        }
        self.watched = watched;
    }

    /// Returns true if an operation of `of` during `time` may be unfinished when the next instruction of `engine` begins.
    fn may_be_unfinished(&self, engine: EngineId, of: EngineId, time: &Range<usize>) -> bool {
        let operations = &self.operations[of];
        let start = operations.partition_point(|&operation| operation < time.start);
        let end = operations.partition_point(|&operation| operation < time.end);
        self.knowledge[engine][of].has_one_of(&operations[start..end])
    }

    /// What a flag releases that `engine` sets now.
    pub(super) fn release(&mut self, engine: EngineId) -> Knowledge {
        self.now += 1;
        let mut released = self.knowledge[engine].clone();
        released[engine] = TimeSet::from(self.now);
        released
    }

    /// `engine` waits for a flag that releases this.
    pub(super) fn acquire(&mut self, engine: EngineId, released: &Knowledge) {
        for (of, unfinished) in released
            .iter()
            .enumerate()
            .filter(|&(of, _)| of != engine.index())
        {
            self.knowledge[engine][EngineId(of)].intersect(unfinished);
        }
        self.now += 1;
    }

    /// Events of a pair that are set and not waited for, in the order of their settings.
    pub(super) fn in_flight(&self, from: EngineId, to: EngineId) -> impl Iterator<Item = EventId> {
        self.in_flight[self.pair(from, to)].values().copied()
    }

    /// Waits of a pair that the walk came by, in order.
    pub(super) fn past(&self, from: EngineId, to: EngineId) -> &[PastWait] {
        &self.past[self.pair(from, to)]
    }

    /// Returns true if the setting engine knows that `wait`, of one of its flags, is over.
    pub(super) fn knows_of(&self, from: EngineId, to: EngineId, wait: &PastWait) -> bool {
        !self.knowledge[from][to].has_one_of(&[wait.time])
    }

    /// Waits of a pair whose end the setting engine does not know of.
    pub(super) fn unknown_waits(&self, from: EngineId, to: EngineId) -> impl Iterator<Item = &PastWait> {
        let past = self.past(from, to);
        self.knowledge[from][to].iter().flat_map(move |range| {
            let start = past.partition_point(|wait| wait.time < range.start);
            let end = past.partition_point(|wait| wait.time < range.end);
            &past[start..end]
        })
    }

    /// Earlier waits for `event` whose end the engine that sets it does not know of.
    pub(super) fn unknown_waits_for(&self, event: EventId) -> impl Iterator<Item = &PastWait> {
        let Event { from, to, .. } = self.placed.events[event];
        let past = self.past_of.get(&event).into_iter().flatten();
        past.filter(move |wait| !self.knows_of(from, to, wait))
    }

    /// The frames of a wait, or of the place where the walk is, outermost first.
    pub(super) fn frames(&self, wait: Option<&PastWait>) -> Vec<Frame> {
        let mut next = wait.map_or(self.frame, |wait| Some(wait.frame));
        let mut frames = Vec::new();
        while let Some(frame) = next {
            frames.push(self.frames[frame].1);
            next = self.frames[frame].0;
        }
        frames.reverse();
        frames
    }

    fn set(&mut self, id: EventId, observer: &mut impl Observer) {
        let event = self.placed.events[id];
        observer.before_set(self, id);
        let released = self.release(event.from);
        self.released.insert(id, released);
        let pair = self.pair(event.from, event.to);
        self.in_flight[pair].insert(self.now, id);
        self.set_at.insert(id, self.now);
    }

    fn wait(&mut self, id: EventId, observer: &mut impl Observer) {
        let event = self.placed.events[id];
        observer.before_wait(self, id);
        let released = self
            .released
            .remove(&id)
            .expect("a flag is set before it is waited for");
        let pair = self.pair(event.from, event.to);
        if let Some(set_at) = self.set_at.remove(&id) {
            self.in_flight[pair].remove(&set_at);
        }
        if let Some(frame) = self.frame {
            let wait = PastWait {
                time: self.now,
                event: id,
                frame,
            };
            self.past[pair].push(wait);
            self.past_of.entry(id).or_default().push(wait);
        }
        self.acquire(event.to, &released);
    }

    /// Walks through a block. With `twice`, each loop has a second iteration.
    pub(super) fn block(
        &mut self,
        block: BlockId,
        iteration: usize,
        twice: bool,
        observer: &mut impl Observer,
    ) {
        stacker::maybe_grow(RED_ZONE, STACK, || {
            let program = self.program;
            let outer = self.frame;
            for node in 0..program.blocks[block].nodes.len() {
                self.frames.push((
                    outer,
                    Frame {
                        block,
                        iteration,
                        node,
                    },
                ));
                self.frame = Some(self.frames.len() - 1);
                self.steps_at(block, Point::Before(node), observer);
                self.node(block, node, twice, observer);
                self.steps_at(block, Point::After(node), observer);
            }
            self.frame = outer;
        });
    }

    fn steps_at(&mut self, block: BlockId, point: Point, observer: &mut impl Observer) {
        let placed = self.placed;
        for &(_, step) in placed.at(block, point) {
            match step {
                Step::Set(event) => self.set(event, observer),
                Step::Wait(event) => self.wait(event, observer),
            }
        }
    }

    /// Walks through a node.
    pub(super) fn node(&mut self, block: BlockId, node: usize, twice: bool, observer: &mut impl Observer) {
        let program = self.program;
        match &program.blocks[block].nodes[node] {
            Node::Operation(engine) => self.operation(*engine),
            Node::Branch(arms) => self.branch(arms, twice, observer),
            Node::Loop(body) => self.repeat(*body, twice, observer),
        }
    }

    fn branch(&mut self, arms: &[BlockId], twice: bool, observer: &mut impl Observer) {
        let (start, entry) = (self.now, self.knowledge.clone());
        let mut ways = Vec::with_capacity(arms.len());
        for &arm in arms {
            self.knowledge.clone_from(&entry);
            let begin = self.now;
            // The other arms are not executed.
            for unfinished in self.knowledge.iter_mut().flat_map(|of| of.iter_mut()) {
                unfinished.remove(&(start..begin));
            }
            self.block(arm, 0, twice, observer);
            ways.push((begin..self.now, std::mem::take(&mut self.knowledge)));
        }
        let end = self.now;
        self.knowledge = join(ways.into_iter().map(|(taken, mut knowledge)| {
            for unfinished in knowledge.iter_mut().flat_map(|of| of.iter_mut()) {
                forget(unfinished, &(start..end), &taken);
            }
            knowledge
        }))
        .unwrap_or(entry);
    }

    fn repeat(&mut self, body: BlockId, twice: bool, observer: &mut impl Observer) {
        let placed = self.placed;
        let carried = &placed.carried[body];
        for &event in carried {
            self.set(event, observer);
        }
        let start = self.now;
        let mut ways = vec![self.way(carried)];
        self.block(body, 0, twice, observer);
        ways.push(self.way(carried));
        if twice {
            self.block(body, 1, false, observer);
            ways.push(self.way(carried));
        }
        let end = self.now;
        for (knowledge, released, taken) in &mut ways {
            let all = knowledge.iter_mut().chain(released);
            all.flat_map(|of| of.iter_mut())
                .for_each(|unfinished| forget(unfinished, &(start..end), &(start..*taken)));
        }
        for (number, &event) in carried.iter().enumerate() {
            let released = ways
                .iter()
                .map(|(_, released, _)| IndexVec::from_iter([released[number].clone()]));
            let joined: Option<IndexVec<EngineId, Knowledge>> = join(released);
            self.released
                .extend(joined.and_then(|joined| Some((event, joined.into_iter().next()?))));
        }
        if let Some(joined) = join(ways.into_iter().map(|(knowledge, ..)| knowledge)) {
            self.knowledge = joined;
        }
        for &event in carried {
            self.wait(event, observer);
        }
    }

    /// What is known now, what the flags release that a loop carries, and the time.
    fn way(&self, carried: &[EventId]) -> (IndexVec<EngineId, Knowledge>, Vec<Knowledge>, usize) {
        let released = carried.iter().map(|&event| self.released[&event].clone());
        (self.knowledge.clone(), released.collect(), self.now)
    }
}

/// What is known whichever path was taken.
fn join(
    ways: impl IntoIterator<Item = IndexVec<EngineId, Knowledge>>,
) -> Option<IndexVec<EngineId, Knowledge>> {
    ways.into_iter().reduce(|mut joined, way| {
        for (a, b) in joined.iter_mut().zip(way.iter()) {
            a.iter_mut().zip(b.iter()).for_each(|(a, b)| a.unite(b));
        }
        joined
    })
}

/// What did not happen is not unfinished: of `all` the times, only `taken` is on the path.
fn forget(unfinished: &mut TimeSet, all: &Range<usize>, taken: &Range<usize>) {
    unfinished.remove(&(all.start..taken.start));
    unfinished.remove(&(taken.end..all.end));
}
