//===- Attributes.h - What attributes and types say -------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_ATTRIBUTES_H
#define ASYNCOPT_C_MLIR_ATTRIBUTES_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The keyword of an attribute that is a case of an enumeration, such as
/// `workgroup` of `#gpu.address_space<workgroup>`; null for other attributes,
/// and for enumerations that nothing here asks for. It lives forever.
MLIR_CAPI_EXPORTED MlirStringRef
asyncOptEnumGetKeyword(MlirAttribute attribute);

/// Returns true if `type` is an `!llvm.array`, and tells how many elements it
/// has.
MLIR_CAPI_EXPORTED bool asyncOptLLVMArrayGetNumElements(MlirType type,
                                                        uint64_t *number);

/// What `--convert-func-to-llvm` and the like make of `type` on a 64-bit host;
/// null if they don't take it. The context must have `llvm` loaded.
MLIR_CAPI_EXPORTED MlirType asyncOptLLVMConvertType(MlirType type);

/// Returns true if `attribute` is a `#nvvm.shape`, and tells its M, N and K.
MLIR_CAPI_EXPORTED bool asyncOptMMAShapeGetSizes(MlirAttribute attribute,
                                                 int64_t sizes[3]);

/// Returns true if `type` is a `!gpu.mma_matrix`, and tells its sizes and the
/// type of its elements.
MLIR_CAPI_EXPORTED bool asyncOptMMAMatrixGetShape(MlirType type, int64_t *rows,
                                                  int64_t *columns,
                                                  MlirType *element);

/// Returns true if operations of the name `op`, which must be registered, have
/// an inherent attribute `attribute`.
MLIR_CAPI_EXPORTED bool asyncOptHasInherentAttribute(MlirContext context,
                                                     MlirStringRef op,
                                                     MlirStringRef attribute);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_ATTRIBUTES_H
