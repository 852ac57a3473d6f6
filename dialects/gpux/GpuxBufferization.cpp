//===- GpuxBufferization.cpp - One-Shot Bufferize through gpux ops --------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "async/PendingPaths.h"
#include "gpux/Gpux.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace async_opt::gpux;

namespace {
/// A transfer of a tensor reads its buffer until its token is complete, and
/// makes a new one in the other place.
struct TransferOpModel
    : public BufferizableOpInterface::ExternalModel<TransferOpModel,
                                                    TransferOp> {
  bool bufferizesToAllocation(Operation *, Value) const { return true; }

  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }

  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }

  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }

  FailureOr<BufferLikeType> getBufferType(Operation *op, Value value,
                                          const BufferizationOptions &,
                                          const BufferizationState &,
                                          SmallVector<Value> &) const {
    auto tensorType = cast<RankedTensorType>(value.getType());
    Attribute space;
    if (cast<TransferOp>(op).getTo() == Place::Device)
      space = gpu::AddressSpaceAttr::get(op->getContext(),
                                         gpu::AddressSpace::Global);
    return cast<BufferLikeType>(
        getMemRefTypeWithStaticIdentityLayout(tensorType, space));
  }

  LogicalResult resolveConflicts(Operation *op, RewriterBase &rewriter,
                                 const AnalysisState &state,
                                 const BufferizationState &bufferState) const {
    Value token = cast<TransferOp>(op).getToken();
    return token ? async_opt::async::resolvePendingConflicts(
                       op, token, rewriter, state, bufferState)
                 : success();
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto transferOp = cast<TransferOp>(op);
    FailureOr<Value> src =
        getBuffer(rewriter, transferOp.getSrc(), options, state);
    FailureOr<BufferLikeType> type =
        bufferization::getBufferType(transferOp.getResult(), options, state);
    if (failed(src) || failed(type))
      return failure();
    Value token = transferOp.getToken();
    auto newOp = TransferOp::create(rewriter, op->getLoc(), *type,
                                    token ? token.getType() : Type(),
                                    transferOp.getDependencies(), *src,
                                    /*dst=*/Value(), transferOp.getToAttr());
    newOp->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    replaceOpWithBufferizedValues(rewriter, op, newOp->getResults());
    return success();
  }
};
} // namespace

void async_opt::gpux::registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, GpuxDialect *, BufferizationDialect *) {
        TransferOp::attachInterface<TransferOpModel>(*context);
      });
}
