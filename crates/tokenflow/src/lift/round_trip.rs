//! Checks the round trip: whether tokens that are counted again complete no more than the counts did.
//!
//! The commits and counts of the program are one translation of its token form, and what [`solve`] makes of that is another:
//! they are compared on all executions.

use super::rewrite::{RewrittenProgram, rewritten};
use super::{LiftedQueue, RegionStructure};
use crate::compare::{EarlyExit, Translation, compare, read_counts};
use crate::counts::counts;
use crate::eval::{NO_WAIT, WaitCount};
use crate::program::{Commits, Program, Queue};
use crate::program_info::ProgramInfo;
use crate::solve::{Options, solve};

/// Returns true if `lifted`, counted again, completes nothing at an await that the wait in its place did not complete.
/// Peeling only improves counts, and is left out.
#[must_use]
pub fn round_trip_completes_no_more(
    program: &Program,
    queue: Queue,
    structures: &[RegionStructure],
    lifted: &LiftedQueue,
) -> bool {
    let RewrittenProgram {
        program,
        commits: commit_slots,
        awaits,
    } = rewritten(program, queue, structures, lifted);
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
    let options = Options {
        unroll_limit: 0,
        ..Options::default()
    };
    let Some(again) = solve(&program, &options)
        .queues
        .into_iter()
        .nth(usize::from(queue.0))
    else {
        return true;
    };
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
