//! Brings diamonds into forms in which their arms commit equally many groups.
//!
//! A diamond is *on* in one of two forms. **Sunk**: the last commit of every arm is replaced by one
//! commit after the meeting point, and arms with fewer groups start with empty ones. That is the
//! form wanted, since the hardware counts commits per converged group of a warp. **Padded**: commits
//! stay in the arms, because an await in an arm needs one, and arms with fewer groups start with
//! empty ones.

use super::QueuePlacer;
use super::commit_counts::{ArmCommit, ArmCommits, CommitCounts};
use super::diamond::{Arm, Diamond, GraphDiamonds};
use crate::program::{Commits, Slot};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Off,
    Sunk,
    Padded,
}

/// What became of a diamond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BalanceEffect {
    /// The commits are as before: the diamond is off, there is nothing to even out, or that is not possible (but see `Uneven`).
    Unchanged,
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

pub(super) struct AppliedForms {
    pub commits: Commits,
    pub effects: Vec<BalanceEffect>,
    pub columns: Vec<ColumnSlots>,
}

impl QueuePlacer<'_> {
    /// Works out the commits for the given forms.
    pub(super) fn apply_forms(
        &self,
        graphs: &[GraphDiamonds],
        base: &Commits,
        forms: &[Form],
    ) -> AppliedForms {
        let mut applied = AppliedForms::new(base);
        self.apply_forms_to(graphs, forms, &mut self.no_counts(), &mut applied);
        applied
    }

    /// Brings diamonds into the given forms; `committed` may know the graphs inside of them.
    pub(super) fn apply_forms_to(
        &self,
        graphs: &[GraphDiamonds],
        forms: &[Form],
        committed: &mut CommitCounts,
        applied: &mut AppliedForms,
    ) {
        applied.effects.reserve(forms.len());
        let mut forms = forms.iter();
        let mut arms = ArmCommits::default();
        for graph in graphs {
            committed.enter(graph.graph);
            for (diamond, form) in graph.diamonds.iter().zip(&mut forms) {
                let known = (&mut *committed, &mut arms);
                let effect = apply(diamond, *form, self.max_padding, known, applied);
                applied.effects.push(effect);
            }
            committed.note(graph.graph, graph.info, &applied.commits);
        }
    }

    /// Counts of which nothing is known.
    pub(super) fn no_counts(&self) -> CommitCounts {
        CommitCounts::new(self.queue, self.program_info.graphs)
    }
}

impl AppliedForms {
    /// No diamond is in its form yet.
    pub fn new(commits: &Commits) -> Self {
        Self {
            commits: commits.clone(),
            effects: Vec::new(),
            columns: Vec::new(),
        }
    }
}

/// Brings one diamond of the current graph into its form.
fn apply(
    diamond: &Diamond,
    form: Form,
    max_padding: u32,
    (committed, arms): (&mut CommitCounts, &mut ArmCommits),
    applied: &mut AppliedForms,
) -> BalanceEffect {
    committed.note_diamond(diamond.head, None);
    if committed.read_arms(diamond, &applied.commits, arms).is_none() {
        let unbounded = committed.is_unbounded(diamond);
        return if unbounded {
            BalanceEffect::Uneven
        } else {
            BalanceEffect::Unchanged
        };
    }
    let most = arms.arms().map(|(_, groups)| groups).max().unwrap_or(0);
    let equal = arms.arms().all(|(_, groups)| groups == most);
    if equal {
        committed.note_diamond(diamond.head, Some(most));
    }
    if form == Form::Off || most == 0 {
        return BalanceEffect::Unchanged;
    }
    // Where the last commits can't be moved, the arms are padded.
    let can_sink = form == Form::Sunk && arms.last().all(|commit| matches!(commit, ArmCommit::Movable(_)));
    let sunk_to = diamond.after.filter(|_| can_sink);
    if sunk_to.is_none() && equal {
        return BalanceEffect::Unchanged;
    }
    let kept = |groups: u64| groups.saturating_sub(u64::from(sunk_to.is_some()));
    let padding = |kept_groups: u64| padding(kept(most) - kept_groups, max_padding);
    let lacks_place =
        |(arm, (_, groups)): (&Arm, (&[ArmCommit], u64))| arm.start.is_none() && padding(kept(groups)) > 0;
    if diamond.arms.iter().zip(arms.arms()).any(lacks_place) {
        return BalanceEffect::Unchanged;
    }
    if let Some(after) = sunk_to {
        for commit in arms.last() {
            if let ArmCommit::Movable(slot) = commit {
                applied.commits[slot.0 as usize] -= 1;
            }
        }
        applied.commits[after.0 as usize] += 1;
        arms.pop();
    }
    for (arm, (_, groups)) in diamond.arms.iter().zip(arms.arms()) {
        if let Some(start) = arm.start {
            applied.commits[start.0 as usize] += padding(groups);
        }
    }
    add_columns(diamond, arms, padding, &mut applied.columns);
    committed.note_diamond(diamond.head, Some(most));
    if equal {
        BalanceEffect::Moved
    } else {
        BalanceEffect::Evened
    }
}

/// Returns how many empty groups an arm gets that lacks so many.
fn padding(missing: u64, max_padding: u32) -> u32 {
    u32::try_from(missing).map_or(max_padding, |n| n.min(max_padding))
}

/// Adds the places, counted from the arms' ends, at which every arm has a commit of its own or an empty one at its start.
/// `padding` says how many of the latter an arm with so many groups has.
fn add_columns(
    diamond: &Diamond,
    arms: &ArmCommits,
    padding: impl Fn(u64) -> u32,
    columns: &mut Vec<ColumnSlots>,
) {
    let height = arms.arms().map(|(arm, _)| arm.len()).max().unwrap_or(0);
    for i in 0..height {
        let both = diamond.arms.iter().zip(arms.arms());
        let column: Option<ColumnSlots> = both
            .map(
                |(Arm { start, .. }, (arm, groups))| match arm.len().checked_sub(i + 1) {
                    Some(at) => match arm[at] {
                        ArmCommit::Movable(slot) => Some(slot),
                        ArmCommit::Fixed(_) => None,
                    },
                    None => start.filter(|_| i - arm.len() < padding(groups) as usize),
                },
            )
            .collect();
        match column {
            Some(column) => columns.push(column),
            None => break,
        }
    }
}
