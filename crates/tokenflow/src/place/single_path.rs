//! Places commits in bodies of one block without regions: these have one execution, and need no search.
//!
//! At each await, let the *frontier* be the youngest operation that was awaited so far. Groups complete in order, so all up to
//! there is complete after the await, whatever the commits. With a commit right after each operation that is ever the frontier,
//! nothing else is. Every solution that forces as little has a commit between such an operation and the next one, or the await:
//! none has fewer, and none has them earlier.
//!
//! 1. Find the frontier at each await, and so the commits.
//! 2. Count the commits between the frontier and the await.
//!
//! Cost: linear.

use super::{Options, QueuePlacement, QueuePlacer};
use crate::age::MAX_COUNT;
use crate::counts::{Count, QueueSolution};
use crate::program::{Await, Block, Item, Slot};

/// An await that completes something, with numbers of operations, which begin with 1.
struct Waiting {
    site: Await,
    /// The youngest one awaited so far.
    frontier: usize,
    /// The last one issued.
    issued: usize,
}

impl QueuePlacer<'_> {
    /// Places commits in a body without regions; `None` where that takes a search.
    pub(super) fn place_on_single_path(&self, options: &Options) -> Option<QueuePlacement> {
        let [block] = self.program.body.blocks.as_slice() else {
            return None;
        };
        let plain = self.drop_implied && !self.commits_all() && !self.program_info.covered;
        if !options.form_groups || !plain || block.divergent {
            return None;
        }
        let (slots, waiting) = self.frontiers(block)?;
        let mut solution = QueueSolution {
            commits: vec![0; self.program.slots as usize],
            waits: vec![None; self.program.awaits as usize],
            reads: vec![None; self.program.awaits as usize],
            uncovered: Vec::new(),
        };
        // How many commits there are up to each operation.
        let mut commits = vec![0; slots.len() + 1];
        for wait in &waiting {
            commits[wait.frontier] = 1;
            solution.commits[slots[wait.frontier - 1].0 as usize] = 1;
        }
        for i in 1..commits.len() {
            commits[i] += commits[i - 1];
        }
        for wait in &waiting {
            let n = commits[wait.issued] - commits[wait.frontier];
            // Where the hardware does not count so far, fewer groups may be better.
            let n = u8::try_from(n).ok().filter(|n| *n <= MAX_COUNT)?;
            solution.waits[wait.site.0 as usize] = Some(Count { n, clamped: false });
        }
        Some(QueuePlacement::new(&solution))
    }

    /// Returns the slot of each operation, and the awaits that complete something; `None` if there are regions, or commits or waits
    /// of the program's own.
    fn frontiers(&self, block: &Block) -> Option<(Vec<Slot>, Vec<Waiting>)> {
        let (mut slots, mut waiting) = (Vec::new(), Vec::new());
        // For each token, the youngest operation that it stands for; 0 is none.
        let mut youngest = vec![0; self.program.tokens as usize];
        let mut frontier = 0;
        for item in &block.items {
            match item {
                Item::Issue {
                    queue, token, slot, ..
                } if *queue == self.queue => {
                    slots.push((*slot)?);
                    youngest[token.as_ref()?.0 as usize] = slots.len();
                }
                Item::Join { token, of } => {
                    let joined = of.iter().map(|token| youngest[token.0 as usize]);
                    youngest[token.0 as usize] = joined.max().unwrap_or(0);
                }
                Item::Await { site, tokens, .. } => {
                    let awaited = tokens.iter().map(|token| youngest[token.0 as usize]);
                    let awaited = awaited.max().unwrap_or(0);
                    if awaited > frontier {
                        frontier = awaited;
                        waiting.push(Waiting {
                            site: *site,
                            frontier,
                            issued: slots.len(),
                        });
                    }
                }
                Item::Commit { queue, .. } | Item::Wait { queue, .. } if *queue == self.queue => return None,
                Item::Issue { .. } | Item::Commit { .. } | Item::Wait { .. } | Item::Point(_) => {}
                Item::Nested(_) | Item::Repeat(_) => return None,
            }
        }
        Some((slots, waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::build::{Build, Q, R};
    use crate::oracle::generate::config;
    use crate::program::{Program, Token};
    use proptest::prelude::*;

    /// Copies on two queues, joins and awaits of any of them.
    fn straight(steps: &[(u8, u8)]) -> Program {
        let mut b = Build::with_queues(2);
        let mut tokens = Vec::new();
        for &(kind, pick) in steps {
            let any =
                |tokens: &[Token], shift: u32| tokens[usize::from(pick.rotate_right(shift)) % tokens.len()];
            match kind {
                0..=2 => tokens.push(b.copy_on(Q)),
                3 => tokens.push(b.copy_on(R)),
                _ if tokens.is_empty() => {}
                4 => tokens.push(b.join(&[any(&tokens, 0), any(&tokens, 4)])),
                _ => {
                    b.await_all(&[any(&tokens, 0), any(&tokens, 3)]);
                }
            }
        }
        b.finish()
    }

    proptest! {
        #![proptest_config(config(300))]

        /// All placements are tried for comparison.
        #[test]
        fn is_what_an_exhaustive_search_finds(steps in proptest::collection::vec((0..8_u8, any::<u8>()), 0..13)) {
            let program = straight(&steps);
            let options = Options { exhaustive_points: 12, ..Options::default() };
            for queue in [Q, R] {
                let placer = QueuePlacer::new(&program, queue, &options);
                let base = placer.solve(program.one_group_each(queue));
                let searched = placer.place(&base, &options);
                let found = placer.place_on_single_path(&options);
                prop_assert_eq!(found.map(|found| found.best), Some(searched.best));
            }
        }
    }

    #[test]
    fn counts_that_the_hardware_lacks_take_a_search() {
        let mut b = Build::new();
        let tokens: Vec<Token> = (0..70).map(|_| b.copy()).collect();
        for token in tokens {
            b.await_all(&[token]);
        }
        let program = b.finish();
        let options = Options::default();
        let placer = QueuePlacer::new(&program, Q, &options);
        assert!(placer.place_on_single_path(&options).is_none());
    }
}
