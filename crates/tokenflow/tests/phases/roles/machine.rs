//! Runs the threads of an execution, on mbarriers as the PTX ISA defines them.

use super::trace::{Event, Mbarrier, What, Who};
use proptest::prelude::Rng;
use proptest::test_runner::TestRng;
use std::collections::HashMap;
use tokenflow::phases::{AccessKind, Buffer, Plan, Tree};

/// Whose turn it is.
#[derive(Clone, Copy)]
pub enum Priority {
    /// Anybody's.
    Random,
    /// That of the first one in an order, while it can do something. Loads land as late as can be, or as early.
    Fixed { loads_last: bool },
}

/// An mbarrier object: the current phase by number, pending arrivals, and bytes to come.
struct State {
    phase: u64,
    pending: u64,
    count: u64,
    bytes: i64,
}

impl State {
    fn arrive(&mut self) -> Result<(), String> {
        self.pending = self
            .pending
            .checked_sub(1)
            .ok_or("an mbarrier gets too many arrivals")?;
        self.advance();
        Ok(())
    }

    fn advance(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.count;
        }
    }

    /// Returns true if the phase with this parity is over: the current one has the other parity.
    fn is_over(&self, is_odd: bool) -> bool {
        (self.phase % 2 == 1) != is_odd
    }
}

struct Thread {
    role: u32,
    issues: bool,
    /// The next event.
    at: usize,
}

struct Flight {
    instance: usize,
    bytes: u64,
    on: Mbarrier,
}

pub struct Machine<'a> {
    events: &'a [Event],
    threads: Vec<Thread>,
    mbarriers: HashMap<Mbarrier, State>,
    flying: Vec<Flight>,
    landed: Vec<bool>,
}

fn overlap(one: Buffer, other: Buffer) -> bool {
    one == other || one == Buffer::Any || other == Buffer::Any
}

impl<'a> Machine<'a> {
    pub fn new(tree: &Tree, plan: &Plan, events: &'a [Event], threads_of_role: u32) -> Self {
        let mut mbarriers = HashMap::new();
        let mut ring = |number: usize, depth: u64, count: u64| {
            for slot in 0..depth {
                let state = State {
                    phase: 0,
                    pending: count,
                    count,
                    bytes: 0,
                };
                mbarriers.insert((number, slot), state);
            }
        };
        for (id, it) in plan.rings.with_ids() {
            ring(id.0, it.depth, 1);
        }
        for (i, it) in plan.rendezvous_rings.iter().enumerate() {
            let threads = it.roles.iter().count() as u64 * u64::from(threads_of_role);
            let count = threads + u64::from(it.issuer_arrives);
            ring(plan.rings.len() + i, plan.rendezvous_depth(), count);
        }
        let threads = (0..tree.roles * threads_of_role).map(|t| Thread {
            role: t / threads_of_role,
            issues: t == tree.issuer * threads_of_role,
            at: 0,
        });
        let instances = events
            .iter()
            .filter(|event| matches!(event.what, What::Issue { .. }));
        Self {
            events,
            threads: threads.collect(),
            mbarriers,
            flying: Vec::new(),
            landed: vec![false; instances.count()],
        }
    }

    /// Runs until all threads are through and all loads have landed.
    pub fn run(&mut self, rng: &mut TestRng, priority: Priority) -> Result<(), String> {
        let n = self.threads.len();
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
        }
        loop {
            (0..n).for_each(|t| self.skip(t));
            let able: Vec<usize> = order.iter().copied().filter(|&t| self.is_able(t)).collect();
            let flying = self.flying.len();
            let below = |rng: &mut TestRng, n: usize| (rng.next_u64() % n as u64) as usize;
            let lands = flying > 0
                && match priority {
                    Priority::Random => below(rng, able.len() + flying) >= able.len(),
                    Priority::Fixed { loads_last } => able.is_empty() || !loads_last,
                };
            if lands {
                self.land(below(rng, flying));
            } else if able.is_empty() {
                let ended = self.threads.iter().all(|thread| thread.at == self.events.len());
                return ended.then_some(()).ok_or_else(|| self.stuck());
            } else {
                let first = match priority {
                    Priority::Random => below(rng, able.len()),
                    Priority::Fixed { .. } => 0,
                };
                self.step(able[first])?;
            }
        }
    }

    fn stuck(&self) -> String {
        let waiting = self
            .threads
            .iter()
            .filter_map(|thread| self.events.get(thread.at));
        let waiting: Vec<String> = waiting.map(|event| format!("{event:?}")).collect();
        format!("threads wait for ever: {}", waiting.join("; "))
    }

    fn does(&self, t: usize, event: &Event) -> bool {
        match event.who {
            Who::Roles(roles) => roles.has(self.threads[t].role),
            Who::Issuer => self.threads[t].issues,
        }
    }

    /// Passes over what others do.
    fn skip(&mut self, t: usize) {
        while let Some(event) = self.events.get(self.threads[t].at)
            && !self.does(t, event)
        {
            self.threads[t].at += 1;
        }
    }

    fn is_able(&self, t: usize) -> bool {
        let at = self.threads[t].at;
        match self.events.get(at).map(|event| &event.what) {
            None => false,
            Some(What::Wait(on, is_odd)) => self.mbarriers[on].is_over(*is_odd),
            // All have come.
            Some(What::Barrier) => self.threads.iter().all(|other| other.at >= at),
            Some(_) => true,
        }
    }

    fn land(&mut self, i: usize) {
        let flight = self.flying.swap_remove(i);
        self.landed[flight.instance] = true;
        let state = self.mbarriers.get_mut(&flight.on).expect("it was issued on one");
        state.bytes -= flight.bytes.cast_signed();
        state.advance();
    }

    fn step(&mut self, t: usize) -> Result<(), String> {
        let at = self.threads[t].at;
        match &self.events[at].what {
            What::Arrive(on) => self.mbarriers.get_mut(on).ok_or("no mbarrier")?.arrive()?,
            What::Expect(on, bytes, arrives) => {
                let state = self.mbarriers.get_mut(on).ok_or("no mbarrier")?;
                state.bytes += bytes.cast_signed();
                if *arrives {
                    state.arrive()?;
                }
            }
            What::Issue {
                instance,
                buffer,
                bytes,
                on,
            } => {
                self.may_be_issued(at, *buffer)?;
                self.flying.push(Flight {
                    instance: *instance,
                    bytes: *bytes,
                    on: *on,
                });
            }
            What::Awaited(loads) => {
                if let Some(load) = loads.iter().find(|&&load| !self.landed[load]) {
                    return Err(format!("load {load} is in flight after event {at}"));
                }
            }
            What::Barrier | What::Fence | What::Access(..) | What::Wait(..) | What::Met(_) => {}
        }
        self.threads[t].at += 1;
        Ok(())
    }

    /// Checks that what happens before a load, in the program's order, has happened.
    fn may_be_issued(&self, at: usize, buffer: Buffer) -> Result<(), String> {
        for t in 0..self.threads.len() {
            let mut unfenced = false;
            for (i, event) in self.events[..at].iter().enumerate() {
                if !self.does(t, event) {
                    continue;
                }
                let done = i < self.threads[t].at;
                match event.what {
                    What::Access(of, kind) if overlap(of, buffer) => {
                        if !done {
                            return Err(format!("event {at} overwrites what event {i} is yet to access"));
                        }
                        unfenced |= kind != AccessKind::Read;
                    }
                    What::Fence if done => unfenced = false,
                    _ => {}
                }
            }
            if unfenced {
                return Err(format!("event {at} overwrites what was written without a fence"));
            }
        }
        let mut buffers: HashMap<usize, Buffer> = HashMap::new();
        for (i, event) in self.events[..at].iter().enumerate() {
            match &event.what {
                What::Issue { instance, buffer, .. } => {
                    buffers.insert(*instance, *buffer);
                }
                What::Awaited(loads) => {
                    let mut own = loads.iter().filter(|load| overlap(buffers[load], buffer));
                    if own.any(|&load| !self.landed[load]) {
                        return Err(format!(
                            "event {at} overwrites what event {i} awaits, which is in flight"
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
