//! When what happens, under a simple model of latency.
//!
//! The first thread of each warp stands for its warp. Its clock advances by the cost of what it runs; a copy lands when its
//! bytes have come through the block's share of memory bandwidth, and so many cycles later; a wait lasts until what it
//! completes has landed, a barrier until all warps are there. What the interpreter computes does not depend on any of it.

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
    /// Of the order of an A100's: docs/async-sim.md says where each is from.
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

/// What a warp does for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
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
    pub kind: Kind,
    /// The first cycle.
    pub start: u64,
    /// The cycle after the last.
    pub end: u64,
    /// The instruction that it ends with.
    pub instr: u32,
    /// Its iterations.
    pub iterations: u32,
}

/// A copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flight {
    /// The warp.
    pub warp: usize,
    /// The instruction.
    pub instr: u32,
    /// Its iterations.
    pub iterations: u32,
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
    /// The copies of the warps' first threads, in the order of their issue.
    pub copies: Vec<Flight>,
    costs: Costs,
    clocks: Vec<u64>,
    /// When the way from memory is free again.
    free: u64,
    numbers: HashMap<CopyId, usize>,
}

impl Timeline {
    /// Starts a timeline of a block with so many threads.
    #[must_use]
    pub fn new(costs: Costs, threads: usize) -> Self {
        let warps = threads.div_ceil(WARP);
        Self {
            warps: vec![Vec::new(); warps],
            clocks: vec![0; warps],
            costs,
            ..Self::default()
        }
    }

    /// How long all of it takes.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.clocks.iter().copied().max().unwrap_or(0)
    }

    /// How long the warps wait for copies, in all.
    #[must_use]
    pub fn stall(&self) -> u64 {
        let spans = self.warps.iter().flatten();
        spans
            .filter(|span| span.kind == Kind::Wait)
            .map(|span| span.end - span.start)
            .sum()
    }

    /// The warp that thread `t` stands for.
    fn warp(t: usize) -> Option<usize> {
        t.is_multiple_of(WARP).then_some(t / WARP)
    }

    /// Thread `t` runs an instruction.
    pub(crate) fn step(&mut self, code: &Code, t: usize, instr: u32, iterations: u32) {
        let Some(warp) = Self::warp(t) else { return };
        let cost = match code.instrs[instr as usize].op {
            Op::Load { .. }
            | Op::Store { .. }
            | Op::LoadTile { .. }
            | Op::StoreTile { .. }
            | Op::Atomic { .. }
            | Op::LdMatrix { .. } => self.costs.access,
            Op::Mma { .. } => self.costs.mma,
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
            _ => self.costs.issue,
        };
        self.advance(warp, Kind::Busy, self.clocks[warp] + cost, instr, iterations);
    }

    fn advance(&mut self, warp: usize, kind: Kind, end: u64, instr: u32, iterations: u32) {
        let start = std::mem::replace(&mut self.clocks[warp], end);
        if end == start {
            return;
        }
        match self.warps[warp].last_mut() {
            Some(last) if last.kind == kind && kind == Kind::Busy => {
                (last.end, last.instr, last.iterations) = (end, instr, iterations);
            }
            _ => self.warps[warp].push(Span {
                kind,
                start,
                end,
                instr,
                iterations,
            }),
        }
    }

    /// Thread `t` issues a copy of so many bytes.
    pub(crate) fn issue(&mut self, t: usize, id: CopyId, bytes: u64, instr: u32, iterations: u32) {
        let Some(warp) = Self::warp(t) else { return };
        let issued = self.clocks[warp];
        // The whole warp copies.
        let bytes = bytes * WARP as u64;
        self.free = self.free.max(issued) + bytes.div_ceil(self.costs.bytes_per_cycle.max(1));
        self.numbers.insert(id, self.copies.len());
        self.copies.push(Flight {
            warp,
            instr,
            iterations,
            issued,
            lands: self.free + self.costs.latency,
            observed: None,
            read: None,
        });
    }

    /// Thread `t` waits until copies have landed.
    pub(crate) fn wait(&mut self, t: usize, ids: &[CopyId], instr: u32, iterations: u32) {
        let Some(warp) = Self::warp(t) else { return };
        let numbers: Vec<usize> = ids
            .iter()
            .filter_map(|id| self.numbers.get(id).copied())
            .filter(|&number| self.copies[number].observed.is_none())
            .collect();
        let lands = numbers.iter().map(|&number| self.copies[number].lands).max();
        let end = lands.unwrap_or(0).max(self.clocks[warp]);
        self.advance(warp, Kind::Wait, end, instr, iterations);
        for number in numbers {
            self.copies[number].observed = Some(end);
        }
    }

    /// A thread reads what a copy wrote.
    pub(crate) fn read(&mut self, t: usize, id: CopyId) {
        let now = self.clocks[t / WARP];
        if let Some(&number) = self.numbers.get(&id) {
            self.copies[number].read.get_or_insert(now);
        }
    }

    /// All threads pass a barrier.
    pub(crate) fn barrier(&mut self, instr: u32, iterations: u32) {
        let end = self.end();
        for warp in 0..self.clocks.len() {
            self.advance(warp, Kind::Barrier, end, instr, iterations);
        }
    }
}
