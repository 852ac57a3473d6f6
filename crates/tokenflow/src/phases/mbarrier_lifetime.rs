//! Step 6: finds where mbarriers are initialized and invalidated.
//!
//! **In:** what was placed, partitioned, and is awaited. **Out:** a block outside of all loops that has all of it, and the first
//! and last instruction of that block that has any.

use super::ids::{BlockId, RegionOpId};
use super::partition::Partition;
use super::placement::Placement;
use super::rings::InstPositions;
use super::tree::Tree;

/// The innermost block outside of all loops that has all loads and awaits.
pub(super) fn scope(
    tree: &Tree,
    placement: &Placement,
    sites: &InstPositions,
    partition: &Partition,
) -> BlockId {
    let awaits = partition
        .awaits
        .with_ids()
        .filter(|(_, phases)| !phases.is_empty());
    let blocks = placement
        .open_block
        .iter()
        .copied()
        .chain(awaits.map(|(id, _)| sites.awaits[id].0))
        .chain(phi_ops(partition).map(|op| tree.region_ops[op].parent));
    let mut scope: Option<Vec<BlockId>> = None;
    for block in blocks {
        let mut around: Vec<BlockId> =
            std::iter::successors(Some(block), |&block| tree.outer(block)).collect();
        around.reverse();
        scope = Some(match scope {
            None => around,
            Some(common) => common
                .into_iter()
                .zip(around)
                .take_while(|(a, b)| a == b)
                .map(|(a, _)| a)
                .collect(),
        });
    }
    let common = scope.unwrap_or_default();
    let inside_loop = common.iter().position(|&block| {
        tree.blocks[block]
            .parent_op
            .is_some_and(|op| tree.region_ops[op].repeats())
    });
    let outside = inside_loop.map_or(common.as_slice(), |first| &common[..first]);
    outside.last().copied().unwrap_or_default()
}

/// The region ops whose edges pass on phases.
fn phi_ops(partition: &Partition) -> impl Iterator<Item = RegionOpId> + '_ {
    partition.incoming.iter().flatten().map(|((op, _), _)| *op)
}

/// The first and last instruction of `scope` that has to do with loads.
pub(super) fn extent(
    tree: &Tree,
    sites: &InstPositions,
    partition: &Partition,
    scope: BlockId,
) -> (usize, usize) {
    let awaits = partition
        .awaits
        .with_ids()
        .filter(|(_, phases)| !phases.is_empty());
    let all = sites
        .load
        .iter()
        .copied()
        .chain(awaits.map(|(id, _)| sites.awaits[id]));
    let all = all.chain(phi_ops(partition).map(|op| (tree.region_ops[op].parent, sites.region_ops[op])));
    let insts: Vec<usize> = all
        .filter_map(|place| sites.inst_in(tree, scope, place))
        .collect();
    (
        insts.iter().copied().min().unwrap_or(0),
        insts.iter().copied().max().unwrap_or(0),
    )
}
