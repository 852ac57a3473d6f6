//! The order in which blocks are run.

use crate::groups::code::{BlockId, Code};

/// The place of each block in a reverse postorder; blocks that are not reached are last.
pub(crate) fn reverse_postorder(code: &Code) -> Vec<u32> {
    let mut order = vec![u32::MAX; code.blocks.len()];
    let mut seen = vec![false; code.blocks.len()];
    let mut postorder = Vec::with_capacity(code.blocks.len());
    let mut stack = Vec::with_capacity(code.blocks.len());
    stack.push((0, code.blocks[0].edges.of(&code.edges).iter()));
    seen[0] = true;
    while let Some((b, edges)) = stack.last_mut() {
        match edges.next().map(|edge| edge.to) {
            None => {
                postorder.push(*b);
                stack.pop();
            }
            Some(Some(to)) if !std::mem::replace(&mut seen[to.0 as usize], true) => {
                stack.push((
                    to.0 as usize,
                    code.blocks[to.0 as usize].edges.of(&code.edges).iter(),
                ));
            }
            Some(_) => {}
        }
    }
    for (b, place) in postorder.into_iter().rev().zip(0..) {
        order[b] = place;
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
        let mut blocks = vec![BlockId(0); reached];
        for (block, place) in (0..).map(BlockId).zip(&order) {
            if let Some(at) = blocks.get_mut(*place as usize) {
                *at = block;
            }
        }
        Self {
            order,
            waiting: vec![false; reached],
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
