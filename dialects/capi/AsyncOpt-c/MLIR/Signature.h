//===- Signature.h - Fewer and more operands and results --------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_SIGNATURE_H
#define ASYNCOPT_C_MLIR_SIGNATURE_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Erases the operand at `index`, and counts its segment down where the
/// operation has several variadic ones.
MLIR_CAPI_EXPORTED void asyncOptOperationEraseOperand(MlirOperation op,
                                                      intptr_t index);

/// Makes an operation right before `op` that stands for it, without the results
/// for which `erase` (one per result) is true, which must be unused. Uses and
/// regions move over; `op` is left for the caller to erase.
MLIR_CAPI_EXPORTED MlirOperation
asyncOptOperationEraseResults(MlirOperation op, const bool *erase);

/// Makes an operation right before `op` that stands for it, with `numOperands`
/// more operands (of its last operand segment, if it has segments) and
/// `numTypes` more results. Uses and regions, with blocks and terminators as
/// they are, move over; `op` is left for the caller to erase.
MLIR_CAPI_EXPORTED MlirOperation asyncOptOperationAppend(
    MlirOperation op, intptr_t numOperands, MlirValue const *operands,
    intptr_t numTypes, MlirType const *types);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_SIGNATURE_H
