//! Finds how many iterations to peel off one loop, all other loops being as they are.

use crate::clone::{Peel, ProgramClone, clone_peeled};
use crate::compare::{Comparison, EarlyExit, compare};
use crate::counts::{QueueSolution, solve_indexed};
use crate::place::queue_placer::{Counts, QueuePlacer};
use crate::program::{Await, Commits, LoopId};
use crate::program_info::ProgramInfo;

impl QueuePlacer<'_> {
    /// Returns how many iterations of a loop to peel off, if any make an await force less.
    pub(super) fn iterations(
        &self,
        solution: &QueueSolution,
        id: LoopId,
        trip: u64,
        limit: u64,
    ) -> Option<u64> {
        let peel = |iterations| Peel { id, iterations };
        let most = Peeled::new(self, solution, peel(limit.min(trip)));
        if !most.helps() {
            return None;
        }
        // Fewer iterations will do if nothing is forced later than with the most; the more, the better.
        let (mut too_few, mut enough) = (0, most.peel.iterations);
        while enough - too_few > 1 {
            let fewer = Peeled::new(self, solution, peel(u64::midpoint(too_few, enough)));
            if fewer.helps() && most.is_matched_by(&fewer) {
                enough = fewer.peel.iterations;
            } else {
                too_few = fewer.peel.iterations;
            }
        }
        // A loop that would run only once more is no loop.
        let alone = enough + 1 == trip;
        Some(if alone {
            most.peel.iterations.min(trip)
        } else {
            enough
        })
    }
}

/// The program with one loop peeled.
struct Peeled<'a, 'p> {
    placer: &'a QueuePlacer<'p>,
    peel: Peel,
    copy: ProgramClone,
    program_info: ProgramInfo,
    commits: Commits,
    /// The counts of the unpeeled program.
    old: Counts,
    /// The exact ones.
    new: Counts,
    /// True if all that is awaited is committed.
    sound: bool,
}

impl<'a, 'p> Peeled<'a, 'p> {
    fn new(placer: &'a QueuePlacer<'p>, solution: &QueueSolution, peel: Peel) -> Self {
        let copy = clone_peeled(placer.program, &[peel]);
        let program_info = ProgramInfo::new(&copy.program);
        let commits = copy.commits(&solution.commits);
        let new = solve_indexed(
            &copy.program,
            &program_info,
            placer.queue,
            commits.clone(),
            placer.drop_implied,
        );
        Self {
            placer,
            peel,
            old: Counts::new(solution).pick(&copy.awaits),
            new: Counts::new(&new),
            sound: new.uncovered.is_empty(),
            copy,
            program_info,
            commits,
        }
    }

    /// Returns true if some await forces less than in the unpeeled program, and none more.
    fn helps(&self) -> bool {
        let comparison = self.compare(&self.old, &self.new);
        self.sound && comparison.less && comparison.forces_no_more()
    }

    /// Returns true if `fewer` forces nothing more.
    fn is_matched_by(&self, fewer: &Self) -> bool {
        self.compare(&self.new, &self.spread(fewer)).forces_no_more()
    }

    /// Returns the counts of `fewer` for the awaits of this program: the instances of an await come in
    /// the same order in both, and what `fewer` left in the loop stands for all that was taken out here.
    fn spread(&self, fewer: &Self) -> Counts {
        // The awaits of `fewer` that each await of the unpeeled program became.
        let mut instances = vec![Vec::new(); self.placer.program.awaits as usize];
        for (w, instance) in fewer.copy.awaits.iter().zip((0..).map(Await)) {
            instances[w.0 as usize].push(instance);
        }
        let mut next = vec![0; instances.len()];
        let awaits = self.copy.awaits.iter().map(|w| w.0 as usize);
        let originals: Vec<Await> = awaits
            .map(|w| {
                let at = next[w].min(instances[w].len() - 1);
                next[w] += 1;
                instances[w][at]
            })
            .collect();
        fewer.new.pick(&originals)
    }

    fn compare(&self, a: &Counts, b: &Counts) -> Comparison {
        let reads = self.placer.reads();
        let (a, b) = (a.with(&self.commits, reads), b.with(&self.commits, reads));
        compare(
            &self.copy.program,
            &self.program_info,
            self.placer.queue,
            (a, b),
            EarlyExit::Never,
        )
    }
}
