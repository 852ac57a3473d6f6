//! Finds where what a buffer holds may still be read: liveness of memory.
//!
//! No write ends that: it may be of a part, or by some of the threads. Only an allocation does. If a path from the start leads to a read and
//! by no write, what is read there was there from the start.
//!
//! Cost: the instructions, and for each block as many words as buffers have bits, times how deep loops are nested.

use super::buffer_set::BufferSet;
use super::code::{BlockId, Code, Step};
use async_overlap::ids::IndexVec;

/// What blocks begin and end with.
pub(super) struct Contents {
    /// What may have been written where a block begins.
    written: IndexVec<BlockId, BufferSet>,
    /// What may be read after a block.
    read: IndexVec<BlockId, BufferSet>,
}

impl Contents {
    /// Those of `code`, which has so many buffers.
    pub fn of(code: &Code, buffers: usize) -> Self {
        let read = backward(code, buffers, |step, set| {
            step.allocates().for_each(|buffer| set.remove(buffer));
            step.reads().for_each(|buffer| set.insert(buffer));
        });
        let mut unwritten = backward(code, buffers, unwritten_before);
        let mut written = IndexVec::filled(BufferSet::none_of(buffers), code.blocks.len());
        if let Some(first) = code.blocks.get(BlockId(0)) {
            let given = &mut unwritten[BlockId(0)];
            first
                .steps
                .iter()
                .rev()
                .for_each(|step| unwritten_before(step, given));
            written[BlockId(0)].add_all(given);
        }
        let mut is_new = true;
        while is_new {
            is_new = false;
            for (id, block) in code.blocks.with_ids() {
                let mut set = written[id].clone();
                block.steps.iter().for_each(|step| written_after(step, &mut set));
                for edge in &block.edges {
                    is_new |= written[edge.to].add_all(&set);
                }
            }
        }
        Self { written, read }
    }

    /// The buffers whose contents are wanted at each step of `block`: they may have been written, and may be read, at the step or
    /// elsewhere.
    pub fn at_steps(&self, block: BlockId, steps: &[Step]) -> Vec<BufferSet> {
        let mut read = self.read[block].clone();
        let mut wanted: Vec<BufferSet> = steps
            .iter()
            .rev()
            .map(|step| {
                step.reads().for_each(|buffer| read.insert(buffer));
                let here = read.clone();
                step.allocates().for_each(|buffer| read.remove(buffer));
                here
            })
            .collect();
        wanted.reverse();
        let mut written = self.written[block].clone();
        for (step, wanted) in steps.iter().zip(&mut wanted) {
            written_after(step, &mut written);
            *wanted = wanted.common(&written);
        }
        wanted
    }
}

/// Turns what may have been written before `step` into what may have been after it.
fn written_after(step: &Step, set: &mut BufferSet) {
    step.allocates().for_each(|buffer| set.remove(buffer));
    step.writes().for_each(|buffer| set.insert(buffer));
}

/// Turns what may be read after `step` with no write on the way into what may be before it.
fn unwritten_before(step: &Step, set: &mut BufferSet) {
    step.allocates()
        .chain(step.writes())
        .for_each(|buffer| set.remove(buffer));
    step.reads().for_each(|buffer| set.insert(buffer));
}

/// What holds after each block, if `before` turns what holds after a step into what holds before it, and nothing holds at the end.
fn backward(
    code: &Code,
    buffers: usize,
    before: impl Fn(&Step, &mut BufferSet),
) -> IndexVec<BlockId, BufferSet> {
    let mut begins: IndexVec<BlockId, BufferSet> =
        IndexVec::filled(BufferSet::none_of(buffers), code.blocks.len());
    let mut ends = begins.clone();
    let mut is_new = true;
    while is_new {
        is_new = false;
        for (id, block) in code.blocks.with_ids().rev() {
            for edge in &block.edges {
                ends[id].add_all(&begins[edge.to]);
            }
            let mut set = ends[id].clone();
            block.steps.iter().rev().for_each(|step| before(step, &mut set));
            is_new |= begins[id].add_all(&set);
        }
    }
    ends
}
