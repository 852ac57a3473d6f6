//===- Vectors.h - Vector operations that a GPU has -------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_VECTORS_H
#define ASYNCOPT_C_MLIR_VECTORS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Rewrites the vector operations inside `op` that have no counterpart in LLVM
/// (contractions, transposes, slices of n-D vectors, …) into ones that have, by
/// upstream's patterns. Returns false if they did not come to an end.
MLIR_CAPI_EXPORTED bool asyncOptExpandVectors(MlirOperation op);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_VECTORS_H
