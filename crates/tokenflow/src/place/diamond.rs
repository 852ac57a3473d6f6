//! Finds diamonds: branches whose arms meet again.
//!
//! A [`Diamond`] is a block with several edges whose paths come together, either at a later block
//! of the same graph or at the graph's exit. An arm is a *spine* of blocks: one after the other, an
//! inner diamond being jumped over. Arms end where all of them have arrived.

use crate::program::{Graph, Item, Slot, Target};
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
    let mut heads: Vec<usize> = (0..n)
        .filter(|&b| graph.blocks[b].edges.len() > 1 && info.order[b].is_some())
        .collect();
    if heads.is_empty() {
        return Vec::new();
    }
    heads.sort_by_key(|&b| std::cmp::Reverse(info.order[b]));
    let mut preds = vec![0; n + 1];
    for block in &graph.blocks {
        for edge in &block.edges {
            preds[block_index(edge.to, exit)] += 1;
        }
    }
    // From the head of each diamond found to the block where its arms meet.
    let mut meets: FxHashMap<usize, usize> = FxHashMap::default();
    let mut found = Vec::new();
    for head in heads {
        let chains: Vec<Vec<usize>> = graph.blocks[head]
            .edges
            .iter()
            .map(|edge| chain(graph, block_index(edge.to, exit), head, exit, &meets))
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

/// The index of a target among the blocks of a graph, the exit being after them all.
pub(super) fn block_index(target: Target, exit: usize) -> usize {
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
            let chain = chain(graph, block_index(edge.to, exit), last, exit, meets);
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
            (None, [edge]) => block_index(edge.to, exit),
            (None, _) => break,
        };
    }
    chain
}
