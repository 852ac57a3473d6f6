//! Phase 4: which phases take turns on one ring of mbarriers, and how deep the ring is.
//!
//! Phases that edges bind to one variable must be on one ring, since only the running program knows which of them is
//! awaited. A ring of depth D gives its slots out in turn: the phase that is armed as number n of the ring is on slot
//! n mod D, with parity (n / D) mod 2. The slot of a phase is armed again D arms later, by when nobody may wait for it any
//! more. So D is one more than the most arms that happen while a phase is waited for: its **age** where it is last
//! awaited or handed on.
//!
//! The age of a variable is the greatest of what is bound to it, plus the arms between the definition of that and the
//! edge: longest paths in a graph of the variables. A token that outlives any number of arms has no such ring, and its
//! loads are lost.
//!
//! Rings that are never live at the same time are one ring ([`super::live`], [`super::share`]). A slot is live from its arm to a block
//! barrier behind its last wait: without one, slow threads could still wait for its last phase when it is armed anew. Where
//! that makes a ring deeper ([`super::guards`]), an mbarrier more saves a barrier in each round.

use super::bundles::{Bundles, Phase};
use super::counts::{Counts, Place, Sum, add};
use super::homes::{By, Homes};
use super::tree::{BlockId, LoadId, Step, Tree};
use super::union::Union;
use std::collections::{BTreeMap, HashMap};

/// A ring, numbered from 0.
pub type RingId = usize;
/// The deepest ring.
pub const MAX_DEPTH: u64 = 64;
/// For each block, where phases are opened in it: before which step, on which ring, of which bundle.
pub(super) type Opened = HashMap<BlockId, Vec<(usize, RingId, usize)>>;

/// The rings.
pub(super) struct Rings {
    /// The ring of each bundle.
    pub bundle: Vec<RingId>,
    /// The ring of each variable.
    pub var: Vec<RingId>,
    /// How many mbarriers each ring has.
    pub depth: Vec<u64>,
    /// Where phases are opened.
    pub opened: Opened,
    /// How often each ring is armed where.
    pub counts: Counts,
    /// How much greater the number of each bundle is than how often its ring was armed before.
    pub shift: Vec<i64>,
    /// The most arms since a phase, by ring, where an await is for it: by await and place in its list.
    pub age_at: HashMap<(usize, Phase), u64>,
    /// Loads of rings that would have to be endless.
    pub lost: Vec<LoadId>,
}

impl Rings {
    /// The ring of a phase.
    pub fn of(&self, phase: Phase) -> RingId {
        match phase {
            Phase::Bundle(bundle) => self.bundle[bundle],
            Phase::Var(var) => self.var[var],
        }
    }
}

/// The places of loads and awaits.
pub(super) struct Places {
    /// Where each load stands.
    pub load: Vec<(BlockId, usize)>,
    /// Where each await stands.
    pub awaits: Vec<(BlockId, usize)>,
    /// The step of each region in its parent.
    pub region: Vec<usize>,
}

impl Places {
    /// Finds them.
    pub fn new(tree: &Tree) -> Self {
        let mut places = Self {
            load: vec![(0, 0); tree.loads.len()],
            awaits: vec![(0, 0); tree.awaits],
            region: vec![0; tree.regions.len()],
        };
        for (b, block) in tree.blocks.iter().enumerate() {
            for (i, step) in block.steps.iter().enumerate() {
                match step {
                    Step::Load { load, .. } => places.load[*load] = (b, i),
                    Step::Await { id, .. } => places.awaits[*id] = (b, i),
                    Step::Region(region) => places.region[*region] = i,
                    _ => {}
                }
            }
        }
        places
    }

    /// The home of loads that share a phase, and the first and last step there that has one of them.
    pub fn span(&self, tree: &Tree, homes: &Homes, loads: &[LoadId]) -> (BlockId, usize, usize) {
        let home = homes.home[loads[0]];
        let steps = loads.iter();
        let steps = steps.filter_map(|&load| self.step_in(tree, home, self.load[load]));
        let (first, last) = steps.fold((usize::MAX, 0), |(first, last), step| {
            (first.min(step), last.max(step))
        });
        (home, first, last)
    }

    /// The step of `outer` that holds what stands at `place`, in it or in a region inside.
    pub fn step_in(&self, tree: &Tree, outer: BlockId, place: (BlockId, usize)) -> Option<usize> {
        let (mut block, mut step) = place;
        while block != outer {
            let region = tree.blocks[block].region?;
            (block, step) = (tree.regions[region].parent, self.region[region]);
        }
        Some(step)
    }
}

/// Puts phases on rings; `joined` are those that share a ring because they are never live together, and `shift` says what to add
/// to the number of each bundle.
pub(super) fn rings(
    tree: &Tree,
    homes: &Homes,
    places: &Places,
    bundles: &Bundles,
    joined: &Union,
    shift: Vec<i64>,
) -> Rings {
    let n = bundles.loads.len();
    let mut union = joined.clone();
    for (var, bound) in bundles.bound.iter().enumerate() {
        for (_, phase) in bound {
            match phase {
                Some(Phase::Bundle(bundle)) => union.unite(*bundle, n + var),
                Some(Phase::Var(other)) => union.unite(n + other, n + var),
                None => {}
            }
        }
    }
    let mut numbers: BTreeMap<usize, RingId> = BTreeMap::new();
    let mut ring = |i: usize, union: &mut Union| {
        let next = numbers.len();
        *numbers.entry(union.root(i)).or_insert(next)
    };
    let bundle: Vec<RingId> = (0..n).map(|i| ring(i, &mut union)).collect();
    let var: Vec<RingId> = (n..n + bundles.vars.len()).map(|i| ring(i, &mut union)).collect();
    let mut opened: Opened = HashMap::new();
    for (b, loads) in bundles.loads.iter().enumerate() {
        let (home, first, _) = places.span(tree, homes, loads);
        opened.entry(home).or_default().push((first, bundle[b], b));
    }
    for opened in opened.values_mut() {
        opened.sort_unstable_by_key(|&(step, _, bundle)| (step, bundle));
    }
    let mut counts = Counts::new(tree, &opened);
    for (bundle, opened) in &mut counts.opened {
        opened.shift(shift[*bundle]);
    }
    let mut rings = Rings {
        depth: vec![1; numbers.len()],
        bundle,
        var,
        opened,
        counts,
        shift,
        age_at: HashMap::new(),
        lost: Vec::new(),
    };
    ages(tree, homes, bundles, places, &mut rings);
    rings
}

/// Finds how old phases get, and how deep rings have to be for that.
pub(super) fn ages(tree: &Tree, homes: &Homes, bundles: &Bundles, places: &Places, rings: &mut Rings) {
    let ages = Ages {
        tree,
        homes,
        bundles,
        places,
    };
    ages.fill(rings);
}

struct Ages<'t> {
    tree: &'t Tree,
    homes: &'t Homes,
    bundles: &'t Bundles,
    places: &'t Places,
}

impl Ages<'_> {
    fn fill(&self, rings: &mut Rings) {
        let vars = self.vars(rings);
        let age = |phase: Phase| match phase {
            Phase::Bundle(_) => 0,
            Phase::Var(var) => vars[var],
        };
        for (var, &age) in vars.iter().enumerate() {
            let depth = &mut rings.depth[rings.var[var]];
            *depth = (*depth).max(add(age, 1));
        }
        for (id, phases) in self.bundles.awaits.iter().enumerate() {
            let (block, step) = self.places.awaits[id];
            for &phase in phases {
                let ring = rings.of(phase);
                let arms = rings.counts.between(
                    self.tree,
                    ring,
                    self.def(rings, phase),
                    (block, Place::before(step)),
                );
                let age = add(age(phase), arms);
                rings.age_at.insert((id, phase), age);
                rings.depth[ring] = rings.depth[ring].max(add(age, 1));
            }
        }
        self.count_open(rings);
        for (bundle, loads) in self.bundles.loads.iter().enumerate() {
            if rings.depth[rings.bundle[bundle]] > MAX_DEPTH {
                rings.lost.extend(loads);
            }
        }
    }

    /// A phase must have all its loads before its slot is armed again, whoever waits for it.
    fn count_open(&self, rings: &mut Rings) {
        // Whether phases of a ring are numbered in turn.
        let mut turns = vec![true; rings.depth.len()];
        for (bundle, &shift) in rings.shift.iter().enumerate().take(self.bundles.loads.len()) {
            turns[rings.bundle[bundle]] &= shift == 0;
        }
        for (bundle, loads) in self.bundles.loads.iter().enumerate() {
            let (home, _, last) = self.places.span(self.tree, self.homes, loads);
            let (ring, phase) = (rings.bundle[bundle], Phase::Bundle(bundle));
            // The arrival on it is behind the step, with all that is armed in there.
            let to = (home, Place::before(last + 1));
            let arms = rings.counts.between(self.tree, ring, self.def(rings, phase), to);
            let arms = if turns[ring] {
                arms
            } else {
                arms.max(self.ahead(rings, phase, (home, last)))
            };
            rings.depth[ring] = rings.depth[ring].max(add(arms, 1));
        }
    }

    /// How far ahead of a phase the numbers are of those that are opened up to a step of its home.
    fn ahead(&self, rings: &Rings, phase: Phase, (home, last): (BlockId, usize)) -> u64 {
        let (_, own) = self.def(rings, phase);
        let opened = rings.opened.get(&home).into_iter().flatten();
        let others = opened.filter(|&&(step, ring, _)| step <= last && ring == rings.of(phase));
        let ahead = others.map(|(.., other)| rings.counts.opened[other].since(own));
        ahead.max().unwrap_or(0)
    }

    /// Where a phase is defined: the block, and the arms of its ring up to there.
    fn def(&self, rings: &Rings, phase: Phase) -> (BlockId, Sum) {
        match phase {
            Phase::Bundle(bundle) => {
                let home = self.homes.home[self.bundles.loads[bundle][0]];
                (home, rings.counts.opened[&bundle])
            }
            Phase::Var(var) => {
                let def = self.homes.defs[self.bundles.vars[var][0].0 as usize];
                let sum = match def.by {
                    By::Region(_) => {
                        rings
                            .counts
                            .up_to(def.block, rings.var[var], Place::before(def.step + 1))
                    }
                    _ => Sum::default(),
                };
                (def.block, sum)
            }
        }
    }

    /// The greatest age of each variable where it is defined, or more than [`MAX_DEPTH`].
    fn vars(&self, rings: &Rings) -> Vec<u64> {
        let n = self.bundles.vars.len();
        let mut ages = vec![0; n];
        // The variables that each is bound to, and how much older it is by then.
        let mut next: Vec<Vec<(usize, u64)>> = vec![Vec::new(); n];
        for (var, bound) in self.bundles.bound.iter().enumerate() {
            for &((region, edge), phase) in bound {
                let Some(phase) = phase else { continue };
                let place = match self.tree.regions[region].edges[edge].from {
                    None => (
                        self.tree.regions[region].parent,
                        Place::inside(self.places.region[region]),
                    ),
                    Some(from) => (self.tree.regions[region].blocks[from], Place::END),
                };
                let ring = rings.var[var];
                let arms = rings
                    .counts
                    .between(self.tree, ring, self.def(rings, phase), place);
                match phase {
                    Phase::Bundle(_) => ages[var] = arms.max(ages[var]),
                    Phase::Var(other) => next[other].push((var, arms)),
                }
            }
        }
        let mut work: Vec<usize> = (0..n).collect();
        while let Some(var) = work.pop() {
            for &(to, arms) in &next[var] {
                let age = add(ages[var], arms).min(MAX_DEPTH);
                if age > ages[to] {
                    ages[to] = age;
                    work.push(to);
                }
            }
        }
        ages
    }
}
