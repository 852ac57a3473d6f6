//! Remarks that say which group each commit closes, and why it does not stand elsewhere.

use super::{place, places};
use crate::analysis::skeleton::{Skeleton, SlotPlace};
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use async_mlir::melior::ir::Location;
use tokenflow::{Item, MoveEffect, NotChosen, Options, Queue, Site, Slot, Solution};

/// Programs of more slots than this get no reasons: each is a solution of its own.
const LARGE: u32 = 2000;

/// Emits a remark at every commit.
pub(super) fn explain(skeleton: &Skeleton, solution: &Solution, options: &Options) {
    let slots = slots_of_sites(skeleton);
    for (number, (queue, solved)) in (0..).zip(skeleton.queues.iter().zip(&solution.queues)) {
        let why = Why {
            skeleton,
            queue: Queue(number),
            solved,
            options,
        };
        for (slot, sites) in
            tokenflow::operations_by_commit(&skeleton.program, Queue(number), &solved.commits)
        {
            let where_ = skeleton.slots[slot.0 as usize];
            let ops = sites.iter().map(|site| skeleton.sites[site.0 as usize]);
            let closes = if sites.is_empty() {
                "an empty group, so that all paths through here commit equally many".to_owned()
            } else {
                format!("closes the group of {}", places(ops))
            };
            let message = format!("commit_group <{}> {}: {closes}", queue.name(), stands(where_));
            let mut remark = Diagnostic::remark(location(where_), message);
            if skeleton.program.slots <= LARGE {
                remark = remark.note(location(where_), why.without(slot));
                for site in sites {
                    let own = slots[site.0 as usize].filter(|own| *own != slot);
                    let Some(own) = own.filter(|own| solved.commits[own.0 as usize] == 0) else {
                        continue;
                    };
                    let at = skeleton.sites[site.0 as usize].location();
                    remark = remark.note(at, why.right_after(slot, own));
                }
            }
            remark.emit();
        }
    }
}

struct Why<'a, 'c> {
    skeleton: &'a Skeleton<'c>,
    queue: Queue,
    solved: &'a tokenflow::QueueSolution,
    options: &'a Options,
}

impl Why<'_, '_> {
    /// What would happen without the commit at `slot`.
    fn without(&self, slot: Slot) -> String {
        format!("without it, {}", self.effect_of_move(slot, None))
    }

    /// What would happen if the commit at `slot` stood at `own`, right after an operation of its group.
    fn right_after(&self, slot: Slot, own: Slot) -> String {
        let what = self.effect_of_move(slot, Some(own));
        format!("with the commit right after this instead, {what}")
    }

    fn effect_of_move(&self, from: Slot, to: Option<Slot>) -> String {
        let program = &self.skeleton.program;
        let awaited = |w: tokenflow::Await| place(self.skeleton.awaits[w.0 as usize]);
        match tokenflow::effect_of_move(program, self.queue, self.solved, self.options, (from, to)) {
            MoveEffect::Uncommitted(w) => {
                format!("{} would come before a commit of what it awaits", awaited(w))
            }
            MoveEffect::More(w, site) => {
                let op = self.skeleton.sites[site.0 as usize];
                format!("{} would wait for {} unnecessarily", awaited(w), place(op))
            }
            MoveEffect::MoreAtWait => "a wait of the input would wait for more".to_owned(),
            MoveEffect::LeftOpen => "the function could return before it has read its sources".to_owned(),
            MoveEffect::NoLess => "no await would wait for less".to_owned(),
            MoveEffect::Less(barred) => format!("some await would wait for less, but {}", keeps(barred)),
        }
    }
}

/// What keeps a commit from being elsewhere.
fn keeps(barred: NotChosen) -> &'static str {
    match barred {
        NotChosen::SharedGroup => "`form-groups=false` keeps one group for each operation",
        NotChosen::EmptyGroup => "`balance=false` allows no group that may be empty",
        NotChosen::Unsearched => "the search ended before it tried that",
    }
}

/// The slot right after each operation.
fn slots_of_sites(skeleton: &Skeleton) -> Vec<Option<Slot>> {
    let mut slots = vec![None; skeleton.sites.len()];
    skeleton.program.body.visit(&mut |item| {
        if let Item::Issue {
            site: Site(site),
            slot,
            ..
        } = item
        {
            slots[*site as usize] = *slot;
        }
    });
    slots
}

fn stands(slot: SlotPlace) -> String {
    match slot {
        SlotPlace::After(op) => format!("after {}", place(op)),
        SlotPlace::Start(block) => match block.parent_op() {
            Some(op) => format!("where a block of {} begins", place(op)),
            None => "where a block begins".to_owned(),
        },
        SlotPlace::NewElse(op) => format!("in an else of {}", place(op)),
    }
}

fn location(slot: SlotPlace<'_>) -> Location<'_> {
    let op: Op = match slot {
        SlotPlace::After(op) | SlotPlace::NewElse(op) => op,
        SlotPlace::Start(block) => match block.first().or(block.parent_op()) {
            Some(op) => op,
            None => unreachable!("a block with commits lies in an operation"),
        },
    };
    op.location()
}
