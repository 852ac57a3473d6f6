//! `balance`: makes all arms of a branch commit equally many groups.
//!
//! A diamond is *on* in one of two forms. **Sunk**: the last commit of every arm is replaced by one
//! commit after the meeting point, and arms with fewer groups start with empty ones. That is the
//! form wanted, since the hardware counts commits per converged group of a warp. **Padded**: commits
//! stay in the arms, because an await in an arm needs one, and arms with fewer groups start with
//! empty ones.
//!
//! All diamonds are turned on, inner ones first; those whose arms were not equal before and whose
//! equality makes no await force less are turned off again. If all at once make some await force
//! more, they are turned on one by one instead.

use super::QueuePlacer;
use super::diamond::{ArmCommit, CommitCounts, Diamond, GraphDiamonds, total};
use super::incremental::{Change, IncrementalSolver, TrialResult};
use super::needed_groups::NeededGroups;
use crate::counts::QueueSolution;
use crate::program::{Await, Commits, Graph, Item, Slot};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// Up to so many diamonds, debug builds check whether each that is said to be needed is.
const CHECKED: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Off,
    Sunk,
    Padded,
}

/// What became of a diamond in a rendering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BalanceEffect {
    /// Nothing to do: no arm commits, or the diamond is off.
    None,
    /// The arms were equal; their last commit was moved after the meeting point.
    Moved,
    /// The arms are equal now and were not before.
    Evened,
    /// The arms can't be made equal because of a loop of unknown trip count in one of them.
    Uneven,
}

/// Commits that stand in the arms of one diamond, at the same place counted from the end: they
/// exist in all arms or in none.
pub(super) type ColumnSlots = Vec<Slot>;

pub(super) struct Balanced {
    pub solution: QueueSolution,
    pub columns: Vec<ColumnSlots>,
    /// True if balancing has changed commits, and no solution whatsoever is known to force less.
    pub forces_least: bool,
}

pub(super) struct AppliedForms {
    pub commits: Commits,
    pub effects: Vec<BalanceEffect>,
    columns: Vec<ColumnSlots>,
}

struct Trial {
    forms: Vec<Form>,
    rendered: AppliedForms,
    solution: QueueSolution,
}

impl QueuePlacer<'_> {
    pub(super) fn balance(&self, graphs: &[GraphDiamonds], base: &QueueSolution) -> Balanced {
        let all: Vec<&Diamond> = graphs.iter().flat_map(|g| &g.diamonds).collect();
        let all_on = self.all_on(graphs, &all, base);
        let mut best = all_on.unwrap_or_else(|| {
            let none = self.trial(graphs, base, vec![Form::Off; all.len()]);
            self.one_by_one(graphs, base, none)
        });
        best = self.prune(graphs, &all, base, best);
        self.balanced.replace(Some(best.solution.clone()));
        Balanced {
            forces_least: best.solution.commits != base.commits && self.forces_least(&best.solution),
            columns: best.rendered.columns,
            solution: best.solution,
        }
    }

    /// Returns where branches meet whose arms commit unequal numbers of groups and can't be made equal.
    pub(super) fn uneven(&self, graphs: &[GraphDiamonds], solution: &QueueSolution) -> Vec<Slot> {
        if !self.program_info.root.has_loop {
            return Vec::new();
        }
        let all: Vec<&Diamond> = graphs.iter().flat_map(|g| &g.diamonds).collect();
        let rendered = self.apply_forms(graphs, &solution.commits, &vec![Form::Off; all.len()]);
        // Where nothing waits afterwards, nothing suffers.
        let last_wait = solution.last_wait();
        let suffers = |diamond: &Diamond| last_wait.is_some_and(|last| diamond.next_await as usize <= last);
        let uneven = all.iter().zip(&rendered.effects);
        uneven
            .filter(|(diamond, effect)| **effect == BalanceEffect::Uneven && suffers(diamond))
            .filter_map(|(diamond, _)| diamond.after)
            .collect()
    }

    fn trial(&self, graphs: &[GraphDiamonds], base: &QueueSolution, forms: Vec<Form>) -> Trial {
        let rendered = self.apply_forms(graphs, &base.commits, &forms);
        let solution = if rendered.commits == base.commits {
            base.clone()
        } else {
            self.solve(rendered.commits.clone())
        };
        Trial {
            forms,
            rendered,
            solution,
        }
    }

    /// Turns all diamonds on; `None` if that makes some await force more.
    fn all_on(&self, graphs: &[GraphDiamonds], all: &[&Diamond], base: &QueueSolution) -> Option<Trial> {
        let mut trial = self.trial(graphs, base, vec![Form::Sunk; all.len()]);
        while trial.solution.uncovered != base.uncovered {
            let open = trial.solution.uncovered.iter();
            let mut forms = trial.forms.clone();
            for w in open.filter(|w| !base.uncovered.contains(w)) {
                let culprit = (0..all.len()).find(|&d| {
                    forms[d] == Form::Sunk
                        && trial.rendered.effects[d] != BalanceEffect::None
                        && holds(all[d], *w)
                })?;
                forms[culprit] = Form::Padded;
            }
            trial = self.trial(graphs, base, forms);
        }
        if trial.rendered.commits == base.commits {
            return Some(trial);
        }
        let comparison = self.compare(base, &trial.solution);
        comparison.forces_no_more().then_some(trial)
    }

    /// Turns diamonds on while that helps, inner ones first, until none helps any more.
    fn one_by_one(&self, graphs: &[GraphDiamonds], base: &QueueSolution, none: Trial) -> Trial {
        let mut best = none;
        let mut trials = self.trials;
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for d in 0..best.forms.len() {
                for form in [Form::Sunk, Form::Padded] {
                    if best.forms[d] != Form::Off || trials == 0 {
                        break;
                    }
                    trials -= 1;
                    let mut forms = best.forms.clone();
                    forms[d] = form;
                    let trial = self.trial(graphs, base, forms);
                    let useful = match trial.rendered.effects[d] {
                        BalanceEffect::None | BalanceEffect::Uneven => break,
                        effect => effect,
                    };
                    if trial.solution.uncovered != base.uncovered {
                        continue;
                    }
                    let comparison = self.compare(&best.solution, &trial.solution);
                    if comparison.forces_no_more() && (comparison.less || useful == BalanceEffect::Moved) {
                        best = trial;
                        changed = true;
                    }
                }
            }
        }
        best
    }

    /// Turns off what makes no await force less, outer diamonds first.
    fn prune(&self, graphs: &[GraphDiamonds], all: &[&Diamond], base: &QueueSolution, best: Trial) -> Trial {
        let mut best = best;
        let mut trials = self.trials;
        let mut needed = self.needed_groups(&best.solution);
        let mut around = OnceCell::new();
        for d in (0..best.forms.len()).rev() {
            if best.rendered.effects[d] != BalanceEffect::Evened || trials == 0 {
                continue;
            }
            let is_needed =
                |needed: &NeededGroups| all[d].after.is_some_and(|slot| needed.need_on_all_paths(slot));
            if needed.as_ref().is_some_and(is_needed) {
                debug_assert!(
                    best.forms.len() > CHECKED || self.without(graphs, base, &best, d).is_none(),
                    "what is needed can't be turned off"
                );
                continue;
            }
            trials -= 1;
            around.get_or_init(|| self.around(graphs, base, &best));
            if let Some(around) = around.get_mut().and_then(Option::as_mut) {
                match around.try_without(d, &best.forms) {
                    TrialResult::More => continue,
                    TrialResult::NoMore(changed) if changed.solution.uncovered != base.uncovered => continue,
                    TrialResult::NoMore(_) | TrialResult::Unknown => {}
                }
            }
            if let Some(trial) = self.without(graphs, base, &best, d) {
                best = trial;
                needed = self.needed_groups(&best.solution);
                around = OnceCell::new();
            }
        }
        best
    }

    /// Turns diamond `d` off; `None` if that makes some await force more.
    fn without(
        &self,
        graphs: &[GraphDiamonds],
        base: &QueueSolution,
        best: &Trial,
        d: usize,
    ) -> Option<Trial> {
        let mut forms = best.forms.clone();
        forms[d] = Form::Off;
        let trial = self.trial(graphs, base, forms);
        let is_as_good = trial.solution.uncovered == base.uncovered
            && self.compare(&best.solution, &trial.solution).more.is_empty();
        is_as_good.then_some(trial)
    }

    /// Returns what turns single diamonds of `best` off, if its body allows that.
    fn around<'a>(
        &'a self,
        graphs: &'a [GraphDiamonds],
        base: &'a QueueSolution,
        best: &Trial,
    ) -> Option<Around<'a>> {
        let incremental = self.incremental(&best.solution)?;
        let of_diamonds = graphs.iter().enumerate();
        Some(Around {
            placer: self,
            graphs,
            base: &base.commits,
            graph_of: of_diamonds
                .flat_map(|(i, graph)| graph.diamonds.iter().map(move |_| i))
                .collect(),
            best: best.rendered.commits.clone(),
            rendered: AppliedForms::new(&best.rendered.commits),
            committed: self.no_counts(),
            incremental,
        })
    }

    /// Works out the commits for the given forms.
    pub(super) fn apply_forms(
        &self,
        graphs: &[GraphDiamonds],
        base: &Commits,
        forms: &[Form],
    ) -> AppliedForms {
        let mut rendered = AppliedForms::new(base);
        self.apply_forms_to(graphs, forms, &mut self.no_counts(), &mut rendered);
        rendered
    }

    /// Brings diamonds into the given forms; `committed` may know the graphs inside of them.
    fn apply_forms_to(
        &self,
        graphs: &[GraphDiamonds],
        forms: &[Form],
        committed: &mut CommitCounts,
        rendered: &mut AppliedForms,
    ) {
        rendered.effects.reserve(forms.len());
        rendered.columns.reserve(forms.len());
        let mut forms = forms.iter();
        for graph in graphs {
            for (diamond, form) in graph.diamonds.iter().zip(&mut forms) {
                let effect = apply(diamond, *form, self.max_padding, committed, rendered);
                rendered.effects.push(effect);
            }
            committed.note(graph.graph, graph.info, &rendered.commits);
        }
    }

    fn no_counts(&self) -> CommitCounts {
        CommitCounts {
            queue: self.queue,
            graphs: vec![None; self.program_info.graphs],
            diamonds: FxHashMap::default(),
            unbounded: vec![false; self.program_info.graphs],
        }
    }
}

impl AppliedForms {
    /// No diamond is in its form yet.
    fn new(commits: &Commits) -> Self {
        Self {
            commits: commits.clone(),
            effects: Vec::new(),
            columns: Vec::new(),
        }
    }
}

/// Turns off single diamonds of a rendering: only the graphs in the same step of the body have to be rendered anew.
struct Around<'a> {
    placer: &'a QueuePlacer<'a>,
    graphs: &'a [GraphDiamonds<'a>],
    base: &'a Commits,
    /// The place in `graphs` of each diamond's graph.
    graph_of: Vec<usize>,
    /// The commits with all diamonds in their forms.
    best: Commits,
    /// The same, but for the step that is rendered anew.
    rendered: AppliedForms,
    committed: CommitCounts,
    incremental: IncrementalSolver<'a>,
}

impl Around<'_> {
    /// Tries the commits with diamond `d` off, which are the best ones elsewhere; `forms` are theirs.
    fn try_without(&mut self, d: usize, forms: &[Form]) -> TrialResult {
        let line = self.incremental.line();
        let step_of = |graph: usize| line.step_of_graph(self.graphs[graph].info.id);
        let (mut first, step) = (self.graph_of[d], step_of(self.graph_of[d]));
        let mut last = first + 1;
        let mut first_form = d;
        while first_form > 0 && self.graph_of[first_form - 1] == first {
            first_form -= 1;
        }
        while first > 0 && step_of(first - 1) == step {
            first -= 1;
            first_form -= self.graphs[first].diamonds.len();
        }
        // The last is the body, which has no diamonds if it is a line.
        while last < self.graphs.len() - 1 && step_of(last) == step {
            last += 1;
        }
        let graphs = &self.graphs[first..last];
        let count = graphs.iter().map(|graph| graph.diamonds.len()).sum::<usize>();
        let mut forms = forms[first_form..][..count].to_vec();
        forms[d - first_form] = Form::Off;
        let slots = line.slots(step..step + 1);
        self.rendered.commits[slots.clone()].copy_from_slice(&self.base[slots.clone()]);
        self.placer
            .apply_forms_to(graphs, &forms, &mut self.committed, &mut self.rendered);
        self.rendered.effects.clear();
        self.rendered.columns.clear();
        let both = self.rendered.commits[slots.clone()]
            .iter()
            .zip(&self.best[slots.clone()]);
        let changes = slots.clone().zip(both);
        let changes: Vec<Change> = changes
            .filter(|(_, (new, best))| new != best)
            .map(|(slot, (&new, _))| (slot, new))
            .collect();
        self.rendered.commits[slots.clone()].copy_from_slice(&self.best[slots]);
        self.incremental.try_changes(&changes)
    }
}

/// Returns true if `w` stands in an arm of the diamond.
fn holds(diamond: &Diamond, w: Await) -> bool {
    if !diamond.info.awaits.contains(&w.0) {
        return false;
    }
    let inside = |graph: &Graph, b: usize| {
        let mut found = false;
        let mut check = |item: &Item| found |= matches!(item, Item::Await { site, .. } if *site == w);
        for item in &graph.blocks[b].items {
            check(item);
            if let Some(graph) = item.graph() {
                graph.visit(&mut check);
            }
        }
        found
    };
    diamond
        .arms
        .iter()
        .flat_map(|arm| &arm.spine)
        .any(|&b| inside(diamond.graph, b))
}

/// Brings one diamond into its form.
fn apply(
    diamond: &Diamond,
    form: Form,
    max_padding: u32,
    committed: &mut CommitCounts,
    rendered: &mut AppliedForms,
) -> BalanceEffect {
    let key = (diamond.info.id, diamond.head);
    committed.diamonds.insert(key, None);
    let arms = diamond.arms.iter();
    let arms: Vec<Option<Vec<ArmCommit>>> = arms
        .map(|arm| committed.arm(diamond, arm, &rendered.commits))
        .collect();
    if arms.iter().any(Option::is_none) {
        let unbounded = committed.is_unbounded(diamond);
        return if unbounded {
            BalanceEffect::Uneven
        } else {
            BalanceEffect::None
        };
    }
    let mut arms: Vec<Vec<ArmCommit>> = arms.into_iter().flatten().collect();
    let Some(totals) = arms.iter().map(|arm| total(arm)).collect::<Option<Vec<u64>>>() else {
        return BalanceEffect::None;
    };
    let equal = totals.iter().all(|&n| n == totals[0]);
    let most = totals.iter().copied().max().unwrap_or(0);
    if equal {
        committed.diamonds.insert(key, Some(most));
    }
    if form == Form::Off || most == 0 {
        return BalanceEffect::None;
    }
    // Where the last commits can't be moved, the arms are padded.
    let sunk = (form == Form::Sunk)
        .then(|| Some((last_commits(&arms)?, diamond.after?)))
        .flatten();
    let mut kept = totals;
    if sunk.is_some() {
        for (arm, n) in arms.iter_mut().zip(&mut kept) {
            arm.pop();
            *n = n.saturating_sub(1);
        }
    } else if equal {
        return BalanceEffect::None;
    }
    let pads = padding(&kept, max_padding);
    let starts: Vec<Option<Slot>> = diamond.arms.iter().map(|arm| arm.start).collect();
    let no_place = |(start, &pad): (&Option<Slot>, &u32)| pad > 0 && start.is_none();
    if starts.iter().zip(&pads).any(no_place) {
        return BalanceEffect::None;
    }
    if let Some((moved, after)) = sunk {
        for slot in &moved {
            rendered.commits[slot.0 as usize] -= 1;
        }
        rendered.commits[after.0 as usize] += 1;
    }
    for (start, &pad) in starts.iter().zip(&pads) {
        if let Some(start) = start {
            rendered.commits[start.0 as usize] += pad;
        }
    }
    rendered.columns.extend(columns(&arms, &starts, &pads));
    committed.diamonds.insert(key, Some(most));
    if equal {
        BalanceEffect::Moved
    } else {
        BalanceEffect::Evened
    }
}

/// Returns how many empty groups each arm gets, so that all commit as many as the one that commits most.
fn padding(totals: &[u64], max_padding: u32) -> Vec<u32> {
    let most = totals.iter().copied().max().unwrap_or(0);
    let missing = totals
        .iter()
        .map(|n| u32::try_from(most - n).unwrap_or(max_padding));
    missing.map(|n| n.min(max_padding)).collect()
}

/// Returns the last commit of every arm that has one, if all of them can be moved.
fn last_commits(arms: &[Vec<ArmCommit>]) -> Option<Vec<Slot>> {
    let last = arms.iter().filter_map(|arm| arm.last());
    last.map(|column| match column {
        ArmCommit::Movable(slot) => Some(*slot),
        ArmCommit::Fixed(_) => None,
    })
    .collect()
}

/// Returns the places, counted from the arms' ends, at which every arm has a commit of its own or an
/// empty one at its start.
fn columns(arms: &[Vec<ArmCommit>], starts: &[Option<Slot>], pads: &[u32]) -> Vec<ColumnSlots> {
    let height = arms.iter().map(Vec::len).max().unwrap_or(0);
    let mut columns = Vec::new();
    for i in 0..height {
        let column: Option<ColumnSlots> = arms
            .iter()
            .zip(starts.iter().zip(pads))
            .map(|(arm, (&start, &pad))| match arm.len().checked_sub(i + 1) {
                Some(at) => match arm[at] {
                    ArmCommit::Movable(slot) => Some(slot),
                    ArmCommit::Fixed(_) => None,
                },
                None => start.filter(|_| i - arm.len() < pad as usize),
            })
            .collect();
        match column {
            Some(column) => columns.push(column),
            None => break,
        }
    }
    columns
}
