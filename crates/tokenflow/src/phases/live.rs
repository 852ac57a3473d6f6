//! Phase 5: which rings are never live together.
//!
//! A ring is live from its first arm to a block barrier behind its last wait, and all the way through loops that it is
//! live on the way around. A ring outside of loops that is armed only behind barriers that its loads need for their data
//! may follow another one right behind its last wait. Positions number the steps in program order; a region covers those
//! of the steps inside.

use super::bundles::{Bundles, Phase};
use super::guards::Guards;
use super::homes::Homes;
use super::rings::{Places, RingId, Rings};
use super::tree::{BlockId, Step, Tree};
use super::union::Union;
use std::collections::BTreeSet;

/// Positions in program order.
struct Positions {
    /// The first position of each block, and the last.
    block: Vec<(usize, usize)>,
    /// The positions of each block's steps: the first, and the last that is inside.
    steps: Vec<Vec<(usize, usize)>>,
    /// The positions of each block's barriers.
    barriers: Vec<Vec<usize>>,
    next: usize,
}

impl Positions {
    fn new(tree: &Tree) -> Self {
        let mut positions = Self {
            block: vec![(0, 0); tree.blocks.len()],
            steps: vec![Vec::new(); tree.blocks.len()],
            barriers: vec![Vec::new(); tree.blocks.len()],
            next: 0,
        };
        positions.number(tree, 0);
        positions
    }

    fn number(&mut self, tree: &Tree, block: BlockId) {
        let start = self.next;
        for step in &tree.blocks[block].steps {
            let first = self.next;
            self.next += 1;
            if let Step::Region(region) = step {
                crate::program::deep(|| {
                    tree.regions[*region]
                        .blocks
                        .iter()
                        .for_each(|&inner| self.number(tree, inner));
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

/// What is known of rings by now.
#[derive(Clone, Copy)]
pub(super) struct Rest<'t> {
    /// The rings.
    pub rings: &'t Rings,
    /// Those whose phases are surely waited for.
    pub sure: &'t [bool],
    /// The guards that loads need for their data.
    pub guards: &'t Guards,
}

/// When a ring is live.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    first: usize,
    /// Up to a barrier behind the last wait.
    last: usize,
    /// The last wait.
    waited: usize,
    ring: RingId,
    /// True if it is armed only behind barriers that its loads need, and in no loop: then no other barrier is needed.
    guarded: bool,
}

/// What makes one ring of several that are never live together, if there are any: bundles, and behind them variables.
pub(super) fn share(
    tree: &Tree,
    homes: &Homes,
    places: &Places,
    bundles: &Bundles,
    rest: Rest,
) -> Option<Union> {
    let positions = Positions::new(tree);
    let rings = rest.rings;
    let spans = Spans {
        tree,
        homes,
        places,
        bundles,
        rings,
        positions: &positions,
    };
    let mut bundle_of = vec![usize::MAX; rings.depth.len()];
    let mut guarded = vec![true; rings.depth.len()];
    for (bundle, &ring) in rings.bundle.iter().enumerate() {
        bundle_of[ring] = bundle_of[ring].min(bundle);
        guarded[ring] &= rest.guards.phases[bundle].barrier;
    }
    let mut lives: Vec<Life> = Vec::new();
    for (ring, points) in spans.points().into_iter().enumerate() {
        if let Some((first, last)) = spans.span(&points, rest.sure[ring]) {
            let waited = points.iter().map(|(_, at)| *at).max().unwrap_or(last);
            lives.push(Life {
                first,
                last,
                waited: if rest.sure[ring] { waited } else { last },
                ring,
                guarded: guarded[ring] && points.iter().all(|(block, _)| !spans.in_loop(*block)),
            });
        }
    }
    lives.sort_unstable();
    let mut ended = Ended::default();
    let mut joined = Union::new(bundles.loads.len() + bundles.vars.len());
    let mut any = false;
    for life in lives {
        let depth = rings.depth[life.ring];
        let found = ended.take(life, depth);
        let (mut depth, mut ring) = (depth, life.ring);
        if let Some((other, earlier)) = found {
            joined.unite(bundle_of[earlier], bundle_of[ring]);
            (depth, ring, any) = (depth.max(other), earlier, true);
        }
        ended.live.insert((life.last, life.waited, depth, ring));
        ended.waited.insert((life.waited, life.last, depth, ring));
    }
    any.then_some(joined)
}

/// The rings so far.
#[derive(Default)]
struct Ended {
    /// Those that are over, by depth.
    over: BTreeSet<(u64, RingId)>,
    /// Those that are live, by their end.
    live: BTreeSet<(usize, usize, u64, RingId)>,
    /// The same, by their last wait.
    waited: BTreeSet<(usize, usize, u64, RingId)>,
}

impl Ended {
    /// Takes a ring that is over when `life` begins, and its depth.
    fn take(&mut self, life: Life, depth: u64) -> Option<(u64, RingId)> {
        while let Some(&(last, waited, depth, ring)) =
            self.live.first().filter(|(last, ..)| *last < life.first)
        {
            self.live.remove(&(last, waited, depth, ring));
            self.waited.remove(&(waited, last, depth, ring));
            self.over.insert((depth, ring));
        }
        // The shallowest that is deep enough; else the deepest.
        let found = self
            .over
            .range((depth, 0)..)
            .next()
            .or_else(|| self.over.last())
            .copied();
        if let Some(found) = found {
            self.over.remove(&found);
            return Some(found);
        }
        let &(waited, last, depth, ring) = self
            .waited
            .first()
            .filter(|(waited, ..)| life.guarded && *waited < life.first)?;
        self.live.remove(&(last, waited, depth, ring));
        self.waited.remove(&(waited, last, depth, ring));
        Some((depth, ring))
    }
}

struct Spans<'t> {
    tree: &'t Tree,
    homes: &'t Homes,
    places: &'t Places,
    bundles: &'t Bundles,
    rings: &'t Rings,
    positions: &'t Positions,
}

impl Spans<'_> {
    fn in_loop(&self, mut block: BlockId) -> bool {
        while let Some(region) = self.tree.blocks[block].region {
            if self.tree.regions[region].repeats() {
                return true;
            }
            block = self.tree.regions[region].parent;
        }
        false
    }

    /// For each ring, where it is armed, loaded to, waited for and handed on: blocks and positions.
    fn points(&self) -> Vec<Vec<(BlockId, usize)>> {
        let mut points = vec![Vec::new(); self.rings.depth.len()];
        let at = |(block, step): (BlockId, usize)| (block, self.positions.steps[block][step].0);
        for (bundle, loads) in self.bundles.loads.iter().enumerate() {
            let ring = self.rings.bundle[bundle];
            points[ring].extend(loads.iter().map(|&load| at(self.places.load[load])));
            let home = self.homes.home[loads[0]];
            let open = loads
                .iter()
                .filter_map(|&load| self.places.step_in(self.tree, home, self.places.load[load]))
                .min();
            points[ring].extend(open.map(|open| at((home, open))));
        }
        for (id, phases) in self.bundles.awaits.iter().enumerate() {
            for &phase in phases {
                points[self.rings.of(phase)].push(at(self.places.awaits[id]));
            }
        }
        for (var, bound) in self.bundles.bound.iter().enumerate() {
            for ((region, _), _) in bound {
                let region_at = &self.tree.regions[*region];
                let ring = self.rings.of(Phase::Var(var));
                // What is handed around a region is live all through it.
                let (first, last) = self.positions.steps[region_at.parent][self.places.region[*region]];
                points[ring].extend([(region_at.parent, first), (region_at.parent, last)]);
            }
        }
        points
    }

    /// The first and last position at which a ring is live.
    fn span(&self, points: &[(BlockId, usize)], sure: bool) -> Option<(usize, usize)> {
        let first = points.iter().map(|(_, at)| *at).min()?;
        let mut last = points.iter().map(|(_, at)| *at).max()?;
        // The innermost block that has all of it.
        let mut block = points[0].0;
        while !(self.positions.block[block].0 <= first && last <= self.positions.block[block].1) {
            block = self.tree.outer(block)?;
        }
        // Up to a barrier behind it, in this block or further out.
        let mut from = first;
        loop {
            let barriers = &self.positions.barriers[block];
            let barrier = barriers.get(barriers.partition_point(|&at| at <= last));
            // What nobody may wait for is waited for where everything ends.
            if let Some(&barrier) = barrier.filter(|_| sure) {
                return Some((from, barrier));
            }
            let Some(region) = self.tree.blocks[block].region else {
                return Some((from, usize::MAX));
            };
            let outer = self.tree.regions[region].parent;
            let span = self.positions.steps[outer][self.places.region[region]];
            if self.tree.regions[region].repeats() {
                from = from.min(span.0);
            }
            (last, block) = (last.max(span.1), outer);
        }
    }
}
