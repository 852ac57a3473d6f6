//! Random programs, against the explicit graph of what comes before what.

use super::device;
use crate::clock::{Clock, Epoch};
use crate::run::ItemId;
use crate::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const STREAMS: usize = 3;
const EVENTS: usize = 2;
const CELLS: u8 = 3;
const CELL: usize = 4;

const SIZE: u64 = CELLS as u64 * CELL as u64;

fn at(memory: u64, cell: u8) -> u64 {
    memory + u64::from(cell) * CELL as u64
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Copy {
        to: u8,
        from: u8,
        stream: usize,
    },
    Fill {
        to: u8,
        value: u8,
        stream: usize,
    },
    Record {
        event: usize,
        stream: usize,
    },
    Wait {
        stream: usize,
        event: usize,
    },
    SyncStream(usize),
    SyncEvent(usize),
    Sync,
    /// Destroys a stream, and makes a new one.
    Renew(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (stream, event, cell) = (0..STREAMS, 0..EVENTS, 0..CELLS);
    prop_oneof![
        4 => (cell.clone(), cell.clone(), stream.clone()).prop_map(|(to, from, stream)| Step::Copy { to, from, stream }),
        4 => (cell, 1..9u8, stream.clone()).prop_map(|(to, value, stream)| Step::Fill { to, value, stream }),
        4 => (event.clone(), stream.clone()).prop_map(|(event, stream)| Step::Record { event, stream }),
        5 => (event.clone(), stream.clone()).prop_map(|(event, stream)| Step::Wait { stream, event }),
        1 => stream.clone().prop_map(Step::SyncStream),
        1 => event.prop_map(Step::SyncEvent),
        1 => Just(Step::Sync),
        1 => stream.prop_map(Step::Renew),
    ]
}

/// Random steps, some of them such that one stream hands a cell to another one.
fn program(size: usize) -> impl Strategy<Value = Vec<Step>> {
    let handover = (0..EVENTS, 0..STREAMS, 0..STREAMS, 0..CELLS, 0..CELLS, 1..9u8);
    let handover = handover.prop_map(|(event, stream, other, to, from, value)| {
        vec![
            Step::Fill {
                to: from,
                value,
                stream,
            },
            Step::Record { event, stream },
            Step::Wait { stream: other, event },
            Step::Copy {
                to,
                from,
                stream: other,
            },
        ]
    });
    let steps = prop_oneof![2 => step().prop_map(|step| vec![step]), 1 => handover];
    prop::collection::vec(steps, 0..size).prop_map(|steps| steps.concat())
}

/// The explicit graph: a node for each call of the host, and one for each work.
#[derive(Default)]
struct Graph {
    before: Vec<Vec<usize>>,
    /// Of each work, in the order of their issue: its node, what it reads, what it writes.
    works: Vec<(usize, Option<u8>, Option<u8>)>,
    tails: [Option<usize>; STREAMS],
    /// What streams had in them that are gone.
    gone: Vec<usize>,
    records: [Option<usize>; EVENTS],
    host: Option<usize>,
}

impl Graph {
    fn of(program: &[Step]) -> Self {
        let mut graph = Self::default();
        for &step in program {
            graph.add(step);
        }
        graph
    }

    fn node(&mut self, before: impl IntoIterator<Item = Option<usize>>) -> usize {
        self.before.push(before.into_iter().flatten().collect());
        self.before.len() - 1
    }

    fn work(&mut self, stream: usize, after: Option<usize>, reads: Option<u8>, writes: Option<u8>) {
        let node = self.node([self.tails[stream], self.host, after]);
        self.tails[stream] = Some(node);
        self.works.push((node, reads, writes));
    }

    fn add(&mut self, step: Step) {
        let mut waits = Vec::new();
        match step {
            Step::Copy { to, from, .. } if to == from => {}
            Step::Copy { to, from, stream } => self.work(stream, None, Some(from), Some(to)),
            Step::Fill { to, stream, .. } => self.work(stream, None, None, Some(to)),
            Step::Record { event, stream } => {
                self.work(stream, None, None, None);
                self.records[event] = self.tails[stream];
            }
            Step::Wait { stream, event } => {
                if let Some(record) = self.records[event] {
                    self.work(stream, Some(record), None, None);
                }
            }
            Step::SyncStream(stream) => waits.push(self.tails[stream]),
            Step::SyncEvent(event) => waits.push(self.records[event]),
            // Streams that are destroyed can't be waited for.
            Step::Sync => waits.extend(self.tails),
            Step::Renew(stream) => self.gone.extend(self.tails[stream].take()),
        }
        waits.push(self.host);
        self.host = Some(self.node(waits));
    }

    /// What comes before a node, and the node.
    fn past(&self, node: usize) -> BTreeSet<usize> {
        let mut past = BTreeSet::new();
        let mut work = vec![node];
        while let Some(node) = work.pop() {
            if past.insert(node) {
                work.extend(&self.before[node]);
            }
        }
        past
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        self.past(b).contains(&a)
    }

    /// Whether two works race.
    fn races(&self) -> bool {
        let pairs = self.works.iter().enumerate();
        pairs.into_iter().any(|(index, a)| {
            self.works[..index].iter().any(|b| {
                let collide = |a: &(usize, Option<u8>, Option<u8>), b: &(usize, Option<u8>, Option<u8>)| {
                    a.2.is_some() && (a.2 == b.1 || a.2 == b.2)
                };
                (collide(a, b) || collide(b, a)) && !self.is_before(b.0, a.0)
            })
        })
    }
}

/// A run of a program.
struct Run {
    device: Device<Arena>,
    memory: u64,
    streams: [Handle; STREAMS],
    events: [Handle; EVENTS],
    /// What each work knows, and who it is.
    clocks: Vec<(Epoch, Clock)>,
}

impl Run {
    fn new(schedule: Adversary) -> Self {
        let mut device = device(schedule);
        let memory = device.alloc(SIZE).expect("there is room");
        let streams = [(); STREAMS].map(|()| device.stream_create());
        let events = [(); EVENTS].map(|()| device.event_create());
        for cell in 0..CELLS {
            device.memory_mut().write(at(memory, cell), &[100 + cell; CELL]);
        }
        Self {
            device,
            memory,
            streams,
            events,
            clocks: Vec::new(),
        }
    }

    fn add(&mut self, step: Step) {
        let Self {
            device,
            memory,
            streams,
            events,
            ..
        } = self;
        let issued = device.issued;
        let name = match step {
            Step::Copy { .. } => "copy",
            Step::Fill { .. } => "fill",
            _ => "step",
        };
        device.begin(name).expect("nothing fails");
        let at = |cell| at(*memory, cell);
        let used = match step {
            Step::Copy { to, from, .. } if to == from => None,
            Step::Copy { to, from, stream } => {
                device
                    .copy(at(to), at(from), CELL as u64, streams[stream])
                    .expect("right");
                Some(stream)
            }
            Step::Fill { to, value, stream } => {
                device
                    .fill(at(to), &[value], CELL as u64, streams[stream])
                    .expect("right");
                Some(stream)
            }
            Step::Record { event, stream } => {
                device
                    .event_record(events[event], streams[stream])
                    .expect("right");
                Some(stream)
            }
            Step::Wait { stream, event } => {
                device
                    .stream_wait_event(streams[stream], events[event])
                    .expect("right");
                Some(stream)
            }
            Step::SyncStream(stream) => {
                device.stream_synchronize(streams[stream]).expect("right");
                None
            }
            Step::SyncEvent(event) => {
                device.event_synchronize(events[event]).expect("right");
                None
            }
            Step::Sync => {
                for stream in streams.iter() {
                    device.stream_synchronize(*stream).expect("right");
                }
                None
            }
            Step::Renew(stream) => {
                device.stream_destroy(streams[stream]).expect("right");
                streams[stream] = device.stream_create();
                None
            }
        };
        if let (Some(stream), true) = (used, device.issued > issued) {
            let stream = &device.streams.all[&streams[stream]];
            let epoch = Epoch {
                timeline: stream.timeline,
                number: stream.issued,
            };
            self.clocks.push((epoch, stream.clock.clone()));
        }
    }

    fn races(&self) -> Vec<&Finding> {
        let race = |finding: &&Finding| {
            matches!(
                finding.kind,
                Kind::ReadAfterWrite | Kind::WriteAfterRead | Kind::WriteAfterWrite
            )
        };
        self.device.findings().iter().filter(race).collect()
    }

    /// Runs the rest, and returns all bytes.
    fn end(&mut self) -> Vec<u8> {
        self.device.synchronize();
        let mut bytes = vec![0; usize::from(CELLS) * CELL];
        self.device.memory().read(self.memory, &mut bytes);
        bytes
    }
}

fn run(schedule: Adversary, program: &[Step]) -> Run {
    let mut run = Run::new(schedule);
    for &step in program {
        run.add(step);
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn clocks_say_what_the_graph_says(program in program(9)) {
        let (mut run, mut graph) = (Run::new(Adversary::Late), Graph::default());
        for &step in &program {
            graph.add(step);
            run.add(step);
            // What has run is what the host's waits need, and nothing else.
            let past = graph.host.map(|host| graph.past(host)).unwrap_or_default();
            for (index, (node, _, _)) in graph.works.iter().enumerate() {
                let done = !run.device.items.contains_key(&ItemId(index as u64 + 1));
                prop_assert_eq!(done, past.contains(node), "work {} of {:?}", index, program);
            }
        }
        prop_assert_eq!(run.clocks.len(), graph.works.len());
        for (index, (epoch, _)) in run.clocks.iter().enumerate() {
            for (other, (_, clock)) in run.clocks.iter().enumerate() {
                let is_before = graph.is_before(graph.works[index].0, graph.works[other].0);
                prop_assert_eq!(clock.knows(*epoch), is_before, "{} before {} in {:?}", index, other, program);
            }
        }
    }

    #[test]
    fn a_race_is_found_if_there_is_one_under_each_schedule(program in program(9), seed: u64) {
        let graph = Graph::of(&program);
        for schedule in [Adversary::Late, Adversary::Early, Adversary::Random(seed)] {
            let mut run = run(schedule, &program);
            run.device.finish();
            prop_assert_eq!(!run.races().is_empty(), graph.races(), "{:?}: {:?}", program, run.races());
        }
    }

    #[test]
    fn without_races_each_schedule_gives_the_same(program in program(6), seed: u64) {
        let graph = Graph::of(&program);
        prop_assume!(!graph.races());
        let expected = sequential(&program);
        for schedule in [Adversary::Late, Adversary::Early, Adversary::Random(seed)] {
            // What was in streams that are gone is awaited by nobody.
            let mut run = run(schedule, &program);
            while !run.device.is_idle() {
                let last = *run.device.items.keys().next_back().expect("it is not idle");
                run.device.force(last);
            }
            prop_assert_eq!(&run.end(), &expected, "{:?}", program);
        }
    }

    #[test]
    fn without_races_all_orders_of_tiny_programs_give_the_same(program in program(3)) {
        let graph = Graph::of(&program);
        let expected = sequential(&program);
        let mut adversary = Some(Adversary::exhaustive());
        let (mut runs, mut differ) = (0, false);
        while let Some(now) = adversary.filter(|_| runs < 300) {
            let mut run = run(now, &program);
            while !run.device.is_idle() {
                let last = *run.device.items.keys().next_back().expect("it is not idle");
                run.device.force(last);
            }
            differ |= run.end() != expected;
            adversary = run.device.adversary().clone().next();
            runs += 1;
        }
        prop_assert!(!differ || graph.races(), "{:?}", program);
    }
}

/// All works in the order of their issue.
fn sequential(program: &[Step]) -> Vec<u8> {
    let bytes = |cell: u8| usize::from(cell) * CELL..(usize::from(cell) + 1) * CELL;
    let mut memory: Vec<u8> = (0..CELLS).flat_map(|cell| [100 + cell; CELL]).collect();
    for step in program {
        match *step {
            Step::Copy { to, from, .. } => memory.copy_within(bytes(from), bytes(to).start),
            Step::Fill { to, value, .. } => memory[bytes(to)].fill(value),
            _ => {}
        }
    }
    memory
}
