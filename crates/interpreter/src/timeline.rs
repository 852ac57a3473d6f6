//! When what happens, under a simple model of latency.
//!
//! The first thread of each warp stands for its warp. While the kernel runs, a [`Recorder`] notes what each of them does;
//! afterwards all warps are run against each other in the order of time, and that is the [`Timeline`]. A warp's clock
//! advances by the cost of what it runs; a copy lands when its bytes have come through the block's share of memory
//! bandwidth, and so many cycles later; a wait lasts until what it completes has landed, a barrier until all warps are
//! there, a phase of an mbarrier until its arrivals are there and its copies have landed. What the interpreter computes
//! does not depend on any of it. Multiplications of warpgroups are in flight like copies, one after the other.

mod record;
mod replay;

pub use self::record::Recorder;
use crate::code::{Op, Warpgroup};
use std::sync::Arc;

/// The model: everything in cycles, but for the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// Any instruction, and the cost of issuing the others.
    pub issue: u64,
    /// A load or store of a warp, and `ldmatrix`.
    pub access: u64,
    /// `mma.sync` of a warp.
    pub mma: u64,
    /// A multiplication of a warpgroup, for each 8 columns; those of a block come one after the other.
    pub wgmma: u64,
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
            wgmma: 4,
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
            | Op::AtomicLoad { .. }
            | Op::LdMatrix { .. }
            | Op::StMatrix { .. } => self.access,
            Op::Mma { .. } => self.mma,
            // These are what the reader makes of structured control flow, or views: no instruction of the hardware.
            Op::Jump(_)
            | Op::Warpgroup(Warpgroup::Meet)
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
    /// It waits for copies, at a wait or an await.
    Wait,
    /// It waits for other warps, at a block barrier.
    Barrier,
    /// It waits for a phase of an mbarrier: for copies, for arrivals, or for both.
    MBarrier,
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

/// An iteration of a loop, as a warp goes through it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Iteration {
    /// The loop, as a place in [`Code::loops`](crate::code::Code::loops).
    pub of: u32,
    /// How many loops are around that one.
    pub depth: usize,
    /// Which iteration, counted from 0.
    pub number: u32,
    /// The first cycle.
    pub start: u64,
    /// The cycle after the last.
    pub end: u64,
}

/// The lane of what one thread issues for a block, whatever it completes on.
pub const BULK: &str = "bulk";

/// The lane of multiplications of warpgroups.
pub const MULTIPLICATIONS: &str = "wgmma";

/// A copy, or a multiplication of a warpgroup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flight {
    /// The warp.
    pub warp: usize,
    /// The lane that it is drawn in: what its queue is called, [`BULK`], or [`MULTIPLICATIONS`].
    pub lane: Arc<str>,
    /// Its instruction.
    pub at: At,
    /// When it is issued.
    pub issued: u64,
    /// When it lands, or is done.
    pub lands: u64,
    /// When its completion is observed.
    pub observed: Option<u64>,
    /// When it is read first.
    pub read: Option<u64>,
}

/// How many cycles all warps together wait, by what they wait at.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waits {
    /// At waits and awaits, for copies.
    pub copies: u64,
    /// At block barriers.
    pub barriers: u64,
    /// At mbarriers.
    pub mbarriers: u64,
}

impl Waits {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        let both = self.copies.saturating_add(self.barriers);
        both.saturating_add(self.mbarriers)
    }
}

/// What happened, when.
#[derive(Clone, Default, Debug)]
pub struct Timeline {
    /// What each warp did.
    pub warps: Vec<Vec<Span>>,
    /// The iterations that each warp went through, in the order in which they begin.
    pub iterations: Vec<Vec<Iteration>>,
    /// The copies of the warps' first threads, and multiplications.
    pub copies: Vec<Flight>,
}

impl Timeline {
    /// How long all of it takes.
    #[must_use]
    pub fn end(&self) -> u64 {
        let last = self.warps.iter().filter_map(|spans| spans.last());
        last.map(|span| span.end).max().unwrap_or(0)
    }

    /// The cycle that a picture has to reach: copies that nobody waits for may land after all warps have ended.
    #[must_use]
    pub fn extent(&self) -> u64 {
        let lands = self.copies.iter().map(|flight| flight.lands).max();
        self.end().max(lands.unwrap_or(0))
    }

    /// How long the warps wait.
    #[must_use]
    pub fn waits(&self) -> Waits {
        let mut waits = Waits::default();
        for span in self.warps.iter().flatten() {
            let cycles = match span.kind {
                Activity::Busy => continue,
                Activity::Wait => &mut waits.copies,
                Activity::Barrier => &mut waits.barriers,
                Activity::MBarrier => &mut waits.mbarriers,
            };
            *cycles = cycles.saturating_add(span.end - span.start);
        }
        waits
    }
}
