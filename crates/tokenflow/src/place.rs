//! Places commits: the options `balance`, `form_groups` and `unroll_limit`.
//!
//! Each option proposes changes to the commits (or to loops), solves the changed program exactly,
//! and keeps a change only if the comparison of [`crate::compare`] allows it: nothing may be forced
//! earlier by any await on any execution. Proposals are made for all candidates at once and thinned
//! out by what the comparison finds, so that the usual program costs a handful of solutions; single
//! candidates are tried one by one within a budget. What they give is where [`mod@search`] begins, which
//! looks at all legal places, whoever proposed them.
//!
//! The body is cut into [`mod@segments`] first, so that the number of trials depends on a segment's size
//! and not on the program's. Where there is but one execution, nothing has to be tried ([`mod@single_path`]).

mod all_complete;
mod await_free_items;
mod balance;
mod candidate;
mod commit_counts;
mod commit_points;
mod concatenation;
mod constant_distance;
mod diamond;
mod diamond_forms;
mod form_groups;
mod incremental;
mod incremental_legality;
mod move_effect;
mod needed_groups;
mod open_groups;
mod optimality;
mod peeling;
mod queue_placer;
mod search;
mod segments;
mod single_path;
mod token_classes;

pub use move_effect::{MoveEffect, NotChosen, effect_of_move, operations_by_commit};

pub(crate) use peeling::Round;
pub(crate) use queue_placer::QueuePlacement;

use self::concatenation::Concatenation;
use self::queue_placer::QueuePlacer;
use self::search::Seen;
use self::segments::segments;
use crate::clone::clone_items;
use crate::counts::{QueueSolution, reaches_end};
use crate::program::{CommitRules, Program, Queue};
use crate::solve::Options;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// Places the commits of a program.
pub(crate) struct Placer<'p> {
    program: &'p Program,
    /// The same for each queue.
    queues: Vec<QueuePlacer<'p>>,
    /// For each queue, the exact solution for one group per operation, once that was asked for.
    bases: OnceCell<Vec<QueueSolution>>,
}

impl<'p> Placer<'p> {
    pub fn new(program: &'p Program, options: &Options) -> Self {
        let queues = (0..program.queues).map(Queue);
        let queues: Vec<QueuePlacer> = queues
            .map(|queue| QueuePlacer::new(program, queue, options))
            .collect();
        Self {
            program,
            bases: OnceCell::new(),
            queues,
        }
    }

    /// For each queue, the exact solution for one group per operation.
    fn bases(&self) -> &[QueueSolution] {
        self.bases.get_or_init(|| {
            let queues = self.queues.iter();
            let bases = queues.map(|placer| placer.solve(self.program.one_group_each(placer.queue)));
            bases.collect()
        })
    }

    /// Goes on from the commits of a translation of this program with other counts; `None` if something awaited is not
    /// committed then.
    fn improve(&self, from: &[QueueSolution], options: &Options) -> Option<Vec<QueueSolution>> {
        let queues = self.queues.iter().zip(self.bases()).zip(from);
        queues
            .map(|((placer, base), from)| {
                let points = placer.points(base);
                let start = placer.solve(points.canonical(&from.commits));
                let options = placer.allowed(options);
                (start.uncovered == base.uncovered).then(|| {
                    let start = placer.candidate(start, false, &points, &options);
                    let found = placer.search(start, &points, &options, &mut Seen::default());
                    found.best.solution
                })
            })
            .collect()
    }

    /// Places the commits of every queue, after some rounds of peeling.
    pub fn place(&self, options: &Options) -> (Vec<Round>, Vec<QueuePlacement>) {
        let direct = self
            .queues
            .iter()
            .map(|placer| placer.place_on_single_path(options));
        if let Some(placed) = direct.collect() {
            return (Vec::new(), placed);
        }
        let segments = segments(self);
        if segments.len() < 2 {
            let queues = self.queues.iter().zip(self.bases());
            let placed = queues.map(|(placer, base)| placer.place(base, options)).collect();
            return peeling::peel(self, placed, options);
        }
        let mut all = Concatenation::new(self);
        // Unrolled and inlined code repeats itself.
        let mut known: FxHashMap<Program, (Vec<Round>, Vec<QueuePlacement>)> = FxHashMap::default();
        let commit_rules: Vec<CommitRules> = self.queues.iter().map(QueuePlacer::rules).collect();
        for items in segments {
            let mut segment = clone_items(self.program, items).program;
            segment.commit_rules.clone_from(&commit_rules);
            if let Some((rounds, placed)) = known.get(&segment) {
                all.add(&segment, rounds, placed);
                continue;
            }
            let (rounds, placed) = Placer::new(&segment, options).place(options);
            all.add(&segment, &rounds, &placed);
            let goes_on = reaches_end(&segment);
            known.insert(segment, (rounds, placed));
            if !goes_on {
                // What comes after it is never run.
                break;
            }
        }
        all.finish()
    }
}
