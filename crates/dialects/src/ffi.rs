//! Declarations of our C API (`dialects/capi/AsyncOpt-c/`), header by header. Keep them in step.

use mlir_sys::{
    MlirAttribute, MlirBlock, MlirContext, MlirDiagnosticSeverity, MlirDialectRegistry, MlirLocation,
    MlirOperation, MlirRegion, MlirStringRef, MlirType, MlirValue,
};
use std::ffi::{c_char, c_int, c_void};

// Diagnostics.h

#[repr(C)]
pub struct AsyncOptNote {
    pub location: MlirLocation,
    pub message: MlirStringRef,
}

// Pass.h

#[derive(Clone, Copy)]
#[repr(C)]
pub struct AsyncOptPass {
    pub ptr: *mut c_void,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct AsyncOptPipelineOptions {
    pub ptr: *const c_void,
}

pub const OPTION_BOOL: u32 = 0;
pub const OPTION_INT: u32 = 1;
pub const OPTION_STRING: u32 = 2;

#[repr(C)]
pub struct AsyncOptOption {
    pub name: MlirStringRef,
    pub description: MlirStringRef,
    pub kind: u32,
    pub bool_default: bool,
    pub int_default: i64,
    pub string_default: MlirStringRef,
}

#[repr(C)]
pub struct AsyncOptStatistic {
    pub name: MlirStringRef,
    pub description: MlirStringRef,
}

pub const ANCHOR_ANY: u32 = 0;
pub const ANCHOR_NAMES: u32 = 1;
pub const ANCHOR_FUNCTIONS: u32 = 2;

#[repr(C)]
pub struct AsyncOptPassInfo {
    pub argument: MlirStringRef,
    pub description: MlirStringRef,
    pub anchor: u32,
    pub anchor_names: *const MlirStringRef,
    pub num_anchor_names: isize,
    pub options: *const AsyncOptOption,
    pub num_options: isize,
    pub statistics: *const AsyncOptStatistic,
    pub num_statistics: isize,
    pub dependent_dialects: *const MlirStringRef,
    pub num_dependent_dialects: isize,
    pub run: extern "C" fn(AsyncOptPass, MlirOperation) -> bool,
}

pub type EmitText = extern "C" fn(MlirStringRef, *mut c_void);

#[repr(C)]
pub struct AsyncOptPipelineInfo {
    pub argument: MlirStringRef,
    pub description: MlirStringRef,
    pub options: *const AsyncOptOption,
    pub num_options: isize,
    pub build: extern "C" fn(AsyncOptPipelineOptions, *const c_void, EmitText, *mut c_void) -> bool,
    pub user_data: *const c_void,
}

// IR.h

#[derive(Clone, Copy)]
#[repr(C)]
pub struct AsyncOptMapping {
    pub ptr: *mut c_void,
}

unsafe extern "C" {
    // Attributes.h
    pub fn asyncOptEnumGetKeyword(attribute: MlirAttribute) -> MlirStringRef;
    pub fn asyncOptTypeIsToken(ty: MlirType) -> bool;
    pub fn asyncOptLLVMArrayGetNumElements(ty: MlirType, number: *mut u64) -> bool;
    pub fn asyncOptHasInherentAttribute(
        context: MlirContext,
        op: MlirStringRef,
        attribute: MlirStringRef,
    ) -> bool;

    // Dialects.h
    pub fn asyncOptRegisterDialects(
        registry: MlirDialectRegistry,
        on_error: Option<EmitText>,
        user_data: *mut c_void,
    ) -> bool;
    pub fn asyncOptRegisterAllDialects(registry: MlirDialectRegistry);

    // Diagnostics.h
    pub fn asyncOptEmitAtLocation(
        location: MlirLocation,
        severity: MlirDiagnosticSeverity,
        message: MlirStringRef,
        notes: *const AsyncOptNote,
        num_notes: isize,
    );
    pub fn asyncOptEmitAtOperation(
        op: MlirOperation,
        severity: MlirDiagnosticSeverity,
        message: MlirStringRef,
        notes: *const AsyncOptNote,
        num_notes: isize,
    );

    // Pass.h
    pub fn asyncOptRegisterPass(info: *const AsyncOptPassInfo) -> bool;
    pub fn asyncOptPassGetBool(pass: AsyncOptPass, index: isize) -> bool;
    pub fn asyncOptPassGetInt(pass: AsyncOptPass, index: isize) -> i64;
    pub fn asyncOptPassGetString(pass: AsyncOptPass, index: isize) -> MlirStringRef;
    pub fn asyncOptPassAddStatistic(pass: AsyncOptPass, index: isize, delta: u64);
    pub fn asyncOptRegisterPipeline(info: *const AsyncOptPipelineInfo);
    pub fn asyncOptPipelineGetBool(options: AsyncOptPipelineOptions, index: isize) -> bool;
    pub fn asyncOptPipelineGetInt(options: AsyncOptPipelineOptions, index: isize) -> i64;
    pub fn asyncOptPipelineGetString(options: AsyncOptPipelineOptions, index: isize) -> MlirStringRef;

    // IR.h
    pub fn asyncOptMappingCreate() -> AsyncOptMapping;
    pub fn asyncOptMappingDestroy(mapping: AsyncOptMapping);
    pub fn asyncOptMappingMap(mapping: AsyncOptMapping, from: MlirValue, to: MlirValue);
    pub fn asyncOptMappingLookup(mapping: AsyncOptMapping, from: MlirValue) -> MlirValue;
    pub fn asyncOptMappingLookupBlock(mapping: AsyncOptMapping, from: MlirBlock) -> MlirBlock;
    pub fn asyncOptOperationClone(op: MlirOperation, mapping: AsyncOptMapping) -> MlirOperation;
    pub fn asyncOptRegionCloneInto(from: MlirRegion, to: MlirRegion, mapping: AsyncOptMapping);
    pub fn asyncOptBlockSplitBefore(op: MlirOperation) -> MlirBlock;
    pub fn asyncOptOperationGetPrev(op: MlirOperation) -> MlirOperation;
    pub fn asyncOptOperationMoveToEnd(op: MlirOperation, block: MlirBlock);
    pub fn asyncOptBlockMoveOperations(from: MlirBlock, to: MlirBlock);
    pub fn asyncOptOperationIsAncestor(ancestor: MlirOperation, op: MlirOperation) -> bool;
    pub fn asyncOptOperationIsPure(op: MlirOperation) -> bool;
    pub fn asyncOptOperationIsFunction(op: MlirOperation) -> bool;
    pub fn asyncOptOperationGetViewSource(op: MlirOperation) -> MlirValue;
    pub fn asyncOptForEachMemoryEffect(
        op: MlirOperation,
        callback: Option<unsafe extern "C" fn(u32, MlirValue, *mut c_void)>,
        data: *mut c_void,
    ) -> bool;
    pub fn asyncOptForEachConstantNumber(
        attribute: MlirAttribute,
        callback: Option<unsafe extern "C" fn(u64, *mut c_void)>,
        data: *mut c_void,
    ) -> bool;
    pub fn asyncOptValueGetConstantInt(value: MlirValue, constant: *mut i64) -> bool;

    // Nvgpu.h
    pub fn asyncOptLowerNvgpuCopies(op: MlirOperation) -> bool;
    pub fn asyncOptTensorMapGetBox(
        ty: MlirType,
        box_: *mut MlirType,
        swizzle: *mut u32,
        nan: *mut bool,
    ) -> bool;
    pub fn asyncOptMBarrierGroupGetNumber(ty: MlirType, number: *mut u32) -> bool;

    // Vectors.h
    pub fn asyncOptExpandVectors(op: MlirOperation) -> bool;

    // Tool.h
    pub fn asyncOptLLVMVersion() -> MlirStringRef;
    pub fn asyncOptRegisterUpstreamPasses();
    pub fn asyncOptMlirOptMain(
        argc: c_int,
        argv: *mut *mut c_char,
        version: MlirStringRef,
        stack_size: usize,
    ) -> c_int;
    pub fn asyncOptTranslateMain(
        argc: c_int,
        argv: *mut *mut c_char,
        version: MlirStringRef,
        stack_size: usize,
    ) -> c_int;
    pub fn asyncOptWithModule(
        path: MlirStringRef,
        pipeline: MlirStringRef,
        stack_size: usize,
        callback: Option<unsafe extern "C" fn(MlirOperation, *mut c_void) -> bool>,
        data: *mut c_void,
    ) -> bool;
}

/// `text` for the C++ side, which copies what it wants to keep.
pub fn string_ref(text: &str) -> MlirStringRef {
    MlirStringRef {
        data: text.as_ptr().cast(),
        length: text.len(),
    }
}

/// The text behind `raw`; bytes that are no UTF-8 (a user's file may hold any) make the empty string.
///
/// # Safety
///
/// What `raw` points at must outlive `'a`.
pub unsafe fn str_from_raw<'a>(raw: MlirStringRef) -> &'a str {
    if raw.length == 0 {
        return "";
    }
    // SAFETY: a string reference covers `length` bytes, and the caller vouches for how long.
    let bytes = unsafe { std::slice::from_raw_parts(raw.data.cast::<u8>(), raw.length) };
    std::str::from_utf8(bytes).unwrap_or("")
}

/// Collects text into the `String` that `data` points at.
pub extern "C" fn collect_text(text: MlirStringRef, data: *mut c_void) {
    // SAFETY: callers in this crate pass a pointer to a live `String`, and MLIR's text lives during the call.
    unsafe {
        let text = std::slice::from_raw_parts(text.data.cast::<u8>(), text.length);
        (*data.cast::<String>()).push_str(&String::from_utf8_lossy(text));
    }
}

// ControlFlow.h

pub type EdgeCallback =
    unsafe extern "C" fn(isize, bool, isize, *const MlirValue, *const MlirValue, *mut c_void);

unsafe extern "C" {
    pub fn asyncOptIsRegionBranch(op: MlirOperation) -> bool;
    pub fn asyncOptForEachEntry(op: MlirOperation, callback: Option<EdgeCallback>, data: *mut c_void);
    pub fn asyncOptForEachRegionExit(
        op: MlirOperation,
        callback: Option<EdgeCallback>,
        data: *mut c_void,
    ) -> bool;
    pub fn asyncOptForEachBranch(
        op: MlirOperation,
        callback: Option<EdgeCallback>,
        data: *mut c_void,
    ) -> bool;
    pub fn asyncOptBlockMayRepeat(block: MlirBlock) -> bool;
    pub fn asyncOptConstantTripCount(op: MlirOperation, trip: *mut u64) -> bool;
    pub fn asyncOptSelectedValues(
        op: MlirOperation,
        if_true: *mut MlirValue,
        if_false: *mut MlirValue,
    ) -> bool;
}

// Signature.h

unsafe extern "C" {
    pub fn asyncOptOperationEraseOperand(op: MlirOperation, index: isize);
    pub fn asyncOptOperationEraseResults(op: MlirOperation, erase: *const bool) -> MlirOperation;
    pub fn asyncOptOperationAppend(
        op: MlirOperation,
        num_operands: isize,
        operands: *const MlirValue,
        num_types: isize,
        types: *const MlirType,
    ) -> MlirOperation;
}

// Calls.h

pub const INLINED: u32 = 0;
pub const INLINED_NOT_SEVERAL_BLOCKS: u32 = 1;

unsafe extern "C" {
    pub fn asyncOptIsCall(op: MlirOperation) -> bool;
    pub fn asyncOptCallGetCalleeName(op: MlirOperation) -> MlirStringRef;
    pub fn asyncOptInlineCall(call: MlirOperation, callee: MlirOperation) -> u32;
    pub fn asyncOptForEachSymbolUse(
        table: MlirOperation,
        callback: Option<EmitText>,
        data: *mut c_void,
    ) -> bool;
    pub fn asyncOptSymbolIsPrivate(op: MlirOperation) -> bool;
}

// Completion.h

#[derive(Clone, Copy)]
#[repr(C)]
pub struct AsyncOptGroupQueue {
    pub ptr: *const c_void,
}

#[repr(C)]
pub struct AsyncOptCompletion {
    pub effect: u32,
    pub scope: u32,
    pub queue: AsyncOptGroupQueue,
    pub done: MlirValue,
    pub read: MlirValue,
    pub source: MlirValue,
    pub destination: MlirValue,
    pub pending: i64,
    pub waits_for_reads: bool,
}

impl AsyncOptCompletion {
    /// Before it is filled in.
    pub const NONE: Self = {
        let null = MlirValue {
            ptr: std::ptr::null(),
        };
        Self {
            effect: 0,
            scope: 0,
            queue: AsyncOptGroupQueue {
                ptr: std::ptr::null(),
            },
            done: null,
            read: null,
            source: null,
            destination: null,
            pending: 0,
            waits_for_reads: false,
        }
    };
}

unsafe extern "C" {
    pub fn asyncOptGroupQueueGetName(queue: AsyncOptGroupQueue) -> MlirStringRef;
    pub fn asyncOptGroupQueueGetMaxPendingGroups(queue: AsyncOptGroupQueue) -> u32;
    pub fn asyncOptGroupQueueHasFreeEmptyGroups(queue: AsyncOptGroupQueue) -> bool;
    pub fn asyncOptGroupQueueHasConvergentCommits(queue: AsyncOptGroupQueue) -> bool;
    pub fn asyncOptGroupQueueBuildCommit(queue: AsyncOptGroupQueue, location: MlirLocation) -> MlirOperation;
    pub fn asyncOptGroupQueueBuildWait(
        queue: AsyncOptGroupQueue,
        location: MlirLocation,
        pending: u32,
        read: bool,
    ) -> MlirOperation;
    pub fn asyncOptOperationGetCompletion(op: MlirOperation, completion: *mut AsyncOptCompletion) -> bool;
}
