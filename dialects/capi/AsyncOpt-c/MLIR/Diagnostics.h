//===- Diagnostics.h - C API to emit diagnostics ----------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_DIAGNOSTICS_H
#define ASYNCOPT_C_MLIR_DIAGNOSTICS_H

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A note that is attached to a diagnostic. A null location means that of the
/// diagnostic.
typedef struct AsyncOptNote {
  MlirLocation location;
  MlirStringRef message;
} AsyncOptNote;

/// Emits a diagnostic at `location`.
MLIR_CAPI_EXPORTED void asyncOptEmitAtLocation(MlirLocation location,
                                               MlirDiagnosticSeverity severity,
                                               MlirStringRef message,
                                               const AsyncOptNote *notes,
                                               intptr_t numNotes);

/// Emits a diagnostic at `op`, an error as `op->emitOpError` does: the message
/// of an error or a warning begins with `'dialect.op' op `. The user may have
/// the operation itself printed as a note.
MLIR_CAPI_EXPORTED void asyncOptEmitAtOperation(MlirOperation op,
                                                MlirDiagnosticSeverity severity,
                                                MlirStringRef message,
                                                const AsyncOptNote *notes,
                                                intptr_t numNotes);

/// Runs the verifier on `op` alone. Nothing is emitted; `callback` gets the
/// messages of errors.
MLIR_CAPI_EXPORTED bool
asyncOptOperationVerifyQuietly(MlirOperation op, MlirStringCallback callback,
                               void *userData);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_DIAGNOSTICS_H
