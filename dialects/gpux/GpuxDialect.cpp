//===- GpuxDialect.cpp - Registration of the gpux dialect -----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace async_opt::gpux;

#include "gpux/GpuxDialect.cpp.inc"
#include "gpux/GpuxEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "gpux/GpuxAttrs.cpp.inc"

namespace {
/// Every op may be inlined anywhere: what it does depends on the order in which
/// a thread executes, which inlining keeps.
struct GpuxInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void GpuxDialect::initialize() {
  async_opt::async::loadAsyncDialect(*getContext());
  addOperations<
#define GET_OP_LIST
#include "gpux/GpuxOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gpux/GpuxAttrs.cpp.inc"
      >();
  addInterfaces<GpuxInlinerInterface>();
}

void async_opt::gpux::registerGpuxDialect(DialectRegistry &registry) {
  async_opt::async::registerUpstreamExtension(registry);
  registerCompletionModels(registry);
  registerBufferizationModels(registry);
  registry.insert<GpuxDialect>();
}
