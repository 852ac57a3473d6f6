//! Finds diamonds: branches whose arms meet again. Counts the groups that each arm commits.
//!
//! A [`Diamond`] is a block with several edges whose paths come together, either at a later block
//! of the same graph or at the graph's exit. An arm is a *spine* of blocks: one after the other, an
//! inner diamond being jumped over. Arms end where all of them have arrived.

use crate::program::{Commits, Graph, Item, Queue, Slot, Target};
use crate::program_info::GraphInfo;
use rustc_hash::FxHashMap;

/// Arms of more blocks than this are not followed, so that many diamonds in a row stay linear.
const CHAIN_LIMIT: usize = 128;

/// A branch whose arms meet.
pub(super) struct Diamond<'p> {
    pub graph: &'p Graph,
    pub info: &'p GraphInfo,
    pub arms: Vec<Arm>,
    /// Where a commit for all arms goes.
    pub after: Option<Slot>,
    /// The block that branches.
    pub head: usize,
    /// The first await that may come after it.
    pub next_await: u32,
}

/// One path through a diamond.
pub(super) struct Arm {
    /// The blocks of the arm, in order, without those inside inner diamonds.
    pub spine: Vec<usize>,
    /// Where commits at the arm's start go; none if the branch leads straight to the meeting point.
    pub start: Option<Slot>,
}

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

/// A graph, with the diamonds that belong to it, inner ones first.
pub(super) struct GraphDiamonds<'p> {
    pub graph: &'p Graph,
    pub info: &'p GraphInfo,
    pub diamonds: Vec<Diamond<'p>>,
}

/// Returns all graphs of the program, inner ones before outer ones.
pub(super) fn diamonds<'p>(root: &'p Graph, info: &'p GraphInfo) -> Vec<GraphDiamonds<'p>> {
    let mut out = Vec::new();
    collect(root, info, None, false, &mut out);
    out
}

fn collect<'p>(
    graph: &'p Graph,
    info: &'p GraphInfo,
    after: Option<Slot>,
    in_loop: bool,
    out: &mut Vec<GraphDiamonds<'p>>,
) {
    let in_loop = in_loop || info.cyclic;
    crate::program::ensure_sufficient_stack(|| {
        for (block, block_info) in graph.blocks.iter().zip(&info.blocks) {
            let graphs = block.items.iter().filter(|item| item.graph().is_some());
            for (item, inner) in graphs.zip(&block_info.inner) {
                if let Some(graph) = item.graph() {
                    let repeats = matches!(item, Item::Repeat(_));
                    let after = if repeats { None } else { item.after() };
                    collect(graph, inner, after, in_loop || repeats, out);
                }
            }
        }
        let diamonds = find(graph, info, after, in_loop);
        out.push(GraphDiamonds {
            graph,
            info,
            diamonds,
        });
    });
}

/// Finds the diamonds of one graph.
fn find<'p>(graph: &'p Graph, info: &'p GraphInfo, after: Option<Slot>, in_loop: bool) -> Vec<Diamond<'p>> {
    let n = graph.blocks.len();
    let exit = n;
    let mut preds = vec![0; n + 1];
    for block in &graph.blocks {
        for edge in &block.edges {
            preds[place(edge.to, exit)] += 1;
        }
    }
    let mut heads: Vec<usize> = (0..n)
        .filter(|&b| graph.blocks[b].edges.len() > 1 && info.order[b].is_some())
        .collect();
    heads.sort_by_key(|&b| std::cmp::Reverse(info.order[b]));
    // From the head of each diamond found to the block where its arms meet.
    let mut meets: FxHashMap<usize, usize> = FxHashMap::default();
    let mut found = Vec::new();
    for head in heads {
        let chains: Vec<Vec<usize>> = graph.blocks[head]
            .edges
            .iter()
            .map(|edge| chain(graph, place(edge.to, exit), head, exit, &meets))
            .collect();
        let Some(meet) = first_common(&chains) else {
            continue;
        };
        let spines: Vec<Vec<usize>> = chains
            .into_iter()
            .map(|chain| chain.into_iter().take_while(|&b| b != meet).collect())
            .collect();
        // Every path into an arm or the meeting point must come through this diamond.
        let own = spines
            .iter()
            .all(|spine| spine.first().is_none_or(|&first| preds[first] == 1));
        let arriving = spines.iter().map(|spine| match spine.last() {
            None => 1,
            Some(&last) => arrivals(graph, last, meet, exit, &meets),
        });
        if !own || arriving.sum::<usize>() != preds[meet] {
            continue;
        }
        meets.insert(head, meet);
        let arms = spines.into_iter().map(|spine| Arm {
            start: spine.first().and_then(|&first| graph.blocks[first].start),
            spine,
        });
        found.push(Diamond {
            graph,
            info,
            arms: arms.collect(),
            after: if meet == exit {
                after
            } else {
                graph.blocks[meet].start
            },
            head,
            next_await: match (in_loop, meet == exit) {
                (true, _) => 0,
                (false, true) => info.awaits.end,
                (false, false) => info.awaits.start,
            },
        });
    }
    found
}

/// Returns the first block of the first chain that is in all chains.
fn first_common(chains: &[Vec<usize>]) -> Option<usize> {
    let (first, others) = chains.split_first()?;
    // Chains are short.
    let mut common = first
        .iter()
        .filter(|block| others.iter().all(|other| other.contains(block)));
    common.next().copied()
}

fn place(target: Target, exit: usize) -> usize {
    match target {
        Target::Block(b) => b,
        Target::Exit => exit,
    }
}

/// Returns how many edges lead from the end of an arm, whose last spine block is `last`, to `meet`.
fn arrivals(graph: &Graph, last: usize, meet: usize, exit: usize, meets: &FxHashMap<usize, usize>) -> usize {
    if meets.get(&last) != Some(&meet) {
        return 1;
    }
    // The arm ends in an inner diamond that meets at the very same point.
    let edges = graph.blocks[last].edges.iter();
    edges
        .map(|edge| {
            let chain = chain(graph, place(edge.to, exit), last, exit, meets);
            match chain.iter().take_while(|&&b| b != meet).last() {
                None => 1,
                Some(&last) => arrivals(graph, last, meet, exit, meets),
            }
        })
        .sum()
}

/// Follows single edges and inner diamonds from `block` on; stops before coming back.
fn chain(
    graph: &Graph,
    block: usize,
    head: usize,
    exit: usize,
    meets: &FxHashMap<usize, usize>,
) -> Vec<usize> {
    let mut chain = Vec::new();
    let mut at = block;
    // Short enough to be looked through.
    while at != head && !chain.contains(&at) {
        chain.push(at);
        if at == exit || chain.len() == CHAIN_LIMIT {
            break;
        }
        at = match (meets.get(&at), graph.blocks[at].edges.as_slice()) {
            (Some(&meet), _) => meet,
            (None, [edge]) => place(edge.to, exit),
            (None, _) => break,
        };
    }
    chain
}

/// How many groups each graph and diamond commits, where that is the same on all paths.
pub(super) struct CommitCounts {
    pub queue: Queue,
    /// For each graph.
    pub graphs: Vec<Option<u64>>,
    /// For the head block of each diamond of a graph.
    pub diamonds: FxHashMap<(usize, usize), Option<u64>>,
    /// For each graph, whether a loop of unknown trip count in it commits.
    pub unbounded: Vec<bool>,
}

impl CommitCounts {
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

    /// Returns what commits in an arm, in order, or `None` if paths through it differ.
    pub fn arm(&self, diamond: &Diamond, arm: &Arm, commits: &Commits) -> Option<Vec<ArmCommit>> {
        let mut columns = Vec::new();
        for &b in &arm.spine {
            let mut push = |commit| columns.push(commit);
            self.block(diamond.graph, diamond.info, b, commits, &mut push)?;
            if let Some(inside) = self.diamonds.get(&(diamond.info.id, b)) {
                let inside = (*inside)?;
                if inside > 0 {
                    columns.push(ArmCommit::Fixed(inside));
                }
            }
        }
        Some(columns)
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
                let to = &mut before[place(edge.to, graph.blocks.len())];
                if to.is_some_and(|known| known != sum) {
                    return None;
                }
                *to = Some(sum);
            }
        }
        before[graph.blocks.len()]
    }
}

/// Returns how many groups the columns commit, unless that overflows.
pub(super) fn total(columns: &[ArmCommit]) -> Option<u64> {
    let mut columns = columns.iter();
    columns.try_fold(0_u64, |sum, column| sum.checked_add(column.groups()))
}

#[cfg(test)]
mod tests {
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
        let mut committed = CommitCounts {
            queue,
            graphs: vec![None; program_info.graphs],
            diamonds: FxHashMap::default(),
            unbounded: vec![false; program_info.graphs],
        };
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
    fn arms(program: &Program) -> Vec<Vec<Option<u64>>> {
        let program_info = ProgramInfo::new(program);
        let commits = program.one_group_each(Q);
        let mut committed = CommitCounts {
            queue: Q,
            graphs: vec![None; program_info.graphs],
            diamonds: FxHashMap::default(),
            unbounded: vec![false; program_info.graphs],
        };
        let mut out = Vec::new();
        for graph in diamonds(&program.body, &program_info.root) {
            for diamond in &graph.diamonds {
                let columns = diamond
                    .arms
                    .iter()
                    .map(|arm| committed.arm(diamond, arm, &commits));
                out.push(
                    columns
                        .map(|columns| columns.and_then(|columns| total(&columns)))
                        .collect(),
                );
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
        assert_eq!(
            arms(&b.finish()),
            [vec![Some(1), Some(1)], vec![Some(2), Some(0)]]
        );
    }

    #[test]
    fn a_loop_is_no_diamond() {
        let mut b = Build::new();
        let copy = b.copy();
        b.for_([copy], |b, _| [b.copy()]);
        b.if_(|b| _ = b.for_([copy], |b, _| [b.copy()]));
        assert_eq!(arms(&b.finish()), [vec![None, Some(0)]]);
    }
}
