//! Proposes commits around loops and branches in which nothing is awaited: one after the whole item (`stage`), or one before
//! each operation and one after the item (`commit_before`).
//!
//! A loop that stages a tile issues many operations and awaits none of them. With a commit after each operation, the
//! number of groups is the trip count, which is unknown or large; with one commit after the loop it is one. So too for
//! branches. Proposals go from the inside out, all items of one level together, since for tokens that one loop
//! carries, its prologue and its body have to change together; where that makes some await force more, items are
//! tried by the tokens that flow together, and then one by one.
//!
//! Where each operation keeps a group of its own, the groups of such a loop can't be counted from outside, but its last
//! one can: with each commit moved to before its operation, and one more after the loop, a wait for what is older may
//! leave that one in flight, whether or not the loop has run.

use super::token_classes::TokenClasses;
use super::{Options, QueuePlacer};
use crate::counts::QueueSolution;
use crate::program::{Commits, Graph, Item, Slot, Token, ensure_sufficient_stack};
use crate::program_info::{GraphInfo, defs};
use std::collections::BTreeMap;
use std::ops::Range;

/// How many levels of nesting are looked at, from the inside.
const LEVELS: usize = 8;

/// An item in which nothing is waited for or committed by the program.
struct AwaitFreeItem {
    /// The slots inside.
    slots: Range<usize>,
    /// The operations inside.
    issues: Range<usize>,
    after: Slot,
    /// How many such items that issue something lie in one another inside.
    level: usize,
    /// The tokens of one class flow together.
    class: u32,
}

impl QueuePlacer<'_> {
    /// Returns a solution that forces no more than `base`, with one commit after each item where that can be.
    pub(super) fn stage(&self, base: &QueueSolution, options: &Options) -> QueueSolution {
        let finder = Finder::of(self);
        let mut best = base.clone();
        let mut trials = self.trials;
        for level in 0..LEVELS {
            let items: Vec<&AwaitFreeItem> = finder.items.iter().filter(|s| s.level == level).collect();
            if items.is_empty() {
                break;
            }
            if let Some(staged) = self.staged(&best, &items, options) {
                best = staged;
                continue;
            }
            let mut classes: BTreeMap<u32, Vec<&AwaitFreeItem>> = BTreeMap::new();
            for &item in &items {
                classes.entry(item.class).or_default().push(item);
            }
            let single = items.iter().map(|&item| vec![item]);
            for some in classes.into_values().chain(single) {
                if trials == 0 {
                    return best;
                }
                trials -= 1;
                best = self.staged(&best, &some, options).unwrap_or(best);
            }
        }
        best
    }

    /// Returns the solution with these items staged, if it forces no more and differs.
    fn staged(
        &self,
        best: &QueueSolution,
        items: &[&AwaitFreeItem],
        options: &Options,
    ) -> Option<QueueSolution> {
        let mut items = items.to_vec();
        loop {
            let commits = commit_after(&best.commits, &items);
            if commits == best.commits {
                return None;
            }
            let open = self.open_groups(&commits);
            let before = items.len();
            items.retain(|item| {
                let at = item.after.0 as usize;
                commits[at] == 0 || open.allows(item.after, options)
            });
            if items.len() == before {
                return self.try_commits(best, commits).map(|(solution, _)| solution);
            }
        }
    }
}

impl QueuePlacer<'_> {
    /// Returns a solution that forces no more than `base`, in which the commits of an item are before its operations and
    /// after the item where that forces less; `None` if nowhere.
    pub(super) fn commit_before(&self, base: &QueueSolution, options: &Options) -> Option<QueueSolution> {
        if self.trials == 0 {
            return None;
        }
        let finder = Finder::of(self);
        let mut best: Option<QueueSolution> = None;
        let mut trials = self.trials;
        let mut incremental = self.incremental(base);
        let none = vec![0; base.commits.len()];
        for level in (0..LEVELS).rev() {
            let items: Vec<&AwaitFreeItem> = finder.items.iter().filter(|s| s.level == level).collect();
            let mut classes: BTreeMap<u32, Vec<&AwaitFreeItem>> = BTreeMap::new();
            for &item in &items {
                classes.entry(item.class).or_default().push(item);
            }
            classes.retain(|_, items| items.len() > 1);
            let single = items.iter().rev().map(|&item| vec![item]);
            for some in single.chain(classes.into_values()) {
                if trials == 0 {
                    return best;
                }
                trials -= 1;
                let from = best.as_ref().unwrap_or(base);
                let commits = finder.committed_before(&from.commits, &some);
                if commits == from.commits {
                    continue;
                }
                let found = match &mut incremental {
                    Some(incremental) => {
                        incremental.prepare_legality(&none, options);
                        let changes = incremental.changes_to(&commits);
                        let is_legal = incremental.is_legal(&changes, &none);
                        is_legal.then(|| self.try_changes(from, &changes, incremental))
                    }
                    None => {
                        let is_legal = self.is_legal(&commits, &none, options);
                        is_legal.then(|| self.try_commits(from, commits))
                    }
                };
                if let Some(Some((solution, true))) = found {
                    incremental = self.incremental(&solution);
                    best = Some(solution);
                }
            }
        }
        best
    }
}

fn commit_after(commits: &Commits, items: &[&AwaitFreeItem]) -> Commits {
    let mut new = commits.clone();
    for item in items {
        let inside = &mut new[item.slots.clone()];
        if inside.iter().any(|&n| n > 0) {
            inside.fill(0);
            new[item.after.0 as usize] = 1;
        }
    }
    new
}

struct Finder<'a, 'p> {
    placer: &'a QueuePlacer<'p>,
    token_classes: &'a TokenClasses,
    items: Vec<AwaitFreeItem>,
    /// The slots met so far; they are numbered in this order.
    next_slot: usize,
    /// The slots before and after each operation met so far.
    issues: Vec<(Slot, Slot)>,
}

/// What is known of a graph.
struct Inside {
    /// Nothing in it is waited for, or committed by the program.
    is_await_free: bool,
    /// The first token issued in it.
    issues: Option<Token>,
    /// The level of an item that holds it.
    level: usize,
}

impl<'a, 'p> Finder<'a, 'p> {
    fn of(placer: &'a QueuePlacer<'p>) -> Self {
        let mut finder = Self {
            placer,
            token_classes: placer.token_classes(),
            items: Vec::new(),
            next_slot: 0,
            issues: Vec::new(),
        };
        finder.graph(&placer.program.body, &placer.program_info.root);
        finder
    }

    fn committed_before(&self, commits: &Commits, items: &[&AwaitFreeItem]) -> Commits {
        let mut new = commits.clone();
        for item in items {
            let issues = &self.issues[item.issues.clone()];
            let committed = issues.iter().filter(|(_, after)| commits[after.0 as usize] > 0);
            for (_, after) in committed.clone() {
                new[after.0 as usize] = 0;
            }
            for (before, _) in committed {
                new[before.0 as usize] = 1;
                new[item.after.0 as usize] = 1;
            }
        }
        new
    }

    fn graph(&mut self, graph: &Graph, info: &GraphInfo) -> Inside {
        let mut all = Inside {
            is_await_free: true,
            issues: None,
            level: 0,
        };
        for (block, block_info) in graph.blocks.iter().zip(&info.blocks) {
            self.next_slot += usize::from(block.start.is_some());
            let mut before = block.start;
            let mut inner = block_info.inner.iter();
            for item in &block.items {
                let queue = self.placer.queue;
                match item {
                    Item::Issue {
                        queue: q,
                        slot: Some(slot),
                        token,
                        ..
                    } if *q == queue => {
                        all.issues = all.issues.or(*token);
                        self.issues.extend(before.map(|before| (before, *slot)));
                    }
                    Item::Issue { queue: q, .. }
                    | Item::Commit { queue: q, .. }
                    | Item::Wait { queue: q, .. }
                        if *q == queue =>
                    {
                        all.is_await_free = false;
                    }
                    Item::Await { .. } => all.is_await_free = false,
                    Item::Nested(_) | Item::Repeat(_) => {
                        let (Some(graph), Some(info)) = (item.graph(), inner.next()) else {
                            continue;
                        };
                        let (first, first_issue) = (self.next_slot, self.issues.len());
                        let inside = ensure_sufficient_stack(|| self.graph(graph, info));
                        all.is_await_free &= inside.is_await_free;
                        all.issues = all.issues.or(inside.issues);
                        if let (true, Some(token), Some(after)) =
                            (inside.is_await_free, inside.issues, item.after())
                        {
                            let token = defs(item).next().unwrap_or(token);
                            self.items.push(AwaitFreeItem {
                                slots: first..self.next_slot,
                                issues: first_issue..self.issues.len(),
                                after,
                                level: inside.level,
                                class: self.token_classes.any.find(token),
                            });
                            all.level = all.level.max(inside.level + 1);
                        }
                    }
                    _ => {}
                }
                self.next_slot += usize::from(item.after().is_some());
                before = item.after().or(before);
            }
        }
        all
    }
}
