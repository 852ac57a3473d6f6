//! Proves, also for loops, that one group for each operation is optimal: the number of groups between an operation and its
//! await (its *distance*) is the same on all paths.
//!
//! Groups complete in order, so whatever the commits, an await completes every operation that is no younger than the youngest
//! one that it awaits. With one group for each operation, a wait completes nothing else where it leaves exactly the groups in
//! flight that are younger: where that is as many on all paths, and none of these has the operation complete already.
//!
//! That is how counts are found if no wait completes anything and all paths agree.
//!
//! [`super::optimality`] answers more, for any commits and where paths differ, but not for loops. This is for loops.

use super::QueuePlacer;
use crate::age::Age;
use crate::counts::QueueSolution;
use crate::eval::{CompletionKind, Evaluator, Mode};
use crate::program::Item;

impl QueuePlacer<'_> {
    /// Returns true if no solution forces less than `base`, the one for one group per operation; false if that is not known.
    pub(super) fn has_constant_distances(&self, base: &QueueSolution) -> bool {
        let queue = usize::from(self.queue.0);
        let plain = self.program_info.root.has_loop
            && base.uncovered.is_empty()
            && !self.reads()
            && !self.program_info.covered
            && self.program_info.largest_wait[queue].is_none()
            && !self.has_own_commits();
        if !plain {
            return false;
        }
        let mut eval = Evaluator::new(
            self.program,
            &self.program_info,
            self.queue,
            &base.commits,
            CompletionKind::Done,
        );
        eval.mode = Mode::ConstantDistance;
        eval.measured.fill(Age::OPEN);
        eval.graph(&self.program.body, &self.program_info.root, &[]);
        let mut awaits = base.waits.iter().zip(&eval.measured);
        awaits.all(|(wait, distance)| match wait {
            Some(count) => !count.clamped && distance.groups() == Some(count.n),
            None => true,
        })
    }

    /// Returns true if the program itself commits to the queue.
    fn has_own_commits(&self) -> bool {
        let mut found = false;
        self.program.body.visit(&mut |item| {
            found |= matches!(item, Item::Commit { queue, .. } if *queue == self.queue);
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brute_force::{commits, queues};
    use crate::oracle::build::{Build, Q};
    use crate::oracle::generate::{Style, any_program, config};
    use crate::program::Program;
    use crate::solve::Options;
    use proptest::prelude::*;
    use std::cell::Cell;

    fn is_constant(program: &Program) -> bool {
        let placer = QueuePlacer::new(program, Q, &Options::default());
        placer.has_constant_distances(&placer.solve(program.one_group_each(Q)))
    }

    /// A loop that hands on two copies, and awaits the older one after it has issued another.
    fn rolling(awaits_in_loop: bool) -> Program {
        let mut b = Build::new();
        let (first, second) = (b.copy(), b.copy());
        let [first, second] = b.for_([first, second], |b, [first, second]| {
            let third = b.copy();
            if awaits_in_loop {
                b.await_all(&[first]);
            }
            [second, third]
        });
        b.await_all(&[first]);
        b.await_all(&[second]);
        b.finish()
    }

    #[test]
    fn a_loop_that_hands_on_as_many_copies_as_it_gets() {
        assert!(is_constant(&rolling(true)));
        assert!(is_constant(&rolling(false)));
    }

    #[test]
    fn a_copy_that_a_loop_issues_after_leaves_more_in_flight_with_each_iteration() {
        let mut b = Build::new();
        let first = b.copy();
        b.for_([], |b, []| {
            b.copy();
            []
        });
        b.await_all(&[first]);
        assert!(!is_constant(&b.finish()));
    }

    #[test]
    fn a_branch_that_copies_or_not() {
        let mut b = Build::new();
        let first = b.copy();
        let [second] = b.if_else(|b| [b.copy()], |b| [b.ready()]);
        b.await_all(&[first]);
        b.await_all(&[second]);
        assert!(!is_constant(&b.finish()));
    }

    /// Against other commits, which never force less.
    #[test]
    fn nothing_forces_less() {
        let constant = Cell::new(0);
        let mut runner = proptest::test_runner::TestRunner::new(config(2000));
        let cases = (any_program(Style::Mixed), any::<u64>());
        let result = runner.run(&cases, |(recipe, seed)| {
            let program = recipe.program();
            for queue in queues(&program) {
                let placer = QueuePlacer::new(&program, queue, &Options::default());
                let base = placer.solve(program.one_group_each(queue));
                if !placer.has_constant_distances(&base) || base.last_wait().is_none() {
                    continue;
                }
                constant.set(constant.get() + 1);
                for i in 0..8 {
                    let other = placer.solve(commits(&program, queue, seed.rotate_left(8 * i) | 1));
                    if other.uncovered.is_empty() {
                        prop_assert!(placer.compare(&other, &base).forces_no_more());
                    }
                }
            }
            Ok(())
        });
        assert!(result.is_ok(), "{result:?}");
        assert!(constant.get() > 0, "some have constant distances");
    }
}
