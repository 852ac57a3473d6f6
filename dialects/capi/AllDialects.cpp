//===- AllDialects.cpp - Our dialects and upstream's --------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/Dialects.h"
#include "Upstream.h"
#include "transform/AsyncTransformOps.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace async_opt;

void asyncOptRegisterAllDialects(MlirDialectRegistry registry) {
  registerUpstreamDialects(*unwrap(registry));
  // Cannot fail: upstream's `async` is what the line above leaves out.
  asyncOptRegisterDialects(registry, nullptr, nullptr);
  registerTransformExtension(*unwrap(registry));
}
