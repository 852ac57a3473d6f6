//===- Transform.h - C API to write transforms outside C++ ------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation of the `transform` dialect is defined in C++. What it does to
// the IR may be written elsewhere, and is registered here.
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_TRANSFORM_H
#define ASYNCOPT_C_MLIR_TRANSFORM_H

#include "Diagnostics.h"
#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a transform has to say, while it is applied.
typedef struct AsyncOptTransformReply {
  void *ptr;
} AsyncOptTransformReply;

/// Applies `transform`, which has the options as attributes, to `payload`.
/// Returns false if that failed for good (after emitting a diagnostic). What it
/// erases has to be allocated until it has called
/// `asyncOptTransformForgetErased`.
typedef bool (*AsyncOptTransform)(MlirOperation transform,
                                  const MlirOperation *payload,
                                  intptr_t numPayload,
                                  AsyncOptTransformReply reply);

/// Says what the transform operations called `name` do.
MLIR_CAPI_EXPORTED void asyncOptRegisterTransform(MlirStringRef name,
                                                  AsyncOptTransform apply);

/// Adds `op` to what the handle that results points to.
MLIR_CAPI_EXPORTED void asyncOptTransformAddResult(AsyncOptTransformReply reply,
                                                   MlirOperation op);

/// Adds a reason for a silenceable failure, at `op` if that is not null.
MLIR_CAPI_EXPORTED void
asyncOptTransformRefuse(AsyncOptTransformReply reply, MlirOperation op,
                        MlirLocation location, MlirStringRef message,
                        const AsyncOptNote *notes, intptr_t numNotes);

/// Takes operations that are in the IR no more out of all handles. Call it at
/// the end.
MLIR_CAPI_EXPORTED void
asyncOptTransformForgetErased(AsyncOptTransformReply reply);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_TRANSFORM_H
