//! Looks for better lowerings by brute force: arms made equal, copies put into one group, loops
//! unrolled. Waits come from a [`Solver`]: the oracle's own search, or the algorithm where that is
//! checked elsewhere and programs are too many for the search.

use super::code::Code;
use super::compare::{Difference, Side, compare};
use super::execute::Emitted;
use super::explore::uncommitted_at_end;
use tokenflow::{Commits, Graph, Item, LoopId, Nested, Peel, Program, Queue, Slot, Target, peel};

/// Finds exact waits for given commits.
pub type Solver<'a> = &'a dyn Fn(&Program, &[Commits]) -> Option<Vec<Emitted>>;

/// Compares two lowerings of one program.
pub fn compare_emitted(program: &Program, left: &[Emitted], right: &[Emitted]) -> Difference {
    let side = |emitted| Side { program, emitted };
    compare(side(left), side(right)).expect("one program")
}

/// Looks for branches of `off` whose arms can be made equal such that some await forces less than in
/// `on`, none more than in `on`, and none more than in `off`.
pub fn missed_balance(
    solver: Solver,
    program: &Program,
    off: &[Emitted],
    on: &[Emitted],
) -> Option<Vec<Emitted>> {
    let mut branches = branches(program);
    branches.truncate(3);
    for queue in 0..off.len() {
        // Each branch: left alone, or made equal in one of two ways.
        for number in 1..3_usize.pow(u32::try_from(branches.len()).expect("three at most")) {
            let mut commits: Vec<Commits> = off.iter().map(|e| e.commits.clone()).collect();
            let mut rest = number;
            let mut possible = true;
            for branch in &branches {
                possible &= match rest % 3 {
                    0 => true,
                    1 => pad(branch, &mut commits[queue], 4),
                    _ => move_behind(branch, &mut commits[queue]),
                };
                rest /= 3;
            }
            if !possible {
                continue;
            }
            let Some(better) = solver(program, &commits) else {
                continue;
            };
            if super::unsound(program, &better).is_empty()
                && compare_emitted(program, &better, off).left_forces_more.is_none()
                && compare_emitted(program, &better, on).left_is_better()
            {
                return Some(better);
            }
        }
    }
    None
}

/// The branches of a program, inner ones first.
pub fn branches(program: &Program) -> Vec<&Nested> {
    let mut branches = Vec::new();
    program.body.visit(&mut |item| {
        if let Item::Nested(nested) = item
            && arms(nested).is_some()
        {
            branches.push(&**nested);
        }
    });
    branches.reverse();
    branches
}

/// Looks for a commit that can be left out, so that its copies join the next group of the block,
/// without any await forcing more than in `off`.
pub fn missed_group(
    solver: Solver,
    program: &Program,
    off: &[Emitted],
    on: &[Emitted],
) -> Option<Vec<Emitted>> {
    for queue in 0..on.len() {
        for slot in followed(&program.body, &on[queue].commits) {
            let mut commits: Vec<Commits> = on.iter().map(|e| e.commits.clone()).collect();
            commits[queue][at(slot)] -= 1;
            let Some(merged) = solver(program, &commits) else {
                continue;
            };
            if super::unsound(program, &merged).is_empty()
                && all_committed(program, &merged)
                && compare_emitted(program, &merged, off).left_forces_more.is_none()
            {
                return Some(merged);
            }
        }
    }
    None
}

/// The slots of a commit that another one follows in the same block, no other block being between.
fn followed(graph: &Graph, commits: &Commits) -> Vec<Slot> {
    let mut found = Vec::new();
    for block in &graph.blocks {
        let mut last = None;
        for item in &block.items {
            if let Some(inner) = item.graph() {
                found.extend(followed(inner, commits));
                last = None;
            }
            if let Some(slot) = item.after().filter(|&slot| commits[at(slot)] > 0) {
                found.extend(last.replace(slot));
            }
        }
    }
    found
}

/// Returns true if no execution ends with a copy that it has not committed.
fn all_committed(program: &Program, emitted: &[Emitted]) -> bool {
    let code = Code::new(program);
    (0..)
        .zip(emitted)
        .all(|(queue, emitted)| !uncommitted_at_end(&code, Queue(queue), emitted))
}

/// The program with every loop of at most `limit` iterations unrolled.
pub fn unrolled(program: &Program, limit: u64) -> Program {
    let mut program = program.clone();
    for _ in 0..40 {
        let mut next: Option<(LoopId, u64)> = None;
        program.body.visit(&mut |item| match item {
            Item::Repeat(repeat) if repeat.peelable && (1..=limit).contains(&repeat.trip) => {
                next = Some((repeat.id, repeat.trip));
            }
            _ => {}
        });
        let Some((id, iterations)) = next else { break };
        program = peel(&program, &[Peel { id, iterations }]);
    }
    program
}

/// Returns the arms of a branch: block 0 goes to each of several blocks, and each leaves.
fn arms(nested: &Nested) -> Option<&[tokenflow::Block]> {
    let (entry, arms) = nested.graph.blocks.split_first()?;
    let each = |(index, edge): (usize, &tokenflow::Edge)| edge.to == Target::Block(index + 1);
    let leaves = |arm: &tokenflow::Block| matches!(arm.edges.as_slice(), [edge] if edge.to == Target::Exit);
    let branch = entry.items.is_empty()
        && entry.edges.len() == arms.len()
        && entry.edges.iter().enumerate().all(each)
        && arms.len() > 1
        && arms.iter().all(|arm| leaves(arm) && arm.start.is_some());
    branch.then_some(arms)
}

/// Empty groups at the start of the arms that commit less than others.
pub fn pad(branch: &Nested, commits: &mut Commits, max_padding: u32) -> bool {
    let arms = arms(branch).expect("a branch");
    let counts: Option<Vec<u64>> = arms.iter().map(|arm| block_commits(arm, commits)).collect();
    let Some(counts) = counts else { return false };
    let most = counts.iter().copied().max().expect("some arms");
    for (arm, count) in arms.iter().zip(&counts) {
        let missing = u32::try_from(most - count).expect("few commits").min(max_padding);
        commits[at(arm.start.expect("arms have a slot"))] += missing;
    }
    counts.iter().any(|&count| count != most)
}

/// One commit after the branch, for arms of straight code with one commit at most.
fn move_behind(branch: &Nested, commits: &mut Commits) -> bool {
    let arms = arms(branch).expect("a branch");
    let Some(after) = branch.after else { return false };
    let counts: Option<Vec<u64>> = arms.iter().map(|arm| block_commits(arm, commits)).collect();
    if counts.is_none_or(|counts| counts.iter().max() != Some(&1)) {
        return false;
    }
    for arm in arms {
        if let Some(start) = arm.start {
            commits[at(start)] = 0;
        }
        for item in &arm.items {
            if let Some(inner) = item.graph() {
                clear(inner, commits);
            }
            if let Some(slot) = item.after() {
                commits[at(slot)] = 0;
            }
        }
    }
    commits[at(after)] += 1;
    true
}

fn clear(graph: &Graph, commits: &mut Commits) {
    for block in &graph.blocks {
        let after = block.items.iter().filter_map(Item::after);
        for slot in block.start.into_iter().chain(after) {
            commits[at(slot)] = 0;
        }
        block
            .items
            .iter()
            .filter_map(Item::graph)
            .for_each(|inner| clear(inner, commits));
    }
}

/// How many groups a block commits, if that is the same on all paths.
fn block_commits(block: &tokenflow::Block, commits: &Commits) -> Option<u64> {
    let slot = |slot: Option<Slot>| slot.map_or(0, |slot| u64::from(commits[at(slot)]));
    let mut count = slot(block.start);
    for item in &block.items {
        count += slot(item.after());
        count += match item {
            Item::Commit { .. } => return None,
            Item::Repeat(repeat) => repeat.trip * graph_commits(&repeat.body, commits)?,
            Item::Nested(nested) => match arms(nested) {
                Some(arms) => {
                    let first = block_commits(&arms[0], commits)?;
                    let equal = |arm| block_commits(arm, commits) == Some(first);
                    arms.iter().all(equal).then_some(first)?
                }
                None => graph_commits(&nested.graph, commits).filter(|&count| count == 0)?,
            },
            _ => 0,
        };
    }
    Some(count)
}

/// The sum over the blocks: right for one block, and for none that commits.
fn graph_commits(graph: &Graph, commits: &Commits) -> Option<u64> {
    graph
        .blocks
        .iter()
        .map(|block| block_commits(block, commits))
        .sum()
}

fn at(slot: Slot) -> usize {
    slot.0 as usize
}
