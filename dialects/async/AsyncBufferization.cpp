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
// So each region, when its conflicts are resolved, follows control flow from
// where it stands to the awaits of its token (`PendingPaths`), and every write
// on the way that goes to a buffer of the region gets a copy to write to. An
// await counts if it names the token, a join of it, or the token of a region
// that depends on it. Anything that is not known to wait does not. An
// async.call is treated alike: its callee may be running until its token is
// complete.
//
// If the region may still be running when its function returns, and no token
// tells the caller, the later writes are out of sight. Then it is the region
// that gets a copy, of what it reads. (A region that writes to an argument of
// the function keeps doing so: its result is that buffer, which nobody may use
// before its token is complete.)
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
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace async_opt::async;

//===----------------------------------------------------------------------===//
// Copies of what is pending
//===----------------------------------------------------------------------===//

/// Returns true if `a` is defined before `b`; both dominate the same operation.
static bool isDefinedBefore(Value a, Value b, const DominanceInfo &dominance) {
  Operation *definingOp = b.getDefiningOp();
  if (definingOp && a.getDefiningOp() == definingOp)
    return cast<OpResult>(a).getResultNumber() <
           cast<OpResult>(b).getResultNumber();
  if (definingOp)
    return dominance.properlyDominates(a, definingOp);
  auto argument = cast<BlockArgument>(b);
  if (auto other = dyn_cast<BlockArgument>(a);
      other && other.getOwner() == argument.getOwner())
    return other.getArgNumber() < argument.getArgNumber();
  return dominance.properlyDominates(a, &argument.getOwner()->front());
}

/// Returns the first of `tokens` that can be awaited at `op`.
static Value findToken(Operation *op, const PendingPaths::Values &tokens) {
  DominanceInfo dominance;
  Value first;
  for (Value token : tokens)
    if (dominance.properlyDominates(token, op) &&
        (!first || isDefinedBefore(token, first, dominance)))
      first = token;
  return first;
}

/// Awaits `token` before `op`, if that is not done there.
static void awaitBefore(Operation *op, Value token, RewriterBase &rewriter) {
  auto awaitOp = dyn_cast_or_null<AwaitOp>(op->getPrevNode());
  if (awaitOp && llvm::is_contained(awaitOp.getTokens(), token))
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  AwaitOp::create(rewriter, op->getLoc(), token);
}

/// Awaits `token` of `op` at the end of its block.
static void awaitAtEnd(Operation *op, Value token, RewriterBase &rewriter) {
  awaitBefore(op->getBlock()->getTerminator(), token, rewriter);
}

/// Lets `pendingOp`, whose token is `token`, be complete before `op`, where any
/// of `tokens` says that it is.
static void completeBefore(Operation *op, const PendingPaths::Values &tokens,
                           Operation *pendingOp, Value token,
                           RewriterBase &rewriter) {
  if (Value complete = findToken(op, tokens))
    awaitBefore(op, complete, rewriter);
  else
    awaitAtEnd(pendingOp, token, rewriter);
}

/// Awaits `token` of `op` before each operation for which bufferization copies,
/// while `op` may be running, what it yields.
static void awaitBeforeCopies(Operation *op, Value token,
                              RewriterBase &rewriter,
                              const AnalysisState &state) {
  SetVector<Value> yielded;
  for (Value result : op->getResults())
    if (isa<TensorType>(result.getType()))
      yielded.insert(result);
  if (yielded.empty())
    return;
  PendingPaths paths(op, token, yielded, state, Origins::Completion);
  for (auto &[operand, tokens] : paths.copies)
    completeBefore(operand->getOwner(), tokens, op, token, rewriter);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Makes a buffer like that of `value`, which needs no copies of its own; a
/// copy of it if `copy`.
static FailureOr<Value> makeBuffer(RewriterBase &rewriter, Location loc,
                                   Value value, bool copy,
                                   const AnalysisState &state,
                                   const BufferizationState &bufferState) {
  FailureOr<Value> buffer = allocateTensorForShapedValue(
      rewriter, loc, value, state.getOptions(), bufferState, copy);
  if (failed(buffer))
    return failure();
  // The state is passed as constant, but new operations, says its interface,
  // may be added to it.
  if (auto *oneShotState = const_cast<OneShotAnalysisState *>(
          dyn_cast<OneShotAnalysisState>(&state)))
    if (auto allocOp = buffer->getDefiningOp<AllocTensorOp>())
      if (allocOp.getCopy())
        oneShotState->bufferizeInPlace(allocOp.getCopyMutable()[0]);
  return buffer;
}

/// Lets `op`, and what is nested in it, use other buffers for the values from
/// outside that `value` has its buffer from.
static LogicalResult copyCaptured(RewriterBase &rewriter, Operation *op,
                                  Value value, const AnalysisState &state,
                                  const BufferizationState &bufferState) {
  SetVector<Value> origins;
  addOrigins(value, state, origins);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  for (Value origin : origins) {
    if (op->isAncestor(getOwnerOfValue(origin)))
      continue;
    bool isUsed = false, isRead = false;
    for (OpOperand &use : origin.getUses()) {
      if (!op->isAncestor(use.getOwner()))
        continue;
      isUsed = true;
      isRead |= state.bufferizesToMemoryRead(use);
    }
    if (!isUsed)
      continue;
    FailureOr<Value> copy =
        makeBuffer(rewriter, op->getLoc(), origin, isRead, state, bufferState);
    if (failed(copy))
      return failure();
    rewriter.replaceUsesWithIf(origin, *copy, [&](OpOperand &use) {
      return op->isAncestor(use.getOwner());
    });
  }
  return success();
}

/// Returns true if the buffer of `value` may be one that `op` yields, which
/// nobody uses before its token is complete.
static bool isYieldedBy(Operation *op, Value value,
                        const AnalysisState &state) {
  SetVector<Value> origins;
  addOrigins(value, state, origins);
  return llvm::any_of(origins,
                      [&](Value v) { return v.getDefiningOp() == op; });
}

namespace {
/// What the callers of a function may access after it has returned, while an
/// operation of it is running.
struct Exposed {
  /// They may write to buffers with these origins.
  SetVector<Value> toWrites;
  /// They may access buffers with these origins in any way, and take what they
  /// passed for theirs.
  SetVector<Value> toAccesses;
};
} // namespace

/// Adds what is exposed to the callers of the functions that `paths` of `op`
/// leave: arguments, and what they return.
static void addExposedToCallers(Operation *op, const PendingPaths &paths,
                                const AnalysisState &state, Exposed &exposed) {
  for (Operation *exit : paths.exits) {
    auto funcOp = cast<FunctionOpInterface>(exit->getParentOp());
    bool isAsync = isa<FuncOp>(funcOp);
    // A function that keeps its tensors does not share buffers.
    if (!isAsync && !state.getOptions().bufferizeFunctionBoundaries)
      continue;
    for (Value argument : funcOp.getArguments()) {
      if (!isa<TensorType>(argument.getType()))
        continue;
      exposed.toWrites.insert(argument);
      // One-Shot Bufferize takes it that a function has ended when it returns.
      if (!isAsync)
        exposed.toAccesses.insert(argument);
    }
    for (Value result : exit->getOperands())
      if (isa<TensorType>(result.getType()) && !isYieldedBy(op, result, state))
        addOrigins(result, state, exposed.toWrites);
  }
}

/// Returns true if a region around `op` may be running when its function
/// returns: that one makes copies for all that is nested in it.
static bool isPendingAround(Operation *op, const AnalysisState &state) {
  SetVector<Value> none;
  for (auto regionOp = op->getParentOfType<RegionOp>(); regionOp;
       regionOp = regionOp->getParentOfType<RegionOp>())
    if (!PendingPaths(regionOp, regionOp.getToken(), none, state).exits.empty())
      return true;
  return false;
}

/// Returns true if `value` may not be complete yet: a task or a call yields it,
/// or the function is passed tokens.
static bool mayBePending(Value value, const AnalysisState &state) {
  SetVector<Value> origins;
  addOrigins(value, state, origins, Origins::Completion);
  auto isToken = [](Type type) { return isa<TokenType>(type); };
  return llvm::any_of(origins, [&](Value origin) {
    Operation *owner = getOwnerOfValue(origin);
    if (isa<RegionOp, CallOpInterface>(owner))
      return true;
    auto funcOp = dyn_cast<FunctionOpInterface>(owner);
    return funcOp && llvm::any_of(funcOp.getArgumentTypes(), isToken);
  });
}

/// Returns true if what `op` accesses is complete where `op` stands: it waits
/// for no token from outside before.
static bool waitsForNothing(Operation *op) {
  auto isFromOutside = [&](Value value) {
    return isa<TokenType>(value.getType()) &&
           (value.getDefiningOp() == op ||
            !op->isAncestor(getOwnerOfValue(value)));
  };
  return !op->walk([&](Operation *nested) {
              return llvm::any_of(nested->getOperands(), isFromOutside)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            }).wasInterrupted();
}

LogicalResult async_opt::async::resolvePendingConflicts(
    Operation *op, Value token, RewriterBase &rewriter,
    const AnalysisState &state, const BufferizationState &bufferState) {
  awaitBeforeCopies(op, token, rewriter, state);
  // The buffers that the operation accesses.
  SetVector<Value> origins;
  SmallVector<OpOperand *> reads, writes;
  op->walk([&](Operation *nested) {
    if (isa<YieldOp>(nested))
      return;
    for (OpOperand &operand : nested->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType()))
        continue;
      bool isWrite = isWriteInPlace(operand, state);
      bool isRead = state.bufferizesToMemoryRead(operand);
      if (isRead || isWrite)
        addOrigins(operand.get(), state, origins);
      if (isWrite)
        writes.push_back(&operand);
      else if (isRead)
        reads.push_back(&operand);
    }
  });
  if (origins.empty())
    return success();

  PendingPaths paths(op, token, origins, state);
  Exposed exposed;
  for (auto &[write, tokens] : paths.writes) {
    Operation *owner = write->getOwner();
    // Whoever uses a result of the operation does so after its token is
    // complete.
    if (write->get().getDefiningOp() == op)
      continue;
    // The writes of a loop or branch are those in it that may happen.
    auto isInside = [owner](const auto &other) {
      Operation *otherOwner = other.first->getOwner();
      return !isa<RegionBranchOpInterface>(otherOwner) &&
             owner->isProperAncestor(otherOwner);
    };
    if (isa<RegionBranchOpInterface>(owner) &&
        (llvm::none_of(paths.writes, isInside) ||
         mayBePending(write->get(), state)))
      continue;
    // A copy for an operation around it may be enough.
    if (!sharesOrigin(write->get(), origins, state))
      continue;
    // What a call is passed may not be complete, so that it can't be copied.
    if (isa<CallOpInterface>(owner) && mayBePending(write->get(), state)) {
      completeBefore(owner, tokens, op, token, rewriter);
      continue;
    }
    // No copy fits between the operations of a terminator's body.
    if (owner->getParentOp()->hasTrait<OpTrait::IsTerminator>()) {
      addOrigins(write->get(), state, exposed.toWrites);
      continue;
    }
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(owner);
    FailureOr<Value> copy =
        makeBuffer(rewriter, owner->getLoc(), write->get(),
                   state.bufferizesToMemoryRead(*write), state, bufferState);
    if (failed(copy))
      return failure();
    OpOperand *operand = write;
    rewriter.modifyOpInPlace(owner, [&] { operand->set(*copy); });
  }

  addExposedToCallers(op, paths, state, exposed);
  SmallVector<Value> shared;
  auto addShared = [&](ArrayRef<OpOperand *> operands,
                       const SetVector<Value> &to) {
    for (OpOperand *operand : operands)
      if (sharesOrigin(operand->get(), to, state))
        shared.push_back(operand->get());
  };
  addShared(reads, exposed.toWrites);
  addShared(writes, exposed.toAccesses);
  if (shared.empty())
    return success();
  // A copy is made where the operation stands, and may read nothing that is not
  // complete there. What a region around copies serves this one, too.
  if (!waitsForNothing(op) || isPendingAround(op, state)) {
    awaitAtEnd(op, token, rewriter);
    return success();
  }
  for (Value value : shared)
    if (failed(copyCaptured(rewriter, op, value, state, bufferState)))
      return failure();
  return success();
}

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
    auto newOp = RegionOp::create(rewriter, op->getLoc(), types,
                                  regionOp.getDependencies());
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
