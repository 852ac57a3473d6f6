//! Operations: where they stand, and what is nested in them.

use super::{Block, Mapping, Op, Value, erased};
use crate::ffi;
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;

impl<'c> Op<'c> {
    // Place.

    /// The block around this operation, if it is in one.
    #[must_use]
    pub fn block(self) -> Option<Block<'c>> {
        // SAFETY: a live operation; null means detached.
        unsafe { Block::from_option_raw(mlirOperationGetBlock(self.to_raw())) }
    }

    /// The operation around this one.
    #[must_use]
    pub fn parent(self) -> Option<Op<'c>> {
        self.block()?.parent_op()
    }

    /// The operations around this one, from the inside out.
    pub fn ancestors(self) -> impl Iterator<Item = Op<'c>> {
        std::iter::successors(self.parent(), |op| op.parent())
    }

    /// Returns true if `self` is `op` or an operation around it.
    #[must_use]
    pub fn is_ancestor_of(self, op: Op<'c>) -> bool {
        // SAFETY: live operations.
        unsafe { ffi::asyncOptOperationIsAncestor(self.to_raw(), op.to_raw()) }
    }

    /// The next operation in the block.
    #[must_use]
    pub fn next(self) -> Option<Op<'c>> {
        // The C API reads the list node of a detached operation, which has no next.
        self.block()?;
        // SAFETY: a live operation; null means that it is the last.
        unsafe { Op::from_option_raw(mlirOperationGetNextInBlock(self.to_raw())) }
    }

    /// The previous operation in the block.
    #[must_use]
    pub fn prev(self) -> Option<Op<'c>> {
        let block = self.block()?;
        if block.first() == Some(self) {
            return None;
        }
        // SAFETY: a live operation that is not the first of its block.
        unsafe { Op::from_option_raw(ffi::asyncOptOperationGetPrev(self.to_raw())) }
    }

    /// Returns true if this operation comes before `other`, which must be in the same block.
    #[must_use]
    pub fn is_before_in_block(self, other: Op<'c>) -> bool {
        assert!(
            self.block() == other.block(),
            "operations of different blocks have no order"
        );
        // SAFETY: live operations of one block.
        unsafe { mlirOperationIsBeforeInBlock(self.to_raw(), other.to_raw()) }
    }

    /// Moves the operation right before `other`.
    pub fn move_before(self, other: Op<'c>) {
        let block = other
            .block()
            .expect("a place is right before an operation in a block");
        // SAFETY: live operations, `other` in `block`. What has no block yet is handed over to it.
        unsafe {
            if self.block().is_some() {
                mlirOperationMoveBefore(self.to_raw(), other.to_raw());
            } else {
                mlirBlockInsertOwnedOperationBefore(block.to_raw(), other.to_raw(), self.to_raw());
            }
        }
    }

    /// Moves the operation right after `other`.
    pub fn move_after(self, other: Op<'c>) {
        let block = other
            .block()
            .expect("a place is right after an operation in a block");
        // SAFETY: live operations, `other` in `block`. What has no block yet is handed over to it.
        unsafe {
            if self.block().is_some() {
                mlirOperationMoveAfter(self.to_raw(), other.to_raw());
            } else {
                mlirBlockInsertOwnedOperationAfter(block.to_raw(), other.to_raw(), self.to_raw());
            }
        }
    }

    /// Moves the operation to the end of `block`.
    pub fn move_to_end(self, block: Block<'c>) {
        if self.block().is_none() {
            block.append(self);
        } else {
            // SAFETY: a live operation in a block, and a live block.
            unsafe { ffi::asyncOptOperationMoveToEnd(self.to_raw(), block.to_raw()) }
        }
    }

    /// Takes the operation out of its block; it must be put into another one, or erased.
    pub fn detach(self) {
        // SAFETY: a live operation.
        unsafe { mlirOperationRemoveFromParent(self.to_raw()) }
    }

    /// Clones the operation with its regions; the clone is detached.
    #[must_use]
    pub fn clone_detached(self) -> Op<'c> {
        // SAFETY: a live operation.
        unsafe { Op::from_raw(mlirOperationClone(self.to_raw())) }
    }

    /// Clones the operation with its regions, with operands replaced as `mapping` says; adds what stands for what to
    /// `mapping`. The clone is detached.
    #[must_use]
    pub fn clone_mapped(self, mapping: &mut Mapping<'c>) -> Op<'c> {
        // SAFETY: a live operation and mapping.
        unsafe { Op::from_raw(ffi::asyncOptOperationClone(self.to_raw(), mapping.raw)) }
    }

    /// Returns true if a result of this operation has a use.
    #[must_use]
    pub fn has_uses(self) -> bool {
        self.results().any(Value::has_uses)
    }

    /// Makes all uses of this operation's results use `values` instead.
    pub fn replace_uses_with(self, values: &[Value<'c>]) {
        assert_eq!(
            self.num_results(),
            values.len(),
            "a value for each result of `{}`",
            self.name()
        );
        for (result, &value) in self.results().zip(values) {
            result.replace_all_uses_with(value);
        }
    }

    /// Makes all uses of this operation's results use `values` instead, and erases it.
    pub fn replace_with(self, values: &[Value<'c>]) {
        self.replace_uses_with(values);
        self.erase();
    }

    /// Erases the operation and all that is nested in it.
    ///
    /// # Panics
    ///
    /// If a result still has a use.
    pub fn erase(self) {
        assert!(
            !self.has_uses(),
            "`{}` is erased while its results are in use",
            self.name()
        );
        if self.block().is_some() {
            self.detach();
        }
        // SAFETY: a detached operation that nothing uses; the uses among what is nested in it go with it.
        unsafe { erased::free_op(self.to_raw()) }
    }

    /// Runs the verifier; what it finds is emitted as diagnostics.
    #[must_use]
    pub fn verify(self) -> bool {
        // SAFETY: a live operation.
        unsafe { mlirOperationVerify(self.to_raw()) }
    }

    /// Runs the verifier on this operation alone, and emits nothing.
    ///
    /// # Errors
    ///
    /// What the verifier says.
    pub fn verify_quietly(self) -> Result<(), String> {
        let mut message = String::new();
        // SAFETY: a live operation; the callback gets the pointer to `message`.
        let valid = unsafe {
            ffi::asyncOptOperationVerifyQuietly(
                self.to_raw(),
                Some(ffi::collect_text),
                (&raw mut message).cast(),
            )
        };
        if valid { Ok(()) } else { Err(message) }
    }

    // Nested operations.

    /// Calls `visit` on this operation and then on all that is nested in it, outside in, in program order.
    ///
    /// `visit` may change the operation, move or erase it, or insert others before it; but must leave what follows it
    /// in its block in place. Operations that it erases are not entered if it returns [`Walk::Skip`].
    pub fn walk(self, mut visit: impl FnMut(Op<'c>) -> Walk) -> Walk {
        self.walk_inner(&mut visit)
    }

    fn walk_inner(self, visit: &mut impl FnMut(Op<'c>) -> Walk) -> Walk {
        match visit(self) {
            Walk::Advance => {}
            Walk::Skip => return Walk::Advance,
            Walk::Stop => return Walk::Stop,
        }
        for region in self.regions() {
            let mut next = region.first();
            while let Some(block) = next {
                next = block.next();
                let mut current = block.first();
                while let Some(op) = current {
                    // SAFETY: a live operation in a block; null means that it is the last.
                    current = unsafe { Op::from_option_raw(mlirOperationGetNextInBlock(op.to_raw())) };
                    if op.walk_inner(visit) == Walk::Stop {
                        return Walk::Stop;
                    }
                }
            }
        }
        Walk::Advance
    }

    /// This operation and all that is nested in it, outside in, in program order.
    #[must_use]
    pub fn self_and_nested(self) -> Vec<Op<'c>> {
        let mut ops = Vec::new();
        self.walk(|op| {
            ops.push(op);
            Walk::Advance
        });
        ops
    }
}

/// How a walk goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Walk {
    /// Into what is nested in the operation.
    Advance,
    /// Past what is nested in the operation.
    Skip,
    /// Not at all.
    Stop,
}
