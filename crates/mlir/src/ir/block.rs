//! Blocks and regions.

use super::{Block, Mapping, Op, Region, Value, count, erased, position};
use crate::ffi;
use melior::ir::{Location, Type, TypeLike};
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;
use std::fmt;

impl<'c> Block<'c> {
    /// A detached block with arguments. It must be put into a region, or erased.
    #[must_use]
    pub fn new(arguments: &[(Type<'c>, Location<'c>)]) -> Self {
        let types: Vec<_> = arguments.iter().map(|(ty, _)| ty.to_raw()).collect();
        let locations: Vec<_> = arguments.iter().map(|(_, location)| location.to_raw()).collect();
        // SAFETY: two arrays of that length.
        unsafe {
            Self::from_raw(mlirBlockCreate(
                position(types.len()),
                types.as_ptr(),
                locations.as_ptr(),
            ))
        }
    }

    /// How many arguments there are.
    #[must_use]
    pub fn num_args(self) -> usize {
        // SAFETY: a live block.
        count(unsafe { mlirBlockGetNumArguments(self.to_raw()) })
    }

    /// The argument at `index`.
    #[must_use]
    pub fn arg(self, index: usize) -> Value<'c> {
        assert!(index < self.num_args(), "the block has no argument {index}");
        // SAFETY: the index is in range.
        unsafe { Value::from_raw(mlirBlockGetArgument(self.to_raw(), position(index))) }
    }

    /// The arguments.
    pub fn args(self) -> impl ExactSizeIterator<Item = Value<'c>> + DoubleEndedIterator + Clone {
        (0..self.num_args()).map(move |index| self.arg(index))
    }

    /// Appends an argument.
    pub fn add_arg(self, ty: Type<'c>, location: Location<'c>) -> Value<'c> {
        // SAFETY: a live block, and a type and a location of its context.
        unsafe {
            Value::from_raw(mlirBlockAddArgument(
                self.to_raw(),
                ty.to_raw(),
                location.to_raw(),
            ))
        }
    }

    /// Erases the argument at `index`; branches to the block are left as they are.
    ///
    /// # Panics
    ///
    /// If it still has a use.
    pub fn erase_arg(self, index: usize) {
        assert!(
            !self.arg(index).has_uses(),
            "block argument {index} is erased while in use"
        );
        // SAFETY: the index is in range, and nothing uses the argument.
        unsafe { erased::erase_argument(self.to_raw(), index) }
    }

    /// The first operation.
    #[must_use]
    pub fn first(self) -> Option<Op<'c>> {
        // SAFETY: a live block; null means that it is empty.
        unsafe { Op::from_option_raw(mlirBlockGetFirstOperation(self.to_raw())) }
    }

    /// The terminator: the last operation, if it is one (or of a dialect that nobody knows).
    #[must_use]
    pub fn terminator(self) -> Option<Op<'c>> {
        // SAFETY: a live block.
        let known = unsafe { Op::from_option_raw(mlirBlockGetTerminator(self.to_raw())) };
        known.or_else(|| self.ops().pop().filter(|last| !last.is_registered()))
    }

    /// The operations; a copy, so that the block may be changed on the way.
    #[must_use]
    pub fn ops(self) -> Vec<Op<'c>> {
        std::iter::successors(self.first(), |op| op.next()).collect()
    }

    /// Puts a detached operation at the end.
    pub fn append(self, op: Op<'c>) {
        assert!(op.block().is_none(), "`{}` is already in a block", op.name());
        // SAFETY: a live block takes over a detached operation.
        unsafe { mlirBlockAppendOwnedOperation(self.to_raw(), op.to_raw()) }
    }

    /// Puts a detached operation at the start.
    pub fn prepend(self, op: Op<'c>) {
        assert!(op.block().is_none(), "`{}` is already in a block", op.name());
        // SAFETY: a live block takes over a detached operation.
        unsafe { mlirBlockInsertOwnedOperation(self.to_raw(), 0, op.to_raw()) }
    }

    /// The region around the block.
    #[must_use]
    pub fn region(self) -> Option<Region<'c>> {
        // SAFETY: a live block; null means detached.
        unsafe { Region::from_option_raw(mlirBlockGetParentRegion(self.to_raw())) }
    }

    /// The operation around the block.
    #[must_use]
    pub fn parent_op(self) -> Option<Op<'c>> {
        // SAFETY: a live block; null means detached.
        unsafe { Op::from_option_raw(mlirBlockGetParentOperation(self.to_raw())) }
    }

    /// The next block in the region.
    #[must_use]
    pub fn next(self) -> Option<Block<'c>> {
        // SAFETY: a live block; null means that it is the last.
        unsafe { Block::from_option_raw(mlirBlockGetNextInRegion(self.to_raw())) }
    }

    /// The blocks that branch here, once for each branch.
    #[must_use]
    pub fn predecessors(self) -> Vec<Block<'c>> {
        // SAFETY: a live block.
        let number = count(unsafe { mlirBlockGetNumPredecessors(self.to_raw()) });
        (0..number)
            .map(|index| {
                // SAFETY: the index is in range.
                unsafe { Block::from_raw(mlirBlockGetPredecessor(self.to_raw(), position(index))) }
            })
            .collect()
    }

    /// Moves `op` and what follows it to a new block right after this one, and returns that. Neither is given a branch.
    pub fn split_before(self, op: Op<'c>) -> Block<'c> {
        assert!(
            op.block() == Some(self),
            "`{}` is not in the block that is split",
            op.name()
        );
        // SAFETY: a live operation in this block.
        unsafe { Block::from_raw(ffi::asyncOptBlockSplitBefore(op.to_raw())) }
    }

    /// Moves all operations of this block to the end of `other`.
    pub fn move_ops_to(self, other: Block<'c>) {
        assert!(self != other, "a block can't be appended to itself");
        // SAFETY: live blocks, and two of them.
        unsafe { ffi::asyncOptBlockMoveOperations(self.to_raw(), other.to_raw()) }
    }

    /// Takes the block out of its region; it must be put into another one, or erased.
    pub fn detach(self) {
        // SAFETY: a live block.
        unsafe { mlirBlockDetach(self.to_raw()) }
    }

    /// Erases the block and all that is in it.
    ///
    /// # Panics
    ///
    /// If a branch still leads to it.
    pub fn erase(self) {
        assert!(
            self.predecessors().is_empty(),
            "a block is erased while a branch leads to it"
        );
        if self.region().is_some() {
            self.detach();
        }
        // SAFETY: a detached block that no branch leads to.
        unsafe { erased::free_block(self.to_raw()) }
    }
}

impl fmt::Debug for Block<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Block({:p})", self.to_raw().ptr)
    }
}

impl<'c> Region<'c> {
    /// The first block: the entry.
    #[must_use]
    pub fn first(self) -> Option<Block<'c>> {
        // SAFETY: a live region; null means that it is empty.
        unsafe { Block::from_option_raw(mlirRegionGetFirstBlock(self.to_raw())) }
    }

    /// The blocks; a copy, so that the region may be changed on the way.
    #[must_use]
    pub fn blocks(self) -> Vec<Block<'c>> {
        std::iter::successors(self.first(), |block| block.next()).collect()
    }

    /// Puts a detached block at the end.
    pub fn append(self, block: Block<'c>) {
        assert!(block.region().is_none(), "the block is already in a region");
        // SAFETY: a live region takes over a detached block.
        unsafe { mlirRegionAppendOwnedBlock(self.to_raw(), block.to_raw()) }
    }

    /// Puts a detached block right after `after`, which must be in this region.
    pub fn insert_after(self, after: Block<'c>, block: Block<'c>) {
        assert!(
            after.region() == Some(self),
            "the block to insert after is in another region"
        );
        assert!(block.region().is_none(), "the block is already in a region");
        // SAFETY: a live region takes over a detached block.
        unsafe { mlirRegionInsertOwnedBlockAfter(self.to_raw(), after.to_raw(), block.to_raw()) }
    }

    /// Erases what is in this region, and moves the blocks of `other` here.
    pub fn take_body(self, other: Region<'c>) {
        assert!(self != other, "a region can't take its own body");
        let old = self.blocks();
        // Before any of them goes: they branch to each other.
        for block in &old {
            // SAFETY: a live block, which goes now.
            unsafe { ffi::asyncOptBlockDropAllReferences(block.to_raw()) }
        }
        for block in old {
            block.erase();
        }
        // SAFETY: two live regions.
        unsafe { mlirRegionTakeBody(self.to_raw(), other.to_raw()) }
    }

    /// Appends clones of this region's blocks to `other`, as [`Op::clone_mapped`] does.
    pub fn clone_into(self, other: Region<'c>, mapping: &mut Mapping<'c>) {
        assert!(self != other, "a region can't be cloned into itself");
        // SAFETY: two live regions and a live mapping.
        unsafe { ffi::asyncOptRegionCloneInto(self.to_raw(), other.to_raw(), mapping.raw) }
    }
}

impl fmt::Debug for Region<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Region({:p})", self.to_raw().ptr)
    }
}
