//===- RustTransform.h - Transforms written outside C++ ---------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_CAPI_MLIR_RUSTTRANSFORM_H
#define ASYNC_OPT_CAPI_MLIR_RUSTTRANSFORM_H

#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"

namespace async_opt {

/// Does what was registered for operations called as `transform` is. `results`
/// is for the handle that it returns.
mlir::DiagnosedSilenceableFailure
applyRustTransform(mlir::Operation *transform,
                   llvm::ArrayRef<mlir::Operation *> payload,
                   mlir::transform::TransformRewriter &rewriter,
                   mlir::transform::TransformState &state,
                   llvm::SmallVectorImpl<mlir::Operation *> &results);

} // namespace async_opt

#endif // ASYNC_OPT_CAPI_MLIR_RUSTTRANSFORM_H
