//! Finds operations that no commit follows, or no wait, on any path: no wait for groups completes them.
//!
//! For each queue, a backward reachability over the program without nesting ([`FlatCfg`]). Cost: linear in it, times the number of
//! queues.

use crate::flat_cfg::FlatCfg;
use crate::program::{Item, Program, Queue, Site};

/// Returns the operations of `program`, in program order, after which no path has a commit of their queue. Commits are those
/// of the program itself.
#[must_use]
pub fn never_committed(program: &Program) -> Vec<Site> {
    never_followed(
        program,
        &|item, queue| matches!(item, Item::Commit { queue: of, .. } if *of == queue),
    )
}

/// Returns the operations of `program`, in program order, after which no path has a wait for groups of their queue, or an await
/// of whatever.
#[must_use]
pub fn never_waited(program: &Program) -> Vec<Site> {
    never_followed(program, &|item, queue| match item {
        Item::Wait { queue: of, .. } => *of == queue,
        Item::Await { .. } => true,
        _ => false,
    })
}

/// Returns the operations after which no path has an item that `follows` finds for their queue.
fn never_followed(program: &Program, follows: &dyn Fn(&Item, Queue) -> bool) -> Vec<Site> {
    let flat = FlatCfg::new(program);
    let mut before = vec![Vec::new(); flat.blocks.len()];
    for (b, block) in flat.blocks.iter().enumerate() {
        for &next in &block.next {
            before[next].push(b);
        }
    }
    let mut found: Vec<Site> = (0..program.queues)
        .flat_map(|queue| of_queue(&flat, &before, Queue(queue), follows))
        .collect();
    found.sort_unstable();
    found
}

fn of_queue(
    flat: &FlatCfg,
    before: &[Vec<usize>],
    queue: Queue,
    follows: &dyn Fn(&Item, Queue) -> bool,
) -> Vec<Site> {
    let follows = |item: &Item| follows(item, queue);
    // The blocks from whose start one can be reached.
    let mut reaches: Vec<bool> = flat
        .blocks
        .iter()
        .map(|block| block.items.iter().any(|item| follows(item)))
        .collect();
    let mut work: Vec<usize> = (0..reaches.len()).filter(|&b| reaches[b]).collect();
    while let Some(b) = work.pop() {
        for &from in &before[b] {
            if !std::mem::replace(&mut reaches[from], true) {
                work.push(from);
            }
        }
    }
    let mut found = Vec::new();
    for block in &flat.blocks {
        let mut followed = block.next.iter().any(|&next| reaches[next]);
        for item in block.items.iter().rev() {
            followed |= follows(item);
            if let Item::Issue { site, queue: of, .. } = item
                && *of == queue
                && !followed
            {
                found.push(*site);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::generate::{Style, any_program, config};
    use proptest::prelude::*;
    use rustc_hash::FxHashSet;

    /// Follows every path from each operation, without looking at a block twice.
    fn by_search(program: &Program, follows: fn(&Item, Queue) -> bool) -> Vec<Site> {
        let flat = FlatCfg::new(program);
        let mut found = Vec::new();
        for block in &flat.blocks {
            for (i, item) in block.items.iter().enumerate() {
                let Item::Issue { site, queue, .. } = item else {
                    continue;
                };
                let is_one = |item: &&Item| follows(item, *queue);
                let mut followed = block.items[i + 1..].iter().any(is_one);
                let (mut seen, mut work) = (FxHashSet::default(), block.next.clone());
                while let Some(at) = work.pop() {
                    if seen.insert(at) {
                        followed |= flat.blocks[at].items.iter().any(is_one);
                        work.extend(&flat.blocks[at].next);
                    }
                }
                if !followed {
                    found.push(*site);
                }
            }
        }
        found.sort_unstable();
        found
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn are_those_from_which_no_path_leads_there(recipe in any_program(Style::Given)) {
            let program = recipe.program();
            let commits = by_search(&program, |item, queue| {
                matches!(item, Item::Commit { queue: of, .. } if *of == queue)
            });
            prop_assert_eq!(never_committed(&program), commits);
            let waits = by_search(&program, |item, queue| {
                matches!(item, Item::Await { .. }) || matches!(item, Item::Wait { queue: of, .. } if *of == queue)
            });
            prop_assert_eq!(never_waited(&program), waits);
        }
    }
}
