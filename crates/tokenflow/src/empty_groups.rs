//! Finds commits of the program itself whose group may be empty.
//!
//! From each commit, a search backward through the program without nesting ([`FlatCfg`]): it ends at operations of the queue,
//! which make the group nonempty, and comes to a commit or to the start of the program where a path has none of them.
//!
//! Cost: for each commit, what lies between it and the operations before it.

use crate::flat_cfg::FlatCfg;
use crate::program::{Item, Program, Queue};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the commits of `queue` that close a group on some path, and an empty one on another, by their numbers among all
/// commits of the program, in program order. A loop of unknown trip count is taken to run: a commit after it that is empty
/// if it does not run at all is not returned.
#[must_use]
pub fn sometimes_empty(program: &Program, queue: Queue) -> Vec<usize> {
    let search = Search::new(program, queue);
    let commits = search.commits().into_iter();
    let found = commits.filter(|&(_, place)| {
        let Before { operations, empty } = search.before(place);
        empty && !operations.is_empty() && !operations.iter().any(|&b| search.goes_around(b, place.0))
    });
    let mut found: Vec<usize> = found.map(|(number, _)| number).collect();
    found.sort_unstable();
    found
}

/// A block, and an item of it.
type Place = (usize, usize);

/// What comes before a commit.
#[derive(Default)]
struct Before {
    /// The blocks of the nearest operations that it closes.
    operations: Vec<usize>,
    /// True if some path has none.
    empty: bool,
}

struct Search<'p> {
    program: &'p Program,
    flat: FlatCfg<'p>,
    queue: Queue,
    /// The blocks before each block, where control comes at all.
    before: Vec<Vec<usize>>,
}

impl<'p> Search<'p> {
    fn new(program: &'p Program, queue: Queue) -> Self {
        let flat = FlatCfg::new(program);
        let mut before = vec![Vec::new(); flat.blocks.len()];
        let (mut seen, mut work) = (FxHashSet::from_iter([0]), vec![0]);
        while let Some(b) = work.pop() {
            for &next in &flat.blocks[b].next {
                before[next].push(b);
                if seen.insert(next) {
                    work.push(next);
                }
            }
        }
        Self {
            program,
            flat,
            queue,
            before,
        }
    }

    /// The numbers and places of the commits of the queue where control comes. None is in the first block, which is empty.
    fn commits(&self) -> Vec<(usize, Place)> {
        let mut numbers: FxHashMap<*const Item, usize> = FxHashMap::default();
        self.program.body.visit(&mut |item| {
            if matches!(item, Item::Commit { .. }) {
                numbers.insert(item, numbers.len());
            }
        });
        let blocks = self.flat.blocks.iter().enumerate();
        let items =
            blocks.flat_map(|(b, block)| (0..).zip(&block.items).map(move |(i, item)| ((b, i), *item)));
        let commits = items.filter(|((b, _), item)| self.is_commit(item) && !self.before[*b].is_empty());
        commits
            .map(|(place, item)| (numbers[&std::ptr::from_ref(item)], place))
            .collect()
    }

    fn is_commit(&self, item: &Item) -> bool {
        matches!(item, Item::Commit { queue, .. } if *queue == self.queue)
    }

    /// Looks for what comes before the commit at a place.
    fn before(&self, (block, at): Place) -> Before {
        let mut found = Before::default();
        let mut seen = FxHashSet::default();
        let mut work = vec![(block, at)];
        while let Some((b, end)) = work.pop() {
            let last = self.flat.blocks[b].items[..end].iter().rev().find(|item| {
                self.is_commit(item) || matches!(item, Item::Issue { queue, .. } if *queue == self.queue)
            });
            match last {
                Some(item) if self.is_commit(item) => found.empty = true,
                Some(_) => found.operations.push(b),
                None => {
                    // Nothing leads to the first block.
                    found.empty |= b == 0;
                    let news = self.before[b].iter().filter(|from| seen.insert(**from));
                    work.extend(news.map(|&from| (from, self.flat.blocks[from].items.len())));
                }
            }
        }
        found
    }

    /// Returns true if control may come from `block` to it again without going through `other`.
    fn goes_around(&self, block: usize, other: usize) -> bool {
        let mut seen = FxHashSet::from_iter([other]);
        let mut work = vec![block];
        while let Some(b) = work.pop() {
            let next = &self.flat.blocks[b].next;
            if block != other && next.contains(&block) {
                return true;
            }
            work.extend(next.iter().filter(|next| seen.insert(**next)));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::code::Code;
    use crate::oracle::generate::{Style, any_program, config};
    use crate::oracle::placements::may_close_nothing;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn a_path_without_operations_is_found_if_there_is_one(recipe in any_program(Style::Given)) {
            let program = recipe.program();
            for queue in (0..program.queues).map(Queue) {
                let search = Search::new(&program, queue);
                let found = search.commits().into_iter().any(|(_, place)| search.before(place).empty);
                prop_assert_eq!(found, may_close_nothing(&Code::new(&program), &program, queue));
            }
        }
    }
}
