//===- AsyncDialect.cpp - Registration of the async dialect ---------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "async/Async.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace async_opt::async;

#include "async/AsyncDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "async/AsyncTypes.cpp.inc"

void AsyncDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "async/AsyncOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "async/AsyncTypes.cpp.inc"
      >();
}

void async_opt::async::registerAsyncDialect(mlir::DialectRegistry &registry) {
  registry.insert<AsyncDialect>();
  registerBufferizationModels(registry);
  registerInlinerInterface(registry);
}
