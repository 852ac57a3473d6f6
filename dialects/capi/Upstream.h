//===- Upstream.h - Everything of upstream MLIR but async -------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_CAPI_UPSTREAM_H
#define ASYNCOPT_CAPI_UPSTREAM_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace async_opt {

/// Adds every upstream dialect but `async`, with extensions, interfaces and
/// translations to LLVM IR.
void registerUpstreamDialects(mlir::DialectRegistry &registry);

/// Adds every upstream pass and pipeline that does not load upstream's `async`
/// dialect to MLIR's global registry.
void registerUpstreamPasses();

/// Makes LLVM's code generator for NVIDIA GPUs available.
void initializeDeviceTargets();

} // namespace async_opt

#endif // ASYNCOPT_CAPI_UPSTREAM_H
