//===- PendingConflicts.cpp - Copies and awaits for running tasks ---------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each task, when its conflicts are resolved, follows control flow from where
// it stands to the awaits of its token (`PendingPaths`).
//
// A write on the way to a buffer of the task gets another buffer to write to,
// with a copy if it reads. An await counts if it names the token, a join of it,
// or the token of a task that depends on it. Anything that is not known to wait
// does not.
//
// A copy on the way of what the task yields reads a tensor that is not
// complete: its token is awaited before. So it is where the tensor is passed to
// a function that may copy it, or returned from a func.func.
//
// If the task may be running when its function returns, and no token tells the
// caller, the later writes are out of sight. Then the task gets a copy of what
// the caller can write to, of what it writes itself as well unless the function
// is an async.func; or it is awaited, where a copy could read what is not
// complete.
//
//===----------------------------------------------------------------------===//

#include "async/Async.h"
#include "async/PendingPaths.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
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
  if (Value complete = findToken(op, tokens)) {
    awaitBefore(op, complete, rewriter);
    return;
  }
  // Once for the iterations before, and once for this one.
  awaitAtEnd(pendingOp, token, rewriter);
  if (DominanceInfo().properlyDominates(token, op))
    awaitBefore(op, token, rewriter);
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

FailureOr<Value>
async_opt::async::makeBuffer(RewriterBase &rewriter, Location loc, Value value,
                             bool copy, const AnalysisState &state,
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

/// Returns the values from outside of `op` that are used in it and that `value`
/// has its buffer from.
static SmallVector<Value> getCaptured(Operation *op, Value value,
                                      const AnalysisState &state) {
  SetVector<Value> origins;
  addOrigins(value, state, origins);
  return llvm::filter_to_vector(origins, [&](Value origin) {
    return !op->isAncestor(getOwnerOfValue(origin)) &&
           llvm::any_of(origin.getUsers(),
                        [&](Operation *user) { return op->isAncestor(user); });
  });
}

/// Lets `op`, and what is nested in it, use copies of the values `captured`.
static LogicalResult copyCaptured(RewriterBase &rewriter, Operation *op,
                                  ArrayRef<Value> captured,
                                  const AnalysisState &state,
                                  const BufferizationState &bufferState) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  auto isInside = [&](OpOperand &use) {
    return op->isAncestor(use.getOwner());
  };
  for (Value value : captured) {
    bool isRead = llvm::any_of(value.getUses(), [&](OpOperand &use) {
      return isInside(use) && state.bufferizesToMemoryRead(use);
    });
    FailureOr<Value> copy =
        makeBuffer(rewriter, op->getLoc(), value, isRead, state, bufferState);
    if (failed(copy))
      return failure();
    rewriter.replaceUsesWithIf(value, *copy, isInside);
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
/// returns.
static bool isPendingAround(Operation *op, const AnalysisState &state) {
  SetVector<Value> none;
  for (auto regionOp = op->getParentOfType<RegionOp>(); regionOp;
       regionOp = regionOp->getParentOfType<RegionOp>())
    if (!PendingPaths(regionOp, regionOp.getToken(), none, state).exits.empty())
      return true;
  return false;
}

/// Returns true if an await before `op` has seen to it that `value`, which a
/// task yields, is complete.
static bool isAwaitedBefore(Value value, Operation *op) {
  for (Value result : value.getDefiningOp()->getResults())
    if (isa<TokenType>(result.getType()))
      for (Operation *user : result.getUsers())
        if (isa<AwaitOp>(user) && DominanceInfo().properlyDominates(user, op))
          return true;
  return false;
}

/// Returns true if `value` may not be complete yet where `op` stands, which
/// uses it: a task yields it, or a function that keeps its tensors takes or
/// returns it. What crosses the border of another function is complete.
static bool mayBePending(Value value, Operation *op,
                         const AnalysisState &state) {
  SetVector<Value> origins;
  addOrigins(value, state, origins, Origins::Completion);
  bool areComplete = state.getOptions().bufferizeFunctionBoundaries;
  auto isToken = [](Type type) { return isa<TokenType>(type); };
  return llvm::any_of(origins, [&](Value origin) {
    Operation *owner = getOwnerOfValue(origin);
    if (isa<RegionOp, CallOp>(owner))
      return origin != value || !isAwaitedBefore(value, op);
    if (isa<CallOpInterface>(owner))
      return !areComplete;
    auto funcOp = dyn_cast<FunctionOpInterface>(owner);
    return funcOp && !isa<FuncOp>(funcOp) && !areComplete &&
           llvm::any_of(funcOp.getArgumentTypes(), isToken);
  });
}

/// Returns true if what `op` accesses is complete where `op` stands: it waits
/// for no token from outside before.
static bool waitsForNothing(Operation *op) {
  auto isFromOutside = [&](Value value) {
    return isa<TokenType>(value.getType()) &&
           !op->isAncestor(getOwnerOfValue(value));
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
         mayBePending(write->get(), owner, state)))
      continue;
    // A copy for an operation around it may be enough.
    if (!sharesOrigin(write->get(), origins, state))
      continue;
    // What a call is passed may not be complete, so that it can't be copied.
    if (isa<CallOpInterface>(owner) &&
        mayBePending(write->get(), owner, state)) {
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
  SetVector<Value> captured;
  bool isShared = false;
  auto addShared = [&](ArrayRef<OpOperand *> operands,
                       const SetVector<Value> &to) {
    for (OpOperand *operand : operands) {
      if (!sharesOrigin(operand->get(), to, state))
        continue;
      isShared = true;
      captured.insert_range(getCaptured(op, operand->get(), state));
    }
  };
  addShared(reads, exposed.toWrites);
  addShared(writes, exposed.toAccesses);
  if (!isShared)
    return success();
  // A copy is made where the operation stands, and may read nothing that is not
  // complete there. Inside of a region that is pending as well, that one is
  // complete only when this operation is, so that its copies serve both.
  if (!waitsForNothing(op) || isPendingAround(op, state) ||
      llvm::any_of(captured, [&](Value value) {
        return mayBePending(value, op, state);
      })) {
    awaitAtEnd(op, token, rewriter);
    return success();
  }
  return copyCaptured(rewriter, op, captured.getArrayRef(), state, bufferState);
}
