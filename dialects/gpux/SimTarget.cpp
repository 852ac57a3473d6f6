//===- SimTarget.cpp - Kernels for the simulated device -------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace async_opt::gpux;

static KernelSerializer kernelSerializer = nullptr;

void async_opt::gpux::setKernelSerializer(KernelSerializer serializer) {
  kernelSerializer = serializer;
}

std::optional<SmallVector<char, 0>>
SimTargetAttr::serializeToObject(Operation *module,
                                 const gpu::TargetOptions &options) const {
  gpu::CompilationTarget format = options.getCompilationTarget();
  if (format != gpu::CompilationTarget::Binary &&
      format != gpu::CompilationTarget::Fatbin) {
    module->emitOpError("can't be made code for the simulated device as '")
        << gpu::stringifyCompilationTarget(format)
        << "': say format=bin, or nothing";
    return std::nullopt;
  }
  if (!kernelSerializer) {
    module->emitOpError("can't be made code for the simulated device by this "
                        "program: use async-opt");
    return std::nullopt;
  }
  SmallVector<char, 0> bytes;
  if (failed(kernelSerializer(module, bytes)))
    return std::nullopt;
  return bytes;
}

Attribute SimTargetAttr::createObject(Operation *module,
                                      const SmallVector<char, 0> &object,
                                      const gpu::TargetOptions &) const {
  Builder builder(getContext());
  // mlir-runner has no dialect of ours.
  auto target = NVVM::NVVMTargetAttr::get(getContext());
  auto properties = builder.getDictionaryAttr(
      builder.getNamedAttr("asyncopt", builder.getUnitAttr()));
  auto code = builder.getStringAttr(StringRef(object.data(), object.size()));
  return gpu::ObjectAttr::get(target, gpu::CompilationTarget::Binary, code,
                              properties);
}
