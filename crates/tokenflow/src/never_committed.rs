//! Operations that no commit follows, on any path: no wait for groups completes them.
//!
//! For each queue, a backward reachability over the program without nesting ([`Flat`]). Cost: linear in it, times the number of
//! queues.

use crate::flat::Flat;
use crate::program::{Item, Program, Queue, Site};

/// Returns the operations of `program`, in program order, after which no path has a commit of their queue. Commits are those
/// of the program itself.
#[must_use]
pub fn never_committed(program: &Program) -> Vec<Site> {
    let flat = Flat::new(program);
    let mut before = vec![Vec::new(); flat.blocks.len()];
    for (b, block) in flat.blocks.iter().enumerate() {
        for &next in &block.next {
            before[next].push(b);
        }
    }
    let mut found: Vec<Site> = (0..program.queues)
        .flat_map(|queue| of_queue(&flat, &before, Queue(queue)))
        .collect();
    found.sort_unstable();
    found
}

fn of_queue(flat: &Flat, before: &[Vec<usize>], queue: Queue) -> Vec<Site> {
    let commits = |item: &Item| matches!(item, Item::Commit { queue: of, .. } if *of == queue);
    // The blocks from whose start a commit can be reached.
    let mut reaches: Vec<bool> = flat
        .blocks
        .iter()
        .map(|block| block.items.iter().any(|item| commits(item)))
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
        let mut committed = block.next.iter().any(|&next| reaches[next]);
        for item in block.items.iter().rev() {
            committed |= commits(item);
            if let Item::Issue { site, queue: of, .. } = item
                && *of == queue
                && !committed
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
    fn by_search(program: &Program) -> Vec<Site> {
        let flat = Flat::new(program);
        let mut found = Vec::new();
        for block in &flat.blocks {
            for (i, item) in block.items.iter().enumerate() {
                let Item::Issue { site, queue, .. } = item else {
                    continue;
                };
                let is_commit = |item: &&Item| matches!(item, Item::Commit { queue: of, .. } if of == queue);
                let mut committed = block.items[i + 1..].iter().any(is_commit);
                let (mut seen, mut work) = (FxHashSet::default(), block.next.clone());
                while let Some(at) = work.pop() {
                    if seen.insert(at) {
                        committed |= flat.blocks[at].items.iter().any(is_commit);
                        work.extend(&flat.blocks[at].next);
                    }
                }
                if !committed {
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
        fn are_those_from_which_no_path_leads_to_a_commit(recipe in any_program(Style::Given)) {
            let program = recipe.program();
            prop_assert_eq!(never_committed(&program), by_search(&program));
        }
    }
}
