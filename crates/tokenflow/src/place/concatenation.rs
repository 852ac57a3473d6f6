//! Concatenates the results for the segments of a program.

use super::peeling::Round;
use super::{Placer, QueuePlacement};
use crate::clone::Peel;
use crate::counts::QueueSolution;
use crate::program::{LoopId, Program};

/// The segments of a program put together. Everything is numbered in program order, so the numbers of a
/// segment go on from those of the segments before it.
pub(super) struct Concatenation<'a, 'p> {
    placer: &'a Placer<'p>,
    rounds: Vec<Round>,
    placed: Vec<QueuePlacement>,
    /// How many slots, awaits and loops of the program are done with.
    slots: usize,
    awaits: usize,
    loops: u32,
}

impl<'a, 'p> Concatenation<'a, 'p> {
    pub fn new(placer: &'a Placer<'p>) -> Self {
        let mut new = Self {
            placer,
            rounds: Vec::new(),
            placed: vec![QueuePlacement::default(); placer.queues.len()],
            slots: 0,
            awaits: 0,
            loops: 0,
        };
        // The start of the body is in no segment, and has no commits.
        if placer.program.body.blocks[0].start.is_some() {
            let start = QueuePlacement::new(&QueueSolution {
                commits: vec![0],
                ..QueueSolution::default()
            });
            new.placed.iter_mut().for_each(|placed| placed.append(&start));
            new.slots = 1;
        }
        new
    }

    /// Takes over so many slots and awaits as they were.
    fn untouched(&mut self, slots: usize, awaits: usize) {
        if (slots, awaits) == (0, 0) {
            return;
        }
        for (placed, base) in self.placed.iter_mut().zip(self.placer.bases()) {
            placed.append(&QueuePlacement::new(&QueueSolution {
                commits: base.commits[self.slots..][..slots].to_vec(),
                waits: base.waits[self.awaits..][..awaits].to_vec(),
                reads: base.reads[self.awaits..][..awaits].to_vec(),
                uncovered: Vec::new(),
            }));
        }
        self.slots += slots;
        self.awaits += awaits;
    }

    pub fn add(&mut self, segment: &Program, rounds: &[Round], placed: &[QueuePlacement]) {
        // What the segments so far leave of their loops in each round, or had from the start.
        while self.rounds.len() < rounds.len() {
            let loops_left = self.rounds.last().map_or(self.loops, |round| round.loops_left);
            self.rounds.push(Round {
                peels: Vec::new(),
                loops_left,
            });
        }
        let mut before = self.loops;
        let mut left = segment.loops;
        let mut rounds = rounds.iter();
        for all in &mut self.rounds {
            let shift = std::mem::replace(&mut before, all.loops_left);
            if let Some(round) = rounds.next() {
                all.peels.extend(round.peels.iter().map(|peel| Peel {
                    id: LoopId(shift + peel.id.0),
                    ..*peel
                }));
                left = round.loops_left;
            }
            all.loops_left += left;
        }
        for (all, placed) in self.placed.iter_mut().zip(placed) {
            all.append(placed);
        }
        self.slots += segment.slots as usize;
        self.awaits += segment.awaits as usize;
        self.loops += segment.loops;
    }

    pub fn finish(mut self) -> (Vec<Round>, Vec<QueuePlacement>) {
        let program = self.placer.program;
        self.untouched(
            program.slots as usize - self.slots,
            program.awaits as usize - self.awaits,
        );
        (self.rounds, self.placed)
    }
}
