//===- Dialects.h - C API of the async and gpux dialects --------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_DIALECTS_H
#define ASYNCOPT_C_DIALECTS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Adds the dialects `async` and `gpux` to `registry`.
///
/// Returns false, and calls `onError` with a message, if `registry` already
/// holds another dialect of one of these names (upstream's `async` is one):
/// MLIR would end the process. `onError` may be null.
MLIR_CAPI_EXPORTED bool
asyncOptRegisterDialects(MlirDialectRegistry registry,
                         void (*onError)(MlirStringRef message, void *userData),
                         void *userData);

/// Adds `gpux` to `registry`, for a host that may have upstream's dialect
/// `async`: there `gpux` uses that one, which gets the operations that it lacks
/// (`async.ready` and `async.join`). In any other host, it adds our `async`.
///
/// Errors are those of `asyncOptRegisterDialects`, for any other dialect of one
/// of our names.
MLIR_CAPI_EXPORTED bool asyncOptRegisterDialectsBesideUpstream(
    MlirDialectRegistry registry,
    void (*onError)(MlirStringRef message, void *userData), void *userData);

/// Adds every upstream dialect but `async`, with its extensions, interfaces
/// and translations to LLVM IR, to `registry`, and then our dialects.
MLIR_CAPI_EXPORTED void
asyncOptRegisterAllDialects(MlirDialectRegistry registry);

/// What adds `async`, or `gpux` and what it needs, to a registry. (MLIR's C API
/// has the same for upstream's dialects, its `async` among them.)
MLIR_CAPI_EXPORTED MlirDialectHandle asyncOptGetAsyncDialectHandle(void);
MLIR_CAPI_EXPORTED MlirDialectHandle asyncOptGetGpuxDialectHandle(void);

/// Returns true if the dialect `async` of `context` is upstream's, whose awaits
/// have one operand.
MLIR_CAPI_EXPORTED bool asyncOptHasUpstreamAsync(MlirContext context);

/// Verifies the discardable attributes of `op` that belong to `async`, as our
/// dialect does; for contexts that have upstream's. Returns false if one is
/// wrong, after emitting a diagnostic.
MLIR_CAPI_EXPORTED bool asyncOptVerifyAttributes(MlirOperation op);

/// Returns true if `type` is `!async.token`.
MLIR_CAPI_EXPORTED bool asyncOptTypeIsToken(MlirType type);

/// What `type` wraps if it is upstream's `!async.value<T>`; null otherwise.
MLIR_CAPI_EXPORTED MlirType asyncOptTypeGetAsyncValueElement(MlirType type);

/// Upstream's `!async.value<element>`, in a context that has upstream's
/// `async`.
MLIR_CAPI_EXPORTED MlirType asyncOptTypeGetAsyncValue(MlirType element);

/// Returns true if `type` is upstream's `!async.group`.
MLIR_CAPI_EXPORTED bool asyncOptTypeIsAsyncGroup(MlirType type);

/// `#gpux.queue<name>`, in a context that has `gpux` loaded; null if there is
/// no such queue.
MLIR_CAPI_EXPORTED MlirAttribute asyncOptQueueAttrGet(MlirContext context,
                                                      MlirStringRef name);

/// Appends code for the interpreter, for the kernels of the `gpu.module`
/// `module`, by calls of `onBytes`. Returns false after it has emitted errors.
typedef bool (*AsyncOptKernelSerializer)(MlirOperation module,
                                         MlirStringCallback onBytes,
                                         void *userData);

/// Sets what the target `#gpux.sim_target` calls. Call it before any pass runs.
MLIR_CAPI_EXPORTED void
asyncOptSetKernelSerializer(AsyncOptKernelSerializer serializer);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_DIALECTS_H
