//! Runs what was noted of the warps against each other, in the order of time.
//!
//! The cost is linear in the number of events and of what they wait for, times the number of warps, of which a block has
//! at most 32.

use super::record::Event;
use super::{Activity, At, Flight, Iteration, MULTIPLICATIONS, Recorder, Span, Timeline};
use std::collections::HashMap;
use std::sync::Arc;

impl Recorder {
    /// Runs the warps against each other. `iterations` says what [`At::iterations`] stands for.
    #[must_use]
    pub fn replay(&self, iterations: &[Box<[u32]>]) -> Timeline {
        let mut replay = Replay::new(self, iterations);
        while let Some(warp) = replay.next() {
            replay.event(warp);
        }
        replay.finish()
    }
}

/// A phase of an mbarrier.
#[derive(Clone, Copy)]
struct Phase {
    /// The arrivals that are missing.
    missing: usize,
    /// The time of the last one.
    arrived: u64,
}

/// The warps in the order of time.
struct Replay<'a> {
    recorder: &'a Recorder,
    counters: &'a [Box<[u32]>],
    timeline: Timeline,
    /// The time of each warp, and its next event.
    clocks: Vec<u64>,
    nexts: Vec<usize>,
    /// How many of the copies that the next event of each warp waits for are known to be issued.
    ready: Vec<usize>,
    /// The warps that stand at the barrier.
    arrived: Vec<bool>,
    /// Which copies are issued: others can wait for them only then.
    issued: Vec<bool>,
    phases: Vec<Phase>,
    /// The iterations that each warp is in, outermost first, as places in those of the timeline.
    open: Vec<Vec<usize>>,
    /// When the way from memory is free again.
    free: u64,
    /// When the tensor cores are free again.
    tensor: u64,
    /// Where the copies were read, by warp and place.
    reads: HashMap<(usize, At), Vec<usize>>,
}

impl<'a> Replay<'a> {
    fn new(recorder: &'a Recorder, counters: &'a [Box<[u32]>]) -> Self {
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
            lane: "".into(),
            at: unknown,
            issued: 0,
            lands: 0,
            observed: None,
            read: None,
        };
        let phases = recorder
            .arrivals
            .iter()
            .map(|&missing| Phase { missing, arrived: 0 });
        Self {
            recorder,
            counters,
            timeline: Timeline {
                warps: vec![Vec::new(); warps],
                iterations: vec![Vec::new(); warps],
                copies: vec![flight; recorder.numbers.len()],
            },
            clocks: vec![0; warps],
            nexts: vec![0; warps],
            ready: vec![0; warps],
            arrived: vec![false; warps],
            issued: vec![false; recorder.numbers.len()],
            phases: phases.collect(),
            open: vec![Vec::new(); warps],
            free: 0,
            tensor: 0,
            reads,
        }
    }

    /// The warp whose turn it is: the one that is behind the others, of those that have something to do.
    fn next(&mut self) -> Option<usize> {
        let mut next = None;
        for warp in 0..self.clocks.len() {
            if self.arrived[warp] || self.nexts[warp] == self.recorder.warps[warp].len() {
                continue;
            }
            let turn = (self.is_early(warp), self.clocks[warp], warp);
            if next.is_none_or(|next| turn < next) {
                next = Some(turn);
            }
        }
        next.map(|(_, _, warp)| warp)
    }

    /// Returns true if the next event of a warp waits for something that another one has not begun.
    fn is_early(&mut self, warp: usize) -> bool {
        let (phase, numbers) = match &self.recorder.warps[warp][self.nexts[warp]] {
            Event::Wait(numbers, _) => (None, numbers),
            Event::Phase(phase, numbers, _) => (Some(*phase), numbers),
            _ => return false,
        };
        // What is issued stays so: nothing is looked at twice.
        let ready = &mut self.ready[warp];
        while numbers.get(*ready).is_some_and(|&number| self.issued[number]) {
            *ready += 1;
        }
        *ready < numbers.len() || phase.is_some_and(|phase| self.phases[phase].missing > 0)
    }

    fn event(&mut self, warp: usize) {
        let event = &self.recorder.warps[warp][self.nexts[warp]];
        self.nexts[warp] += 1;
        self.ready[warp] = 0;
        let now = self.clocks[warp];
        self.enter(warp, event.at());
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
                    lane: Arc::clone(lane),
                    at: *at,
                    issued: now,
                    lands: self.free.saturating_add(costs.latency),
                    ..self.timeline.copies[*number]
                };
            }
            Event::Multiply(number, at, cycles) => {
                self.tensor = self.tensor.max(now).saturating_add(*cycles);
                self.issued[*number] = true;
                self.timeline.copies[*number] = Flight {
                    warp,
                    lane: MULTIPLICATIONS.into(),
                    at: *at,
                    issued: now,
                    lands: self.tensor,
                    ..self.timeline.copies[*number]
                };
            }
            Event::Wait(numbers, at) => {
                let end = self.observe(numbers, now);
                self.advance(warp, Activity::Wait, end, *at);
            }
            Event::Barrier(at) => self.arrive(warp, *at),
            Event::Arrive(phase, _) => {
                let phase = &mut self.phases[*phase];
                phase.missing = phase.missing.saturating_sub(1);
                phase.arrived = phase.arrived.max(now);
            }
            Event::Phase(phase, numbers, at) => {
                let arrived = self.phases[*phase].arrived.max(now);
                let end = self.observe(numbers, arrived);
                self.advance(warp, Activity::MBarrier, end, *at);
            }
        }
    }

    /// A warp waits for copies, from `now` or later. Returns when they have landed.
    fn observe(&mut self, numbers: &[usize], now: u64) -> u64 {
        let copies = &mut self.timeline.copies;
        let lands = numbers.iter().map(|&number| copies[number].lands).max();
        let end = lands.unwrap_or(0).max(now);
        for &number in numbers {
            let observed = &mut copies[number].observed;
            *observed = Some(observed.map_or(end, |first| first.min(end)));
        }
        end
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

    /// A warp comes to a place: iterations that it is not in end, and those that it is in begin.
    fn enter(&mut self, warp: usize, at: At) {
        // A loop looks at its counter once more than it has iterations.
        let Some(loops) = &self.recorder.loops[at.instr as usize] else {
            return;
        };
        let now = self.clocks[warp];
        let counters = &self.counters[at.iterations as usize];
        let place = loops.iter().zip(counters.iter());
        let (all, open) = (&mut self.timeline.iterations[warp], &mut self.open[warp]);
        let stays = |(&of, (l, counter)): (&usize, (&u32, &u32))| {
            let iteration: &Iteration = &all[of];
            iteration.of == *l && iteration.number == *counter
        };
        let same = open
            .iter()
            .zip(place.clone())
            .take_while(|both| stays(*both))
            .count();
        for left in open.drain(same..) {
            all[left].end = now;
        }
        for (depth, (&of, &number)) in place.enumerate().skip(same) {
            open.push(all.len());
            all.push(Iteration {
                of,
                depth,
                number,
                start: now,
                end: now,
            });
        }
    }

    /// Ends the iterations that are still open.
    fn finish(mut self) -> Timeline {
        for (warp, open) in self.open.iter().enumerate() {
            for &iteration in open {
                self.timeline.iterations[warp][iteration].end = self.clocks[warp];
            }
        }
        self.timeline
    }
}

#[cfg(test)]
mod tests;
