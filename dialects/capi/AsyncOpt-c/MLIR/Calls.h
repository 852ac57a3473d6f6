//===- Calls.h - Calls, and inlining them -----------------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_CALLS_H
#define ASYNCOPT_C_MLIR_CALLS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Returns true if `op` calls a function (CallOpInterface).
MLIR_CAPI_EXPORTED bool asyncOptIsCall(MlirOperation op);

/// The name of the function that the call `op` calls, in the symbol table
/// around it; empty if it does not name one there.
MLIR_CAPI_EXPORTED MlirStringRef asyncOptCallGetCalleeName(MlirOperation op);

/// What came of inlining a call.
typedef enum AsyncOptInlined {
  /// The body stands in place of the call.
  ASYNC_OPT_INLINED,
  /// The body has several blocks, and the call stands where only one may be.
  ASYNC_OPT_INLINED_NOT_SEVERAL_BLOCKS,
  /// The call or the function forbids it, or the dialect of the function's
  /// terminators can't have them replaced.
  ASYNC_OPT_INLINED_NOT_LEGAL,
} AsyncOptInlined;

/// Puts a copy of the body of `callee`, a function, in place of `call`, which
/// is left without uses, for the caller to erase. If that can't be, nothing
/// changes.
MLIR_CAPI_EXPORTED AsyncOptInlined asyncOptInlineCall(MlirOperation call,
                                                      MlirOperation callee);

/// Calls `callback` with the name of each symbol of `table` that something in
/// it refers to, once for each reference. Returns false if there may be others:
/// something in it is unknown.
MLIR_CAPI_EXPORTED bool
asyncOptForEachSymbolUse(MlirOperation table,
                         void (*callback)(MlirStringRef name, void *userData),
                         void *userData);

/// Returns true if `op` is a symbol that is not seen outside of its table.
MLIR_CAPI_EXPORTED bool asyncOptSymbolIsPrivate(MlirOperation op);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_CALLS_H
