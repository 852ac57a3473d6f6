//! Step 5.1: counts how often a ring of mbarriers is armed between two points of the program.
//!
//! **In:** where phases are opened, and on which ring. **Out:** the least and the most arms of each block and region op, and
//! prefix sums in each block.
//!
//! A ring is armed where a phase on it is opened. In a block, the number of arms up to a point is a sum; through a region op it is
//! a least and a most over all paths. Since a definition dominates its uses, the most arms between the two is a difference of
//! sums, taken block by block from the use outwards, plus the arms on the path to the inner blocks.
//!
//! **Cost.** Linear in the size of the tree, times the rings that are armed in each block.

use super::ids::{BlockId, IndexVec, PhaseId, RegionOpId, RingId};
use super::rings::Opened;
use super::tree::{Inst, Tree, Trips};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// No bound.
pub(super) const UNBOUNDED: u64 = u64::MAX / 4;

/// The least and the most arms on all paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ArmRange {
    /// On the path with the fewest.
    pub min: u64,
    /// On the path with the most.
    pub max: u64,
}

impl ArmRange {
    fn then(self, next: Self) -> Self {
        Self {
            min: add(self.min, next.min),
            max: add(self.max, next.max),
        }
    }
}

/// `a + b`, but no more than [`UNBOUNDED`].
pub(super) fn add(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(UNBOUNDED)
}

fn times(a: u64, b: u64) -> u64 {
    a.saturating_mul(b).min(UNBOUNDED)
}

/// A point of a block: before an instruction, or in it, once the phases are open that are opened before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Point {
    /// The instruction.
    pub inst: usize,
    /// True after the phases that are opened right before the instruction.
    pub inside: bool,
}

impl Point {
    /// The end of any block.
    pub const END: Self = Self {
        inst: usize::MAX,
        inside: false,
    };

    /// Before an instruction, and before the phases that are opened there.
    pub fn before(inst: usize) -> Self {
        Self { inst, inside: false }
    }

    /// In an instruction that is an operation with blocks.
    pub fn inside(inst: usize) -> Self {
        Self { inst, inside: true }
    }
}

/// The most arms up to a point of a block. Regions with any number of arms are counted apart, so that differences after
/// them are still exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PrefixSum {
    /// How many region ops with any number of arms there are.
    unbounded: u64,
    /// All other arms.
    max: u64,
}

impl PrefixSum {
    fn then(self, arms: ArmRange) -> Self {
        if arms.max >= UNBOUNDED {
            Self {
                unbounded: self.unbounded + 1,
                ..self
            }
        } else {
            Self {
                max: add(self.max, arms.max),
                ..self
            }
        }
    }

    /// Moves what is counted from here on by `shift`.
    pub fn shift(&mut self, shift: i64) {
        self.max = self.max.saturating_add_signed(shift);
    }

    /// The arms since an earlier point of the block.
    pub fn since(self, earlier: Self) -> u64 {
        if self.unbounded > earlier.unbounded {
            UNBOUNDED
        } else {
            self.max.saturating_sub(earlier.max)
        }
    }
}

/// The arms of every ring, block by block.
#[derive(Debug, Default)]
pub(super) struct ArmCounts {
    /// For each block and ring, the points after which there are more arms, and how many by then.
    sums: FxHashMap<(BlockId, RingId), Vec<(Point, PrefixSum)>>,
    /// The arms of its ring up to where a phase is opened, that one included.
    pub opened: FxHashMap<PhaseId, PrefixSum>,
    /// The arms of each block, by ring.
    pub per_block: IndexVec<BlockId, BTreeMap<RingId, ArmRange>>,
    /// The arms from where a region op is entered to after it.
    pub per_op: IndexVec<RegionOpId, BTreeMap<RingId, ArmRange>>,
    /// The most arms from where a region op is entered to the start of one of its blocks, whichever iteration it is.
    to_block: FxHashMap<(BlockId, RingId), u64>,
    /// The instruction of each region op in its parent.
    pub inst: IndexVec<RegionOpId, usize>,
}

impl ArmCounts {
    /// Counts the arms of phases that are opened at `opened`, for each block the instruction and the ring, in order.
    pub fn new(tree: &Tree, opened: &Opened) -> Self {
        let mut counts = Self {
            per_block: IndexVec::filled(BTreeMap::new(), tree.blocks.len()),
            per_op: IndexVec::filled(BTreeMap::new(), tree.region_ops.len()),
            inst: IndexVec::filled(0, tree.region_ops.len()),
            ..Self::default()
        };
        for block in &tree.blocks {
            for (i, inst) in block.insts.iter().enumerate() {
                if let Inst::RegionOp(op) = inst {
                    counts.inst[*op] = i;
                }
            }
        }
        // Regions inside of others come after them.
        for op in tree.region_ops.ids().rev() {
            for &block in &tree.region_ops[op].blocks {
                counts.block(tree, opened, block);
            }
            counts.region_op(tree, op);
        }
        counts.block(tree, opened, BlockId(0));
        counts
    }

    fn block(&mut self, tree: &Tree, opened: &Opened, block: BlockId) {
        let mut events: Vec<(Point, RingId, ArmRange, Option<PhaseId>)> = Vec::new();
        let one = ArmRange { min: 1, max: 1 };
        for &(inst, ring, phase) in opened.get(&block).into_iter().flatten() {
            events.push((Point::inside(inst), ring, one, Some(phase)));
        }
        for (i, inst) in tree.blocks[block].insts.iter().enumerate() {
            if let Inst::RegionOp(op) = inst {
                let per_op = self.per_op[*op].iter();
                events.extend(per_op.map(|(&ring, &arms)| (Point::before(i + 1), ring, arms, None)));
            }
        }
        events.sort_by_key(|(point, ..)| *point);
        for (point, ring, arms, phase) in events {
            let total = self.per_block[block].entry(ring).or_default();
            *total = total.then(arms);
            let sums = self.sums.entry((block, ring)).or_default();
            let sum = sums
                .last()
                .map_or(PrefixSum::default(), |(_, sum)| *sum)
                .then(arms);
            sums.push((point, sum));
            self.opened.extend(phase.map(|phase| (phase, sum)));
        }
    }

    /// What goes through a region op, and what lies on the path to its blocks.
    fn region_op(&mut self, tree: &Tree, id: RegionOpId) {
        let op = &tree.region_ops[id];
        let rings: Vec<RingId> = {
            let blocks = op.blocks.iter();
            let mut rings: Vec<RingId> = blocks
                .flat_map(|&block| self.per_block[block].keys().copied())
                .collect();
            rings.sort_unstable();
            rings.dedup();
            rings
        };
        for ring in rings {
            let per_block: Vec<ArmRange> = {
                let blocks = op.blocks.iter();
                blocks
                    .map(|block| self.per_block[*block].get(&ring).copied().unwrap_or_default())
                    .collect()
            };
            let (per_op, to_block) = match op.trips {
                Trips::Constant(trips) => (
                    ArmRange {
                        min: times(trips, per_block[0].min),
                        max: times(trips, per_block[0].max),
                    },
                    vec![times(trips.saturating_sub(1), per_block[0].max)],
                ),
                Trips::Counted => (
                    ArmRange {
                        min: 0,
                        max: times(UNBOUNDED, per_block[0].max),
                    },
                    vec![times(UNBOUNDED, per_block[0].max)],
                ),
                Trips::FromEdges if op.repeats() => {
                    let max = times(
                        UNBOUNDED,
                        per_block.iter().map(|arms| arms.max).max().unwrap_or(0),
                    );
                    (ArmRange { min: 0, max }, vec![max; per_block.len()])
                }
                Trips::FromEdges => path_counts(tree, id, &per_block),
            };
            self.per_op[id].insert(ring, per_op);
            for (&block, to_block) in op.blocks.iter().zip(to_block) {
                if to_block > 0 {
                    self.to_block.insert((block, ring), to_block);
                }
            }
        }
    }

    /// The arms in a block up to a point.
    pub fn up_to(&self, block: BlockId, ring: RingId, point: Point) -> PrefixSum {
        let Some(sums) = self.sums.get(&(block, ring)) else {
            return PrefixSum::default();
        };
        let after = sums.partition_point(|(at, _)| *at <= point);
        after
            .checked_sub(1)
            .map_or(PrefixSum::default(), |last| sums[last].1)
    }

    /// The most arms of `ring` from a point of a block (given as the arms up to there) to one of a block inside of it.
    pub fn between(
        &self,
        tree: &Tree,
        ring: RingId,
        from: (BlockId, PrefixSum),
        to: (BlockId, Point),
    ) -> u64 {
        let (mut block, mut point) = to;
        let mut arms = 0;
        while block != from.0 {
            arms = add(arms, self.up_to(block, ring, point).since(PrefixSum::default()));
            arms = add(arms, self.to_block.get(&(block, ring)).copied().unwrap_or(0));
            let Some(op) = tree.blocks[block].parent_op else {
                break;
            };
            block = tree.region_ops[op].parent;
            point = Point::inside(self.inst[op]);
        }
        add(arms, self.up_to(block, ring, point).since(from.1))
    }
}

/// Counts on all paths through a region op that does not repeat.
fn path_counts(tree: &Tree, id: RegionOpId, per_block: &[ArmRange]) -> (ArmRange, Vec<u64>) {
    let op = &tree.region_ops[id];
    let mut to_block: Vec<Option<ArmRange>> = vec![None; per_block.len()];
    let mut per_op: Option<ArmRange> = None;
    // As many rounds as there can be blocks on a path.
    for _ in 0..=per_block.len() {
        for edge in &op.edges {
            let arms = match edge.from {
                None => Some(ArmRange::default()),
                Some(from) => to_block[from].map(|arms| arms.then(per_block[from])),
            };
            let Some(arms) = arms else { continue };
            let to = match edge.to {
                None => &mut per_op,
                Some(to) => &mut to_block[to],
            };
            *to = Some(to.map_or(arms, |other| ArmRange {
                min: other.min.min(arms.min),
                max: other.max.max(arms.max),
            }));
        }
    }
    let to_block = to_block
        .into_iter()
        .map(|arms| arms.map_or(0, |arms| arms.max))
        .collect();
    (per_op.unwrap_or_default(), to_block)
}
