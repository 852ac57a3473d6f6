//===- GpuxDialect.cpp - Registration of the gpux dialect -----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace async_opt::gpux;

#include "gpux/GpuxDialect.cpp.inc"
#include "gpux/GpuxEnums.cpp.inc"

static ParseResult parseQueue(AsmParser &parser, Queue &queue) {
  using Parsed = FailureOr<Queue>;
  auto unknown = [&](StringRef, SMLoc loc) -> Parsed {
    return parser.emitError(loc, "expected ")
           << "a queue: cp_async, bulk or wgmma";
  };
  Parsed parsed = AsmParser::KeywordSwitch<Parsed>(parser)
                      .Case("cp_async", Queue::CpAsync)
                      .Case("bulk", Queue::Bulk)
                      .Case("wgmma", Queue::Wgmma)
                      .Default(unknown);
  if (failed(parsed))
    return failure();
  queue = *parsed;
  return success();
}

static void printQueue(AsmPrinter &printer, Queue queue) {
  printer << stringifyQueue(queue);
}

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

/// Says that a context has loaded another dialect of our name, as
/// `--irdl-file` of a host may: our passes can't work then.
class NameConflict final : public DialectExtensionBase {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NameConflict)

  NameConflict()
      : DialectExtensionBase(
            ArrayRef<StringRef>(GpuxDialect::getDialectNamespace())) {}

  void apply(MLIRContext *context,
             MutableArrayRef<Dialect *> dialects) const override {
    if (dialects.front()->getTypeID() != TypeID::get<GpuxDialect>())
      emitError(UnknownLoc::get(context))
          << "another dialect named '" << GpuxDialect::getDialectNamespace()
          << "' takes the place of async-opt's, whose passes can't work: give "
             "it another name";
  }

  std::unique_ptr<DialectExtensionBase> clone() const override {
    return std::make_unique<NameConflict>(*this);
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
  registry.addExtensions<NameConflict>();
  registry.insert<GpuxDialect>();
}
