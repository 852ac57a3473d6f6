//! The order in which blocks are run.

use crate::groups::code::{BlockId, Code};
use crate::groups::lists::{filled, list_for};

/// The place of each block in a reverse postorder; blocks that are not reached are last.
pub(crate) fn reverse_postorder(code: &Code) -> Vec<u32> {
    let mut order = filled(u32::MAX, code.blocks.len());
    let mut seen = filled(false, code.blocks.len());
    let mut postorder = list_for(code.blocks.len());
    // Blocks, each with how many of its edges were followed.
    let mut stack = list_for(code.blocks.len());
    stack.push((0_u32, 0_u32));
    seen[0] = true;
    while let Some((b, followed)) = stack.last_mut() {
        let edges = code.blocks[*b as usize].edges.of(&code.edges);
        let next = edges.get(*followed as usize).map(|edge| edge.to);
        *followed += 1;
        match next {
            None => {
                postorder.push(*b);
                stack.pop();
            }
            Some(Some(to)) if !std::mem::replace(&mut seen[to.0 as usize], true) => stack.push((to.0, 0)),
            Some(_) => {}
        }
    }
    for (b, place) in postorder.into_iter().rev().zip(0..) {
        order[b as usize] = place;
    }
    order
}

/// Blocks to be run: the first in order is next.
pub(crate) struct Worklist {
    order: Vec<u32>,
    /// By place in the order, the block.
    blocks: Vec<BlockId>,
    /// By place in the order, whether the block is to be run.
    waiting: Vec<bool>,
    /// No block before this place is to be run.
    next: usize,
}

impl Worklist {
    pub fn new(order: Vec<u32>) -> Self {
        let reached = order.iter().filter(|place| **place != u32::MAX).count();
        let mut blocks = filled(BlockId(0), reached);
        for (block, place) in (0..).map(BlockId).zip(&order) {
            if let Some(at) = blocks.get_mut(*place as usize) {
                *at = block;
            }
        }
        Self {
            order,
            waiting: filled(false, reached),
            blocks,
            next: 0,
        }
    }

    pub fn insert(&mut self, block: BlockId) {
        let place = self.order[block.0 as usize] as usize;
        self.waiting[place] = true;
        self.next = self.next.min(place);
    }

    pub fn pop(&mut self) -> Option<BlockId> {
        let rest = self.waiting.get(self.next..)?;
        let Some(distance) = rest.iter().position(|waiting| *waiting) else {
            self.next = self.waiting.len();
            return None;
        };
        self.next += distance;
        self.waiting[self.next] = false;
        Some(self.blocks[self.next])
    }
}
