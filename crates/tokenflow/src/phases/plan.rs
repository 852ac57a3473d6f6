//! The plan: all phases put together.

use super::ahead::ahead;
use super::bundles::{self, Bundles, Phase};
use super::choose::{Choice, Chooser};
use super::counts::{Counts, Place};
use super::guards::{self, Guards, Phases};
use super::homes;
use super::implied::without_implied;
use super::numbers::{self, Linear};
use super::rings::{self, Opened, Places, RingId, Rings};
use super::simplify::simplify;
use super::tree::{BlockId, LoadId, RegionId, Tree};
use crate::program::Token;
use std::collections::BTreeSet;

/// How loads complete on mbarriers.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Loads whose tokens no ring can follow. If there are any, nothing else is planned: they are to be awaited where
    /// they are issued, and the rest to be planned anew.
    pub lost: Vec<LoadId>,
    /// The block in which the mbarriers are initialised, outside of all loops.
    pub scope: BlockId,
    /// Its first and its last step that has to do with loads.
    pub range: (usize, usize),
    /// The phases.
    pub bundles: Vec<Bundle>,
    /// The tokens that edges bind to one phase or another.
    pub vars: Vec<Var>,
    /// The rings.
    pub rings: Vec<Ring>,
    /// What each await waits for; phases that were awaited before on every way are left out.
    pub awaits: Vec<Vec<Phase>>,
    /// Barriers and fences.
    pub guards: Guards,
    /// The barriers of [`Plan::guards`], in order, with numbers as if they were the arms of a ring of their own.
    pub syncs: Vec<Sync>,
    /// True if the running program counts the barriers.
    pub syncs_carried: bool,
    /// The rings that are armed in each region.
    pub armed: Vec<BTreeSet<RingId>>,
    /// The regions that have barriers.
    pub synced: Vec<bool>,
}

impl Plan {
    /// How many mbarriers it takes if threads meet at those: as many as the deepest ring has, so that threads may be as far
    /// ahead of one another as loads are; none where they don't meet.
    #[must_use]
    pub fn sync_depth(&self) -> u64 {
        let depths = self.rings.iter().map(|ring| ring.depth);
        depths.max().filter(|_| !self.syncs.is_empty()).unwrap_or(0)
    }

    /// Returns true if the phase of `bundle` is known to be the first one of its slot.
    #[must_use]
    pub fn is_first(&self, bundle: &Bundle) -> bool {
        let number = bundle.number.as_ref();
        number.is_some_and(|number| {
            number.factors.is_empty() && number.constant < self.rings[bundle.ring].depth
        })
    }
}

/// Loads that share a phase.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The loads.
    pub loads: Vec<LoadId>,
    /// The block that the phase is opened in.
    pub home: BlockId,
    /// It is opened right before this step, which has the first load.
    pub first: usize,
    /// The step with the last load.
    pub last: usize,
    /// How many bytes they have together, if that is the same on every way.
    pub bytes: Option<u64>,
    /// The ring.
    pub ring: RingId,
    /// The number of the phase, if all numbers of the ring are known.
    pub number: Option<Linear>,
    /// How much greater it is than how often the ring was armed before.
    pub shift: i64,
}

/// Tokens that edges bind to one phase or another: always to the same.
#[derive(Clone, Debug)]
pub struct Var {
    /// The tokens.
    pub tokens: Vec<Token>,
    /// The ring.
    pub ring: RingId,
    /// The number of the phase where the tokens are defined, if all numbers of the ring are known.
    pub number: Option<Linear>,
    /// True if it may be bound to a token that is complete.
    pub may_be_ready: bool,
    /// What is bound to it.
    pub bound: Vec<Handed>,
}

/// What an edge binds a variable to.
#[derive(Clone, Copy, Debug)]
pub struct Handed {
    /// The region.
    pub region: RegionId,
    /// The edge, by its place there.
    pub edge: usize,
    /// The phase; `None`: a complete token.
    pub phase: Option<Phase>,
}

/// A ring of mbarriers.
#[derive(Clone, Debug)]
pub struct Ring {
    /// How many.
    pub depth: u64,
    /// True if the running program counts its arms: not all numbers are known, or what is computed of them is dear.
    pub carried: bool,
    /// True if each phase is surely waited for; else the slot's last one has to be, before it is armed anew and where
    /// everything ends.
    pub sure: bool,
    /// How often it has been armed at the end of the scope, if that is known.
    pub end: Option<Linear>,
}

/// A barrier that a guard needs.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Before a load, rather than before a phase is opened.
    pub load: bool,
    /// Which load, or bundle.
    pub of: usize,
    /// How many barriers of guards come before it, if that is known.
    pub number: Option<Linear>,
    /// True if, where threads meet at mbarriers, one may be so far ahead that it has to wait for the slot's last phase.
    pub waits: bool,
}

/// Plans the phases of all loads of a function.
#[must_use]
pub fn plan(tree: &Tree, fence_reads: bool) -> Plan {
    let tree = &simplify(tree);
    let places = Places::new(tree);
    let homes = homes::homes(tree);
    let mut bundles = bundles::bundles(tree, &homes);
    if !bundles.lost.is_empty() {
        return lost(bundles.lost);
    }
    bundles.awaits = without_implied(tree, &homes, &bundles);
    let chooser = Chooser {
        tree,
        homes: &homes,
        places: &places,
        bundles: &bundles,
        fence_reads,
    };
    let Choice { rings, sure } = match chooser.choose() {
        Ok(choice) => choice,
        Err(loads) => return lost(loads),
    };
    let scope = scope(tree, &homes, &places, &bundles);
    let numbers = numbers::numbers(tree, &homes, &bundles, &rings, &sure, scope);
    let phases = Phases {
        bundles: &bundles,
        rings: &rings,
    };
    let mut guards = guards::guards(tree, Some(phases), fence_reads);

    let mut plan = Plan {
        scope,
        range: range(tree, &places, &bundles, scope),
        rings: (0..rings.depth.len())
            .map(|ring| Ring {
                depth: rings.depth[ring],
                carried: numbers.carried[ring] || numbers.dear[ring],
                sure: sure[ring],
                end: numbers.end[ring].clone().filter(|_| !numbers.carried[ring]),
            })
            .collect(),
        armed: rings
            .counts
            .through
            .iter()
            .map(|rings| rings.keys().copied().collect())
            .collect(),
        awaits: bundles.awaits.clone(),
        ..Plan::default()
    };
    plan.bundles = bundles_of(tree, &homes, &places, &bundles, &rings, &numbers);
    // All threads wait for the last phase of a slot before it is armed again, and meet: else one that has not could take
    // the phase before that for the next one, whose parity is the same.
    for (guard, bundle) in guards.phases.iter_mut().zip(&plan.bundles) {
        guard.barrier |= !plan.rings[bundle.ring].sure && !plan.is_first(bundle);
    }
    plan.vars = vars(&bundles, &rings, &numbers);
    plan.guards = guards;
    plan_syncs(tree, &homes, &places, &bundles, &rings, &mut plan);
    plan
}

fn bundles_of(
    tree: &Tree,
    homes: &homes::Homes,
    places: &Places,
    bundles: &Bundles,
    rings: &Rings,
    numbers: &numbers::Numbers,
) -> Vec<Bundle> {
    let mut out = Vec::new();
    for (b, loads) in bundles.loads.iter().enumerate() {
        let (home, first, last) = places.span(tree, homes, loads);
        let ring = rings.bundle[b];
        out.push(Bundle {
            home,
            first,
            last,
            bytes: bytes(tree, home, loads, places),
            loads: loads.clone(),
            ring,
            number: numbers.bundle[b].clone().filter(|_| !numbers.carried[ring]),
            shift: rings.shift[b],
        });
    }
    out
}

/// Finds what has to come before each store, whatever comes before loads.
#[must_use]
pub fn guard_stores(tree: &Tree, fence_reads: bool) -> Guards {
    guards::guards(tree, None, fence_reads)
}

fn lost(lost: Vec<LoadId>) -> Plan {
    let mut lost = lost;
    lost.sort_unstable();
    lost.dedup();
    Plan {
        lost,
        ..Plan::default()
    }
}

fn vars(bundles: &Bundles, rings: &Rings, numbers: &numbers::Numbers) -> Vec<Var> {
    let mut ready: Vec<bool> = bundles
        .bound
        .iter()
        .map(|bound| bound.iter().any(|(_, phase)| phase.is_none()))
        .collect();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); ready.len()];
    for (var, bound) in bundles.bound.iter().enumerate() {
        for (_, phase) in bound {
            if let Some(Phase::Var(from)) = phase {
                next[*from].push(var);
            }
        }
    }
    let mut work: Vec<usize> = (0..ready.len()).filter(|&var| ready[var]).collect();
    while let Some(var) = work.pop() {
        for &to in &next[var] {
            if !std::mem::replace(&mut ready[to], true) {
                work.push(to);
            }
        }
    }
    let vars = bundles.vars.iter().enumerate();
    vars.map(|(var, tokens)| Var {
        tokens: tokens.clone(),
        ring: rings.var[var],
        number: numbers.var[var]
            .clone()
            .filter(|_| !numbers.carried[rings.var[var]]),
        may_be_ready: ready[var],
        bound: bundles.bound[var]
            .iter()
            .map(|&((region, edge), phase)| Handed { region, edge, phase })
            .collect(),
    })
    .collect()
}

/// The innermost block outside of all loops that has all loads and awaits.
fn scope(tree: &Tree, homes: &homes::Homes, places: &Places, bundles: &Bundles) -> BlockId {
    let awaits = bundles
        .awaits
        .iter()
        .enumerate()
        .filter(|(_, phases)| !phases.is_empty());
    let blocks = homes
        .home
        .iter()
        .copied()
        .chain(awaits.map(|(id, _)| places.awaits[id].0))
        .chain(handing(bundles).map(|region| tree.regions[region].parent));
    let mut scope: Option<Vec<BlockId>> = None;
    for block in blocks {
        let mut around: Vec<BlockId> =
            std::iter::successors(Some(block), |&block| tree.outer(block)).collect();
        around.reverse();
        scope = Some(match scope {
            None => around,
            Some(common) => common
                .into_iter()
                .zip(around)
                .take_while(|(a, b)| a == b)
                .map(|(a, _)| a)
                .collect(),
        });
    }
    let common = scope.unwrap_or_default();
    let inside_loop = common.iter().position(|&block| {
        tree.blocks[block]
            .region
            .is_some_and(|region| tree.regions[region].repeats())
    });
    let outside = inside_loop.map_or(common.as_slice(), |first| &common[..first]);
    outside.last().copied().unwrap_or(0)
}

/// The regions whose edges hand on phases.
fn handing(bundles: &Bundles) -> impl Iterator<Item = RegionId> + '_ {
    bundles.bound.iter().flatten().map(|((region, _), _)| *region)
}

/// The first and last step of `scope` that has to do with loads.
fn range(tree: &Tree, places: &Places, bundles: &Bundles, scope: BlockId) -> (usize, usize) {
    let awaits = bundles
        .awaits
        .iter()
        .enumerate()
        .filter(|(_, phases)| !phases.is_empty());
    let all = places
        .load
        .iter()
        .copied()
        .chain(awaits.map(|(id, _)| places.awaits[id]));
    let all = all.chain(handing(bundles).map(|region| (tree.regions[region].parent, places.region[region])));
    let steps: Vec<usize> = all
        .filter_map(|place| places.step_in(tree, scope, place))
        .collect();
    (
        steps.iter().copied().min().unwrap_or(0),
        steps.iter().copied().max().unwrap_or(0),
    )
}

/// The bytes of loads from `home` on, if they are the same on every way.
fn bytes(tree: &Tree, home: BlockId, loads: &[LoadId], places: &Places) -> Option<u64> {
    let mut sum = 0_u64;
    for &load in loads {
        let (mut block, mut times) = (places.load[load].0, 1_u64);
        while block != home {
            let region = tree.blocks[block].region?;
            times = match tree.regions[region].trips {
                super::tree::Trips::Constant(trips) => times.saturating_mul(trips),
                _ => return None,
            };
            block = tree.regions[region].parent;
        }
        sum = sum.saturating_add(times.saturating_mul(tree.loads[load].bytes));
    }
    // More than an mbarrier counts is expected load by load. In flight at a time is less: no more than workgroup memory has, but
    // for loads that race with each other.
    (sum <= bundles::MAX_PHASE_BYTES).then_some(sum)
}

/// Numbers the barriers of guards, and finds where threads may be too far ahead.
fn plan_syncs(
    tree: &Tree,
    homes: &homes::Homes,
    places: &Places,
    bundles: &Bundles,
    rings: &Rings,
    plan: &mut Plan,
) {
    let mut meetings = meetings(tree, places, rings, plan);
    plan.synced = meetings
        .counts
        .through
        .iter()
        .map(|rings| !rings.is_empty())
        .collect();
    let all: Vec<usize> = meetings.opened.values().flatten().map(|&(.., of)| of).collect();
    let numbers = numbers::numbers(tree, homes, &Bundles::default(), &meetings, &[true], plan.scope);
    plan.syncs_carried = numbers.dear[0] || all.iter().any(|&of| numbers.bundle[of].is_none());
    let of_phases = plan.bundles.len();
    // Where a phase has no meeting of its own, those before it are known to be over.
    for (b, bundle) in plan.bundles.iter().enumerate() {
        let before = meetings.counts.up_to(bundle.home, 0, Place::before(bundle.first));
        meetings.counts.opened.entry(b).or_insert(before);
    }
    meetings.var = vec![0; bundles.vars.len()];
    rings::ages(tree, homes, bundles, places, &mut meetings);
    plan.syncs = all
        .into_iter()
        .map(|of| Sync {
            load: of >= of_phases,
            of: of.checked_sub(of_phases).unwrap_or(of),
            number: numbers.bundle[of].clone().filter(|_| !plan.syncs_carried),
            waits: true,
        })
        .collect();
    plan.syncs.sort_by_key(|sync| (sync.load, sync.of));
    let ahead = ahead(tree, bundles, &meetings, plan);
    for sync in &mut plan.syncs {
        sync.waits = ahead.contains(&(sync.of + if sync.load { of_phases } else { 0 }));
    }
}

/// The barriers of guards, as if they were the arms of one ring: those of phases by bundle, and behind them those of loads.
fn meetings(tree: &Tree, places: &Places, rings: &Rings, plan: &Plan) -> Rings {
    let guards = &plan.guards;
    let mut opened = Opened::new();
    let opens = rings
        .opened
        .iter()
        .flat_map(|(&block, opens)| opens.iter().map(move |&(step, _, bundle)| (block, step, bundle)));
    for (block, step, bundle) in opens.filter(|&(.., bundle)| guards.phases[bundle].barrier) {
        opened.entry(block).or_default().push((step, 0, bundle));
    }
    let bundles = plan.bundles.len();
    for (load, _) in guards.loads.iter().enumerate().filter(|(_, guard)| guard.barrier) {
        let (block, step) = places.load[load];
        opened.entry(block).or_default().push((step, 0, bundles + load));
    }
    for opened in opened.values_mut() {
        opened.sort_unstable_by_key(|&(step, _, of)| (step, of));
    }
    let depths = plan.rings.iter().map(|ring| ring.depth);
    Rings {
        bundle: vec![0; bundles + guards.loads.len()],
        var: Vec::new(),
        depth: vec![depths.max().unwrap_or(1)],
        counts: Counts::new(tree, &opened),
        opened,
        shift: vec![0; bundles + guards.loads.len()],
        age_at: std::collections::HashMap::new(),
        lost: Vec::new(),
    }
}
