//! `balance`: makes all arms of a branch commit equally many groups.
//!
//! All diamonds are turned on (see [`super::diamond_forms`]), inner ones first; those whose arms were not equal before and whose
//! equality makes no await force less are turned off again. If all at once make some await force
//! more, they are turned on one by one instead.

use super::QueuePlacer;
use super::commit_counts::CommitCounts;
use super::diamond::{Diamond, GraphDiamonds};
use super::diamond_forms::{AppliedForms, BalanceEffect, ColumnSlots, Form};
use super::incremental::{Change, IncrementalSolver, TrialResult};
use super::needed_groups::NeededGroups;
use crate::counts::QueueSolution;
use crate::program::{Await, Commits, Graph, Item, Slot};
use std::cell::OnceCell;

/// Up to so many diamonds, debug builds check whether each that is said to be needed is.
const CHECKED: usize = 64;

pub(super) struct Balanced {
    pub solution: QueueSolution,
    pub columns: Vec<ColumnSlots>,
    /// True if balancing has changed commits, and no solution whatsoever is known to force less.
    pub forces_least: bool,
}

struct Trial {
    forms: Vec<Form>,
    applied: AppliedForms,
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
            columns: best.applied.columns,
            solution: best.solution,
        }
    }

    /// Returns where branches meet whose arms commit unequal numbers of groups and can't be made equal.
    pub(super) fn uneven(&self, graphs: &[GraphDiamonds], solution: &QueueSolution) -> Vec<Slot> {
        if !self.program_info.root.has_loop {
            return Vec::new();
        }
        let all: Vec<&Diamond> = graphs.iter().flat_map(|g| &g.diamonds).collect();
        let applied = self.apply_forms(graphs, &solution.commits, &vec![Form::Off; all.len()]);
        // Where nothing waits afterwards, nothing suffers.
        let last_wait = solution.last_wait();
        let suffers = |diamond: &Diamond| last_wait.is_some_and(|last| diamond.next_await as usize <= last);
        let uneven = all.iter().zip(&applied.effects);
        uneven
            .filter(|(diamond, effect)| **effect == BalanceEffect::Uneven && suffers(diamond))
            .filter_map(|(diamond, _)| diamond.after)
            .collect()
    }

    fn trial(&self, graphs: &[GraphDiamonds], base: &QueueSolution, forms: Vec<Form>) -> Trial {
        let applied = self.apply_forms(graphs, &base.commits, &forms);
        let solution = if applied.commits == base.commits {
            base.clone()
        } else {
            self.solve(applied.commits.clone())
        };
        Trial {
            forms,
            applied,
            solution,
        }
    }

    /// Turns all diamonds on; `None` if that makes some await force more.
    fn all_on(&self, graphs: &[GraphDiamonds], all: &[&Diamond], base: &QueueSolution) -> Option<Trial> {
        let mut trial = self.trial(graphs, base, vec![Form::Sunk; all.len()]);
        while trial.solution.uncovered != base.uncovered {
            let uncovered = trial.solution.uncovered.iter();
            let mut forms = trial.forms.clone();
            for w in uncovered.filter(|w| !base.uncovered.contains(w)) {
                let culprit = (0..all.len()).find(|&d| {
                    forms[d] == Form::Sunk
                        && trial.applied.effects[d] != BalanceEffect::Unchanged
                        && holds(all[d], *w)
                })?;
                forms[culprit] = Form::Padded;
            }
            trial = self.trial(graphs, base, forms);
        }
        if trial.applied.commits == base.commits {
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
                    let useful = match trial.applied.effects[d] {
                        BalanceEffect::Unchanged | BalanceEffect::Uneven => break,
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
            if best.applied.effects[d] != BalanceEffect::Evened || trials == 0 {
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
            best: best.applied.commits.clone(),
            applied: AppliedForms::new(&best.applied.commits),
            committed: self.no_counts(),
            incremental,
        })
    }
}

/// Turns off single diamonds: forms are applied anew only to the graphs in the same step of the body.
struct Around<'a> {
    placer: &'a QueuePlacer<'a>,
    graphs: &'a [GraphDiamonds<'a>],
    base: &'a Commits,
    /// The place in `graphs` of each diamond's graph.
    graph_of: Vec<usize>,
    /// The commits with all diamonds in their forms.
    best: Commits,
    /// The same, but for the step that forms are applied to anew.
    applied: AppliedForms,
    committed: CommitCounts,
    incremental: IncrementalSolver<'a>,
}

impl Around<'_> {
    /// Tries the commits with diamond `d` off, which are the best ones elsewhere; `diamond_forms` are theirs.
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
        self.applied.commits[slots.clone()].copy_from_slice(&self.base[slots.clone()]);
        self.placer
            .apply_forms_to(graphs, &forms, &mut self.committed, &mut self.applied);
        self.applied.effects.clear();
        self.applied.columns.clear();
        let both = self.applied.commits[slots.clone()]
            .iter()
            .zip(&self.best[slots.clone()]);
        let changes = slots.clone().zip(both);
        let changes: Vec<Change> = changes
            .filter(|(_, (new, best))| new != best)
            .map(|(slot, (&new, _))| (slot, new))
            .collect();
        self.applied.commits[slots.clone()].copy_from_slice(&self.best[slots]);
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
