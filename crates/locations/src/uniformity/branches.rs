//! Finds divergent branches between blocks: those that threads take differently.

use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::names::cf;
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns a branch in the region of `block`, and what it branches on, after which some threads come to `block` and others may not,
/// or not as often: a value that `varies`, for those.
pub(super) fn find_divergent<'c, T>(
    block: Block<'c>,
    varies: impl Fn(Value<'c>) -> Option<T>,
) -> Option<(Op<'c>, T)> {
    let blocks = block.region().map(Region::blocks).unwrap_or_default();
    if blocks.len() < 2 {
        return None;
    }
    let mut before: FxHashMap<Block, Vec<Block>> = FxHashMap::default();
    let mut ends = Vec::new();
    for &from in &blocks {
        let to = successors(from);
        if to.is_empty() {
            ends.push(from);
        }
        for to in to {
            before.entry(to).or_default().push(from);
        }
    }
    let predecessors = |block: Block<'c>| before.get(&block).cloned().unwrap_or_default();
    let leads_here = reached(predecessors(block), |_| false, predecessors);
    let comes_after = reached(successors(block), |_| false, successors);
    // From where control may get to an end and not come here.
    let passes_by = reached(ends, |end| end == block, predecessors);
    let may_differ = |from: &Block<'c>| {
        leads_here.contains(from) && (passes_by.contains(from) || comes_after.contains(from))
    };
    blocks.into_iter().filter(may_differ).find_map(|from| {
        let branch = from.terminator()?;
        let steers = matches!(branch.name(), cf::COND_BR | cf::SWITCH);
        let varying = steers.then(|| varies(branch.operand(0)))??;
        Some((branch, varying))
    })
}

fn successors(block: Block<'_>) -> Vec<Block<'_>> {
    block
        .terminator()
        .map_or(Vec::new(), |op| op.successors().collect())
}

/// The blocks that are reached from `first` by `next`, without those that `stops` is true for.
fn reached<'c>(
    first: Vec<Block<'c>>,
    stops: impl Fn(Block<'c>) -> bool,
    next: impl Fn(Block<'c>) -> Vec<Block<'c>>,
) -> FxHashSet<Block<'c>> {
    let mut seen = FxHashSet::default();
    let mut work = first;
    while let Some(block) = work.pop() {
        if !stops(block) && seen.insert(block) {
            work.extend(next(block));
        }
    }
    seen
}
