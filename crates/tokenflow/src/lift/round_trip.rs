//! Checks the round trip: whether tokens that are counted again complete no more than the counts did.
//!
//! The commits and counts of the program are one translation of its token form, and what [`solve`] makes of that as it is read again is
//! another: they are compared on all executions.

use super::rewrite::{ReplacedWait, RewrittenProgram, rewritten};
use super::{LiftedQueue, RegionStructure};
use crate::clone::clone_peeled;
use crate::compare::{EarlyExit, Translation, compare, read_counts};
use crate::counts::{QueueSolution, counts};
use crate::eval::{NO_WAIT, WaitCount};
use crate::program::{Await, Commits, Graph, Item, Program, Queue, Slot, ensure_sufficient_stack};
use crate::program_info::ProgramInfo;
use crate::solve::{Options, solve};
use rustc_hash::FxHashSet;

/// Returns true if `lifted`, counted again, completes nothing at an await that the wait in its place did not complete.
/// Peeling only improves counts, and is left out.
#[must_use]
pub fn round_trip_completes_no_more(
    program: &Program,
    queue: Queue,
    structures: &[RegionStructure],
    lifted: &LiftedQueue,
) -> bool {
    let rewritten = rewritten(program, queue, structures, lifted);
    let Some(again) = count_again(&rewritten).into_iter().nth(usize::from(queue.0)) else {
        return true;
    };
    let RewrittenProgram {
        program,
        commits: commit_slots,
        awaits,
    } = rewritten;
    let mut commits: Commits = vec![0; program.slots as usize];
    for slot in commit_slots {
        commits[slot.0 as usize] += 1;
    }
    let mut n: Vec<WaitCount> = vec![NO_WAIT; program.awaits as usize];
    let mut reads = n.clone();
    for wait in awaits {
        let count = u8::try_from(wait.n).unwrap_or(NO_WAIT);
        let w = wait.site.0 as usize;
        reads[w] = reads[w].min(count);
        if !wait.read {
            n[w] = count;
        }
    }
    let info = ProgramInfo::new(&program);
    let has_reads = info.reads[usize::from(queue.0)];
    let (again_n, again_reads) = (counts(&again.waits), read_counts(&again));
    let given = Translation {
        commits: &commits,
        n: &n,
        reads: has_reads.then_some(reads.as_slice()),
    };
    let again = Translation {
        commits: &again.commits,
        n: &again_n,
        reads: has_reads.then_some(again_reads.as_slice()),
    };
    compare(&program, &info, queue, (given, again), EarlyExit::OnMore).forces_no_more()
}

/// The program with `queue` in token form, which has an await in the place of each wait, and the commits and counts of each queue
/// when it is read and counted again.
#[must_use]
pub fn counted_again(
    program: &Program,
    queue: Queue,
    structures: &[RegionStructure],
    lifted: &LiftedQueue,
) -> (Program, Vec<QueueSolution>) {
    let rewritten = rewritten(program, queue, structures, lifted);
    let solutions = count_again(&rewritten);
    (rewritten.program, solutions)
}

/// Solves the program as it is read: a commit that is gone has left no slot, and a wait that has nothing to wait for no await.
fn count_again(rewritten: &RewrittenProgram) -> Vec<QueueSolution> {
    let mut program = rewritten.program.clone();
    let gone = Gone {
        commits: rewritten.commits.iter().copied().collect(),
        awaits: &rewritten.awaits,
    };
    gone.remove(&mut program.body);
    let read = clone_peeled(&program, &[]);
    let options = Options {
        unroll_limit: 0,
        ..Options::default()
    };
    let solutions = solve(&read.program, &options).queues.into_iter();
    solutions
        .map(|solution| read.for_original(&program, solution))
        .collect()
}

/// What a program in token form does not have, and marks the places of.
struct Gone<'a> {
    commits: FxHashSet<Slot>,
    awaits: &'a [ReplacedWait],
}

impl Gone<'_> {
    fn remove(&self, graph: &mut Graph) {
        for block in &mut graph.blocks {
            // What is gone has no place after it, either.
            let mut after_gone = false;
            block.items.retain(|item| {
                let is_gone = match item {
                    Item::Point(slot) => after_gone || self.commits.contains(slot),
                    Item::Await { site, tokens, .. } => tokens.is_empty() && self.was_wait(*site),
                    _ => false,
                };
                after_gone = is_gone;
                !is_gone && !is_mark(item)
            });
            for item in &mut block.items {
                match item {
                    Item::Nested(nested) => ensure_sufficient_stack(|| self.remove(&mut nested.graph)),
                    Item::Repeat(repeat) => ensure_sufficient_stack(|| self.remove(&mut repeat.body)),
                    _ => {}
                }
            }
        }
    }

    fn was_wait(&self, site: Await) -> bool {
        self.awaits.binary_search_by_key(&site, |wait| wait.site).is_ok()
    }
}

/// Returns true if `item` says that something is there, and does nothing.
fn is_mark(item: &Item) -> bool {
    matches!(item, Item::Await { tokens, .. } if tokens.is_empty())
}
