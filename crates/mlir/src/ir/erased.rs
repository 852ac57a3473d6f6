//! Finds uses of what was erased, in debug builds.
//!
//! While a pass runs, what it erases is taken out of the IR as in release builds, but not freed before the pass has ended.
//! So no address is used twice meanwhile, and the addresses of all that was erased tell exactly which handles dangle.
//!
//! A transform keeps what it erases in release builds, too: handles of its script have to be told.
//!
//! Outside of both nothing is kept, as nobody would know until when. What upstream's patterns erase is freed by them, and
//! not known here.

use super::{count, position};
use crate::ffi;
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;
use rustc_hash::FxHashSet;
use std::{cell::RefCell, ffi::c_void};

/// True where uses are checked. Where it is false, nothing is kept unless somebody has to know what was erased.
const CHECKED: bool = cfg!(debug_assertions);

thread_local! {
    /// What the pass on this thread has erased, while one runs.
    static ERASED: RefCell<Option<Erased>> = const { RefCell::new(None) };
}

/// Keeps what is erased on this thread, until it is dropped.
pub(crate) struct Keep {
    /// Of a pass that waits for this one on the same thread.
    outer: Option<Erased>,
}

impl Keep {
    /// Keeps it in debug builds.
    pub(crate) fn new() -> Self {
        Self::if_so(CHECKED)
    }

    /// Keeps it in release builds, too: no address is used twice meanwhile.
    pub(crate) fn always() -> Self {
        Self::if_so(true)
    }

    fn if_so(kept: bool) -> Self {
        Self {
            outer: ERASED.replace(kept.then(Erased::default)),
        }
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        // Out of the cell first: what is freed is not erased again.
        drop(ERASED.replace(self.outer.take()));
    }
}

/// What a pass has erased.
#[derive(Default)]
struct Erased {
    /// Operations, blocks and regions, with all that was in them, and arguments that were erased on their own.
    addresses: FxHashSet<usize>,
    /// To be destroyed: detached, and without references to anything.
    ops: Vec<MlirOperation>,
    blocks: Vec<MlirBlock>,
}

impl Erased {
    /// Adds `op`, whose references are dropped, and all that is in it.
    unsafe fn add_op(&mut self, op: MlirOperation) {
        self.addresses.insert(op.ptr.addr());
        // SAFETY: a live operation, and indices in range.
        unsafe {
            for index in 0..mlirOperationGetNumResults(op) {
                check_unused(mlirOperationGetResult(op, index));
            }
            for index in 0..mlirOperationGetNumRegions(op) {
                let region = mlirOperationGetRegion(op, index);
                self.addresses.insert(region.ptr.addr());
                let mut block = mlirRegionGetFirstBlock(region);
                while !block.ptr.is_null() {
                    self.add_block(block);
                    block = mlirBlockGetNextInRegion(block);
                }
            }
        }
    }

    /// As above, of a block.
    unsafe fn add_block(&mut self, block: MlirBlock) {
        self.addresses.insert(block.ptr.addr());
        // SAFETY: a live block, and indices in range.
        unsafe {
            for index in 0..mlirBlockGetNumArguments(block) {
                check_unused(mlirBlockGetArgument(block, index));
            }
            let mut op = mlirBlockGetFirstOperation(block);
            while !op.ptr.is_null() {
                self.add_op(op);
                op = mlirOperationGetNextInBlock(op);
            }
        }
    }
}

impl Drop for Erased {
    fn drop(&mut self) {
        // SAFETY: kept by the functions below, once each, and no part of anything.
        unsafe {
            for &op in &self.ops {
                mlirOperationDestroy(op);
            }
            for &block in &self.blocks {
                mlirBlockDestroy(block);
            }
        }
    }
}

/// Does `keep` if what is erased is kept; returns false if it is not.
fn keep(keep: impl FnOnce(&mut Erased)) -> bool {
    ERASED.with_borrow_mut(|erased| erased.as_mut().map(keep).is_some())
}

/// Frees `op`, or keeps it.
///
/// # Safety
///
/// It must be alive and detached, and nothing may use its results.
pub(super) unsafe fn free_op(op: MlirOperation) {
    let kept = keep(|erased| {
        // SAFETY: as the caller promises; what loses its references here is never looked at again.
        unsafe {
            ffi::asyncOptOperationDropAllReferences(op);
            erased.add_op(op);
        }
        erased.ops.push(op);
    });
    if !kept {
        // SAFETY: as the caller promises.
        unsafe { mlirOperationDestroy(op) }
    }
}

/// Frees `block`, or keeps it.
///
/// # Safety
///
/// It must be alive and detached, and no branch may lead to it.
pub(super) unsafe fn free_block(block: MlirBlock) {
    let kept = keep(|erased| {
        // SAFETY: as above.
        unsafe {
            ffi::asyncOptBlockDropAllReferences(block);
            erased.add_block(block);
        }
        erased.blocks.push(block);
    });
    if !kept {
        // SAFETY: as the caller promises.
        unsafe { mlirBlockDestroy(block) }
    }
}

/// Erases the argument at `index` of `block`; it is freed, or kept.
///
/// # Safety
///
/// The block must be alive and have the argument, and nothing may use that.
pub(super) unsafe fn erase_argument(block: MlirBlock, index: usize) {
    let kept = keep(|erased| {
        // SAFETY: as the caller promises; a block of its own keeps the argument.
        unsafe {
            let argument = mlirBlockGetArgument(block, position(index));
            erased.addresses.insert(argument.ptr.addr());
            let keeper = mlirBlockCreate(0, std::ptr::null(), std::ptr::null());
            ffi::asyncOptBlockMoveArgument(block, position(index), keeper);
            erased.blocks.push(keeper);
        }
    });
    if !kept {
        let index = u32::try_from(index).expect("fits what MLIR counts with");
        // SAFETY: as the caller promises.
        unsafe { mlirBlockEraseArgument(block, index) }
    }
}

/// Panics if something uses `value`, which is about to go: that is outside of all that goes with it.
unsafe fn check_unused(value: MlirValue) {
    // SAFETY: a live value, and a use of it.
    unsafe {
        let used = mlirValueGetFirstUse(value);
        assert!(
            mlirOpOperandIsNull(used),
            "a value is erased while `{}` uses it",
            name(mlirOpOperandGetOwner(used))
        );
    }
}

/// Returns true if the running pass has erased what is at `address`.
fn is_erased<T>(address: *const T) -> bool {
    ERASED.with_borrow(|erased| {
        erased
            .as_ref()
            .is_some_and(|erased| erased.addresses.contains(&address.addr()))
    })
}

/// Returns true if the running pass has erased anything.
fn is_any_erased() -> bool {
    ERASED.with_borrow(|erased| erased.as_ref().is_some_and(|erased| !erased.addresses.is_empty()))
}

/// The name of an operation, which may be a kept one.
unsafe fn name<'a>(op: MlirOperation) -> &'a str {
    // SAFETY: not freed yet; names are interned in the context.
    unsafe { ffi::str_from_raw(mlirIdentifierStr(mlirOperationGetName(op))) }
}

/// Panics if the running pass has erased `op`; as those below.
pub(super) fn check_op(op: MlirOperation) {
    assert!(
        !CHECKED || !is_erased::<c_void>(op.ptr),
        "`{}` is used after it was erased",
        // SAFETY: what was erased is kept.
        unsafe { name(op) }
    );
}

pub(super) fn check_block(block: MlirBlock) {
    assert!(
        !CHECKED || !is_erased::<c_void>(block.ptr),
        "a block is used after it was erased"
    );
}

pub(super) fn check_region(region: MlirRegion) {
    assert!(
        !CHECKED || !is_erased::<c_void>(region.ptr),
        "a region is used after it was erased"
    );
}

pub(super) fn check_value(value: MlirValue) {
    if !CHECKED || !is_any_erased() {
        return;
    }
    // SAFETY: a value that is neither alive nor kept was freed by upstream's code: a bug that nothing here can find.
    unsafe {
        if mlirValueIsAOpResult(value) {
            let (op, number) = (mlirOpResultGetOwner(value), mlirOpResultGetResultNumber(value));
            assert!(
                !is_erased::<c_void>(op.ptr),
                "result {} of `{}` is used after it was erased",
                count(number),
                name(op)
            );
        } else {
            let block = mlirBlockArgumentGetOwner(value);
            assert!(
                !is_erased::<c_void>(value.ptr) && !is_erased::<c_void>(block.ptr),
                "an argument of a block is used after it was erased"
            );
        }
    }
}
