//! When what happens, under a simple model of latency.
//!
//! The first thread of each warp stands for its warp. While the kernel runs, a [`Recorder`] notes what each of them does;
//! afterwards all warps are run against each other in the order of time, and that is the [`Timeline`]. A warp's clock
//! advances by the cost of what it runs; a copy lands when its bytes have come through the block's share of memory
//! bandwidth, and so many cycles later; a wait lasts until what it completes has landed, a barrier until all warps are
//! there. What the interpreter computes does not depend on any of it.

use crate::code::{Code, Op};
use crate::machine::WARP;
use crate::value::CopyId;
use std::collections::HashMap;

/// The model: everything in cycles, but for the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// Any instruction, and the cost of issuing the others.
    pub issue: u64,
    /// A load or store of a warp, and `ldmatrix`.
    pub access: u64,
    /// `mma.sync` of a warp.
    pub mma: u64,
    /// From the last byte of a copy until it is seen.
    pub latency: u64,
    /// The bytes that arrive in a cycle, for the whole block.
    pub bytes_per_cycle: u64,
}

impl Default for Costs {
    /// Of the order of an A100's: docs/async-sim/timeline.md says where each is from.
    fn default() -> Self {
        Self {
            issue: 1,
            access: 4,
            mma: 8,
            latency: 500,
            bytes_per_cycle: 10,
        }
    }
}

impl Costs {
    fn of(&self, op: &Op) -> u64 {
        match op {
            Op::Load { .. }
            | Op::Store { .. }
            | Op::LoadTile { .. }
            | Op::StoreTile { .. }
            | Op::Atomic { .. }
            | Op::LdMatrix { .. } => self.access,
            Op::Mma { .. } => self.mma,
            // These are what the reader makes of structured control flow, or views: no instruction of the hardware.
            Op::Jump(_)
            | Op::Count { .. }
            | Op::Moves(_)
            | Op::Set { .. }
            | Op::SubView { .. }
            | Op::Positive { .. }
            | Op::Guard { .. }
            | Op::Check { .. }
            | Op::Window { .. } => 0,
            _ => self.issue,
        }
    }
}

/// An instruction in an iteration, as [`Spot`](crate::report::Spot) names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct At {
    /// The instruction.
    pub instr: u32,
    /// Its iterations.
    pub iterations: u32,
}

/// What a warp does for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// It runs instructions.
    Busy,
    /// It waits for copies.
    Wait,
    /// It waits for other warps.
    Barrier,
}

/// A while, from its first cycle to the one after its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// What is done.
    pub kind: Activity,
    /// The first cycle.
    pub start: u64,
    /// The cycle after the last.
    pub end: u64,
    /// The instruction that it ends with.
    pub at: At,
}

/// The lane of what one thread issues for a block, whatever it completes on.
pub const BULK: &str = "bulk";

/// A copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flight {
    /// The warp.
    pub warp: usize,
    /// The lane that it is drawn in: what its queue is called, or [`BULK`].
    pub lane: &'static str,
    /// Its instruction.
    pub at: At,
    /// When it is issued.
    pub issued: u64,
    /// When it lands.
    pub lands: u64,
    /// When its completion is observed.
    pub observed: Option<u64>,
    /// When it is read first.
    pub read: Option<u64>,
}

/// What happened, when.
#[derive(Clone, Default, Debug)]
pub struct Timeline {
    /// What each warp did.
    pub warps: Vec<Vec<Span>>,
    /// The copies of the warps' first threads.
    pub copies: Vec<Flight>,
}

impl Timeline {
    /// How long all of it takes.
    #[must_use]
    pub fn end(&self) -> u64 {
        let last = self.warps.iter().filter_map(|spans| spans.last());
        last.map(|span| span.end).max().unwrap_or(0)
    }

    /// How long the warps wait for copies, in all.
    #[must_use]
    pub fn stall(&self) -> u64 {
        let spans = self.warps.iter().flatten();
        spans
            .filter(|span| span.kind == Activity::Wait)
            .map(|span| span.end - span.start)
            .sum()
    }
}

/// What the first thread of a warp does.
#[derive(Clone, Debug)]
enum Event {
    /// It runs an instruction of so many cycles.
    Run(At, u64),
    /// It issues a copy, by its number, of so many bytes for the whole warp.
    Issue(usize, &'static str, At, u64),
    /// It waits for copies, by their numbers.
    Wait(Vec<usize>, At),
    /// It comes to a block barrier.
    Barrier(At),
}

/// Notes what happens while a kernel runs.
#[derive(Clone, Debug)]
pub struct Recorder {
    costs: Costs,
    warps: Vec<Vec<Event>>,
    /// The number of each copy.
    numbers: HashMap<CopyId, usize>,
    /// Which copies were read, by which warp, where.
    reads: Vec<(usize, usize, At)>,
}

impl Recorder {
    /// Starts to note what a block of so many threads does.
    #[must_use]
    pub fn new(costs: Costs, threads: usize) -> Self {
        Self {
            costs,
            warps: vec![Vec::new(); threads.div_ceil(WARP)],
            numbers: HashMap::new(),
            reads: Vec::new(),
        }
    }

    /// Notes an event of thread `t`, if it stands for its warp.
    fn note(&mut self, t: usize, event: impl FnOnce(&mut Self) -> Event) {
        if t.is_multiple_of(WARP) {
            let event = event(self);
            self.warps[t / WARP].push(event);
        }
    }

    /// Thread `t` runs an instruction.
    pub(crate) fn step(&mut self, code: &Code, t: usize, at: At) {
        let cost = self.costs.of(&code.instrs[at.instr as usize].op);
        if cost > 0 {
            self.note(t, |_| Event::Run(at, cost));
        }
    }

    /// Thread `t` issues a copy of so many bytes.
    pub(crate) fn issue(&mut self, t: usize, id: CopyId, lane: &'static str, bytes: u64, at: At) {
        self.note(t, |recorder| {
            let number = recorder.numbers.len();
            recorder.numbers.insert(id, number);
            // The whole warp copies.
            Event::Issue(number, lane, at, bytes.saturating_mul(WARP as u64))
        });
    }

    /// Thread `t` issues a bulk copy of so many bytes: once, for all.
    pub(crate) fn issue_once(&mut self, t: usize, id: CopyId, lane: &'static str, bytes: u64, at: At) {
        self.note(t, |recorder| {
            let number = recorder.numbers.len();
            recorder.numbers.insert(id, number);
            Event::Issue(number, lane, at, bytes)
        });
    }

    /// Thread `t` waits until copies have landed.
    pub(crate) fn wait(&mut self, t: usize, ids: &[CopyId], at: At) {
        self.note(t, |recorder| {
            let numbers = ids.iter().filter_map(|id| recorder.numbers.get(id).copied());
            Event::Wait(numbers.collect(), at)
        });
    }

    /// Thread `t` reads what a copy wrote.
    pub(crate) fn read(&mut self, t: usize, id: CopyId, at: At) {
        if let Some(&number) = self.numbers.get(&id) {
            self.reads.push((number, t / WARP, at));
        }
    }

    /// All threads come to a barrier.
    pub(crate) fn barrier(&mut self, at: At) {
        for warp in &mut self.warps {
            warp.push(Event::Barrier(at));
        }
    }

    /// Runs the warps against each other.
    #[must_use]
    pub fn replay(&self) -> Timeline {
        let mut replay = Replay::new(self);
        while let Some(warp) = replay.next() {
            replay.event(warp);
        }
        replay.timeline
    }
}

/// The warps in the order of time.
struct Replay<'a> {
    recorder: &'a Recorder,
    timeline: Timeline,
    /// The time of each warp, and its next event.
    clocks: Vec<u64>,
    nexts: Vec<usize>,
    /// The warps that stand at the barrier.
    arrived: Vec<bool>,
    /// Which copies are issued: others can wait for them only then.
    issued: Vec<bool>,
    /// When the way from memory is free again.
    free: u64,
    /// Where the copies were read, by warp and place.
    reads: HashMap<(usize, At), Vec<usize>>,
}

impl<'a> Replay<'a> {
    fn new(recorder: &'a Recorder) -> Self {
        let warps = recorder.warps.len();
        let mut reads: HashMap<(usize, At), Vec<usize>> = HashMap::new();
        for &(number, warp, at) in &recorder.reads {
            reads.entry((warp, at)).or_default().push(number);
        }
        let unknown = At {
            instr: 0,
            iterations: 0,
        };
        let flight = Flight {
            warp: 0,
            lane: "",
            at: unknown,
            issued: 0,
            lands: 0,
            observed: None,
            read: None,
        };
        Self {
            recorder,
            timeline: Timeline {
                warps: vec![Vec::new(); warps],
                copies: vec![flight; recorder.numbers.len()],
            },
            clocks: vec![0; warps],
            nexts: vec![0; warps],
            arrived: vec![false; warps],
            issued: vec![false; recorder.numbers.len()],
            free: 0,
            reads,
        }
    }

    /// The warp whose turn it is: the one that is behind the others, of those that have something to do.
    fn next(&self) -> Option<usize> {
        let warps = 0..self.clocks.len();
        let can_go =
            |&warp: &usize| !self.arrived[warp] && self.nexts[warp] < self.recorder.warps[warp].len();
        let is_early = |warp: usize| match &self.recorder.warps[warp][self.nexts[warp]] {
            Event::Wait(numbers, _) => numbers.iter().any(|&number| !self.issued[number]),
            _ => false,
        };
        warps
            .filter(can_go)
            .min_by_key(|&warp| (is_early(warp), self.clocks[warp]))
    }

    fn event(&mut self, warp: usize) {
        let event = &self.recorder.warps[warp][self.nexts[warp]];
        self.nexts[warp] += 1;
        let now = self.clocks[warp];
        match event {
            Event::Run(at, cost) => {
                self.advance(warp, Activity::Busy, now.saturating_add(*cost), *at);
                for number in self.reads.remove(&(warp, *at)).unwrap_or_default() {
                    let read = &mut self.timeline.copies[number].read;
                    *read = Some(read.map_or(now, |first| first.min(now)));
                }
            }
            Event::Issue(number, lane, at, bytes) => {
                let costs = &self.recorder.costs;
                let way = bytes.div_ceil(costs.bytes_per_cycle.max(1));
                self.free = self.free.max(now).saturating_add(way);
                self.issued[*number] = true;
                self.timeline.copies[*number] = Flight {
                    warp,
                    lane,
                    at: *at,
                    issued: now,
                    lands: self.free.saturating_add(costs.latency),
                    ..self.timeline.copies[*number]
                };
            }
            Event::Wait(numbers, at) => {
                let copies = &mut self.timeline.copies;
                let waited: Vec<usize> = numbers
                    .iter()
                    .copied()
                    .filter(|&number| copies[number].observed.is_none())
                    .collect();
                let lands = waited.iter().map(|&number| copies[number].lands).max();
                let end = lands.unwrap_or(0).max(now);
                for number in waited {
                    copies[number].observed = Some(end);
                }
                self.advance(warp, Activity::Wait, end, *at);
            }
            Event::Barrier(at) => self.arrive(warp, *at),
        }
    }

    fn arrive(&mut self, warp: usize, at: At) {
        self.arrived[warp] = true;
        if !self.arrived.iter().all(|arrived| *arrived) {
            return;
        }
        let end = self.clocks.iter().copied().max().unwrap_or(0);
        for warp in 0..self.clocks.len() {
            self.advance(warp, Activity::Barrier, end, at);
            self.arrived[warp] = false;
        }
    }

    fn advance(&mut self, warp: usize, kind: Activity, end: u64, at: At) {
        let start = std::mem::replace(&mut self.clocks[warp], end);
        if end == start {
            return;
        }
        match self.timeline.warps[warp].last_mut() {
            Some(last) if last.kind == kind && kind == Activity::Busy => (last.end, last.at) = (end, at),
            _ => self.timeline.warps[warp].push(Span { kind, start, end, at }),
        }
    }
}
