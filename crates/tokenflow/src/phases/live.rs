//! When rings are live.
//!
//! Somebody may **wait** for phases of a ring from its first arm to its last wait, and all the way through loops in which
//! that is repeated or that hand it around. A ring is **busy** until a block barrier behind that: slow threads could still
//! wait for its last phase when its mbarriers are armed for something else. Barriers are those of the program, and those
//! that loads need. Where a load has one right before it, it does not matter whether others are busy.
//!
//! Positions number the steps in program order; a region covers those of the steps inside. A loop that a ring is busy at
//! the end of has it busy at its start, up to the first barrier there.

use super::bundles::{Bundles, Phase};
use super::guards::Guards;
use super::homes::Homes;
use super::rings::{Places, RingId, Rings};
use super::tree::{BlockId, RegionId, Step, Tree};
use std::collections::HashSet;

/// From a position to another one, both included.
pub(super) type Span = (usize, usize);

/// When a ring is live.
///
/// Two rings may be one if nobody waits for one of them while the other one may be waited for, and none is armed without a
/// barrier of its own while the other one is busy.
pub(super) struct Life {
    /// The ring.
    pub ring: RingId,
    /// While somebody may wait for it.
    pub waited: Span,
    /// While it is busy.
    pub busy: Vec<Span>,
    /// Where it is armed without a barrier right before.
    pub unguarded: Vec<usize>,
}

/// What is known of rings by now.
#[derive(Clone, Copy)]
pub(super) struct Rest<'t> {
    /// The rings.
    pub rings: &'t Rings,
    /// Those whose phases are surely waited for.
    pub sure: &'t [bool],
    /// What stands before loads.
    pub guards: &'t Guards,
}

/// Finds when all rings are live.
pub(super) fn lives(tree: &Tree, homes: &Homes, places: &Places, bundles: &Bundles, rest: Rest) -> Vec<Life> {
    let mut lines = Lines {
        tree,
        homes,
        places,
        bundles,
        rest,
        positions: Positions::default(),
    };
    lines.positions = Positions::new(tree, &lines.guarded());
    let used = lines.points().into_iter().zip(lines.unguarded()).enumerate();
    used.filter_map(|(ring, (points, unguarded))| lines.life(ring, &points, unguarded))
        .collect()
}

/// Positions in program order.
#[derive(Default)]
struct Positions {
    /// The positions of each block: the first, and the last.
    block: Vec<Span>,
    /// The positions of each block's steps: the first, and the last that is inside.
    steps: Vec<Vec<Span>>,
    /// The positions of each block's barriers, of which those that are before a step come between.
    barriers: Vec<Vec<usize>>,
    next: usize,
}

impl Positions {
    /// The positions of all steps; `guarded` are those with a barrier right before.
    fn new(tree: &Tree, guarded: &HashSet<(BlockId, usize)>) -> Self {
        let mut positions = Self {
            block: vec![(0, 0); tree.blocks.len()],
            steps: vec![Vec::new(); tree.blocks.len()],
            barriers: vec![Vec::new(); tree.blocks.len()],
            next: 0,
        };
        positions.number(tree, 0, guarded);
        positions
    }

    fn number(&mut self, tree: &Tree, block: BlockId, guarded: &HashSet<(BlockId, usize)>) {
        let start = self.next;
        for (i, step) in tree.blocks[block].steps.iter().enumerate() {
            let first = self.next + 1;
            self.next += 2;
            if guarded.contains(&(block, i)) {
                self.barriers[block].push(first - 1);
            }
            if let Step::Region(region) = step {
                crate::program::deep(|| {
                    let blocks = tree.regions[*region].blocks.iter();
                    blocks.for_each(|&inner| self.number(tree, inner, guarded));
                });
            }
            self.steps[block].push((first, self.next - 1));
            if matches!(step, Step::Barrier) {
                self.barriers[block].push(first);
            }
        }
        self.block[block] = (start, self.next.max(start + 1) - 1);
    }
}

struct Lines<'t> {
    tree: &'t Tree,
    homes: &'t Homes,
    places: &'t Places,
    bundles: &'t Bundles,
    rest: Rest<'t>,
    positions: Positions,
}

impl Lines<'_> {
    /// The positions of a region.
    fn span(&self, region: RegionId) -> Span {
        self.positions.steps[self.tree.regions[region].parent][self.places.region[region]]
    }

    /// Where the phase of a bundle is opened.
    fn open(&self, bundle: usize) -> (BlockId, usize) {
        let loads = &self.bundles.loads[bundle];
        let (home, first, _) = self.places.span(self.tree, self.homes, loads);
        (home, first)
    }

    /// The steps with a barrier right before, which loads need.
    fn guarded(&self) -> HashSet<(BlockId, usize)> {
        let guards = self.rest.guards;
        let loads = self.places.load.iter().zip(&guards.loads);
        let opens = (0..self.bundles.loads.len()).filter(|&bundle| guards.phases[bundle].barrier);
        loads
            .filter(|(_, guard)| guard.barrier)
            .map(|(place, _)| *place)
            .chain(opens.map(|bundle| self.open(bundle)))
            .collect()
    }

    /// For each ring, where it is armed without a barrier of its own.
    fn unguarded(&self) -> Vec<Vec<usize>> {
        let mut arms = vec![Vec::new(); self.rest.rings.depth.len()];
        for bundle in 0..self.bundles.loads.len() {
            if !self.rest.guards.phases[bundle].barrier {
                let (block, step) = self.open(bundle);
                arms[self.rest.rings.bundle[bundle]].push(self.positions.steps[block][step].0);
            }
        }
        arms
    }

    /// For each ring, where it is armed, loaded to, waited for and handed on: blocks and positions.
    fn points(&self) -> Vec<Vec<(BlockId, usize)>> {
        let rings = self.rest.rings;
        let mut points = vec![Vec::new(); rings.depth.len()];
        let at = |(block, step): (BlockId, usize)| (block, self.positions.steps[block][step].0);
        for (bundle, loads) in self.bundles.loads.iter().enumerate() {
            let ring = rings.bundle[bundle];
            points[ring].extend(loads.iter().map(|&load| at(self.places.load[load])));
            points[ring].push(at(self.open(bundle)));
        }
        for (id, phases) in self.bundles.awaits.iter().enumerate() {
            for &phase in phases {
                points[rings.of(phase)].push(at(self.places.awaits[id]));
            }
        }
        for (var, bound) in self.bundles.bound.iter().enumerate() {
            for ((region, _), _) in bound {
                let parent = self.tree.regions[*region].parent;
                // What is handed around a region is live all through it.
                let (first, last) = self.span(*region);
                points[rings.of(Phase::Var(var))].extend([(parent, first), (parent, last)]);
            }
        }
        points
    }

    /// When a ring is live that is used at `points`; what nobody may wait for is, until everything ends.
    fn life(&self, ring: RingId, points: &[(BlockId, usize)], unguarded: Vec<usize>) -> Option<Life> {
        if !self.rest.sure[ring] {
            return None;
        }
        let first = points.iter().map(|(_, at)| *at).min()?;
        let last = points.iter().map(|(_, at)| *at).max()?;
        // The innermost block that has all of it.
        let mut block = points[0].0;
        while !(self.positions.block[block].0 <= first && last <= self.positions.block[block].1) {
            block = self.tree.outer(block)?;
        }
        let waited = points.iter().fold((first, last), |(first, last), &(inner, _)| {
            let around = self.loop_between(block, inner);
            around.map_or((first, last), |region| {
                let span = self.span(region);
                (first.min(span.0), last.max(span.1))
            })
        });
        Some(Life {
            ring,
            waited,
            busy: self.busy(block, waited),
            unguarded,
        })
    }

    /// The outermost loop in `outer` with `inner` inside.
    fn loop_between(&self, outer: BlockId, mut inner: BlockId) -> Option<RegionId> {
        let mut found = None;
        while inner != outer {
            let region = self.tree.blocks[inner].region?;
            if self.tree.regions[region].repeats() {
                found = Some(region);
            }
            inner = self.tree.regions[region].parent;
        }
        found
    }

    /// While a ring is busy that is waited for in `block`.
    fn busy(&self, mut block: BlockId, (first, mut last): Span) -> Vec<Span> {
        let mut spans = Vec::new();
        loop {
            let barriers = &self.positions.barriers[block];
            if let Some(&barrier) = barriers.get(barriers.partition_point(|&at| at <= last)) {
                spans.push((first, barrier));
                return spans;
            }
            let Some(region) = self.tree.blocks[block].region else {
                spans.push((first, usize::MAX));
                return spans;
            };
            let span = self.span(region);
            if self.tree.regions[region].repeats() {
                let until = barriers.first().filter(|barrier| **barrier < first);
                spans.push((span.0, until.map_or(span.1, |&barrier| barrier)));
            }
            (last, block) = (span.1, self.tree.regions[region].parent);
        }
    }
}
