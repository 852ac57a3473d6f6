//! Step 5.5: computes live ranges of rings.
//!
//! **In:** rings, and the barriers that loads need. **Out:** live ranges in a linear order of the program.
//!
//! Somebody may **wait** for phases of a ring from its first arm to its last wait, and all the way through loops in which
//! that is repeated or that carry it around. A ring is **busy** until a block barrier after that: slow threads could still
//! wait for its last phase when its mbarriers are armed for something else. Barriers are those of the program, and those
//! that loads need. Where a load has one right before it, it does not matter whether others are busy.
//!
//! Positions number the instructions in program order; a region op covers those of the instructions inside. A loop that a ring
//! is busy at the end of has it busy at its start, up to the first barrier there.
//!
//! **Cost.** Linear in the uses of rings, times the depth of the tree.

use super::hazards::Syncs;
use super::ids::{BlockId, IndexVec, PhaseId, RegionOpId, RingId};
use super::partition::{Partition, PhaseValue};
use super::placement::Placement;
use super::rings::{InstPositions, Rings};
use super::tree::{Inst, Tree};
use rustc_hash::FxHashSet;

/// From a position to another one, both included.
pub(super) type Interval = (usize, usize);

/// When a ring is live.
///
/// Two rings may be one if nothing waits for one of them while the other one may be waited for, and none is armed without a
/// barrier of its own while the other one is busy.
pub(super) struct LiveRange {
    /// The ring.
    pub ring: RingId,
    /// While something may wait for it.
    pub waited: Interval,
    /// While it is busy.
    pub busy: Vec<Interval>,
    /// Where it is armed without a barrier right before.
    pub unsynced: Vec<usize>,
}

/// What is known of rings by now.
#[derive(Clone, Copy)]
pub(super) struct Assigned<'t> {
    /// The rings.
    pub rings: &'t Rings,
    /// Those whose phases are always awaited.
    pub always_awaited: &'t IndexVec<RingId, bool>,
    /// What stands before loads.
    pub syncs: &'t Syncs,
}

/// Finds when all rings are live.
pub(super) fn live_ranges(
    tree: &Tree,
    placement: &Placement,
    sites: &InstPositions,
    partition: &Partition,
    assigned: Assigned,
) -> Vec<LiveRange> {
    let mut liveness = Liveness {
        tree,
        placement,
        sites,
        partition,
        assigned,
        order: LinearOrder::default(),
    };
    liveness.order = LinearOrder::new(tree, &liveness.synced());
    let (points, unsynced) = (liveness.points(), liveness.unsynced());
    let used = points.with_ids().zip(unsynced);
    used.filter_map(|((ring, points), unsynced)| liveness.live_range(ring, points, unsynced))
        .collect()
}

/// Positions in program order.
#[derive(Default)]
struct LinearOrder {
    /// The positions of each block: the first, and the last.
    block: IndexVec<BlockId, Interval>,
    /// The positions of each block's instructions: the first, and the last that is inside.
    insts: IndexVec<BlockId, Vec<Interval>>,
    /// The positions of each block's barriers, of which those that are before an instruction come between.
    barriers: IndexVec<BlockId, Vec<usize>>,
    next: usize,
}

impl LinearOrder {
    /// The positions of all instructions; `synced` are those with a barrier right before.
    fn new(tree: &Tree, synced: &FxHashSet<(BlockId, usize)>) -> Self {
        let mut order = Self {
            block: IndexVec::filled((0, 0), tree.blocks.len()),
            insts: IndexVec::filled(Vec::new(), tree.blocks.len()),
            barriers: IndexVec::filled(Vec::new(), tree.blocks.len()),
            next: 0,
        };
        order.number(tree, BlockId(0), synced);
        order
    }

    fn number(&mut self, tree: &Tree, block: BlockId, synced: &FxHashSet<(BlockId, usize)>) {
        let start = self.next;
        for (i, inst) in tree.blocks[block].insts.iter().enumerate() {
            let first = self.next + 1;
            self.next += 2;
            if synced.contains(&(block, i)) {
                self.barriers[block].push(first - 1);
            }
            if let Inst::RegionOp(op) = inst {
                crate::program::ensure_sufficient_stack(|| {
                    let blocks = tree.region_ops[*op].blocks.iter();
                    blocks.for_each(|&inner| self.number(tree, inner, synced));
                });
            }
            self.insts[block].push((first, self.next - 1));
            if matches!(inst, Inst::Barrier) {
                self.barriers[block].push(first);
            }
        }
        self.block[block] = (start, self.next.max(start + 1) - 1);
    }
}

struct Liveness<'t> {
    tree: &'t Tree,
    placement: &'t Placement,
    sites: &'t InstPositions,
    partition: &'t Partition,
    assigned: Assigned<'t>,
    order: LinearOrder,
}

impl Liveness<'_> {
    /// The positions of a region op.
    fn interval(&self, op: RegionOpId) -> Interval {
        self.order.insts[self.tree.region_ops[op].parent][self.sites.region_ops[op]]
    }

    /// Where a phase is opened.
    fn open(&self, phase: PhaseId) -> (BlockId, usize) {
        let loads = &self.partition.phases[phase];
        let (open_block, first, _) = self.sites.span(self.tree, self.placement, loads);
        (open_block, first)
    }

    /// The instructions with a barrier right before, which loads need.
    fn synced(&self) -> FxHashSet<(BlockId, usize)> {
        let syncs = self.assigned.syncs;
        let loads = self.sites.load.iter().zip(&syncs.loads);
        let opens = self
            .partition
            .phases
            .ids()
            .filter(|&phase| syncs.phases[phase].barrier);
        loads
            .filter(|(_, sync)| sync.barrier)
            .map(|(place, _)| *place)
            .chain(opens.map(|phase| self.open(phase)))
            .collect()
    }

    /// For each ring, where it is armed without a barrier of its own.
    fn unsynced(&self) -> IndexVec<RingId, Vec<usize>> {
        let mut arms = IndexVec::filled(Vec::new(), self.assigned.rings.depth.len());
        for phase in self.partition.phases.ids() {
            if !self.assigned.syncs.phases[phase].barrier {
                let (block, inst) = self.open(phase);
                arms[self.assigned.rings.phase[phase]].push(self.order.insts[block][inst].0);
            }
        }
        arms
    }

    /// For each ring, where it is armed, loaded to, waited for and passed on: blocks and positions.
    fn points(&self) -> IndexVec<RingId, Vec<(BlockId, usize)>> {
        let rings = self.assigned.rings;
        let mut points = IndexVec::filled(Vec::new(), rings.depth.len());
        let at = |(block, inst): (BlockId, usize)| (block, self.order.insts[block][inst].0);
        for (phase, loads) in self.partition.phases.with_ids() {
            let ring = rings.phase[phase];
            points[ring].extend(loads.iter().map(|&load| at(self.sites.load[load])));
            points[ring].push(at(self.open(phase)));
        }
        for (id, phases) in self.partition.awaits.with_ids() {
            for &phase in phases {
                points[rings.of(phase)].push(at(self.sites.awaits[id]));
            }
        }
        for (phi, incoming) in self.partition.incoming.with_ids() {
            for ((op, _), _) in incoming {
                let parent = self.tree.region_ops[*op].parent;
                // What is passed around a region op is live all through it.
                let (first, last) = self.interval(*op);
                points[rings.of(PhaseValue::Phi(phi))].extend([(parent, first), (parent, last)]);
            }
        }
        points
    }

    /// When a ring is live that is used at `points`; one that nothing may wait for is live until everything ends.
    fn live_range(
        &self,
        ring: RingId,
        points: &[(BlockId, usize)],
        unsynced: Vec<usize>,
    ) -> Option<LiveRange> {
        if !self.assigned.always_awaited[ring] {
            return None;
        }
        let first = points.iter().map(|(_, at)| *at).min()?;
        let last = points.iter().map(|(_, at)| *at).max()?;
        // The innermost block that has all of it.
        let mut block = points[0].0;
        while !(self.order.block[block].0 <= first && last <= self.order.block[block].1) {
            block = self.tree.outer(block)?;
        }
        let waited = points.iter().fold((first, last), |(first, last), &(inner, _)| {
            let around = self.loop_between(block, inner);
            around.map_or((first, last), |op| {
                let interval = self.interval(op);
                (first.min(interval.0), last.max(interval.1))
            })
        });
        Some(LiveRange {
            ring,
            waited,
            busy: self.busy(block, waited),
            unsynced,
        })
    }

    /// The outermost loop in `outer` with `inner` inside.
    fn loop_between(&self, outer: BlockId, mut inner: BlockId) -> Option<RegionOpId> {
        let mut found = None;
        while inner != outer {
            let op = self.tree.blocks[inner].parent_op?;
            if self.tree.region_ops[op].repeats() {
                found = Some(op);
            }
            inner = self.tree.region_ops[op].parent;
        }
        found
    }

    /// While a ring is busy that is waited for in `block`.
    fn busy(&self, mut block: BlockId, (first, mut last): Interval) -> Vec<Interval> {
        let mut intervals = Vec::new();
        loop {
            let barriers = &self.order.barriers[block];
            if let Some(&barrier) = barriers.get(barriers.partition_point(|&at| at <= last)) {
                intervals.push((first, barrier));
                return intervals;
            }
            let Some(op) = self.tree.blocks[block].parent_op else {
                intervals.push((first, usize::MAX));
                return intervals;
            };
            let interval = self.interval(op);
            if self.tree.region_ops[op].repeats() {
                let until = barriers.first().filter(|barrier| **barrier < first);
                intervals.push((interval.0, until.map_or(interval.1, |&barrier| barrier)));
            }
            (last, block) = (interval.1, self.tree.region_ops[op].parent);
        }
    }
}

#[cfg(test)]
mod tests;
