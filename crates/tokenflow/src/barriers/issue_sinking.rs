//! Finds loops that would need fewer barriers if their copies were sunk below the first await, by placing
//! barriers again.
//!
//! A loop that issues copies first and then awaits older ones needs a barrier before the issue, since others may still read what
//! is overwritten, and one after the await. If it awaits first, one barrier after the await does both.

use super::graph::{Action, Kernel, LoopId, StepId};
use super::placement::{Placement, place};
use rustc_hash::FxHashMap;

/// What moving an issue saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierSaving {
    /// The first step that issues something too early.
    pub issue: StepId,
    /// The await that it should come after.
    pub wait: StepId,
    /// How many barriers there are in the loop.
    pub barriers: usize,
    /// How many of them are saved.
    pub saved: usize,
}

/// Returns what loops save in `placement` if copies are issued after the first await of the same block.
#[must_use]
pub fn saved_by_sinking_issues(kernel: &Kernel, placement: &Placement) -> Vec<BarrierSaving> {
    let before = barriers_by_loop(kernel, placement);
    if before.values().all(|barriers| *barriers < 2) {
        return Vec::new();
    }
    let mut moved = kernel.clone();
    let mut candidates = Vec::new();
    for chain in chains(kernel) {
        let of = kernel.steps[chain[0]]
            .in_loop
            .filter(|of| before.get(of).is_some_and(|barriers| *barriers > 1));
        let (Some(of), Some((issue, wait))) = (of, move_issues(&mut moved, &chain)) else {
            continue;
        };
        candidates.push((of, issue, wait));
    }
    if candidates.is_empty() {
        return Vec::new();
    }
    let after = place(&moved);
    if !after.races.is_empty() {
        return Vec::new();
    }
    let after = barriers_by_loop(&moved, &after);
    let savings = candidates.into_iter().filter_map(|(of, issue, wait)| {
        let barriers = before[&of];
        let saved = barriers
            .checked_sub(after.get(&of).copied().unwrap_or(0))
            .filter(|saved| *saved > 0)?;
        Some(BarrierSaving {
            issue,
            wait,
            barriers,
            saved,
        })
    });
    savings.collect()
}

/// How many barriers are right in each loop, and in no loop inside of it.
fn barriers_by_loop(kernel: &Kernel, placement: &Placement) -> FxHashMap<LoopId, usize> {
    let mut count = FxHashMap::default();
    for (step, _) in &placement.barriers {
        if let Some(of) = kernel.steps[*step].in_loop {
            *count.entry(of).or_default() += 1;
        }
    }
    count
}

/// Steps of which each leads to the next one alone.
fn chains(kernel: &Kernel) -> Vec<Vec<StepId>> {
    let (before, _) = kernel.predecessors();
    let mut chains: Vec<Vec<StepId>> = Vec::new();
    for (id, _) in kernel.steps.with_ids() {
        let leads_here = before[id].filter(|before| kernel.steps[*before].edges.len() == 1);
        match chains.last_mut() {
            Some(chain) if leads_here.is_some() && chain.last().copied() == leads_here => chain.push(id),
            _ => chains.push(vec![id]),
        }
    }
    chains
}

/// Moves what a chain issues and commits to right after its first await; returns the first issue and the await.
fn move_issues(kernel: &mut Kernel, chain: &[StepId]) -> Option<(StepId, StepId)> {
    let wait = chain
        .iter()
        .position(|step| kernel.steps[*step].action.awaits())?;
    let is_issue = |action: &Action| matches!(action, Action::Issue(_) | Action::Commit(..));
    let actions: Vec<Action> = chain[..=wait]
        .iter()
        .map(|step| kernel.steps[*step].action.clone())
        .collect();
    let issue = actions
        .iter()
        .position(|action| matches!(action, Action::Issue(_)))?;
    let (issues, others): (Vec<Action>, Vec<Action>) = actions.into_iter().partition(is_issue);
    for (step, action) in chain.iter().zip(others.into_iter().chain(issues)) {
        kernel.steps[*step].action = action;
    }
    Some((chain[issue], chain[wait]))
}
