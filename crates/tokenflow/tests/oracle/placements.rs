//! Enumerates all placements of commits, by brute force: which places there are, which commits may stand
//! there together, and whether one placement forces less than another.
//!
//! A placement puts at most one commit at each point, a place between two steps of the program. It is legal if each
//! commit closes a group that is nonempty on some execution; without `balance`, on every one. Without `form_groups`
//! no group holds two operations. With `balance`, arms of a branch that commit less than others may start with empty
//! groups.

use super::code::{Code, Step};
use super::compare::{Side, dominates};
use super::explore::distances;
use super::follow::Age;
use super::improve::{branches, pad};
use super::lower::{Lowered, lower_given};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use tokenflow::{Commits, Graph, Item, Options, Program, Queue, Slot};

/// The points of a queue, each with its first slot: next to operations, commits, waits and awaits of the queue, and at
/// the edges of regions that hold them.
pub fn points(program: &Program, queue: Queue) -> Vec<Slot> {
    let code = Code::new(program);
    let each = program.one_group_each(queue);
    let mut awaited = distances(&code, queue, &each, program.awaits);
    if has_reads(program, queue) {
        // Of the tokens of reads nothing is known here.
        awaited.fill(Some(Age::Open));
    }
    let mut outside = BTreeSet::new();
    add_idle(&program.body, queue, &awaited, &mut outside);
    let mut targets = BTreeSet::new();
    for (at, step) in code.steps.iter().enumerate() {
        if !matches!(step, Step::Issue { .. } | Step::Commit { .. } | Step::Slot(_)) {
            let next = step.next(at).into_iter();
            targets.extend(next.filter(|&to| to != at + 1));
        }
    }
    let mut points = Vec::new();
    let mut known = false;
    for (at, step) in code.steps.iter().enumerate() {
        known &= !targets.contains(&at);
        match step {
            Step::Slot(_) if known => {}
            Step::Slot(slot) if outside.contains(slot) => {}
            Step::Slot(slot) => {
                points.push(*slot);
                known = true;
            }
            Step::Issue { queue: q, .. } | Step::Commit { queue: q, .. } | Step::Wait { queue: q, .. } => {
                known &= *q != queue;
            }
            Step::Bind(_) => {}
            _ => known = false,
        }
    }
    points
}

/// Adds the slots in regions that hold nothing of the queue; returns true if `graph` is such.
fn add_idle(graph: &Graph, queue: Queue, awaited: &[Option<Age>], outside: &mut BTreeSet<Slot>) -> bool {
    let mut idle = true;
    for item in graph.blocks.iter().flat_map(|block| &block.items) {
        idle &= match item {
            Item::Issue { queue: q, .. } | Item::Commit { queue: q, .. } | Item::Wait { queue: q, .. } => {
                *q != queue
            }
            Item::Await { site, .. } => awaited[site.0 as usize].is_none(),
            _ => true,
        };
        let Some(inner) = item.graph() else { continue };
        let idle_inside = add_idle(inner, queue, awaited, outside);
        idle &= idle_inside;
        if idle_inside {
            add_slots(inner, outside);
        }
    }
    idle
}

fn add_slots(graph: &Graph, slots: &mut BTreeSet<Slot>) {
    for block in &graph.blocks {
        slots.extend(block.start);
        for item in &block.items {
            slots.extend(item.after());
            if let Some(inner) = item.graph() {
                add_slots(inner, slots);
            }
        }
    }
}

/// What may be in the open group: anything at all, and so many operations that have a slot, 2 standing for more.
type Open = (bool, u8);

/// Returns true if the commits of a queue are a legal placement; commits that are always empty are so if `padding`
/// has as many there.
pub fn is_legal(
    program: &Program,
    queue: Queue,
    commits: &Commits,
    padding: &Commits,
    options: &Options,
) -> bool {
    let code = Code::new(program);
    let seen = what_is_open(&code, program, queue, commits);
    for (slot, open) in &seen.at_slot {
        let real = commits[slot.0 as usize] - padding[slot.0 as usize];
        let nonempty = open.iter().any(|(any, _)| *any);
        let always = open.iter().all(|(any, _)| *any);
        let one = open.iter().all(|(_, n)| *n < 2);
        if real > 0 && !(nonempty && (always || options.balance)) || !one && !options.form_groups {
            return false;
        }
    }
    let reads = has_reads(program, queue);
    let shared = seen.given.iter().any(|(_, n)| *n > 1);
    let left = seen.end.iter().any(|(_, n)| *n > 0);
    (options.form_groups || !shared && !left) && !(reads && left)
}

/// Returns true if some operation of the queue has a token for its reads.
pub fn has_reads(program: &Program, queue: Queue) -> bool {
    let mut reads = false;
    program.body.visit(&mut |item| match item {
        Item::Issue {
            queue: q,
            read: Some(_),
            ..
        }
        | Item::Wait {
            queue: q, read: true, ..
        } => reads |= *q == queue,
        _ => {}
    });
    reads
}

/// What may be open where.
#[derive(Default)]
struct Seen {
    /// At the commits of a placement.
    at_slot: BTreeMap<Slot, BTreeSet<Open>>,
    /// At the commits of the program.
    given: BTreeSet<Open>,
    /// Where the program ends.
    end: BTreeSet<Open>,
}

fn what_is_open(code: &Code, program: &Program, queue: Queue, commits: &Commits) -> Seen {
    let mut slotted = Vec::new();
    program.body.visit(&mut |item| {
        if let Item::Issue { slot, .. } = item {
            slotted.push(slot.is_some());
        }
    });
    // Issues come in the order of the text, in the code as well.
    let mut issues = slotted.into_iter();
    let slotted: BTreeMap<usize, bool> = code
        .steps
        .iter()
        .enumerate()
        .filter(|(_, step)| matches!(step, Step::Issue { .. }))
        .map(|(at, _)| (at, issues.next().expect("as many issues")))
        .collect();
    let mut out = Seen::default();
    let mut seen = HashSet::new();
    let mut work = vec![(0, vec![0_u64; code.counters], (false, 0_u8))];
    while let Some(state) = work.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let (at, mut counters, mut open) = state;
        let mut next = vec![at + 1];
        match &code.steps[at] {
            Step::Issue { queue: q, .. } if *q == queue => {
                open = (true, (open.1 + u8::from(slotted[&at])).min(2));
            }
            Step::Commit { queue: q, .. } if *q == queue => {
                out.given.insert(open);
                open = (false, 0);
            }
            Step::Slot(slot) if commits[slot.0 as usize] > 0 => {
                out.at_slot.entry(*slot).or_default().insert(open);
                open = (false, 0);
            }
            Step::Count { counter, trip } => counters[*counter] = *trip,
            Step::Next { counter, done } => {
                if counters[*counter] == 0 {
                    next = vec![*done];
                } else {
                    counters[*counter] -= 1;
                }
            }
            Step::Jump(to) => next = vec![*to],
            Step::Choice(to) => next.clone_from(to),
            Step::Halt => {
                out.end.insert(open);
                continue;
            }
            _ => {}
        }
        work.extend(next.into_iter().map(|to| (to, counters.clone(), open)));
    }
    out
}

/// Returns true if what was chosen for a queue is a legal placement.
pub fn is_placement(program: &Program, lowered: &Lowered, queue: Queue, options: &Options) -> bool {
    let commits = &lowered.original.1[queue.0 as usize].commits;
    let padding = always_empty(program, queue, commits);
    let most = if options.balance { options.max_padding } else { 0 };
    padding.iter().all(|&n| n <= most) && is_legal(program, queue, commits, &padding, options)
}

/// Returns how many commits at each slot close an empty group on every execution.
pub fn always_empty(program: &Program, queue: Queue, commits: &Commits) -> Commits {
    let mut empty = vec![0; commits.len()];
    let code = Code::new(program);
    for (slot, open) in &what_is_open(&code, program, queue, commits).at_slot {
        let nonempty = open.iter().any(|(any, _)| *any);
        empty[slot.0 as usize] = commits[slot.0 as usize].saturating_sub(u32::from(nonempty));
    }
    empty
}

/// Returns the slots with commits whose group is empty on some execution.
pub fn may_be_empty(program: &Program, queue: Queue, commits: &Commits) -> Vec<Slot> {
    let code = Code::new(program);
    let open = what_is_open(&code, program, queue, commits).at_slot;
    let empty = open.iter().filter(|(_, open)| open.iter().any(|(any, _)| !any));
    let empty = empty.map(|(slot, _)| *slot);
    empty.filter(|slot| commits[slot.0 as usize] > 0).collect()
}

/// Returns true if a commit of the program itself closes an empty group on some execution.
pub fn may_close_nothing(code: &Code, program: &Program, queue: Queue) -> bool {
    let none = vec![0; program.slots as usize];
    let given = what_is_open(code, program, queue, &none).given;
    given.iter().any(|(any, _)| !any)
}

/// Returns the lowering with other commits on one queue, if they are legal and force less.
fn better_with(
    program: &Program,
    lowered: &Lowered,
    queue: Queue,
    options: &Options,
    (commits, padding): (Commits, Commits),
) -> Option<Lowered> {
    if !is_legal(program, queue, &commits, &padding, options) {
        return None;
    }
    let at = queue.0 as usize;
    let emitted = lowered.original.1.iter();
    let mut all: Vec<Commits> = emitted.map(|emitted| emitted.commits.clone()).collect();
    all[at] = commits;
    let other = lower_given(program, &all, options.drop_implied);
    let as_sound = other.open[at].len() <= lowered.open[at].len();
    (as_sound && is_better(&other, lowered, queue)).then_some(other)
}

/// Looks for a legal placement of one queue that forces less than `lowered` does, and nowhere more.
pub fn dominating(program: &Program, lowered: &Lowered, queue: Queue, options: &Options) -> Option<Lowered> {
    let points = points(program, queue);
    let branches = branches(program);
    let branches = if options.balance { &branches[..] } else { &[] };
    let slots = program.slots as usize;
    for subset in 0..1_usize << points.len() {
        let mut plain = vec![0; slots];
        for (i, slot) in points.iter().enumerate() {
            plain[slot.0 as usize] = u32::from(subset >> i & 1 == 1);
        }
        for padded in 0..1_usize << branches.len().min(3) {
            let mut commits = plain.clone();
            let chosen = branches.iter().enumerate().filter(|(i, _)| padded >> i & 1 == 1);
            let possible = chosen
                .map(|(_, branch)| pad(branch, &mut commits, options.max_padding))
                .fold(true, |all, one| all & one);
            let padding: Commits = commits.iter().zip(&plain).map(|(all, real)| all - real).collect();
            if !possible {
                continue;
            }
            let found = better_with(program, lowered, queue, options, (commits, padding));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Looks for a legal placement that differs in one commit, added, removed or moved, and forces less.
pub fn dominating_by_one(
    program: &Program,
    lowered: &Lowered,
    queue: Queue,
    options: &Options,
) -> Option<Lowered> {
    let slots: Vec<usize> = points(program, queue)
        .into_iter()
        .map(|slot| slot.0 as usize)
        .collect();
    let best = &lowered.original.1[queue.0 as usize].commits;
    let padding = always_empty(program, queue, best);
    let nowhere = || std::iter::once(None);
    for from in nowhere().chain(slots.iter().map(Some)) {
        for to in nowhere().chain(slots.iter().map(Some)) {
            let mut commits = best.clone();
            if from.is_some_and(|&from| best[from] == 0) || to.is_some_and(|&to| best[to] > 0) {
                continue;
            }
            if let Some(&from) = from {
                commits[from] -= 1;
            }
            if let Some(&to) = to {
                commits[to] += 1;
            }
            let padding: Commits = padding.iter().zip(&commits).map(|(&a, &b)| a.min(b)).collect();
            let found = better_with(program, lowered, queue, options, (commits, padding));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Returns true if `left` forces less than `right` somewhere, and nowhere more, of either completion of a queue.
pub fn is_better(left: &Lowered, right: &Lowered, queue: Queue) -> bool {
    let sides = [left, right].map(|lowered| Side {
        program: &lowered.program,
        emitted: &lowered.emitted,
    });
    match left.reads[queue.0 as usize] {
        None => dominates(sides[0], sides[1], queue).better(),
        Some(reads) => {
            let both = [queue, reads].map(|queue| dominates(sides[0], sides[1], queue));
            both.iter().all(|one| !one.more) && both.iter().any(|one| one.less)
        }
    }
}
