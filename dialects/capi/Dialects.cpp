//===- Dialects.cpp - C API of the async and gpux dialects ----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/Dialects.h"
#include "DialectTable.h"
#include "async/Async.h"
#include "gpux/Gpux.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace async_opt;

template <typename DialectT>
static void insertDialect(DialectRegistry &registry) {
  registry.insert<DialectT>();
}

/// A dialect of which passes ask what its operations mean.
template <typename DialectT>
static void insertWithModels(DialectRegistry &registry) {
  registry.insert<DialectT>();
  gpux::registerCompletionModels(registry);
}

DialectInserter async_opt::lookupDialect(StringRef name) {
  return llvm::StringSwitch<DialectInserter>(name)
      .Case("async", async_opt::async::registerAsyncDialect)
      .Case("gpux", async_opt::gpux::registerGpuxDialect)
      .Case("arith", insertDialect<arith::ArithDialect>)
      .Case("cf", insertDialect<cf::ControlFlowDialect>)
      .Case("func", insertDialect<func::FuncDialect>)
      .Case("gpu", insertDialect<gpu::GPUDialect>)
      .Case("index", insertDialect<index::IndexDialect>)
      .Case("llvm", insertDialect<LLVM::LLVMDialect>)
      .Case("memref", insertDialect<memref::MemRefDialect>)
      .Case("nvgpu", insertWithModels<nvgpu::NVGPUDialect>)
      .Case("nvvm", insertWithModels<NVVM::NVVMDialect>)
      .Case("scf", insertDialect<scf::SCFDialect>)
      .Case("ub", insertDialect<ub::UBDialect>)
      .Case("vector", insertDialect<vector::VectorDialect>)
      .Default(nullptr);
}

/// Returns true if `registry` has a dialect called `name` that is not the one
/// that `insert` would add. MLIR's registry does not tell the class behind a
/// name, so the dialect is made, in a context of its own, to ask it.
static bool isTakenByAnother(DialectRegistry &registry, StringRef name,
                             DialectInserter insert) {
  auto allocator = registry.getDialectAllocator(name);
  if (!allocator)
    return false;
  DialectRegistry ours;
  insert(ours);
  MLIRContext theirContext(MLIRContext::Threading::DISABLED);
  MLIRContext ourContext(ours, MLIRContext::Threading::DISABLED);
  return allocator(&theirContext)->getTypeID() !=
         ourContext.getOrLoadDialect(name)->getTypeID();
}

bool asyncOptRegisterDialects(MlirDialectRegistry registry,
                              void (*onError)(MlirStringRef, void *),
                              void *userData) {
  for (StringRef name : {"async", "gpux"}) {
    DialectInserter insert = lookupDialect(name);
    if (isTakenByAnother(*unwrap(registry), name, insert)) {
      std::string message =
          ("cannot register async-opt's dialect '" + name +
           "': the registry already has another dialect of that name (is it "
           "upstream MLIR's?)")
              .str();
      if (onError)
        onError(wrap(StringRef(message)), userData);
      return false;
    }
    insert(*unwrap(registry));
  }
  return true;
}
