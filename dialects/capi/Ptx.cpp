//===- Ptx.cpp - PTX as text ----------------------------------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

/// Lowers the `gpu.module`s of `module` that have a target to `gpu.binary`s
/// that hold PTX.
static LogicalResult serializeToPtx(ModuleOp module) {
  GpuModuleToBinaryPassOptions options;
  options.compilationTarget = "isa";
  PassManager pm(module.getContext());
  pm.addPass(createGpuModuleToBinaryPass(options));
  return pm.run(module);
}

LogicalResult async_opt::printPtx(ModuleOp module, StringRef name,
                                  llvm::raw_ostream &os) {
  SmallVector<Operation *> all, chosen;
  module.walk([&](Operation *op) {
    if (isa<gpu::GPUModuleOp, gpu::BinaryOp>(op))
      all.push_back(op);
  });
  for (Operation *op : all)
    if (name.empty() || SymbolTable::getSymbolName(op) == name)
      chosen.push_back(op);
  if (all.empty())
    return module.emitError("has no gpu.module or gpu.binary to translate");
  if (chosen.empty())
    return module.emitError("has no gpu.module or gpu.binary named '")
           << name << "'";
  if (chosen.size() > 1)
    return chosen[1]->emitError(
        "is one of several: ptxas takes the PTX of one at a time, so choose "
        "one with --module=<name>");
  // On its own: neither the others nor host code is translated.
  OwningOpRef<ModuleOp> alone = ModuleOp::create(module.getLoc());
  alone->getBody()->push_back(chosen.front()->clone());

  bool foundModules = false;
  WalkResult untargeted = alone->walk([&](gpu::GPUModuleOp gpuModule) {
    foundModules = true;
    if (gpuModule.getTargetsAttr() && !gpuModule.getTargetsAttr().empty())
      return WalkResult::advance();
    gpuModule.emitError("has no target to translate to: attach one with "
                        "--nvvm-attach-target or --gpux-lower-to-nvvm");
    return WalkResult::interrupt();
  });
  if (untargeted.wasInterrupted() ||
      (foundModules && failed(serializeToPtx(*alone))))
    return failure();

  WalkResult result = alone->walk([&](gpu::BinaryOp binary) {
    for (Attribute attribute : binary.getObjects()) {
      auto object = cast<gpu::ObjectAttr>(attribute);
      if (object.getFormat() != gpu::CompilationTarget::Assembly) {
        binary.emitError("holds no PTX: its object is in format '")
            << gpu::stringifyCompilationTarget(object.getFormat())
            << "'; make it with --gpu-module-to-binary=format=isa";
        return WalkResult::interrupt();
      }
      // LLVM ends the text with a zero for the driver's sake.
      os << object.getObject().getValue().rtrim('\0');
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
