//! The race detector against brute force: random accesses, copies and barriers of a few threads, and all pairs of
//! accesses that touch a byte and that nothing orders.
#![allow(missing_docs)]

mod programs;

use async_sim::adversary::Adversary;
use async_sim::memory::{Actor, Kind, Memory, Moment, Space};
use async_sim::report::Spot;
use async_sim::value::{BufferId, CopyId, Pointer};
use programs::config;
use proptest::prelude::*;
use std::collections::HashSet;
use std::num::NonZeroU32;

/// Three threads of one warp and two of another.
const THREADS: [u32; 5] = [0, 1, 2, 32, 33];
const PER_BLOCK: u32 = 64;
const BYTES: usize = 3;

/// What happens next. Threads are numbers in `THREADS`.
#[derive(Clone, Debug)]
enum Event {
    Read(usize, usize),
    Write(usize, usize),
    Atomic(usize, usize),
    /// From a byte to another.
    Copy(usize, usize, usize),
    /// The thread observes the oldest of its copies.
    Wait(usize),
    /// It observes that the source of the oldest copy was read.
    WaitRead(usize),
    Barrier,
    /// Of a warp, and those of its lanes.
    WarpBarrier(usize, u32),
    NextBlock,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let thread = || 0..THREADS.len();
    let byte = || 0..BYTES;
    let event = prop_oneof![
        4 => (thread(), byte()).prop_map(|(t, byte)| Event::Read(t, byte)),
        4 => (thread(), byte()).prop_map(|(t, byte)| Event::Write(t, byte)),
        1 => (thread(), byte()).prop_map(|(t, byte)| Event::Atomic(t, byte)),
        3 => (thread(), byte(), byte()).prop_map(|(t, from, to)| Event::Copy(t, from, to)),
        3 => thread().prop_map(Event::Wait),
        1 => thread().prop_map(Event::WaitRead),
        3 => Just(Event::Barrier),
        2 => (1..8_u32).prop_map(|mask| Event::WarpBarrier(0, mask)),
        1 => (1..4_u32).prop_map(|mask| Event::WarpBarrier(1, mask)),
        1 => Just(Event::NextBlock),
    ];
    prop::collection::vec(event, 1..14)
}

/// An access of a byte, from the event that starts it to the one that its thread knows to be behind it.
#[derive(Clone, Debug)]
struct Access {
    /// The event that is reported.
    event: usize,
    thread: usize,
    block: usize,
    byte: usize,
    writes: bool,
    atomic: bool,
    start: usize,
    /// `None` if the thread never knows.
    end: Option<usize>,
}

/// All accesses of a sequence, and for each event its thread's barriers.
struct Model<'a> {
    events: &'a [Event],
    accesses: Vec<Access>,
}

impl<'a> Model<'a> {
    fn new(events: &'a [Event]) -> Self {
        let mut accesses: Vec<Access> = Vec::new();
        let mut block = 0;
        // Copies in flight of each thread: the numbers of their accesses, source first.
        let mut flying: [Vec<(usize, usize)>; THREADS.len()] = Default::default();
        for (number, event) in events.iter().enumerate() {
            let access = |thread: usize, byte, writes, atomic, end| Access {
                event: number,
                thread,
                block,
                byte,
                writes,
                atomic,
                start: number,
                end,
            };
            match *event {
                Event::Read(t, byte) => accesses.push(access(t, byte, false, false, Some(number))),
                Event::Write(t, byte) => accesses.push(access(t, byte, true, false, Some(number))),
                Event::Atomic(t, byte) => accesses.push(access(t, byte, true, true, Some(number))),
                Event::Copy(t, from, to) => {
                    accesses.push(access(t, from, false, false, None));
                    accesses.push(access(t, to, true, false, None));
                    flying[t].push((accesses.len() - 2, accesses.len() - 1));
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
                }
                _ => {}
            }
        }
        Self { events, accesses }
    }

    /// Returns true if what the first access's thread knows to be done is known to the second's before it starts.
    fn before(&self, first: &Access, second: &Access) -> bool {
        let Some(end) = first.end else { return false };
        if first.block != second.block
            || second.start < end
            || (second.start == end && first.event == second.event)
        {
            return false;
        }
        // The threads that know of the first access.
        let mut knows = [false; THREADS.len()];
        knows[first.thread] = true;
        for event in &self.events[end..second.start] {
            match event {
                Event::Barrier => knows = [true; THREADS.len()],
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
        knows[second.thread]
    }

    /// Pairs of events that race, the later one first.
    fn races(&self) -> HashSet<(usize, usize)> {
        let mut races = HashSet::new();
        for (i, second) in self.accesses.iter().enumerate() {
            for first in &self.accesses[..i] {
                let conflict = first.byte == second.byte && (first.writes || second.writes);
                let both_atomic = first.atomic && second.atomic;
                let one = first.event == second.event;
                if conflict && !both_atomic && !one && !self.before(first, second) {
                    races.insert((second.event, first.event));
                }
            }
        }
        races
    }
}

/// The same sequence on the interpreter's memory.
fn reported(events: &[Event]) -> HashSet<(usize, usize)> {
    let mut memory = Memory::new(Adversary::Late, PER_BLOCK);
    let buffer: BufferId = memory.add("m".into(), Space::Global, 16, vec![0; BYTES], None);
    let mut era = NonZeroU32::MIN;
    let mut block = 0;
    let mut flying: [Vec<CopyId>; THREADS.len()] = Default::default();
    for (number, event) in events.iter().enumerate() {
        let passed: Vec<u32> = THREADS
            .iter()
            .map(|thread| memory.warp_barriers(block * PER_BLOCK + thread))
            .collect();
        let moment = |t: usize| Moment::of(era, passed[t]);
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
        let at = |byte: usize| Pointer {
            buffer,
            offset: i64::try_from(byte).expect("few bytes"),
        };
        match *event {
            Event::Read(t, byte) => drop(memory.read(actor(t, false), at(byte), 1, 1).map(<[u8]>::to_vec)),
            Event::Write(t, byte) => memory
                .write(actor(t, false), at(byte), &[1], 1)
                .expect("in bounds"),
            Event::Atomic(t, byte) => {
                drop(memory.read(actor(t, true), at(byte), 1, 1).map(<[u8]>::to_vec));
                memory
                    .write(actor(t, true), at(byte), &[1], 1)
                    .expect("in bounds");
            }
            Event::Copy(t, from, to) => {
                let id = memory.issue(actor(t, false), (at(from), at(to)), (1, 1), 1);
                flying[t].push(id.expect("in bounds"));
            }
            Event::Wait(t) if !flying[t].is_empty() => memory.complete(flying[t].remove(0), moment(t)),
            Event::WaitRead(t) => {
                if let Some(id) = flying[t].first() {
                    memory.free_source(*id, moment(t));
                }
            }
            Event::Wait(_) => {}
            Event::Barrier => era = era.saturating_add(1),
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
                era = era.saturating_add(1);
                block += 1;
            }
        }
    }
    let reports = memory.into_parts().2;
    let pair = |now: Spot, before: Spot| (now.instr as usize, before.instr as usize);
    reports.races().map(|race| pair(race.now, race.before)).collect()
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
