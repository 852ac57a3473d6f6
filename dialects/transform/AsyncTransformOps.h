//===- AsyncTransformOps.h - Our passes in transform scripts ----*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_TRANSFORM_ASYNCTRANSFORMOPS_H
#define ASYNC_OPT_TRANSFORM_ASYNCTRANSFORMOPS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace async_opt {

/// Has the `transform` dialect get our operations when it is loaded.
void registerTransformExtension(mlir::DialectRegistry &registry);

} // namespace async_opt

#endif // ASYNC_OPT_TRANSFORM_ASYNCTRANSFORMOPS_H
