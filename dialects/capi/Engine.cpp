//===- Engine.cpp - MLIR's execution engine -------------------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/Engine.h"

#include "mlir/CAPI/ExecutionEngine.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

static llvm::Expected<std::unique_ptr<ExecutionEngine>>
createEngine(Operation *module, int optLevel,
             ArrayRef<MlirStringRef> libraries) {
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  auto machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  // Translation to LLVM IR folds sizes. Without this it takes LLVM's default
  // layout for that, and not the one that code is generated for.
  std::string layout = (*machine)->createDataLayout().getStringRepresentation();
  module->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                  StringAttr::get(module->getContext(), layout));
  SmallVector<StringRef> paths =
      llvm::map_to_vector(libraries, [](MlirStringRef s) { return unwrap(s); });
  // At each level, this splits coroutines.
  auto transformer =
      makeOptimizingTransformer(optLevel, /*sizeLevel=*/0, machine->get());
  ExecutionEngineOptions options;
  options.transformer = transformer;
  options.jitCodeGenOptLevel = static_cast<llvm::CodeGenOptLevel>(optLevel);
  options.sharedLibPaths = paths;
  options.enablePerfNotificationListener = false;
  return ExecutionEngine::create(module, options, std::move(*machine));
}

static void tell(llvm::Error error, MlirStringCallback callback, void *data) {
  std::string message = llvm::toString(std::move(error));
  callback(wrap(StringRef(message)), data);
}

MlirExecutionEngine asyncOptEngineCreate(MlirOperation module, int optLevel,
                                         intptr_t numLibraries,
                                         const MlirStringRef *libraries,
                                         MlirStringCallback onError,
                                         void *userData) {
  static bool once = [] {
    llvm::InitializeNativeTarget();
    // For inline assembly.
    llvm::InitializeNativeTargetAsmParser();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)once;
  auto engine =
      createEngine(unwrap(module), optLevel, ArrayRef(libraries, numLibraries));
  if (!engine) {
    tell(engine.takeError(), onError, userData);
    return MlirExecutionEngine{nullptr};
  }
  return wrap(engine->release());
}

void *asyncOptEngineLookup(MlirExecutionEngine engine, MlirStringRef name,
                           MlirStringCallback onError, void *userData) {
  auto address = unwrap(engine)->lookup(unwrap(name));
  if (!address) {
    tell(address.takeError(), onError, userData);
    return nullptr;
  }
  return *address;
}
