//! Places the commits of one queue: from a program, and its exact solution with one group per operation, to
//! commits that no placement looked at dominates, with their solution.

use super::balance::Balanced;
use super::candidate::Candidate;
use super::diamond::{GraphDiamonds, diamonds};
use super::incremental::KnownRun;
use super::open_groups::OpenGroups;
use super::search::Seen;
use super::token_classes::TokenClasses;
use crate::automaton::{Automaton, Body};
use crate::compare::{Comparison, EarlyExit, Translation, compare, read_counts};
use crate::counts::{QueueSolution, counts, solve_indexed, solve_unless_uncovered};
use crate::eval::WaitCount;
use crate::program::{Await, CommitRules, Commits, Item, Program, Queue, Slot};
use crate::program_info::ProgramInfo;
use crate::solve::Options;
use crate::straight_line::StraightLine;
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell, RefMut};
use std::rc::Rc;

/// With fewer steps than this, no automaton is worth it.
const STEPS: usize = 24;

/// Places the commits of one queue.
pub(super) struct QueuePlacer<'p> {
    pub program: &'p Program,
    pub program_info: ProgramInfo,
    pub queue: Queue,
    pub drop_implied: bool,
    pub max_padding: u32,
    /// How many solutions may be tried one by one.
    pub trials: usize,
    /// The steps of the body, if it can be run as an automaton, and that.
    straight_line: OnceCell<Option<StraightLine>>,
    automaton: OnceCell<RefCell<Automaton>>,
    /// What [`Self::balance`] found last, and [`Self::form_groups`]: staging often comes to the same commits.
    pub balanced: RefCell<Option<QueueSolution>>,
    pub grouped: RefCell<Vec<Grouped>>,
    /// Which tokens flow together, once that was asked for.
    token_classes: OnceCell<TokenClasses>,
    /// What may be open where, for some of the commits that this was asked of.
    pub open_groups: RefCell<FxHashMap<Commits, Rc<OpenGroups>>>,
    /// What changes were tried of last.
    pub known_run: RefCell<Option<Rc<RefCell<KnownRun>>>>,
}

/// What [`QueuePlacer::form_groups`] makes of some commits.
pub(super) struct Grouped {
    pub base: Commits,
    pub columns: Vec<Vec<Slot>>,
    pub found: QueueSolution,
}

/// The result for a [`QueuePlacer`].
#[derive(Clone, Default)]
pub(crate) struct QueuePlacement {
    /// One group per operation, balanced if so asked.
    pub ungrouped: QueueSolution,
    pub best: QueueSolution,
    pub uneven: Vec<Slot>,
    /// True if the budget ended a search, and it is not known that nothing forces less.
    pub spent: bool,
}

impl QueuePlacement {
    pub fn new(base: &QueueSolution) -> Self {
        Self {
            ungrouped: base.clone(),
            best: base.clone(),
            uneven: Vec::new(),
            spent: false,
        }
    }

    /// Adds the result for what comes next in the program.
    pub fn append(&mut self, next: &QueuePlacement) {
        let slots = u32::try_from(self.best.commits.len()).unwrap_or(u32::MAX);
        let uneven = next.uneven.iter();
        self.uneven.extend(uneven.map(|slot| Slot(slots + slot.0)));
        self.ungrouped.append(&next.ungrouped);
        self.best.append(&next.best);
        self.spent |= next.spent;
    }
}

impl<'p> QueuePlacer<'p> {
    pub fn new(program: &'p Program, queue: Queue, options: &Options) -> Self {
        let size = (program.slots + program.awaits + program.tokens) as usize;
        Self {
            program,
            program_info: ProgramInfo::new(program),
            queue,
            drop_implied: options.drop_implied,
            max_padding: options.max_padding,
            trials: ((1 << 16) / (size + 1)).min(2048),
            straight_line: OnceCell::new(),
            automaton: OnceCell::new(),
            balanced: RefCell::new(None),
            grouped: RefCell::new(Vec::new()),
            token_classes: OnceCell::new(),
            open_groups: RefCell::default(),
            known_run: RefCell::new(None),
        }
    }

    /// What of the options the queue allows.
    pub fn allowed(&self, options: &Options) -> Options {
        Options {
            balance: options.balance && self.program.rules(self.queue).empty_groups,
            ..*options
        }
    }

    /// Places commits; `base` is the solution for one group per operation.
    pub fn place(&self, base: &QueueSolution, options: &Options) -> QueuePlacement {
        let options = &self.allowed(options);
        let mut placed = QueuePlacement::new(base);
        let given = self.program_info.largest_wait[usize::from(self.queue.0)];
        if base.last_wait().is_none() && given.is_none() && !options.form_groups {
            return placed;
        }
        let points = self.points(base);
        let mut seen = Seen::default();
        // Each option goes on from what the options before it give, and so forces no more.
        let mut go_on = |from: Candidate, seeds: Vec<(QueueSolution, bool)>, options: &Options| {
            let mut best = from.ranked_by(options);
            for (seed, forces_least) in seeds {
                let seed = self.candidate(seed, forces_least, &points, options);
                best = self.better_of(best, seed, options);
            }
            let found = self.search(best, &points, options, &mut seen);
            placed.spent |= found.spent;
            found.best
        };
        let plain = Options {
            form_groups: false,
            balance: false,
            ..*options
        };
        let graphs = diamonds(&self.program.body, &self.program_info.root);
        let base_forces_least = self.has_constant_distances(base);
        let even = base_forces_least && graphs.iter().all(|graph| graph.diamonds.is_empty());
        let balanced = (options.balance && !even).then(|| self.balance(&graphs, base));
        let balanced_forces_least = balanced.as_ref().is_some_and(|balanced| balanced.forces_least);
        let mut best = self.candidate(base.clone(), base_forces_least, &points, &plain);
        if !balanced_forces_least {
            best = go_on(best, Vec::new(), &plain);
        }
        if let Some(balanced) = &balanced {
            let balance = Options {
                balance: true,
                ..plain
            };
            let mut seeds = vec![(balanced.solution.clone(), balanced_forces_least)];
            if !balanced_forces_least {
                let before = self.commit_before(base, &balance);
                seeds.extend(before.map(|before| (before, base_forces_least)));
            }
            best = go_on(best, seeds, &balance);
        }
        let ungrouped = best.solution.clone();
        if options.form_groups {
            // Groups force no more than what they are made of.
            let grouped = self.grouped(&graphs, base, balanced.as_ref());
            let mut seeds = vec![(grouped, balanced_forces_least || base_forces_least)];
            let staged = self.stage(base, options);
            if staged.commits != base.commits {
                let balanced = options.balance.then(|| self.balance(&graphs, &staged));
                let grouped = self.grouped(&graphs, &staged, balanced.as_ref());
                seeds.push((grouped, base_forces_least));
            }
            best = go_on(best, seeds, options);
        }
        let best = best.solution;
        if options.balance {
            placed.uneven = self.uneven(&graphs, &best);
        }
        placed.ungrouped = ungrouped;
        placed.best = best;
        placed
    }

    /// Groups operations of `base`, or of what balance made of it.
    fn grouped(
        &self,
        graphs: &[GraphDiamonds],
        base: &QueueSolution,
        balanced: Option<&Balanced>,
    ) -> QueueSolution {
        match balanced {
            Some(balanced) => self.form_groups_balanced(graphs, base, balanced),
            None => self.form_groups(base, &[]),
        }
    }

    /// Groups operations of the balanced program. Groups can also even out branches by themselves: where
    /// the balanced program would force more than groups alone, groups come first and balance second.
    fn form_groups_balanced(
        &self,
        graphs: &[GraphDiamonds],
        base: &QueueSolution,
        Balanced {
            solution: balanced,
            columns,
            forces_least,
        }: &Balanced,
    ) -> QueueSolution {
        let grouped = self.form_groups(balanced, columns);
        // Not in very large programs without a cut, whose time it would double.
        if balanced.commits == base.commits || self.trials == 0 {
            return grouped;
        }
        if *forces_least {
            debug_assert!(
                self.compare(balanced, &grouped).forces_no_more(),
                "groups force no more than what they are made of"
            );
            return grouped;
        }
        let groups_alone = self.form_groups(base, &[]);
        let as_good = |solution: &QueueSolution| {
            let no_more = |than| self.compare(than, solution).forces_no_more();
            no_more(&groups_alone) && no_more(balanced)
        };
        if as_good(&grouped) {
            return grouped;
        }
        let groups_first = self.balance(graphs, &groups_alone).solution;
        let others = [&groups_first, &groups_alone, balanced];
        let found = others.into_iter().find(|other| as_good(other)).cloned();
        found.unwrap_or(grouped)
    }

    pub fn solve(&self, commits: Commits) -> QueueSolution {
        if let Some(known) = &*self.balanced.borrow()
            && known.commits == commits
        {
            return known.clone();
        }
        let by_automaton = |body| self.automaton(body).solve(body, &commits);
        let Some(solution) = self.body().and_then(by_automaton) else {
            return self.solve_whole(commits);
        };
        debug_assert_eq!(solution, self.solve_whole(commits), "what the automaton finds");
        solution
    }

    /// Solves for `commits`; `None` if some await is uncovered that is not in `best`.
    pub fn solve_as_covered(&self, best: &QueueSolution, commits: Commits) -> Option<QueueSolution> {
        if self.body().is_some() {
            let solution = self.solve(commits);
            let mut uncovered = solution.uncovered.iter();
            return uncovered.all(|w| best.uncovered.contains(w)).then_some(solution);
        }
        solve_unless_uncovered(
            self.program,
            &self.program_info,
            self.queue,
            commits,
            self.drop_implied,
            Some(&best.uncovered),
        )
    }

    fn solve_whole(&self, commits: Commits) -> QueueSolution {
        solve_indexed(
            self.program,
            &self.program_info,
            self.queue,
            commits,
            self.drop_implied,
        )
    }

    /// Returns what an automaton can run, if the body is that.
    pub fn body(&self) -> Option<Body<'_>> {
        let line = self.straight_line.get_or_init(|| {
            let plain = self.drop_implied && !self.commits_all() && !self.program_info.covered;
            let line = plain.then(|| StraightLine::new(self.program, &self.program_info, self.queue));
            line.flatten().filter(|line| line.len() >= STEPS)
        });
        Some(Body {
            program: self.program,
            program_info: &self.program_info,
            queue: self.queue,
            line: line.as_ref()?,
        })
    }

    /// Which tokens flow together.
    pub fn token_classes(&self) -> &TokenClasses {
        self.token_classes.get_or_init(|| TokenClasses::of(self.program))
    }

    /// The automaton of the body.
    pub fn automaton(&self, body: Body) -> RefMut<'_, Automaton> {
        let automaton = self.automaton.get_or_init(|| RefCell::new(Automaton::new(body)));
        automaton.borrow_mut()
    }

    /// Returns true if every operation has to be committed by the end.
    pub fn commits_all(&self) -> bool {
        self.rules().all
    }

    /// What the queue asks of commits, in any segment of the program.
    pub fn rules(&self) -> CommitRules {
        let rules = self.program.rules(self.queue);
        CommitRules {
            all: rules.all || self.reads(),
            ..rules
        }
    }

    /// Returns true if the operations have two completions.
    pub fn reads(&self) -> bool {
        self.program_info.reads[usize::from(self.queue.0)]
    }

    /// Compares solution `b` with solution `a`.
    pub fn compare(&self, a: &QueueSolution, b: &QueueSolution) -> Comparison {
        self.compare_as_far(a, b, EarlyExit::Never)
    }

    pub fn compare_as_far(&self, a: &QueueSolution, b: &QueueSolution, early_exit: EarlyExit) -> Comparison {
        let (na, nb) = (Counts::new(a), Counts::new(b));
        let reads = self.reads();
        let both = (na.with(&a.commits, reads), nb.with(&b.commits, reads));
        let by_automaton = |body| self.automaton(body).compare(body, both.0, both.1);
        let whole = |early_exit| compare(self.program, &self.program_info, self.queue, both, early_exit);
        let Some(comparison) = self.body().and_then(by_automaton) else {
            return whole(early_exit);
        };
        debug_assert_eq!(comparison, whole(EarlyExit::Never), "what the automaton finds");
        comparison
    }
}

/// The counts of every await.
pub(super) struct Counts {
    done: Vec<WaitCount>,
    /// Those that reads wait for.
    reads: Vec<WaitCount>,
}

impl Counts {
    pub fn new(solution: &QueueSolution) -> Self {
        Self {
            done: counts(&solution.waits),
            reads: read_counts(solution),
        }
    }

    /// The translation with these counts; `reads` says whether reads are looked at.
    pub fn with<'a>(&'a self, commits: &'a Commits, reads: bool) -> Translation<'a> {
        Translation {
            commits,
            n: &self.done,
            reads: reads.then_some(&*self.reads),
        }
    }

    /// Returns the counts of a program in which await `i` is what `originals[i]` is here.
    pub fn pick(&self, originals: &[Await]) -> Self {
        let pick = |counts: &[WaitCount]| originals.iter().map(|w| counts[w.0 as usize]).collect();
        Self {
            done: pick(&self.done),
            reads: pick(&self.reads),
        }
    }
}

/// Returns true if `item` is an operation of `queue` or holds one or a commit of it.
pub(super) fn touches(item: &Item, queue: Queue) -> bool {
    let mut found = false;
    let mut check = |item: &Item| {
        found |= matches!(item, Item::Issue { queue: q, .. } | Item::Commit { queue: q, .. } if *q == queue);
    };
    check(item);
    let never = matches!(item, Item::Repeat(repeat) if repeat.trip == 0);
    if let (Some(graph), false) = (item.graph(), never) {
        graph.visit(&mut check);
    }
    found
}
