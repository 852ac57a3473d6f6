//! `unroll_limit`: iterations of a constant-trip loop that get bodies of their own.
//!
//! A loop body has one count for each await, however different its iterations are. A loop is a
//! candidate where peeling as many iterations as allowed makes some await force less. As few are
//! peeled as give the same counts: trailing iterations that agree stay a loop.

use super::{Options, Part, counts};
use crate::compare::{Translation, compare};
use crate::copy::{Copy, Peel, copy_peeled};
use crate::eval::N;
use crate::index::Index;
use crate::program::{Commits, Item, LoopId};
use crate::solve::{QueueSolution, solve_indexed};

struct Candidate {
    id: LoopId,
    trip: u64,
}

impl Part<'_> {
    pub(super) fn peel(&self, solution: &QueueSolution, limit: u64) -> Vec<Peel> {
        let mut candidates = Vec::new();
        self.program.body.visit(&mut |item| {
            if let Item::Repeat(repeat) = item
                && repeat.peelable
                && repeat.trip > 1
            {
                let mut awaits = false;
                repeat.body.visit(&mut |item| {
                    awaits |= matches!(item, Item::Await { site, .. }
                        if solution.waits[site.0 as usize].is_some());
                });
                if awaits {
                    candidates.push(Candidate {
                        id: repeat.id,
                        trip: repeat.trip,
                    });
                }
            }
        });
        candidates
            .iter()
            .take(self.trials)
            .filter_map(|candidate| self.peel_one(solution, candidate, limit))
            .collect()
    }

    /// Returns true if `peel` makes some await force less, and none more, also when operations share
    /// groups;
    /// `grouped` is the solution without it.
    pub(super) fn helps_with_groups(&self, peel: Peel, grouped: &QueueSolution, options: &Options) -> bool {
        let copy = copy_peeled(self.program, Some(peel));
        let part = Part::new(&copy.program, self.queue, self.drop_implied);
        let base = part.solve(copy.program.one_group_each(self.queue));
        let options = Options {
            unroll_limit: 0,
            ..*options
        };
        let placed = part.place(&base, &options);
        let unpeeled = QueueSolution {
            commits: slots(&copy, &grouped.commits),
            waits: copy.awaits.iter().map(|w| grouped.waits[w.0 as usize]).collect(),
            open: Vec::new(),
        };
        let comparison = part.compare(&unpeeled, &placed.best);
        comparison.less && comparison.forces_no_more()
    }

    fn peel_one(&self, solution: &QueueSolution, candidate: &Candidate, limit: u64) -> Option<Peel> {
        let most = Peel {
            id: candidate.id,
            iterations: limit.min(candidate.trip),
        };
        let reference = self.peeled(solution, most)?;
        // Fewer iterations will do if nothing is forced later than with the most. A loop that would run
        // only once more is no loop.
        (1..=most.iterations)
            .filter(|&iterations| iterations + 1 != candidate.trip)
            .map(|iterations| Peel { iterations, ..most })
            .find(|&peel| {
                peel == most
                    || self
                        .peeled(solution, peel)
                        .is_some_and(|n| self.as_good(solution, peel, &n, most, &reference))
            })
    }

    /// Solves the program with `peel` done; `None` if that makes no await force less.
    fn peeled(&self, solution: &QueueSolution, peel: Peel) -> Option<Vec<N>> {
        let copy = copy_peeled(self.program, Some(peel));
        let index = Index::new(&copy.program);
        let commits: Commits = slots(&copy, &solution.commits);
        let old: Vec<N> = awaits(&copy, &counts(solution));
        let new = solve_indexed(
            &copy.program,
            &index,
            self.queue,
            commits.clone(),
            self.drop_implied,
        );
        let new = counts(&new);
        let a = Translation {
            commits: &commits,
            n: &old,
        };
        let b = Translation {
            commits: &commits,
            n: &new,
        };
        let comparison = compare(&copy.program, &index, self.queue, a, b);
        (comparison.less && comparison.forces_no_more()).then_some(new)
    }

    /// Returns true if `fewer` with counts `n` forces nothing more than `most` with `reference`.
    fn as_good(&self, solution: &QueueSolution, fewer: Peel, n: &[N], most: Peel, reference: &[N]) -> bool {
        let copy = copy_peeled(self.program, Some(most));
        let index = Index::new(&copy.program);
        let commits = slots(&copy, &solution.commits);
        // The counts of `fewer`, spread over the copies that `most` makes.
        let spread = spread(self, fewer, n, &copy);
        let a = Translation {
            commits: &commits,
            n: reference,
        };
        let b = Translation {
            commits: &commits,
            n: &spread,
        };
        compare(&copy.program, &index, self.queue, a, b).more.is_empty()
    }
}

fn slots(copy: &Copy, commits: &Commits) -> Commits {
    let slots = copy.slots.iter();
    slots.map(|slot| commits[slot.0 as usize]).collect()
}

fn awaits(copy: &Copy, counts: &[N]) -> Vec<N> {
    let awaits = copy.awaits.iter();
    awaits.map(|w| counts[w.0 as usize]).collect()
}

/// Returns the counts of `fewer` for the awaits of `most`: the instances of an await come in the
/// same order in both, and what `fewer` left in the loop stands for all that `most` took out.
fn spread(part: &Part, fewer: Peel, n: &[N], most: &Copy) -> Vec<N> {
    let small = copy_peeled(part.program, Some(fewer));
    let mut instances = vec![Vec::new(); part.program.awaits as usize];
    for (w, &n) in small.awaits.iter().zip(n) {
        instances[w.0 as usize].push(n);
    }
    let mut next = vec![0; instances.len()];
    most.awaits
        .iter()
        .map(|w| {
            let w = w.0 as usize;
            let at = next[w].min(instances[w].len() - 1);
            next[w] += 1;
            instances[w][at]
        })
        .collect()
}
