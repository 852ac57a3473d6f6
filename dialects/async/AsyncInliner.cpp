//===- AsyncInliner.cpp - Inlining of and into async ops ------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "async/Async.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace async_opt::async;

namespace {
/// An async function issues its body where it is called, so its body may stand
/// in place of the call: what it yields, tokens included, replaces the results.
/// A call inside a region runs in the region's task, before and after inlining.
struct AsyncInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *call, Operation *callable, bool) const final {
    auto callOp = dyn_cast<CallOp>(call);
    auto funcOp = dyn_cast<FuncOp>(callable);
    return callOp && funcOp && !callOp.getNoInline() && !funcOp.getNoInline();
  }

  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }

  /// Several blocks were inlined: each yield branches to the block after the
  /// call.
  void handleTerminator(Operation *op, Block *newDest) const final {
    auto yieldOp = dyn_cast<YieldOp>(op);
    if (!yieldOp)
      return;
    OpBuilder builder(op);
    cf::BranchOp::create(builder, op->getLoc(), newDest, yieldOp.getOperands());
    op->erase();
  }

  /// One block was inlined: what it yields replaces the results of the call.
  void handleTerminator(Operation *op, ValueRange results) const final {
    for (auto [result, yielded] :
         llvm::zip_equal(results, cast<YieldOp>(op).getOperands()))
      result.replaceAllUsesWith(yielded);
  }
};
} // namespace

void async_opt::async::registerInlinerInterface(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, AsyncDialect *dialect) {
    dialect->addInterfaces<AsyncInlinerInterface>();
  });
}
