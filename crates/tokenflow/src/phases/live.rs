//! Phase 5: which rings are never live together.
//!
//! A ring is live from its first arm to a block barrier behind its last wait, and all the way through loops that it is
//! live on the way around. Positions number the steps in program order; a region covers those of the steps inside.

use super::bundles::{Bundles, Phase};
use super::homes::Homes;
use super::rings::{Places, Rings};
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

/// Adds to `joined` what makes one ring of several that are never live together. Returns true if there are any.
pub(super) fn share(
    tree: &Tree,
    homes: &Homes,
    places: &Places,
    bundles: &Bundles,
    rings: &Rings,
    sure: &[bool],
    joined: &mut Union,
) -> bool {
    let positions = Positions::new(tree);
    let spans = Spans {
        tree,
        homes,
        places,
        bundles,
        rings,
        positions: &positions,
    };
    let mut live: Vec<(usize, usize, usize)> = Vec::new();
    let mut bundle_of = vec![usize::MAX; rings.depth.len()];
    for (bundle, &ring) in rings.bundle.iter().enumerate() {
        bundle_of[ring] = bundle_of[ring].min(bundle);
    }
    for (ring, points) in spans.points().into_iter().enumerate() {
        if let Some((first, last)) = spans.span(&points, sure[ring]) {
            live.push((first, last, ring));
        }
    }
    live.sort_unstable();
    // Rings that are over, by depth, and those that are live, by their end.
    let mut over: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut now: BTreeSet<(usize, u64, usize)> = BTreeSet::new();
    let mut any = false;
    for (first, last, ring) in live {
        while let Some(&(end, depth, ring)) = now.first().filter(|(end, ..)| *end < first) {
            now.remove(&(end, depth, ring));
            over.insert((depth, ring));
        }
        let mut depth = rings.depth[ring];
        // The shallowest that is deep enough; else the deepest.
        let found = over.range((depth, 0)..).next().or_else(|| over.last()).copied();
        let mut into = ring;
        if let Some((other, earlier)) = found {
            over.remove(&(other, earlier));
            joined.unite(bundle_of[earlier], bundle_of[ring]);
            (depth, into, any) = (depth.max(other), earlier, true);
        }
        now.insert((last, depth, into));
    }
    any
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
