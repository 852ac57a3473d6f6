//===- IR.h - What MLIR's C API lacks to rewrite IR -------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_IR_H
#define ASYNCOPT_C_MLIR_IR_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Which values stand for which in a clone.
typedef struct AsyncOptMapping {
  void *ptr;
} AsyncOptMapping;

MLIR_CAPI_EXPORTED AsyncOptMapping asyncOptMappingCreate(void);
MLIR_CAPI_EXPORTED void asyncOptMappingDestroy(AsyncOptMapping mapping);
MLIR_CAPI_EXPORTED void asyncOptMappingMap(AsyncOptMapping mapping,
                                           MlirValue from, MlirValue to);
/// What `from` is mapped to, or `from` itself.
MLIR_CAPI_EXPORTED MlirValue asyncOptMappingLookup(AsyncOptMapping mapping,
                                                   MlirValue from);
/// What `from` is mapped to, or `from` itself.
MLIR_CAPI_EXPORTED MlirBlock asyncOptMappingLookupBlock(AsyncOptMapping mapping,
                                                        MlirBlock from);

/// Clones `op` with its regions; operands are mapped, and every result, block
/// and argument is added to the mapping. The clone is detached.
MLIR_CAPI_EXPORTED MlirOperation
asyncOptOperationClone(MlirOperation op, AsyncOptMapping mapping);

/// Appends clones of the blocks of `from` to `to`.
MLIR_CAPI_EXPORTED void asyncOptRegionCloneInto(MlirRegion from, MlirRegion to,
                                                AsyncOptMapping mapping);

/// Moves `op` and what follows it in its block to a new block, right after it.
MLIR_CAPI_EXPORTED MlirBlock asyncOptBlockSplitBefore(MlirOperation op);

/// The operation before `op`, which must be in a block and not its first.
MLIR_CAPI_EXPORTED MlirOperation asyncOptOperationGetPrev(MlirOperation op);

/// Moves `op` to the end of `block`.
MLIR_CAPI_EXPORTED void asyncOptOperationMoveToEnd(MlirOperation op,
                                                   MlirBlock block);

/// Moves all operations of `from` to the end of `to`.
MLIR_CAPI_EXPORTED void asyncOptBlockMoveOperations(MlirBlock from,
                                                    MlirBlock to);

/// Drops the uses of values and blocks by `op` and what is nested in it. All
/// that may be done with them from then on is to destroy them.
MLIR_CAPI_EXPORTED void asyncOptOperationDropAllReferences(MlirOperation op);

/// As above, for all that is in `block`.
MLIR_CAPI_EXPORTED void asyncOptBlockDropAllReferences(MlirBlock block);

/// Moves the argument at `index` of `block`, which must be unused, to the end
/// of the arguments of `to`. It goes on to say that its owner is `block`: all
/// that may be done with it is to destroy it, with `to`.
MLIR_CAPI_EXPORTED void asyncOptBlockMoveArgument(MlirBlock block,
                                                  intptr_t index, MlirBlock to);

/// Returns true if `ancestor` is `op` or an operation around it.
MLIR_CAPI_EXPORTED bool asyncOptOperationIsAncestor(MlirOperation ancestor,
                                                    MlirOperation op);

/// Returns true if the operation has no side effects and can be executed
/// speculatively (MLIR's `isPure`).
MLIR_CAPI_EXPORTED bool asyncOptOperationIsPure(MlirOperation op);

/// Returns true if the operation is a function (FunctionOpInterface).
MLIR_CAPI_EXPORTED bool asyncOptOperationIsFunction(MlirOperation op);

/// What the result of `op` is another view of, if `op` does nothing but make
/// views (ViewLikeOpInterface); else null.
MLIR_CAPI_EXPORTED MlirValue asyncOptOperationGetViewSource(MlirOperation op);

typedef enum AsyncOptMemoryEffect {
  ASYNC_OPT_MEMORY_EFFECT_READ = 0,
  ASYNC_OPT_MEMORY_EFFECT_WRITE = 1,
  ASYNC_OPT_MEMORY_EFFECT_ALLOCATE = 2,
  ASYNC_OPT_MEMORY_EFFECT_FREE = 3,
} AsyncOptMemoryEffect;

/// Calls `callback` for each effect that `op` itself has on memory, with what
/// it has it on: an operand or a result, or null for memory that is not named.
/// Returns false if `op` does not say (MemoryEffectOpInterface,
/// RecursiveMemoryEffects).
MLIR_CAPI_EXPORTED bool asyncOptForEachMemoryEffect(
    MlirOperation op, void (*callback)(AsyncOptMemoryEffect, MlirValue, void *),
    void *userData);

/// Calls `callback` for the bits of every number of a constant: an integer, a
/// floating-point number, or dense elements of them. Returns false if it is
/// none of these. Numbers of more than 64 bits are cut off at their largest
/// value.
MLIR_CAPI_EXPORTED bool asyncOptForEachConstantNumber(MlirAttribute attribute,
                                                      void (*callback)(uint64_t,
                                                                       void *),
                                                      void *userData);

/// Returns true and sets `value` if the constant folder knows the integer (or
/// index) that `v` holds.
MLIR_CAPI_EXPORTED bool asyncOptValueGetConstantInt(MlirValue v,
                                                    int64_t *value);

/// The state to print `op`, which uses no value from outside of it, in full and
/// without locations, whatever the command line says about printing; in the
/// custom assembly format, unless that can't be parsed.
MLIR_CAPI_EXPORTED MlirAsmState asyncOptAsmStateCreate(MlirOperation op);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_IR_H
