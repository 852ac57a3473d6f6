//! Phase 3: how often a ring is armed between two places.
//!
//! A ring is armed where a phase on it is opened. In a block, the number of arms up to a place is a sum; through a region
//! it is a least and a most over all ways. Since a definition dominates its uses, the most arms between the two is a
//! difference of sums, taken block by block from the use outwards, plus the arms on the way to the inner blocks.

use super::rings::{Opened, RingId};
use super::tree::{BlockId, RegionId, Step, Tree, Trips};
use std::collections::{BTreeMap, HashMap};

/// No bound.
pub(super) const MANY: u64 = u64::MAX / 4;

/// The least and the most arms on all ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Arms {
    /// On the way with the fewest.
    pub least: u64,
    /// On the way with the most.
    pub most: u64,
}

impl Arms {
    fn then(self, next: Self) -> Self {
        Self {
            least: add(self.least, next.least),
            most: add(self.most, next.most),
        }
    }
}

/// `a + b`, but no more than [`MANY`].
pub(super) fn add(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(MANY)
}

fn times(a: u64, b: u64) -> u64 {
    a.saturating_mul(b).min(MANY)
}

/// A place in a block: before step `step`, or in it, once the phases are open that are opened before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    /// The step.
    pub step: usize,
    /// True behind the phases that are opened right before the step.
    pub inside: bool,
}

impl Place {
    /// The end of any block.
    pub const END: Self = Self {
        step: usize::MAX,
        inside: false,
    };

    /// Before a step, and before the phases that are opened there.
    pub fn before(step: usize) -> Self {
        Self { step, inside: false }
    }

    /// In a step that is an operation with blocks.
    pub fn inside(step: usize) -> Self {
        Self { step, inside: true }
    }
}

/// The most arms up to a place of a block. Regions with any number of arms are counted apart, so that differences behind
/// them are still exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    /// How many regions with any number of arms there are.
    many: u64,
    /// All other arms.
    most: u64,
}

impl Sum {
    fn then(self, arms: Arms) -> Self {
        if arms.most >= MANY {
            Self {
                many: self.many + 1,
                ..self
            }
        } else {
            Self {
                most: add(self.most, arms.most),
                ..self
            }
        }
    }

    /// Moves what is counted from here on by `shift`.
    pub fn shift(&mut self, shift: i64) {
        self.most = self.most.saturating_add_signed(shift);
    }

    /// The arms since an earlier place of the block.
    pub fn since(self, earlier: Self) -> u64 {
        if self.many > earlier.many {
            MANY
        } else {
            self.most.saturating_sub(earlier.most)
        }
    }
}

/// The arms of every ring, block by block.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// For each block and ring, the places behind which there are more arms, and how many by then.
    sums: HashMap<(BlockId, RingId), Vec<(Place, Sum)>>,
    /// The arms of its ring up to where a bundle's phase is opened, that one included.
    pub opened: HashMap<usize, Sum>,
    /// The arms of each block, by ring.
    pub totals: Vec<BTreeMap<RingId, Arms>>,
    /// The arms from where a region is entered to behind it.
    pub through: Vec<BTreeMap<RingId, Arms>>,
    /// The most arms from where a region is entered to the start of one of its blocks, whichever iteration it is.
    reach: HashMap<(BlockId, RingId), u64>,
    /// The step of each region in its parent.
    pub step: Vec<usize>,
}

impl Counts {
    /// Counts the arms of phases that are opened at `opened`, for each block the step and the ring, in order.
    pub fn new(tree: &Tree, opened: &Opened) -> Self {
        let mut counts = Self {
            totals: vec![BTreeMap::new(); tree.blocks.len()],
            through: vec![BTreeMap::new(); tree.regions.len()],
            step: vec![0; tree.regions.len()],
            ..Self::default()
        };
        for block in &tree.blocks {
            for (i, step) in block.steps.iter().enumerate() {
                if let Step::Region(region) = step {
                    counts.step[*region] = i;
                }
            }
        }
        // Regions inside of others come after them.
        for region in (0..tree.regions.len()).rev() {
            for &block in &tree.regions[region].blocks {
                counts.block(tree, opened, block);
            }
            counts.region(tree, region);
        }
        counts.block(tree, opened, 0);
        counts
    }

    fn block(&mut self, tree: &Tree, opened: &Opened, block: BlockId) {
        let mut events: Vec<(Place, RingId, Arms, Option<usize>)> = Vec::new();
        let one = Arms { least: 1, most: 1 };
        for &(step, ring, bundle) in opened.get(&block).into_iter().flatten() {
            events.push((Place::inside(step), ring, one, Some(bundle)));
        }
        for (i, step) in tree.blocks[block].steps.iter().enumerate() {
            if let Step::Region(region) = step {
                let through = self.through[*region].iter();
                events.extend(through.map(|(&ring, &arms)| (Place::before(i + 1), ring, arms, None)));
            }
        }
        events.sort_by_key(|(place, ..)| *place);
        for (place, ring, arms, bundle) in events {
            let total = self.totals[block].entry(ring).or_default();
            *total = total.then(arms);
            let sums = self.sums.entry((block, ring)).or_default();
            let sum = sums.last().map_or(Sum::default(), |(_, sum)| *sum).then(arms);
            sums.push((place, sum));
            self.opened.extend(bundle.map(|bundle| (bundle, sum)));
        }
    }

    /// What goes through a region, and what lies on the way to its blocks.
    fn region(&mut self, tree: &Tree, id: RegionId) {
        let region = &tree.regions[id];
        let rings: Vec<RingId> = {
            let blocks = region.blocks.iter();
            let mut rings: Vec<RingId> = blocks
                .flat_map(|&block| self.totals[block].keys().copied())
                .collect();
            rings.sort_unstable();
            rings.dedup();
            rings
        };
        for ring in rings {
            let totals: Vec<Arms> = {
                let blocks = region.blocks.iter();
                blocks
                    .map(|block| self.totals[*block].get(&ring).copied().unwrap_or_default())
                    .collect()
            };
            let (through, reach) = match region.trips {
                Trips::Constant(trips) => (
                    Arms {
                        least: times(trips, totals[0].least),
                        most: times(trips, totals[0].most),
                    },
                    vec![times(trips.saturating_sub(1), totals[0].most)],
                ),
                Trips::Counted => (
                    Arms {
                        least: 0,
                        most: times(MANY, totals[0].most),
                    },
                    vec![times(MANY, totals[0].most)],
                ),
                Trips::Free if region.repeats() => {
                    let most = times(MANY, totals.iter().map(|arms| arms.most).max().unwrap_or(0));
                    (Arms { least: 0, most }, vec![most; totals.len()])
                }
                Trips::Free => ways(tree, id, &totals),
            };
            self.through[id].insert(ring, through);
            for (&block, reach) in region.blocks.iter().zip(reach) {
                if reach > 0 {
                    self.reach.insert((block, ring), reach);
                }
            }
        }
    }

    /// The arms in a block up to a place.
    pub fn up_to(&self, block: BlockId, ring: RingId, place: Place) -> Sum {
        let Some(sums) = self.sums.get(&(block, ring)) else {
            return Sum::default();
        };
        let behind = sums.partition_point(|(at, _)| *at <= place);
        behind.checked_sub(1).map_or(Sum::default(), |last| sums[last].1)
    }

    /// The most arms of `ring` from a place of a block (given as the arms up to there) to one of a block inside of it.
    pub fn between(&self, tree: &Tree, ring: RingId, from: (BlockId, Sum), to: (BlockId, Place)) -> u64 {
        let (mut block, mut place) = to;
        let mut arms = 0;
        while block != from.0 {
            arms = add(arms, self.up_to(block, ring, place).since(Sum::default()));
            arms = add(arms, self.reach.get(&(block, ring)).copied().unwrap_or(0));
            let Some(region) = tree.blocks[block].region else {
                break;
            };
            block = tree.regions[region].parent;
            place = Place::inside(self.step[region]);
        }
        add(arms, self.up_to(block, ring, place).since(from.1))
    }
}

/// Counts on all ways through a region that does not repeat.
fn ways(tree: &Tree, id: RegionId, totals: &[Arms]) -> (Arms, Vec<u64>) {
    let region = &tree.regions[id];
    let mut reach: Vec<Option<Arms>> = vec![None; totals.len()];
    let mut through: Option<Arms> = None;
    // As many rounds as there can be blocks on a way.
    for _ in 0..=totals.len() {
        for edge in &region.edges {
            let arms = match edge.from {
                None => Some(Arms::default()),
                Some(from) => reach[from].map(|arms| arms.then(totals[from])),
            };
            let Some(arms) = arms else { continue };
            let to = match edge.to {
                None => &mut through,
                Some(to) => &mut reach[to],
            };
            *to = Some(to.map_or(arms, |other| Arms {
                least: other.least.min(arms.least),
                most: other.most.max(arms.most),
            }));
        }
    }
    let reach = reach
        .into_iter()
        .map(|arms| arms.map_or(0, |arms| arms.most))
        .collect();
    (through.unwrap_or_default(), reach)
}
