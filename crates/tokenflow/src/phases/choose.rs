//! Phase 6: which rings there are in the end.
//!
//! Phases that have to be on one ring are. Rings that are never live together are one ([`super::share`]). And a ring that
//! is live together with another one may still be one with it, if its phases are waited for in turn: a first tile that is
//! awaited before a loop, whose tiles follow it. That is tried, in functions with few rings, and kept where it takes fewer
//! mbarriers and no more barriers.

use super::bundles::Bundles;
use super::guards::{self, Phases};
use super::homes::Homes;
use super::live;
use super::order;
use super::rings::{self, MAX_DEPTH, Places, RingId, Rings};
use super::share;
use super::sure;
use super::tree::{LoadId, Tree};
use super::union::Union;

/// The most rings of which pairs are tried, each at the cost of a plan.
const RINGS: usize = 32;

/// What rings are chosen for.
pub(super) struct Chooser<'t> {
    pub tree: &'t Tree,
    pub homes: &'t Homes,
    pub places: &'t Places,
    pub bundles: &'t Bundles,
    pub fence_reads: bool,
}

/// Rings.
pub(super) struct Choice {
    /// The rings.
    pub rings: Rings,
    /// Those whose phases are surely waited for.
    pub sure: Vec<bool>,
}

impl Chooser<'_> {
    /// Chooses rings, or returns the loads that no ring can follow.
    pub fn choose(&self) -> Result<Choice, Vec<LoadId>> {
        let mut joined = Union::new(self.bundles.loads.len() + self.bundles.vars.len());
        let mut choice = self.rings(&joined)?;
        let pairs = self.never_live_together(&choice);
        if !pairs.is_empty() {
            let mut together = joined.clone();
            let bundle_of = first_bundles(&choice.rings);
            for (one, other) in pairs {
                together.unite(bundle_of[one], bundle_of[other]);
            }
            // A ring may get too deep where it is handed through what arms the other one.
            if let Ok(better) = self.rings(&together) {
                (choice, joined) = (better, together);
            }
        }
        self.in_turn(&mut choice, joined);
        Ok(choice)
    }

    /// The rings of phases of which those that are `joined` are on one, with numbers in the order that is best.
    fn rings(&self, joined: &Union) -> Result<Choice, Vec<LoadId>> {
        let choice = self.numbered(joined, vec![0; self.bundles.loads.len()])?;
        let shift = order::shifts(self.tree, self.homes, self.places, self.bundles, &choice.rings);
        if shift.iter().all(|shift| *shift == 0) {
            return Ok(choice);
        }
        let (mbarriers, barriers) = self.cost(&choice);
        match self
            .numbered(joined, shift)
            .map(|other| (self.cost(&other), other))
        {
            Ok((cost, other)) if cost.0 < mbarriers && cost.1 <= barriers => Ok(other),
            _ => Ok(choice),
        }
    }

    /// The same, with these shifts of numbers.
    fn numbered(&self, joined: &Union, shift: Vec<i64>) -> Result<Choice, Vec<LoadId>> {
        let (tree, homes, places, bundles) = (self.tree, self.homes, self.places, self.bundles);
        let mut rings = rings::rings(tree, homes, places, bundles, joined, shift);
        if !rings.lost.is_empty() {
            return Err(rings.lost);
        }
        // So deep that slots need no barriers of their own, where some depth does that.
        let needed = guards::depths(tree, self.phases(&rings), self.fence_reads);
        for (depth, needed) in rings.depth.iter_mut().zip(needed) {
            if needed <= MAX_DEPTH {
                *depth = needed.max(*depth);
            }
        }
        let sure = sure::sure(tree, homes, places, bundles, &rings);
        Ok(Choice { rings, sure })
    }

    fn phases<'a>(&'a self, rings: &'a Rings) -> Phases<'a> {
        Phases {
            bundles: self.bundles,
            rings,
        }
    }

    /// Pairs of rings that may be one since they are never live together.
    fn never_live_together(&self, choice: &Choice) -> Vec<(RingId, RingId)> {
        let rest = live::Rest {
            rings: &choice.rings,
            sure: &choice.sure,
            guards: &guards::guards(self.tree, Some(self.phases(&choice.rings)), self.fence_reads),
        };
        let lives = live::lives(self.tree, self.homes, self.places, self.bundles, rest);
        share::share(lives, &choice.rings.depth)
    }

    /// Makes one ring of neighbours where that is better.
    fn in_turn(&self, choice: &mut Choice, mut joined: Union) {
        let mut firsts = first_bundles(&choice.rings);
        if firsts.len() > RINGS {
            return;
        }
        firsts.sort_unstable();
        let mut cost = self.cost(choice);
        let mut i = 0;
        while i + 1 < firsts.len() {
            // Before a slot of theirs is armed again, its last phase has to be waited for.
            let sure = |bundle: usize| choice.sure[choice.rings.bundle[bundle]];
            if !sure(firsts[i]) || !sure(firsts[i + 1]) {
                i += 1;
                continue;
            }
            let mut together = joined.clone();
            together.unite(firsts[i], firsts[i + 1]);
            let other = self.rings(&together).ok().map(|other| (self.cost(&other), other));
            let better =
                other.filter(|((mbarriers, barriers), _)| *mbarriers < cost.0 && *barriers <= cost.1);
            if let Some((its_cost, better)) = better {
                (cost, *choice, joined) = (its_cost, better, together);
                firsts.remove(i + 1);
            } else {
                i += 1;
            }
        }
    }

    /// How many mbarriers a choice takes, and how many barriers.
    fn cost(&self, choice: &Choice) -> (u64, usize) {
        let guards = guards::guards(self.tree, Some(self.phases(&choice.rings)), self.fence_reads);
        let all = guards.phases.iter().chain(&guards.loads);
        let barriers = all.filter(|guard| guard.barrier).count();
        (choice.rings.depth.iter().sum(), barriers)
    }
}

/// The first bundle of each ring.
fn first_bundles(rings: &Rings) -> Vec<usize> {
    let mut first = vec![usize::MAX; rings.depth.len()];
    for (bundle, &ring) in rings.bundle.iter().enumerate() {
        first[ring] = first[ring].min(bundle);
    }
    first
}
