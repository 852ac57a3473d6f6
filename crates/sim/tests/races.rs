//! The race detector against brute force: random accesses, copies, barriers and arrivals of a few threads, copies that many
//! wait for, and all pairs of accesses that touch a byte and that nothing orders.
#![allow(missing_docs)]

mod programs;

use async_sim::adversary::Adversary;
use async_sim::memory::{Actor, Clock, Contents, Kind, Memory, Moment, Piece, Space, Transfer, join};
use async_sim::report::{Hazard, Spot};
use async_sim::value::{BufferId, CopyId, Pending, Pointer};
use programs::config;
use proptest::prelude::*;
use std::collections::HashSet;
use std::num::NonZeroU32;
use std::ops::Range;

/// Three threads of one warp and two of another.
const THREADS: [u32; 5] = [0, 1, 2, 32, 33];
const PER_BLOCK: u32 = 64;
const BYTES: usize = 12;

/// What is accessed: words, which copies move, and other bytes, so that those of a word are told apart.
const PLACES: [Range<usize>; 7] = [0..4, 4..8, 8..12, 2..4, 5..6, 4..12, 3..9];
const WORDS: usize = 3;

/// What happens next. Threads are numbers in `THREADS`, and places in `PLACES`.
#[derive(Clone, Debug)]
enum Event {
    Read(usize, usize),
    Write(usize, usize),
    Atomic(usize, usize),
    /// From a word to another.
    Copy(usize, usize, usize),
    /// The thread observes the oldest of its copies.
    Wait(usize),
    /// It observes that the source of the oldest copy was read.
    WaitRead(usize),
    Barrier,
    /// Of a warp, and those of its lanes.
    WarpBarrier(usize, u32),
    /// All threads copy a word to another together.
    Wide(usize, usize),
    /// A thread issues a copy that others wait for, too.
    Load(usize, usize, usize),
    /// The thread observes the oldest of these copies that it has not observed.
    Observe(usize),
    /// The same, that its source was read.
    ObserveRead(usize),
    /// The thread arrives on an mbarrier.
    Arrive(usize),
    /// What it has issued arrives there later on, which orders nothing in memory.
    Pass(usize),
    /// It learns of all arrivals.
    Learn(usize),
    /// The threads with a bit in the first number come to a barrier that has one; those in both wait there.
    Numbered(u32, u32),
    NextBlock,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let thread = || 0..THREADS.len();
    let (place, word) = (|| 0..PLACES.len(), || 0..WORDS);
    let event = prop_oneof![
        4 => (thread(), place()).prop_map(|(t, place)| Event::Read(t, place)),
        4 => (thread(), place()).prop_map(|(t, place)| Event::Write(t, place)),
        1 => (thread(), place()).prop_map(|(t, place)| Event::Atomic(t, place)),
        3 => (thread(), word(), word()).prop_map(|(t, from, to)| Event::Copy(t, from, to)),
        3 => thread().prop_map(Event::Wait),
        1 => thread().prop_map(Event::WaitRead),
        3 => Just(Event::Barrier),
        2 => (1..8_u32).prop_map(|mask| Event::WarpBarrier(0, mask)),
        1 => (1..4_u32).prop_map(|mask| Event::WarpBarrier(1, mask)),
        2 => (word(), word()).prop_map(|(from, to)| Event::Wide(from, to)),
        2 => (thread(), word(), word()).prop_map(|(t, from, to)| Event::Load(t, from, to)),
        4 => thread().prop_map(Event::Observe),
        1 => thread().prop_map(Event::ObserveRead),
        2 => thread().prop_map(Event::Arrive),
        1 => thread().prop_map(Event::Pass),
        2 => thread().prop_map(Event::Learn),
        2 => (1..32_u32, 1..32_u32).prop_map(|(come, wait)| Event::Numbered(come, wait)),
        1 => Just(Event::NextBlock),
    ];
    prop::collection::vec(event, 1..14)
}

/// An access of some bytes, from the event that starts it to the one that its thread knows to be behind it.
#[derive(Clone, Debug)]
struct Access {
    /// The event that is reported.
    event: usize,
    thread: usize,
    block: usize,
    place: usize,
    writes: bool,
    atomic: bool,
    start: usize,
    /// `None` if the thread never knows.
    end: Option<usize>,
    by: By,
}

/// Whose access it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Thread,
    /// A thread's, by a copy that all observe, each for itself. Nobody knows of its end where it starts.
    Shared,
    /// The same, by all threads: it is behind what any of them knows.
    Block,
}

/// All accesses of a sequence, and for each event its thread's barriers.
struct Model<'a> {
    events: &'a [Event],
    accesses: Vec<Access>,
    /// The copy that each event observes, if it does.
    observed: Vec<Option<usize>>,
}

/// Copies that many wait for: which of them each thread observes next.
#[derive(Default)]
struct Observers {
    copies: Vec<usize>,
    done: [usize; THREADS.len()],
    read: [usize; THREADS.len()],
}

impl Observers {
    /// What an event observes; the number that a copy was given.
    fn next(&mut self, event: &Event) -> Option<usize> {
        let next = match *event {
            Event::Observe(t) => &mut self.done[t],
            Event::ObserveRead(t) => &mut self.read[t],
            _ => return None,
        };
        let copy = self.copies.get(*next).copied()?;
        *next += 1;
        Some(copy)
    }
}

impl<'a> Model<'a> {
    fn new(events: &'a [Event]) -> Self {
        let mut accesses: Vec<Access> = Vec::new();
        let mut block = 0;
        // Copies in flight of each thread: the numbers of their accesses, source first.
        let mut flying: [Vec<(usize, usize)>; THREADS.len()] = Default::default();
        let mut observers = Observers::default();
        let mut observed = Vec::new();
        for (number, event) in events.iter().enumerate() {
            observed.push(observers.next(event));
            let access = |thread: usize, place, writes, atomic, end| Access {
                event: number,
                thread,
                block,
                place,
                writes,
                atomic,
                start: number,
                end,
                by: match event {
                    Event::Wide(..) => By::Block,
                    Event::Load(..) => By::Shared,
                    _ => By::Thread,
                },
            };
            match *event {
                Event::Read(t, place) => accesses.push(access(t, place, false, false, Some(number))),
                Event::Write(t, place) => accesses.push(access(t, place, true, false, Some(number))),
                Event::Atomic(t, place) => accesses.push(access(t, place, true, true, Some(number))),
                Event::Copy(t, from, to) => {
                    accesses.push(access(t, from, false, false, None));
                    accesses.push(access(t, to, true, false, None));
                    flying[t].push((accesses.len() - 2, accesses.len() - 1));
                }
                Event::Wide(from, to) | Event::Load(_, from, to) => {
                    let thread = if let Event::Load(t, ..) = *event { t } else { 0 };
                    accesses.push(access(thread, from, false, false, Some(number)));
                    accesses.push(access(thread, to, true, false, Some(number)));
                    observers.copies.push(number);
                }
                Event::Wait(t) if !flying[t].is_empty() => {
                    let (source, destination) = flying[t].remove(0);
                    accesses[source].end.get_or_insert(number);
                    accesses[destination].end = Some(number);
                }
                Event::WaitRead(t) => {
                    if let Some((source, _)) = flying[t].first() {
                        accesses[*source].end.get_or_insert(number);
                    }
                }
                // What is in flight when a block ends nobody waits for any more.
                Event::NextBlock => {
                    block += 1;
                    flying = Default::default();
                    observers = Observers::default();
                }
                _ => {}
            }
        }
        Self {
            events,
            accesses,
            observed,
        }
    }

    /// Returns true if what the first access's thread knows to be done, at a byte, is known to the second's before it
    /// starts.
    fn before(&self, first: &Access, second: &Access, byte: usize) -> bool {
        let Some(end) = first.end else { return false };
        if first.block != second.block
            || second.start < end
            || (second.start == end && first.event == second.event)
        {
            return false;
        }
        // The threads that know of the first access.
        let mut knows = [false; THREADS.len()];
        knows[first.thread] = first.by == By::Thread;
        // Copies to the same byte that are behind it: who observes one knows; and what the mbarrier knows.
        let mut behind = Vec::new();
        let mut arrived = false;
        for (number, event) in self.events.iter().enumerate().take(second.start).skip(end) {
            match event {
                Event::Barrier if knows.contains(&true) => knows = [true; THREADS.len()],
                Event::Wide(_, to) if PLACES[*to].contains(&byte) && knows.contains(&true) => {
                    behind.push(number);
                }
                Event::Load(t, _, to) if PLACES[*to].contains(&byte) && knows[*t] => behind.push(number),
                Event::Observe(t) | Event::ObserveRead(t) => {
                    let read = matches!(event, Event::ObserveRead(_));
                    let copy = self.observed[number];
                    let own = first.by != By::Thread && copy == Some(first.event) && !(read && first.writes);
                    knows[*t] |= own || (!read && copy.is_some_and(|copy| behind.contains(&copy)));
                }
                Event::Arrive(t) => arrived |= knows[*t],
                Event::Learn(t) => knows[*t] |= arrived,
                Event::Numbered(come, wait) => {
                    let before = (0..THREADS.len()).any(|t| come >> t & 1 == 1 && knows[t]);
                    for (t, knows) in knows.iter_mut().enumerate() {
                        *knows |= before && (come & wait) >> t & 1 == 1;
                    }
                }
                Event::WarpBarrier(warp, mask) => {
                    let meets = |t: usize| {
                        THREADS[t] / 32 == u32::try_from(*warp).expect("two warps")
                            && mask >> (THREADS[t] % 32) & 1 == 1
                    };
                    let meeting: Vec<usize> = (0..THREADS.len()).filter(|&t| meets(t)).collect();
                    if meeting.iter().any(|&t| knows[t]) {
                        for t in meeting {
                            knows[t] = true;
                        }
                    }
                }
                _ => {}
            }
        }
        knows[second.thread] || (second.by == By::Block && knows.contains(&true))
    }

    /// Pairs of events that race, the later one first.
    fn races(&self) -> HashSet<(usize, usize)> {
        let mut races = HashSet::new();
        for (i, second) in self.accesses.iter().enumerate() {
            for first in &self.accesses[..i] {
                let conflict = first.writes || second.writes;
                let both_atomic = first.atomic && second.atomic;
                let one = first.event == second.event;
                let mut shared = PLACES[first.place]
                    .clone()
                    .filter(|byte| PLACES[second.place].contains(byte));
                if conflict && !both_atomic && !one && shared.any(|byte| !self.before(first, second, byte)) {
                    races.insert((second.event, first.event));
                }
            }
        }
        races
    }
}

/// Copies a word; who waits for that is not said yet.
fn copy_for_all(memory: &mut Memory, actor: Actor, from: Pointer, to: Pointer) -> CopyId {
    let piece = Piece {
        source: Some(from),
        destination: Some(to),
        bytes: 4,
    };
    let transfer = Transfer {
        pieces: [piece].into(),
        fill: [0].into(),
        shared: true,
    };
    memory.transfer(actor, transfer).expect("in bounds")
}

/// The same sequence on the interpreter's memory.
#[allow(clippy::too_many_lines)] // One arm for each kind of event.
fn reported(events: &[Event]) -> HashSet<(usize, usize)> {
    let mut memory = Memory::new(Adversary::Late, PER_BLOCK);
    let buffer: BufferId = memory.add(
        "m".into(),
        Space::Workgroup,
        16,
        Contents::Bytes(vec![0; BYTES]),
        None,
    );
    let mut era = NonZeroU32::MIN;
    let mut block = 0;
    let mut flying: [Vec<CopyId>; THREADS.len()] = Default::default();
    let mut observers = Observers::default();
    let mut shared: Vec<CopyId> = Vec::new();
    let mut arrived = Clock::new();
    let has = |is: fn(&Event) -> bool| events.iter().any(is);
    if has(|event| matches!(event, Event::Arrive(_) | Event::Pass(_) | Event::Numbered(..))) {
        memory.use_clocks();
    }
    if has(|event| matches!(event, Event::Pass(_))) {
        memory.share_copies();
    }
    let partial = |event: &Event| matches!(event, Event::WarpBarrier(warp, mask) if *mask != [7, 3][*warp]);
    if events.iter().any(partial) {
        memory.use_partial_barriers();
    }
    for (number, event) in events.iter().enumerate() {
        let moments: Vec<Moment> = THREADS
            .iter()
            .map(|thread| memory.moment(block * PER_BLOCK + thread, era))
            .collect();
        let thread = |t: usize| block * PER_BLOCK + THREADS[t];
        let moment = |t: usize| moments[t];
        let observed = observers.next(event);
        let actor = |t: usize, atomic| Actor {
            spot: Spot {
                instr: u32::try_from(number).expect("few events"),
                thread: block * PER_BLOCK + THREADS[t],
                iterations: 0,
            },
            moment: moment(t),
            kind: if atomic { Kind::Atomic } else { Kind::Plain },
            shared: None,
        };
        let at = |place: usize| Pointer {
            buffer,
            offset: i64::try_from(PLACES[place].start).expect("few bytes"),
        };
        let ones = |place: usize| vec![1; PLACES[place].len()];
        match *event {
            Event::Read(t, place) => {
                drop(
                    memory
                        .read(actor(t, false), at(place), PLACES[place].len(), 1)
                        .map(<[u8]>::to_vec),
                );
            }
            Event::Write(t, place) => memory
                .write(actor(t, false), at(place), &ones(place), 1)
                .expect("in bounds"),
            Event::Atomic(t, place) => {
                drop(
                    memory
                        .read(actor(t, true), at(place), PLACES[place].len(), 1)
                        .map(<[u8]>::to_vec),
                );
                memory
                    .write(actor(t, true), at(place), &ones(place), 1)
                    .expect("in bounds");
            }
            Event::Copy(t, from, to) => {
                let id = memory.issue(actor(t, false), (at(from), at(to)), (4, 4), 1);
                flying[t].push(id.expect("in bounds"));
            }
            Event::Wait(t) if !flying[t].is_empty() => memory.complete(flying[t].remove(0), moment(t)),
            Event::WaitRead(t) => {
                if let Some(id) = flying[t].first() {
                    memory.free_source(*id, moment(t));
                }
            }
            Event::Wait(_) => {}
            Event::Barrier => {
                era = era.saturating_add(1);
                memory.block_barrier();
            }
            Event::Wide(from, to) | Event::Load(_, from, to) => {
                let mut actor = actor(if let Event::Load(t, ..) = *event { t } else { 0 }, false);
                actor.kind = if matches!(event, Event::Wide(..)) {
                    Kind::Block
                } else {
                    Kind::Bulk
                };
                observers.copies.push(shared.len());
                shared.push(copy_for_all(&mut memory, actor, at(from), at(to)));
            }
            Event::Observe(t) | Event::ObserveRead(t) => {
                let source = matches!(event, Event::ObserveRead(_));
                if let Some(copy) = observed.map(|copy| shared[copy]) {
                    memory.observe(Pending { copy, source }, actor(t, false));
                }
            }
            Event::Arrive(t) => join(&mut arrived, &memory.release(thread(t))),
            Event::Pass(t) => join(&mut arrived, &memory.pass(thread(t))),
            Event::Learn(t) => memory.acquire(thread(t), &arrived),
            Event::Numbered(come, wait) => {
                let mut clock = Clock::new();
                let threads = |mask: u32| (0..THREADS.len()).filter(move |t| mask >> t & 1 == 1);
                for t in threads(come) {
                    join(&mut clock, &memory.release(thread(t)));
                }
                for t in threads(come & wait) {
                    memory.acquire(thread(t), &clock);
                }
            }
            Event::WarpBarrier(warp, mask) => {
                let thread = block * PER_BLOCK + 32 * u32::try_from(warp).expect("two warps");
                memory.warp_barrier(thread, mask);
            }
            Event::NextBlock => {
                for (t, ids) in std::mem::take(&mut flying).into_iter().enumerate() {
                    for id in ids {
                        memory.complete(id, moment(t));
                    }
                }
                for id in std::mem::take(&mut shared) {
                    memory.complete(id, moment(0));
                }
                observers = Observers::default();
                arrived = Clock::new();
                memory.block_barrier();
                memory.forget_barriers();
                era = era.saturating_add(1);
                block += 1;
            }
        }
    }
    let reports = memory.into_parts().2;
    let pair = |now: Spot, before: Spot| (now.instr as usize, before.instr as usize);
    // What is ordered but not fenced is no race.
    let races = reports
        .races()
        .filter(|race| !matches!(race.hazard, Hazard::UnfencedWrite | Hazard::UnfencedRead));
    races
        .map(|race| pair(race.now, race.before.expect("every byte is written")))
        .collect()
}

proptest! {
    #![proptest_config(config(20_000))]

    /// All that is reported is a race, and where there is a race one is reported.
    #[test]
    fn what_is_reported_races_and_no_race_goes_unseen(events in events()) {
        let races = Model::new(&events).races();
        let reported = reported(&events);
        let unfounded: Vec<_> = reported.difference(&races).collect();
        prop_assert!(unfounded.is_empty(), "{unfounded:?} don't race; what does: {races:?}");
        prop_assert_eq!(reported.is_empty(), races.is_empty(), "races: {:?}", races);
    }
}
