//===- AsyncBufferization.cpp - One-Shot Bufferize through async ops ------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To One-Shot Analysis an async.region is a region that executes where it
// stands, as scf.execute_region does: everything it says about the order of the
// program's text is right. What it can't see is that the region may still be
// running after that place. A write that it put in place may then overwrite
// what the region has not read yet.
//
// So each region resolves its conflicts with what may execute while it runs:
// PendingConflicts.cpp. An async.call is treated alike: its callee may be
// running until its token is complete.
//
// Functions: the signature of an async.func is bufferized with its body.
// One-Shot Bufferize analyzes across calls only for functions of the func
// dialect, so the arguments of an async.func are never written to, and its
// results may alias any of its operands.
//
//===----------------------------------------------------------------------===//

#include "async/Async.h"
#include "async/PendingPaths.h"

#include "mlir/Dialect/Bufferization/IR/BufferDeallocationOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/UnstructuredControlFlow.h"
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace async_opt::async;

//===----------------------------------------------------------------------===//
// RegionOp
//===----------------------------------------------------------------------===//

namespace {
struct RegionOpModel
    : public BufferizableOpInterface::ExternalModel<RegionOpModel, RegionOp> {
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }

  AliasingOpOperandList getAliasingOpOperands(Operation *op, Value value,
                                              const AnalysisState &) const {
    // The first result is the token.
    unsigned index = cast<OpResult>(value).getResultNumber() - 1;
    YieldOp yieldOp = cast<RegionOp>(op).getYield();
    return {{&yieldOp->getOpOperand(index), BufferRelation::Equivalent}};
  }

  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    unsigned index = cast<OpResult>(value).getResultNumber() - 1;
    Value yielded = cast<RegionOp>(op).getYield().getOperand(index);
    // The body is bufferized before the region.
    if (auto type = dyn_cast<BufferLikeType>(yielded.getType()))
      return type;
    return bufferization::getBufferType(yielded, options, state,
                                        invocationStack);
  }

  LogicalResult resolveConflicts(Operation *op, RewriterBase &rewriter,
                                 const AnalysisState &state,
                                 const BufferizationState &bufferState) const {
    return resolvePendingConflicts(op, cast<RegionOp>(op).getToken(), rewriter,
                                   state, bufferState);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto regionOp = cast<RegionOp>(op);
    SmallVector<Type> types;
    for (Value result : op->getResults()) {
      if (!isa<TensorType>(result.getType())) {
        types.push_back(result.getType());
        continue;
      }
      FailureOr<BufferLikeType> type =
          bufferization::getBufferType(result, options, state);
      if (failed(type))
        return failure();
      types.push_back(*type);
    }
    auto newOp =
        RegionOp::create(rewriter, op->getLoc(), types,
                         regionOp.getDependencies(), regionOp.getDeviceAttr());
    newOp->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(regionOp.getBody(), newOp.getBody(),
                                newOp.getBody().end());
    replaceOpWithBufferizedValues(rewriter, op, newOp->getResults());
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

/// Returns the type of the buffer in which an async.func passes a tensor; other
/// types stay.
static FailureOr<Type> getBoundaryType(Operation *op, Type type,
                                       const BufferizationOptions &options) {
  auto tensorType = dyn_cast<TensorType>(type);
  if (!tensorType)
    return type;
  std::optional<Attribute> memorySpace =
      options.defaultMemorySpaceFn(tensorType);
  if (!memorySpace)
    return op->emitError("could not infer the memory space of ") << type;
  if (!options.functionArgTypeConverterFn)
    return Type(getMemRefTypeWithFullyDynamicLayout(tensorType, *memorySpace));
  return Type(options.functionArgTypeConverterFn(
      cast<TensorLikeType>(type), *memorySpace, func::FuncOp(), options));
}

/// Converts `types` with `getBoundaryType`.
static LogicalResult convertBoundaryTypes(Operation *op, TypeRange types,
                                          const BufferizationOptions &options,
                                          SmallVectorImpl<Type> &converted) {
  for (Type type : types) {
    FailureOr<Type> boundaryType = getBoundaryType(op, type, options);
    if (failed(boundaryType))
      return failure();
    converted.push_back(*boundaryType);
  }
  return success();
}

/// Replaces each tensor of `values` by its buffer, cast to the type at its
/// place in `types`.
static LogicalResult getBuffersOfTypes(RewriterBase &rewriter, Operation *op,
                                       ValueRange values, TypeRange types,
                                       const BufferizationOptions &options,
                                       BufferizationState &state,
                                       SmallVectorImpl<Value> &buffers) {
  for (auto [value, type] : llvm::zip_equal(values, types)) {
    if (!isa<TensorType>(value.getType())) {
      buffers.push_back(value);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
    if (failed(buffer))
      return failure();
    if (buffer->getType() != type) {
      auto memrefType = dyn_cast<MemRefType>(type);
      if (!memrefType || !isa<MemRefType>(buffer->getType()))
        return op->emitError("can't pass ")
               << buffer->getType() << " as " << type;
      buffer = castOrReallocMemRefValue(rewriter, *buffer, memrefType, options);
      if (failed(buffer))
        return failure();
    }
    buffers.push_back(*buffer);
  }
  return success();
}

namespace {
struct FuncOpModel
    : public OpWithUnstructuredControlFlowBufferizableOpInterfaceExternalModel<
          FuncOpModel, FuncOp> {
  static bool supportsUnstructuredControlFlow() { return true; }

  bool hasTensorSemantics(Operation *op) const {
    FunctionType type = cast<FuncOp>(op).getFunctionType();
    return llvm::any_of(type.getInputs(), llvm::IsaPred<TensorType>) ||
           llvm::any_of(type.getResults(), llvm::IsaPred<TensorType>);
  }

  AliasingOpOperandList
  getAliasingOpOperands(Operation *op, Value value,
                        const AnalysisState &state) const {
    return getAliasingBranchOpOperands(op, cast<BlockArgument>(value), state);
  }

  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    if (!cast<BlockArgument>(value).getOwner()->isEntryBlock())
      return OpWithUnstructuredControlFlowBufferizableOpInterfaceExternalModel::
          getBufferType(op, value, options, state, invocationStack);
    FailureOr<Type> type = getBoundaryType(op, value.getType(), options);
    if (failed(type))
      return failure();
    return cast<BufferLikeType>(*type);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto funcOp = cast<FuncOp>(op);
    SmallVector<Type> inputs, results;
    if (failed(convertBoundaryTypes(op, funcOp.getArgumentTypes(), options,
                                    inputs)) ||
        failed(convertBoundaryTypes(op, funcOp.getResultTypes(), options,
                                    results)))
      return failure();
    for (Block &block : funcOp.getBody())
      if (failed(bufferizeBlockSignature(&block, rewriter, options, state)))
        return failure();
    rewriter.modifyOpInPlace(funcOp, [&] {
      funcOp.setFunctionType(rewriter.getFunctionType(inputs, results));
    });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

struct CallOpModel
    : public BufferizableOpInterface::ExternalModel<CallOpModel, CallOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }

  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    AliasingValueList values;
    for (Value result : op->getResults())
      if (isa<TensorType>(result.getType()))
        values.addAlias({result, BufferRelation::Unknown,
                         /*isDefinite=*/false});
    return values;
  }

  FailureOr<BufferLikeType> getBufferType(Operation *op, Value value,
                                          const BufferizationOptions &options,
                                          const BufferizationState &,
                                          SmallVector<Value> &) const {
    FailureOr<Type> type = getBoundaryType(op, value.getType(), options);
    if (failed(type))
      return failure();
    return cast<BufferLikeType>(*type);
  }

  LogicalResult resolveConflicts(Operation *op, RewriterBase &rewriter,
                                 const AnalysisState &state,
                                 const BufferizationState &bufferState) const {
    // By default the result would be copied, at once, where the copy of an
    // operand is as good.
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType()) || state.isInPlace(operand))
        continue;
      FailureOr<Value> copy = makeBuffer(rewriter, op->getLoc(), operand.get(),
                                         /*copy=*/true, state, bufferState);
      if (failed(copy))
        return failure();
      rewriter.modifyOpInPlace(op, [&] { operand.set(*copy); });
    }
    // Without a token the callee has ended when the call returns.
    ResultRange results = op->getResults();
    if (results.empty() || !isa<TokenType>(results.back().getType()))
      return success();
    return resolvePendingConflicts(op, results.back(), rewriter, state,
                                   bufferState);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    SmallVector<Type> inputs, results;
    SmallVector<Value> buffers;
    if (failed(
            convertBoundaryTypes(op, op->getOperandTypes(), options, inputs)) ||
        failed(
            convertBoundaryTypes(op, op->getResultTypes(), options, results)) ||
        failed(getBuffersOfTypes(rewriter, op, op->getOperands(), inputs,
                                 options, state, buffers)))
      return failure();
    auto newOp = CallOp::create(rewriter, op->getLoc(), results, buffers,
                                op->getAttrs());
    replaceOpWithBufferizedValues(rewriter, op, newOp->getResults());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// YieldOp
//===----------------------------------------------------------------------===//

struct YieldOpModel
    : public BufferizableOpInterface::ExternalModel<YieldOpModel, YieldOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }

  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    auto regionOp = dyn_cast<RegionOp>(op->getParentOp());
    if (!regionOp)
      return {};
    return {{regionOp.getValues()[operand.getOperandNumber()],
             BufferRelation::Equivalent}};
  }

  bool mustBufferizeInPlace(Operation *, OpOperand &,
                            const AnalysisState &) const {
    // What is yielded has left the body; a copy of it would be of no use.
    return true;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    // The parent's types, whether it has been bufferized yet or not.
    SmallVector<Type> types;
    if (auto regionOp = dyn_cast<RegionOp>(op->getParentOp())) {
      for (Value result : regionOp.getValues()) {
        Type type = result.getType();
        if (isa<TensorType>(type)) {
          FailureOr<BufferLikeType> bufferType =
              bufferization::getBufferType(result, options, state);
          if (failed(bufferType))
            return failure();
          type = *bufferType;
        }
        types.push_back(type);
      }
      types.append(cast<YieldOp>(op).getTokens().getTypes().begin(),
                   cast<YieldOp>(op).getTokens().getTypes().end());
    } else if (failed(convertBoundaryTypes(
                   op, cast<FuncOp>(op->getParentOp()).getResultTypes(),
                   options, types))) {
      return failure();
    }

    SmallVector<Value> buffers;
    if (failed(getBuffersOfTypes(rewriter, op, op->getOperands(), types,
                                 options, state, buffers)))
      return failure();
    rewriter.replaceOpWithNewOp<YieldOp>(op, buffers);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Deallocation
//===----------------------------------------------------------------------===//

namespace {
/// Upstream's deallocation frees a buffer after the last operation that uses it
/// in the text.
struct RegionDeallocationModel
    : public BufferDeallocationOpInterface::ExternalModel<
          RegionDeallocationModel, RegionOp> {
  FailureOr<Operation *> process(Operation *op, DeallocationState &,
                                 const DeallocationOptions &) const {
    return op->emitOpError(
        "may use its buffers until its token is complete, which buffer "
        "deallocation does not know of: deallocate by hand, after the tokens "
        "of "
        "all tasks that use the buffer are awaited");
  }
};
} // namespace

void async_opt::async::registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AsyncDialect *,
                            BufferizationDialect *) {
    RegionOp::attachInterface<RegionOpModel, RegionDeallocationModel>(*context);
    YieldOp::attachInterface<YieldOpModel>(*context);
    FuncOp::attachInterface<FuncOpModel>(*context);
    CallOp::attachInterface<CallOpModel>(*context);
  });
}
