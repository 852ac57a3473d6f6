//===- Nvgpu.h - Upstream's lowering of nvgpu -------------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_NVGPU_H
#define ASYNCOPT_C_MLIR_NVGPU_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Lowers the `nvgpu.device_async_copy`s inside `op` to NVVM, by upstream's
/// patterns and with the types that `--convert-nvgpu-to-nvvm` gives memrefs.
/// The `nvgpu`, `nvvm` and `memref` dialects are loaded. Returns false, and
/// leaves a copy as it is, if upstream has no lowering for it.
MLIR_CAPI_EXPORTED bool asyncOptLowerNvgpuCopies(MlirOperation op);

/// Returns true if `type` is a `!nvgpu.tensormap.descriptor`, and tells the
/// memref type of its box, how many bytes its swizzle spans (0 if it does not
/// swizzle) and whether elements out of bounds are NaN.
MLIR_CAPI_EXPORTED bool asyncOptTensorMapGetBox(MlirType type, MlirType *box,
                                                uint32_t *swizzle, bool *nan);

/// Returns true if `type` is a `!nvgpu.mbarrier.group`, and tells how many
/// mbarriers it has.
MLIR_CAPI_EXPORTED bool asyncOptMBarrierGroupGetNumber(MlirType type,
                                                       uint32_t *number);

/// Returns true if `type` is a `!nvgpu.warpgroup.descriptor`, and tells the
/// memref type of its matrix.
MLIR_CAPI_EXPORTED bool asyncOptWarpgroupDescriptorGetMatrix(MlirType type,
                                                             MlirType *matrix);

/// Returns true if `type` is a `!nvgpu.warpgroup.accumulator`, and tells the
/// vector type of its matrix.
MLIR_CAPI_EXPORTED bool asyncOptWarpgroupAccumulatorGetMatrix(MlirType type,
                                                              MlirType *matrix);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_NVGPU_H
