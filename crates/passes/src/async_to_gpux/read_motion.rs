//! Code motion of reads: checks whether a read may be moved from one operation of a block to a later one.

use super::effects::Summaries;
use super::reason::Reason;
use crate::analysis::alias::{Origin, Root};
use async_mlir::gpu::MemorySpace;
use async_mlir::ir::{Block, Op};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The operations of a block that may clobber global memory, and so can't be between a read and where it is
/// moved to.
pub(super) struct Clobbers<'c> {
    positions: FxHashMap<Op<'c>, usize>,
    fences: Vec<(usize, Op<'c>)>,
    /// Writes that may be to global memory, by buffer.
    writes: Vec<(Root<'c>, Vec<(usize, Op<'c>)>)>,
}

/// The clobbers of blocks. It remembers those that were asked for.
pub(super) struct ReadMotion<'c> {
    /// Whether different arguments are taken to be different buffers.
    distinct_arguments: bool,
    blocks: FxHashMap<Block<'c>, Rc<Clobbers<'c>>>,
    pub summaries: Summaries<'c>,
}

impl<'c> ReadMotion<'c> {
    pub fn new(distinct_arguments: bool) -> Self {
        Self {
            distinct_arguments,
            blocks: FxHashMap::default(),
            summaries: Summaries::default(),
        }
    }

    /// Returns true if what is written to `written` may be read from `source`.
    pub fn may_reach(&self, written: Root<'c>, source: Root<'c>) -> bool {
        let arguments = [written, source].map(|root| matches!(root.origin, Origin::Argument(_)));
        let are_distinct =
            self.distinct_arguments && arguments == [true, true] && written.origin != source.origin;
        !are_distinct && written.may_alias(source)
    }

    /// Returns an error if what is in memory of `source` where `first` stands may be something else where `last` stands, an
    /// operation of the same block, which comes later.
    pub fn check_read(&mut self, source: Root<'c>, first: Op<'c>, last: Op<'c>) -> Result<(), Reason<'c>> {
        let block = last.block().expect("an operation of a function is in a block");
        let clobbers = match self.blocks.get(&block) {
            Some(known) => known.clone(),
            None => {
                let clobbers = Rc::new(self.read(block));
                self.blocks.insert(block, clobbers.clone());
                clobbers
            }
        };
        let (from, to) = (clobbers.positions[&first], clobbers.positions[&last]);
        let between = |ops: &[(usize, Op<'c>)]| {
            let next = ops.partition_point(|(position, _)| *position <= from);
            ops.get(next)
                .filter(|(position, _)| *position < to)
                .map(|(_, op)| *op)
        };
        if let Some(fence) = between(&clobbers.fences) {
            let message =
                "is read before, and written after, an operation that may order accesses of several threads";
            return Err(Reason::new(message).note(fence, "this one: move both to one side of it"));
        }
        let mut writes = clobbers
            .writes
            .iter()
            .filter(|(root, _)| self.may_reach(*root, source));
        if let Some(write) = writes.find_map(|(_, ops)| between(ops)) {
            let message = "may not read what is there any more: its source may be written in between";
            return Err(
                Reason::new(message).note(write, "here: move it out from between the load and the store")
            );
        }
        Ok(())
    }

    fn read(&mut self, block: Block<'c>) -> Clobbers<'c> {
        let mut clobbers = Clobbers {
            positions: FxHashMap::default(),
            fences: Vec::new(),
            writes: Vec::new(),
        };
        let mut of_root: FxHashMap<Root<'c>, usize> = FxHashMap::default();
        for (position, op) in block.ops().into_iter().enumerate() {
            clobbers.positions.insert(op, position);
            let summary = self.summaries.of(op);
            if summary.fence.is_some() {
                clobbers.fences.push((position, op));
            }
            for touch in summary.touches.iter().filter(|touch| touch.writes) {
                let elsewhere = [Some(MemorySpace::Workgroup), Some(MemorySpace::Private)];
                if elsewhere.contains(&touch.root.space) {
                    continue;
                }
                let index = *of_root.entry(touch.root).or_insert_with(|| {
                    clobbers.writes.push((touch.root, Vec::new()));
                    clobbers.writes.len() - 1
                });
                clobbers.writes[index].1.push((position, op));
            }
        }
        clobbers
    }
}
