//===- Loops.h - Upstream's transformations of loops ------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_LOOPS_H
#define ASYNCOPT_C_MLIR_LOOPS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Unrolls `loop`, an `scf.for` with signed bounds, by `factor`, at least 2.
/// What is left of its iterations becomes another loop after it, which
/// `remainder` is set to; to null where none is, or it was one iteration and is
/// no loop any more. Returns false, and leaves all as it was, if `loop` can't
/// be unrolled. `loop` itself may be gone afterwards.
MLIR_CAPI_EXPORTED bool asyncOptLoopUnroll(MlirOperation loop, uint64_t factor,
                                           MlirOperation *remainder);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_LOOPS_H
