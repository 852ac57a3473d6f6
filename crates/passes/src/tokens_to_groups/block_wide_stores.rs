//! Lowers block-wide stores: beyond commits and counts, they need a barrier after waits, a drain before the
//! function returns, and one thread that issues.

use crate::analysis::phase_skeleton::is_block_wide_store;
use crate::analysis::skeleton::Skeleton;
use crate::analysis::token_origins::TokenOrigins;
use crate::utils::block_wide::Issuer;
use async_dialects::completion::{Completion, GroupQueue};
use async_mlir::ir::{Block, Op, Region};
use tokenflow::{Queue, QueueSolution, Solution, covered_by_awaits, unread_exits};

/// The stores of a function in token form, and what they need.
pub(super) struct BlockWideStores<'c> {
    ops: Vec<Op<'c>>,
    /// For each await, whether a barrier stands in its place, after its waits.
    barriers: Vec<bool>,
    /// The terminators before which the sources of a queue's operations have to be read.
    returns: Vec<(Op<'c>, GroupQueue)>,
}

impl<'c> BlockWideStores<'c> {
    /// Works out what the stores in `skeleton` need if it is translated as `solution` says.
    pub fn new(
        function: Op<'c>,
        skeleton: &Skeleton<'c>,
        origins: &TokenOrigins,
        solution: &Solution,
    ) -> Self {
        let sites = skeleton.sites.iter().copied();
        let mut stores = Self {
            ops: sites.filter(|op| is_block_wide_store(*op)).collect(),
            barriers: vec![false; skeleton.awaits.len()],
            returns: Vec::new(),
        };
        let queues: Vec<GroupQueue> = stores
            .ops
            .iter()
            .filter_map(|&op| Completion::of(op)?.queue)
            .collect();
        let blocks: Vec<Block> = function.regions().flat_map(Region::blocks).collect();
        for ((&queue, solved), number) in skeleton.queues.iter().zip(&solution.queues).zip(0..) {
            if !queues.contains(&queue) {
                continue;
            }
            let number = Queue(number);
            let barriers = barriers(skeleton, origins, number, solved).into_iter();
            for (all, barrier) in stores.barriers.iter_mut().zip(barriers) {
                *all |= barrier;
            }
            let exits = unread_exits(&skeleton.program, number, solved).into_iter();
            let returns = exits.filter_map(|block| blocks.get(block)?.terminator());
            stores.returns.extend(returns.map(|op| (op, queue)));
        }
        stores
    }

    /// Returns true if a barrier stands in the place of await `w`, after its waits.
    pub fn needs_barrier(&self, w: usize) -> bool {
        self.barriers[w]
    }

    /// Has sources read before the function is left, since its workgroup memory goes with it. Returns how many waits that
    /// takes.
    pub fn drain(&self) -> u64 {
        for (op, queue) in &self.returns {
            queue.wait(op.location(), 0, true).move_before(*op);
        }
        self.returns.len() as u64
    }

    /// Puts the issued forms in the place of the stores. Returns how many barriers that takes.
    pub fn issue(&self, function: Op<'c>) -> u64 {
        if self.ops.is_empty() {
            return 0;
        }
        let mut issuer = Issuer::new(function);
        for &op in &self.ops {
            issuer.issue(op);
        }
        issuer.barriers
    }
}

/// Returns true if `op` awaits something that is complete for all threads of the block.
pub(super) fn awaits_block<'c>(op: Op<'c>, skeleton: &Skeleton<'c>, origins: &TokenOrigins) -> bool {
    let tokens = op.operands().filter_map(|value| skeleton.tokens.get(&value));
    tokens.into_iter().any(|&token| origins.may_be_block_wide(token))
}

/// Returns for each await whether it takes a barrier: only the thread that issues has anything to wait for, and the
/// barrier is how the others know. An await that needs no wait needs none either, if earlier awaits, which had theirs,
/// say so. If waits that came with the input have a part in it, it does.
fn barriers(skeleton: &Skeleton, origins: &TokenOrigins, queue: Queue, solved: &QueueSolution) -> Vec<bool> {
    let awaits = skeleton.awaits.iter();
    let block_wide: Vec<bool> = awaits.map(|&op| awaits_block(op, skeleton, origins)).collect();
    let mut with_barrier = solved.clone();
    for (w, _) in block_wide
        .iter()
        .enumerate()
        .filter(|(_, block_wide)| !**block_wide)
    {
        with_barrier.waits[w] = None;
        with_barrier.reads[w] = None;
    }
    let covered = covered_by_awaits(&skeleton.program, queue, &with_barrier);
    let awaits = block_wide.into_iter().zip(covered);
    awaits
        .zip(solved.waits.iter().zip(&solved.reads))
        .map(|((block_wide, covered), (wait, read))| {
            block_wide && (wait.is_some() || read.is_some() || !covered)
        })
        .collect()
}
