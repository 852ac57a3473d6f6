//! Places an event for each dependence that nothing else implies: the transitive reduction.

use std::cmp::Reverse;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::happens_before::{Checkpoint, Knowledge, PlacedEvents, Walk, Watch};
use super::{BlockId, Dependence, EngineId, Event, Node, Point, Program, Purpose};

/// Places the events of all blocks, inner ones first: what they imply counts for the blocks around.
pub(super) fn place(program: &Program) -> PlacedEvents {
    let mut placed = PlacedEvents::new(program);
    for block in program.blocks.ids().rev() {
        let events = BlockPlacer::new(program, &placed, block).events();
        placed.add(events);
    }
    placed
}

/// A dependence that may need an event.
#[derive(Clone, Copy)]
struct Candidate {
    dependence: Dependence,
    is_carried: bool,
    is_chosen: bool,
}

impl Candidate {
    fn event(self, block: BlockId) -> Event {
        Event {
            purpose: Purpose::Dependence(self.dependence),
            block,
            from: self.dependence.from,
            to: self.dependence.to,
            set: Point::After(self.dependence.producer),
            wait: if self.waits_early() {
                Point::After(self.dependence.producer)
            } else {
                Point::Before(self.dependence.consumer)
            },
            is_carried: self.is_carried,
        }
    }

    /// A flag is waited for before it is set again, so the wait stands before the consumer's turn.
    fn waits_early(self) -> bool {
        self.is_carried && self.dependence.producer < self.dependence.consumer
    }
}

/// Places the events of one block.
struct BlockPlacer<'a> {
    walk: Walk<'a>,
    program: &'a Program,
    block: BlockId,
    /// By consumer; of each, those within an iteration first, and the latest producer first: it may imply the others.
    candidates: Vec<Candidate>,
    /// The numbers of those that wait early, by producer.
    early: Vec<usize>,
    /// Whose flags may be needed: an engine after a node, in order.
    producers: Vec<(usize, EngineId)>,
    /// The iteration before the one that is being walked through, and that one.
    last: Iteration,
    this: Iteration,
    /// How long the walk through the last node took.
    length: usize,
}

/// What later consumers need to know of an iteration.
#[derive(Clone, Default)]
struct Iteration {
    /// When each node began and ended.
    times: Vec<Range<usize>>,
    /// What a flag releases that an engine sets after a node.
    released: FxHashMap<(usize, EngineId), Knowledge>,
}

impl<'a> BlockPlacer<'a> {
    fn new(program: &'a Program, placed: &'a PlacedEvents, block: BlockId) -> Self {
        let contents = &program.blocks[block];
        let candidate = |is_carried| {
            move |&dependence: &Dependence| Candidate {
                dependence,
                is_carried,
                is_chosen: false,
            }
        };
        let within = contents.dependences.iter().map(candidate(false));
        let mut candidates: Vec<_> = within
            .chain(contents.carried.iter().map(candidate(true)))
            .collect();
        candidates.sort_by_key(|candidate| {
            let Dependence {
                producer,
                consumer,
                from,
                to,
                ..
            } = candidate.dependence;
            (consumer, candidate.is_carried, Reverse(producer), from, to)
        });
        let mut early: Vec<_> = (0..candidates.len())
            .filter(|&number| candidates[number].waits_early())
            .collect();
        early.sort_by_key(|&number| candidates[number].dependence.producer);
        let mut producers: Vec<_> = candidates
            .iter()
            .map(|candidate| (candidate.dependence.producer, candidate.dependence.from))
            .collect();
        producers.sort_unstable();
        producers.dedup();
        Self {
            walk: Walk::new(program, placed),
            program,
            block,
            candidates,
            early,
            producers,
            last: Iteration::default(),
            this: Iteration::default(),
            length: 0,
        }
    }

    fn events(mut self) -> Vec<Event> {
        self.iteration(true);
        if !self.program.blocks[self.block].carried.is_empty() {
            // Whether an early wait is needed shows at its consumer, and then the iteration begins anew.
            self.last = std::mem::take(&mut self.this);
            let walk = self.walk.checkpoint();
            while self.iteration(false) {
                self.walk.go_back(&walk);
                self.this = Iteration::default();
            }
        }
        let chosen = self.candidates.iter().filter(|candidate| candidate.is_chosen);
        chosen.map(|candidate| candidate.event(self.block)).collect()
    }

    /// Returns true if an early wait was chosen that was not chosen before.
    fn iteration(&mut self, is_first: bool) -> bool {
        let mut is_new = false;
        let (mut next, mut early, mut producers) = (0, 0, 0);
        for node in 0..self.program.blocks[self.block].nodes.len() {
            let start = next;
            while self
                .candidates
                .get(next)
                .is_some_and(|candidate| candidate.dependence.consumer == node)
            {
                next += 1;
            }
            let time = self.node(node, start..next, is_first, &mut is_new);
            while let Some(&number) = self.early.get(early)
                && self.candidates[number].dependence.producer == node
            {
                early += 1;
                if self.candidates[number].is_chosen && !is_first {
                    self.acquire(number);
                }
            }
            self.this.times.push(time);
            while let Some(&(producer, engine)) = self.producers.get(producers)
                && producer == node
            {
                producers += 1;
                let released = self.walk.release(engine);
                self.this.released.insert((producer, engine), released);
            }
        }
        is_new
    }

    /// The iteration of a candidate's producer.
    fn producers_iteration(&self, number: usize) -> &Iteration {
        if self.candidates[number].is_carried {
            &self.last
        } else {
            &self.this
        }
    }

    fn acquire(&mut self, number: usize) {
        let Dependence {
            producer, from, to, ..
        } = self.candidates[number].dependence;
        let released = self.producers_iteration(number).released[&(producer, from)].clone();
        self.walk.acquire(to, &released);
    }

    /// Chooses among the candidates of a consumer, walks through it, and says when that was.
    fn node(
        &mut self,
        node: usize,
        candidates: Range<usize>,
        is_first: bool,
        is_new: &mut bool,
    ) -> Range<usize> {
        // The second iteration is for what is carried; the rest is as in the first.
        let (mut open, mut decided) = (Vec::new(), Vec::new());
        for number in candidates {
            let candidate = &mut self.candidates[number];
            if candidate.is_carried && (is_first || candidate.waits_early() && candidate.is_chosen) {
                continue;
            }
            if candidate.is_carried || is_first {
                candidate.is_chosen = false;
                open.push(number);
            } else if candidate.is_chosen {
                decided.push(number);
            }
        }
        for number in decided {
            self.acquire(number);
        }
        let before = self.walk.checkpoint();
        let all = open.clone();
        let mut chosen = Vec::new();
        while let Some(broken) = self.broken(node, &before, &chosen, &open) {
            let number = open[broken];
            open.drain(..=broken);
            *is_new |= self.candidates[number].waits_early();
            chosen.push(number);
        }
        // In a branch or loop, one that was chosen later may imply an earlier one.
        for number in chosen.clone() {
            let rest: Vec<_> = chosen.iter().copied().filter(|&other| other != number).collect();
            if chosen.len() > 1
                && !self.candidates[number].waits_early()
                && self.broken(node, &before, &rest, &all).is_none()
            {
                chosen = rest;
            }
        }
        for &number in &chosen {
            self.candidates[number].is_chosen = true;
        }
        self.broken(node, &before, &chosen, &[]);
        let end = self.walk.now();
        end - self.length..end
    }

    /// Walks through a node with `chosen` acquired, and returns the number of the first of `open` that does not hold.
    fn broken(
        &mut self,
        node: usize,
        before: &Checkpoint,
        chosen: &[usize],
        open: &[usize],
    ) -> Option<usize> {
        self.walk.go_back(before);
        for &number in chosen {
            self.acquire(number);
        }
        self.walk.watched = open.iter().map(|&number| self.watch(number)).collect();
        if !matches!(self.program.blocks[self.block].nodes[node], Node::Operation(_)) {
            // It is met at the boundary, since what is inside need not be executed.
            self.walk.check_watched();
        }
        let start = self.walk.now();
        self.walk.node(self.block, node, false, &mut ());
        self.length = self.walk.now() - start;
        let watched = std::mem::take(&mut self.walk.watched);
        watched.iter().position(|watch| watch.is_broken)
    }

    fn watch(&self, number: usize) -> Watch {
        let Dependence {
            producer,
            from,
            to,
            is_of_all,
            ..
        } = self.candidates[number].dependence;
        let time = self.producers_iteration(number).times[producer].clone();
        Watch {
            from,
            to,
            time: if is_of_all { 0..time.end } else { time },
            is_broken: false,
        }
    }
}
