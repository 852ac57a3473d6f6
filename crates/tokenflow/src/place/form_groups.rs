//! `form_groups`: lets operations share a group, where that makes no await force more.
//!
//! A *unit* is a commit that can be left out, so that its group joins the next one committed in the
//! same block; in a balanced branch the corresponding commits of all arms form one unit. Units are
//! decided by *class*: group shapes must agree wherever tokens that one loop carries meet, so the units
//! between operations whose tokens flow into the same places are left out together or not at all.
//! (Merging only a prologue's operations, and not the loop's, is the classic mistake.)
//!
//! All classes are left out first. Where that makes an await force more, the class of the commit
//! right before the oldest operation forced too early is put back (in the end, before every one of
//! them), until nothing is forced more.
//! Then each class that was put back is tried again on its own, and so are commits at the end of a
//! block, whose group would join one of a later block, and empty ones at the start of an arm.

use super::incremental::{Change, IncrementalSolver, TrialResult};
use super::queue_placer::{Grouped, QueuePlacer, touches};
use super::token_classes::TokenClasses;
use crate::counts::QueueSolution;
use crate::program::{Await, Block, Commits, Graph, Item, Site, Slot, Token};
use crate::program_info::{GraphInfo, defs};
use crate::straight_line::differences;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

/// Rounds of putting classes back before giving up on all that are left.
const ROUNDS: usize = 64;
/// Rounds in which only the oldest operation that an await forces too early has its class put back, and
/// not all of them.
const PATIENT_ROUNDS: usize = 8;

/// A commit that can be left out.
struct Unit {
    /// Where one commit fewer is made.
    slots: Vec<Slot>,
    class: usize,
    /// What lies between each commit and the next one.
    gaps: Vec<Gap>,
    /// True if such a unit is tried on its own only.
    alone: bool,
}

impl QueuePlacer<'_> {
    pub(super) fn form_groups(&self, base: &QueueSolution, columns: &[Vec<Slot>]) -> QueueSolution {
        let is_same = |known: &&Grouped| known.base == base.commits && known.columns == columns;
        if let Some(known) = self.grouped.borrow().iter().find(is_same) {
            return known.found.clone();
        }
        let found = self.form_groups_anew(base, columns);
        self.grouped.borrow_mut().push(Grouped {
            base: base.commits.clone(),
            columns: columns.to_vec(),
            found: found.clone(),
        });
        found
    }

    fn form_groups_anew(&self, base: &QueueSolution, columns: &[Vec<Slot>]) -> QueueSolution {
        let (mut units, classes) = self.units(base, columns);
        self.keep_needed(base, &mut units, classes);
        let mut merged = vec![false; classes];
        for unit in units.iter().filter(|unit| !unit.alone) {
            merged[unit.class] = true;
        }
        let mut best = base.clone();
        // Where no class can be tried on its own later, a round is dearer than a group more.
        let patient = if self.trials == 0 { 1 } else { PATIENT_ROUNDS };
        for round in 0..=ROUNDS {
            if !merged.contains(&true) || round == ROUNDS {
                merged.fill(false);
                best = base.clone();
                break;
            }
            let solution = self.merge(base, &units, &merged);
            let culprits = self.culprits(base, &solution, &units, &merged, round < patient);
            let Some(culprits) = culprits else {
                best = solution;
                break;
            };
            if culprits.is_empty() {
                merged.fill(false);
            }
            for class in culprits {
                merged[class] = false;
            }
        }
        self.merge_one_by_one(base, best, &units, merged)
    }

    /// Removes the units of classes that are known not to be left out.
    fn keep_needed(&self, base: &QueueSolution, units: &mut Vec<Unit>, classes: usize) {
        let Some(needed) = self.needed_groups(base) else {
            return;
        };
        let mut kept = vec![false; classes];
        for unit in units.iter() {
            kept[unit.class] |= unit.slots.iter().any(|slot| needed.need(*slot));
        }
        units.retain(|unit| !kept[unit.class]);
    }

    /// Leaves out classes that are not in `merged` as well, where that forces nothing more. One may become possible by
    /// another: until none does any more.
    fn merge_one_by_one(
        &self,
        base: &QueueSolution,
        mut best: QueueSolution,
        units: &[Unit],
        mut merged: Vec<bool>,
    ) -> QueueSolution {
        let mut slots = vec![Vec::new(); merged.len()];
        for unit in units {
            slots[unit.class].extend(unit.slots.iter().map(|slot| slot.0 as usize));
        }
        let mut trials = self.trials;
        let mut changed = true;
        let mut incremental = OnceCell::new();
        // From the commits of `base` to those of `best`.
        let mut changes: Vec<Change> = differences(&base.commits, &best.commits)
            .map(|slot| (slot, best.commits[slot]))
            .collect();
        while std::mem::take(&mut changed) {
            for class in 0..slots.len() {
                if merged[class] || slots[class].is_empty() {
                    continue;
                }
                if trials == 0 {
                    return best;
                }
                trials -= 1;
                let mut more_changes = changes.clone();
                for &slot in &slots[class] {
                    leave_out_at(slot, &base.commits, &mut more_changes);
                }
                incremental.get_or_init(|| self.incremental(base));
                let incremental = incremental.get_mut().and_then(Option::as_mut);
                if let Some(solution) = self.grouped_alike(base, &more_changes, incremental) {
                    merged[class] = true;
                    best = solution;
                    changes = more_changes;
                    changed = true;
                }
            }
        }
        best
    }

    /// Returns the solution for the commits of `base` with some changes if it forces nothing more than `base`.
    fn grouped_alike(
        &self,
        base: &QueueSolution,
        changes: &[Change],
        incremental: Option<&mut IncrementalSolver>,
    ) -> Option<QueueSolution> {
        match incremental.map(|incremental| incremental.try_changes(changes)) {
            Some(TrialResult::More) => None,
            Some(TrialResult::NoMore(changed)) => (!changed.left_open).then_some(changed.solution),
            Some(TrialResult::Unknown) | None => {
                let solution = self.solve(super::search::changed(&base.commits, changes));
                if solution.uncovered.iter().any(|w| !base.uncovered.contains(w)) {
                    return None;
                }
                let comparison = self.compare(base, &solution);
                let alike = comparison.forces_no_more() && !comparison.left_open;
                alike.then_some(solution)
            }
        }
    }

    fn merge(&self, base: &QueueSolution, units: &[Unit], merged: &[bool]) -> QueueSolution {
        let mut commits = base.commits.clone();
        for unit in units.iter().filter(|unit| merged[unit.class]) {
            leave_out(unit, &mut commits);
        }
        self.solve(commits)
    }

    /// Returns the classes to put back, or `None` if `solution` forces nothing more than `base`.
    fn culprits(
        &self,
        base: &QueueSolution,
        solution: &QueueSolution,
        units: &[Unit],
        merged: &[bool],
        patient: bool,
    ) -> Option<Vec<usize>> {
        let live = || units.iter().filter(|unit| merged[unit.class]);
        let known: BTreeSet<Await> = base.uncovered.iter().copied().collect();
        let new = solution.uncovered.iter().filter(|w| !known.contains(w));
        let uncovered: BTreeSet<u32> = new.map(|w| w.0).collect();
        if !uncovered.is_empty() {
            let met =
                |range: &Range<u32>| !range.is_empty() && uncovered.range(range.clone()).next().is_some();
            let blamed = live().filter(|unit| unit.gaps.iter().any(|gap| met(&gap.awaits)));
            return Some(blamed.map(|unit| unit.class).collect());
        }
        let comparison = self.compare(base, solution);
        if comparison.forces_no_more() && !comparison.left_open {
            return None;
        }
        let most = if patient { 1 } else { usize::MAX };
        let mut forced = vec![false; self.program.sites as usize];
        for site in comparison.more.values().flat_map(|sites| sites.iter().take(most)) {
            forced[site.0 as usize] = true;
        }
        let is_forced = |gap: &Gap| gap.sites.iter().any(|site| forced[site.0 as usize]);
        let blamed = live().filter(|unit| unit.gaps.iter().any(is_forced));
        Some(blamed.map(|unit| unit.class).collect())
    }

    /// Returns the units, and how many classes there are.
    fn units(&self, base: &QueueSolution, columns: &[Vec<Slot>]) -> (Vec<Unit>, usize) {
        let mut finder = Finder {
            placer: self,
            base,
            token_classes: self.token_classes(),
            gaps: Vec::new(),
        };
        finder.graph(&self.program.body, &self.program_info.root);
        finder.into_units(columns)
    }
}

/// Makes one commit fewer at the slots of `unit`.
fn leave_out(unit: &Unit, commits: &mut Commits) {
    for slot in &unit.slots {
        commits[slot.0 as usize] -= 1;
    }
}

/// Makes one commit fewer at a slot, given the changes so far in the order of their slots.
fn leave_out_at(slot: usize, commits: &Commits, changes: &mut Vec<Change>) {
    match changes.binary_search_by_key(&slot, |(slot, _)| *slot) {
        Ok(i) => changes[i].1 -= 1,
        Err(i) => changes.insert(i, (slot, commits[slot] - 1)),
    }
}

/// What the two sides of a unit have in common with those of other units: where the tokens before
/// and after it flow, and whether the two are joined into one token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    TokenClasses(u32, u32, bool),
    Column(usize),
    /// Tried on its own: the last commit of a block, or an empty one at the start of one, which may have become
    /// superfluous.
    Alone(Slot),
}

/// What lies between a commit and the next one of its block, or the block's end.
struct Gap {
    /// A token of what is committed here.
    before: Option<Token>,
    /// A token of what is issued next.
    after: Option<Token>,
    sites: Vec<Site>,
    awaits: Range<u32>,
    /// What ends the gap.
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The block.
    Block,
    /// A commit that the group could join.
    Commit,
    /// Commits that it could not.
    Barrier,
}

struct Finder<'a, 'p> {
    placer: &'a QueuePlacer<'p>,
    base: &'a QueueSolution,
    token_classes: &'a TokenClasses,
    /// The gap after the commit at a slot.
    gaps: Vec<(Slot, Gap)>,
}

impl Finder<'_, '_> {
    fn graph(&mut self, graph: &Graph, info: &GraphInfo) {
        crate::program::ensure_sufficient_stack(|| {
            let mut next_await = info.awaits.start;
            for (block, block_info) in graph.blocks.iter().zip(&info.blocks) {
                self.block(block, &mut next_await);
                let graphs = block.items.iter().filter_map(Item::graph);
                for (graph, inner) in graphs.zip(&block_info.inner) {
                    self.graph(graph, inner);
                }
            }
        });
    }

    fn commits_at(&self, slot: Option<Slot>) -> Option<Slot> {
        slot.filter(|slot| self.base.commits[slot.0 as usize] > 0)
    }

    fn block(&mut self, block: &Block, next_await: &mut u32) {
        let mut open: Option<(Slot, Gap)> = None;
        let start = |slot, before, next_await: u32| {
            let gap = Gap {
                before,
                after: None,
                sites: Vec::new(),
                awaits: next_await..next_await,
                end: End::Block,
            };
            (slot, gap)
        };
        if let Some(slot) = self.commits_at(block.start) {
            open = Some(start(slot, None, *next_await));
        }
        for item in &block.items {
            if let Item::Point(_) | Item::Join { .. } = item {
                continue;
            }
            count_awaits(item, next_await);
            if let Some((_, gap)) = &mut open {
                gap.awaits.end = *next_await;
            }
            if !touches(item, self.placer.queue) {
                continue;
            }
            let slot = self.commits_at(item.after());
            let barrier = match item {
                Item::Issue { .. } => false,
                Item::Commit { .. } => true,
                _ => self.commits_inside(item),
            };
            if let Some((_, gap)) = &mut open {
                gap.after = gap.after.or(token_of(item));
                add_sites(item, self.placer.queue, &mut gap.sites);
            }
            if (barrier || slot.is_some())
                && let Some((slot, mut gap)) = open.take()
            {
                gap.end = if barrier { End::Barrier } else { End::Commit };
                self.gaps.push((slot, gap));
            }
            if let Some(slot) = slot {
                open = Some(start(slot, token_of(item), *next_await));
            }
        }
        if let Some((slot, gap)) = open {
            self.gaps.push((slot, gap));
        }
    }

    /// Returns true if something inside `item` commits.
    fn commits_inside(&self, item: &Item) -> bool {
        let mut found = false;
        let starts = |graph: &Graph| {
            let mut blocks = graph.blocks.iter();
            blocks.any(|block| self.commits_at(block.start).is_some())
        };
        if let Some(graph) = item.graph() {
            found |= starts(graph);
            graph.visit(&mut |item| {
                found |= self.commits_at(item.after()).is_some()
                    || matches!(item, Item::Commit { queue, .. } if *queue == self.placer.queue)
                    || item.graph().is_some_and(starts);
            });
        }
        found
    }

    /// Returns the class key of a gap, unless no token tells which others it must agree with.
    fn key(&self, gap: &Gap) -> Option<Key> {
        let (before, after) = (gap.before?, gap.after?);
        Some(Key::TokenClasses(
            self.token_classes.any.find(before),
            self.token_classes.any.find(after),
            self.token_classes.joined.find(before) == self.token_classes.joined.find(after),
        ))
    }

    fn into_units(mut self, columns: &[Vec<Slot>]) -> (Vec<Unit>, usize) {
        let mut gaps = std::mem::take(&mut self.gaps);
        gaps.sort_unstable_by_key(|(slot, _)| *slot);
        let slots: Vec<Slot> = gaps.iter().map(|(slot, _)| *slot).collect();
        let mut gaps: Vec<Option<Gap>> = gaps.into_iter().map(|(_, gap)| Some(gap)).collect();
        let mut keyed = Vec::new();
        for (i, column) in columns.iter().enumerate() {
            let places = column.iter().filter_map(|slot| slots.binary_search(slot).ok());
            let parts: Vec<Gap> = places.filter_map(|place| gaps[place].take()).collect();
            if parts.is_empty() || parts.iter().any(|gap| gap.end == End::Barrier) {
                continue;
            }
            let key = parts.iter().find_map(|gap| self.key(gap));
            keyed.push((key.unwrap_or(Key::Column(i)), column.clone(), parts));
        }
        for (slot, gap) in slots.into_iter().zip(gaps) {
            let Some(gap) = gap else { continue };
            let key = match (gap.end, gap.before) {
                (End::Commit, Some(_)) => self.key(&gap),
                _ => Some(Key::Alone(slot)),
            };
            keyed.extend(key.map(|key| (key, vec![slot], vec![gap])));
        }
        let mut classes = FxHashMap::default();
        let units = keyed.into_iter().map(|(key, slots, gaps)| {
            let count = classes.len();
            Unit {
                slots,
                class: *classes.entry(key).or_insert(count),
                alone: matches!(key, Key::Alone(_)),
                gaps,
            }
        });
        (units.collect(), classes.len())
    }
}

/// Moves `next` past the awaits in `item`.
fn count_awaits(item: &Item, next: &mut u32) {
    let mut count = |item: &Item| {
        if let Item::Await { site, .. } = item {
            *next = (*next).max(site.0 + 1);
        }
    };
    count(item);
    if let Some(graph) = item.graph() {
        graph.visit(&mut count);
    }
}

/// Adds the operations of `queue` in `item`.
fn add_sites(item: &Item, queue: crate::program::Queue, sites: &mut Vec<Site>) {
    let mut add = |item: &Item| {
        if let Item::Issue { site, queue: q, .. } = item
            && *q == queue
        {
            sites.push(*site);
        }
    };
    add(item);
    if let Some(graph) = item.graph() {
        graph.visit(&mut add);
    }
}

/// Returns a token of the operations of `item`, to tell where they flow.
fn token_of(item: &Item) -> Option<Token> {
    let own = defs(item).next();
    let mut inner = None;
    if let Some(graph) = item.graph() {
        graph.visit(&mut |item| {
            if let Item::Issue { token, .. } = item {
                inner = inner.or(*token);
            }
        });
    }
    inner.or(own)
}
