//! Counts the groups that graphs and the arms of diamonds commit.

use super::diamond::{Diamond, block_index};
use crate::program::{Commits, Graph, Item, Queue, Slot};
use crate::program_info::GraphInfo;
use std::ops::Range;

/// Something that commits in an arm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArmCommit {
    /// One commit at a slot that can be moved.
    Movable(Slot),
    /// Commits that stay where they are.
    Fixed(u64),
}

impl ArmCommit {
    fn groups(self) -> u64 {
        match self {
            Self::Movable(_) => 1,
            Self::Fixed(n) => n,
        }
    }
}

/// What commits in the arms of one diamond.
#[derive(Default)]
pub(super) struct ArmCommits {
    /// Of all arms, one after the other, each in order.
    commits: Vec<ArmCommit>,
    arms: Vec<CountedArm>,
}

struct CountedArm {
    /// Its part of all commits.
    range: Range<usize>,
    groups: u64,
}

impl ArmCommits {
    /// The commits of each arm, and how many groups these are.
    pub fn arms(&self) -> impl Iterator<Item = (&[ArmCommit], u64)> {
        let arms = self.arms.iter();
        arms.map(|arm| (&self.commits[arm.range.clone()], arm.groups))
    }

    /// The last commit of each arm that has one.
    pub fn last(&self) -> impl Iterator<Item = ArmCommit> {
        self.arms().filter_map(|(arm, _)| arm.last().copied())
    }

    /// Takes the last commit off each arm that has one.
    pub fn pop(&mut self) {
        for arm in self.arms.iter_mut().filter(|arm| !arm.range.is_empty()) {
            arm.range.end -= 1;
            arm.groups -= self.commits[arm.range.end].groups();
        }
    }
}

/// How many groups each graph and diamond commits, where that is the same on all paths.
pub(super) struct CommitCounts {
    queue: Queue,
    /// For each graph.
    graphs: Vec<Option<u64>>,
    /// For each block of the current graph.
    branches: Vec<Branch>,
    /// For each graph, whether a loop of unknown trip count in it commits.
    unbounded: Vec<bool>,
}

/// How a block ends.
#[derive(Clone, Copy)]
enum Branch {
    /// It is not the head of a diamond.
    None,
    /// All paths through the diamond commit so many groups, if that is known.
    Diamond(Option<u64>),
}

impl CommitCounts {
    /// Nothing is known of any of so many graphs.
    pub fn new(queue: Queue, graphs: usize) -> Self {
        Self {
            queue,
            graphs: vec![None; graphs],
            branches: Vec::new(),
            unbounded: vec![false; graphs],
        }
    }

    /// Makes a graph the current one, whose inner graphs are known.
    pub fn enter(&mut self, graph: &Graph) {
        self.branches.clear();
        self.branches.resize(graph.blocks.len(), Branch::None);
    }

    /// Notes how many groups a diamond of the current graph commits.
    pub fn note_diamond(&mut self, head: usize, groups: Option<u64>) {
        self.branches[head] = Branch::Diamond(groups);
    }

    /// Hands what commits in a block to `f`, in order; `None` if paths through it differ.
    fn block(
        &self,
        graph: &Graph,
        info: &GraphInfo,
        b: usize,
        commits: &Commits,
        f: &mut impl FnMut(ArmCommit),
    ) -> Option<()> {
        let block = &graph.blocks[b];
        let slot = |slot: Option<Slot>, f: &mut dyn FnMut(ArmCommit)| {
            if let Some(slot) = slot {
                match commits[slot.0 as usize] {
                    0 => {}
                    1 => f(ArmCommit::Movable(slot)),
                    n => f(ArmCommit::Fixed(u64::from(n))),
                }
            }
        };
        slot(block.start, f);
        let mut inner = info.blocks[b].inner.iter();
        for item in &block.items {
            match item {
                Item::Issue { slot: s, .. } => slot(*s, f),
                Item::Point(s) => slot(Some(*s), f),
                Item::Commit { queue, .. } if *queue == self.queue => f(ArmCommit::Fixed(1)),
                Item::Nested(_) | Item::Repeat(_) => {
                    let trip = match item {
                        Item::Repeat(repeat) => repeat.trip,
                        _ => 1,
                    };
                    let each = inner.next().and_then(|info| self.graphs[info.id]);
                    let all = if trip == 0 { 0 } else { each?.checked_mul(trip)? };
                    if all > 0 {
                        f(ArmCommit::Fixed(all));
                    }
                    slot(item.after(), f);
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Returns how many groups a block commits, or `None` if paths through it differ.
    fn total(&self, graph: &Graph, info: &GraphInfo, b: usize, commits: &Commits) -> Option<u64> {
        let mut sum = Some(0_u64);
        let mut add = |commit: ArmCommit| sum = sum.and_then(|sum| sum.checked_add(commit.groups()));
        self.block(graph, info, b, commits, &mut add)?;
        sum
    }

    /// Reads what commits in the arms of a diamond of the current graph; `None` if paths through an arm differ, or the
    /// number overflows.
    pub fn read_arms(&self, diamond: &Diamond, commits: &Commits, found: &mut ArmCommits) -> Option<()> {
        found.commits.clear();
        found.arms.clear();
        for arm in &diamond.arms {
            let start = found.commits.len();
            let mut groups = Some(0_u64);
            for &b in &arm.spine {
                let mut push = |commit: ArmCommit| {
                    groups = groups.and_then(|sum| sum.checked_add(commit.groups()));
                    found.commits.push(commit);
                };
                self.block(diamond.graph, diamond.info, b, commits, &mut push)?;
                if let Branch::Diamond(inside) = self.branches[b] {
                    let inside = inside?;
                    if inside > 0 {
                        push(ArmCommit::Fixed(inside));
                    }
                }
            }
            found.arms.push(CountedArm {
                range: start..found.commits.len(),
                groups: groups?,
            });
        }
        Some(())
    }

    /// Returns true if a loop of unknown trip count in some arm of a diamond commits.
    pub fn is_unbounded(&self, diamond: &Diamond) -> bool {
        let blocks = diamond.arms.iter().flat_map(|arm| &arm.spine);
        let mut inner = blocks.flat_map(|&b| &diamond.info.blocks[b].inner);
        inner.any(|inner| self.unbounded[inner.id])
    }

    /// Notes what is known of a graph whose inner graphs are known.
    pub fn note(&mut self, graph: &Graph, info: &GraphInfo, commits: &Commits) {
        self.graphs[info.id] = self.graph(graph, info, commits);
        let mut inner = info.blocks.iter().flat_map(|block| &block.inner);
        self.unbounded[info.id] =
            (info.cyclic && self.graphs[info.id].is_none()) || inner.any(|inner| self.unbounded[inner.id]);
    }

    /// Returns how many groups a graph commits from its start to its exit.
    fn graph(&self, graph: &Graph, info: &GraphInfo, commits: &Commits) -> Option<u64> {
        let counts: Vec<Option<u64>> = (0..graph.blocks.len())
            .map(|b| self.total(graph, info, b, commits))
            .collect();
        if info.cyclic {
            return counts.iter().all(|count| *count == Some(0)).then_some(0);
        }
        let mut before: Vec<Option<u64>> = vec![None; graph.blocks.len() + 1];
        if let Some(first) = before.first_mut() {
            *first = Some(0);
        }
        for &b in &info.sequence {
            let sum = before[b]?.checked_add(counts[b]?)?;
            for edge in &graph.blocks[b].edges {
                let to = &mut before[block_index(edge.to, graph.blocks.len())];
                if to.is_some_and(|known| known != sum) {
                    return None;
                }
                *to = Some(sum);
            }
        }
        before[graph.blocks.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::diamond::diamonds;
    use super::*;
    use crate::brute_force::{commits, explore, queues};
    use crate::oracle::build::{Build, Q};
    use crate::oracle::code::{Code, Step};
    use crate::oracle::generate::{Style, any_program, config};
    use crate::program::Program;
    use crate::program_info::ProgramInfo;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn committed(
        program: &Program,
        program_info: &ProgramInfo,
        queue: Queue,
        commits: &Commits,
    ) -> Option<u64> {
        let mut committed = CommitCounts::new(queue, program_info.graphs);
        for graph in diamonds(&program.body, &program_info.root) {
            committed.note(graph.graph, graph.info, commits);
        }
        committed.graphs[program_info.root.id]
    }

    /// How many groups executions commit that reach the program's end; no more than `most` and one are told apart.
    fn totals(program: &Program, queue: Queue, commits: &Commits, most: u64) -> BTreeSet<u64> {
        let mut totals = BTreeSet::new();
        let code = Code::new(program);
        explore(&code, 0, |at, step, n: u64| {
            let here = match step {
                Step::Commit { queue: q, .. } => u64::from(*q == queue),
                Step::Slot(slot) => commits[slot.0 as usize].into(),
                _ => 0,
            };
            if at == code.end() {
                totals.insert(n);
            }
            vec![(n + here).min(most + 1)]
        });
        totals
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn all_executions_commit_as_many(recipe in any_program(Style::Mixed), seed in any::<u64>()) {
            let program = recipe.program();
            let program_info = ProgramInfo::new(&program);
            for queue in queues(&program) {
                for commits in [commits(&program, queue, 0), commits(&program, queue, seed)] {
                    if let Some(n) = committed(&program, &program_info, queue, &commits) {
                        let totals = totals(&program, queue, &commits, n);
                        prop_assert!(totals.iter().all(|&total| total == n), "{} {:?}", n, totals);
                    }
                }
            }
        }
    }

    /// For each diamond, how many groups each arm commits, with one group for each operation.
    fn arms(program: &Program) -> Vec<Option<Vec<u64>>> {
        let program_info = ProgramInfo::new(program);
        let commits = program.one_group_each(Q);
        let mut committed = CommitCounts::new(Q, program_info.graphs);
        let (mut out, mut found) = (Vec::new(), ArmCommits::default());
        for graph in diamonds(&program.body, &program_info.root) {
            committed.enter(graph.graph);
            for diamond in &graph.diamonds {
                let known = committed.read_arms(diamond, &commits, &mut found);
                out.push(known.map(|()| found.arms().map(|(_, groups)| groups).collect()));
            }
            committed.note(graph.graph, graph.info, &commits);
        }
        out
    }

    #[test]
    fn arms_of_branches() {
        let mut b = Build::new();
        b.if_(|b| {
            b.copy();
            b.if_else(|b| [b.copy()], |b| [b.copy()]);
        });
        // Inner ones come first; an inner one that is even counts in the arm around it.
        assert_eq!(arms(&b.finish()), [Some(vec![1, 1]), Some(vec![2, 0])]);
    }

    #[test]
    fn a_loop_is_no_diamond() {
        let mut b = Build::new();
        let copy = b.copy();
        b.for_([copy], |b, _| [b.copy()]);
        b.if_(|b| _ = b.for_([copy], |b, _| [b.copy()]));
        assert_eq!(arms(&b.finish()), [None]);
    }
}
