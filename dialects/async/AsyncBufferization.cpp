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

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace async_opt::async;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Returns true if bufferization writes to the buffer of `operand` itself.
static bool isWriteInPlace(OpOperand &operand, const AnalysisState &state) {
  return isa<TensorType>(operand.get().getType()) && state.isInPlace(operand) &&
         state.bufferizesToMemoryWrite(operand);
}

/// Adds `value` to `origins` and every value from which it may have its buffer.
/// Two values may share a buffer only if they share an origin.
static void addOrigins(Value value, const AnalysisState &state,
                       SetVector<Value> &origins) {
  SmallVector<Value> worklist = {value};
  auto follow = [&](OpOperand &operand) {
    if (isa<TensorType>(operand.get().getType()) && state.isInPlace(operand))
      worklist.push_back(operand.get());
  };
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!origins.insert(next))
      continue;
    Operation *owner = getOwnerOfValue(next);
    if (isa<OpResult>(next) || state.getOptions().dynCastBufferizableOp(owner))
      for (AliasingOpOperand alias : state.getAliasingOpOperands(next))
        follow(*alias.opOperand);
    // The analysis keeps what a loop carries apart; here it is one buffer.
    if (auto branchOp = dyn_cast<RegionBranchOpInterface>(owner)) {
      RegionBranchInverseSuccessorMapping mapping;
      branchOp.getSuccessorInputOperandMapping(mapping);
      for (OpOperand *operand : mapping.lookup(next))
        follow(*operand);
    }
  }
}

/// Returns true if the buffer of `value` may have one of `origins`.
static bool sharesOrigin(Value value, const SetVector<Value> &origins,
                         const AnalysisState &state) {
  SetVector<Value> others;
  addOrigins(value, state, others);
  return llvm::any_of(others,
                      [&](Value other) { return origins.contains(other); });
}

//===----------------------------------------------------------------------===//
// PendingPaths
//===----------------------------------------------------------------------===//

namespace {
/// What may execute while an asynchronous operation is running: follows every
/// path from the operation to one that waits for its token.
class PendingPaths {
public:
  PendingPaths(Operation *pendingOp, Value token, const AnalysisState &state)
      : pendingOp(pendingOp), state(state) {
    pushAfter(pendingOp, {token});
    while (!worklist.empty())
      follow(worklist.pop_back_val());
  }

  /// Writes in place that may execute while the operation is running, in no
  /// order but that of operations before the operations nested in them.
  llvm::SmallSetVector<OpOperand *, 8> writes;

  /// Terminators of functions that may return while the operation is running,
  /// and return no token that says so.
  llvm::SmallSetVector<Operation *, 2> exits;

private:
  using Tokens = DenseSet<Value>;

  /// Follows a path from `from`; when any of `tokens` is complete, so is the
  /// operation. Paths that meet know only what all of them know.
  void push(Operation *from, Tokens tokens) {
    auto [it, isNew] = known.try_emplace(from, tokens);
    if (!isNew) {
      if (llvm::set_is_subset(it->second, tokens))
        return;
      llvm::set_intersect(it->second, tokens);
    }
    worklist.push_back(from);
  }

  /// Follows the path after `op`.
  void pushAfter(Operation *op, Tokens tokens) {
    if (Operation *next = op->getNextNode())
      push(next, std::move(tokens));
    else
      followUnknown(op->getParentOp());
  }

  /// Returns `tokens` after `inputs` have taken the values of `operands`.
  static Tokens forward(Tokens tokens, ValueRange inputs, ValueRange operands) {
    SmallVector<Value> complete;
    for (auto [input, operand] : llvm::zip(inputs, operands))
      if (operand && tokens.contains(operand))
        complete.push_back(input);
    for (Value input : inputs)
      tokens.erase(input);
    tokens.insert(complete.begin(), complete.end());
    return tokens;
  }

  void push(RegionBranchOpInterface branchOp, const RegionSuccessor &successor,
            const Tokens &tokens, ValueRange operands) {
    Tokens next = forward(tokens, successor.getSuccessorInputs(), operands);
    Region *region = successor.getSuccessor();
    if (!region)
      pushAfter(branchOp, std::move(next));
    else if (!region->empty() && !region->front().empty())
      push(&region->front().front(), std::move(next));
  }

  static bool containsAny(const Tokens &tokens, ValueRange values) {
    return llvm::any_of(values,
                        [&](Value value) { return tokens.contains(value); });
  }

  void addWrites(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isWriteInPlace(operand, state))
        writes.insert(&operand);
  }

  void follow(Operation *op) {
    Tokens tokens = known.lookup(op);
    for (; op->getNextNode(); op = op->getNextNode()) {
      // What is computed again is no longer the value that the path began with.
      for (Value result : op->getResults())
        tokens.erase(result);
      addWrites(op);

      if (auto awaitOp = dyn_cast<AwaitOp>(op)) {
        if (containsAny(tokens, awaitOp.getTokens()))
          return;
      } else if (auto joinOp = dyn_cast<JoinOp>(op)) {
        if (containsAny(tokens, joinOp.getTokens()))
          tokens.insert(joinOp.getToken());
      } else if (auto other = dyn_cast<RegionOp>(op)) {
        if (containsAny(tokens, other.getDependencies()))
          tokens.insert(other.getToken());
        else
          push(&other.getBody().front().front(), tokens);
      } else if (auto branchOp = dyn_cast<RegionBranchOpInterface>(op)) {
        SmallVector<RegionSuccessor> successors;
        branchOp.getSuccessorRegions(RegionBranchPoint::parent(), successors);
        for (const RegionSuccessor &successor : successors)
          push(branchOp, successor, tokens,
               branchOp.getEntrySuccessorOperands(successor));
        return;
      } else {
        op->walk([&](Operation *nested) { addWrites(nested); });
      }
    }
    followLast(op, tokens);
  }

  /// Follows the paths from the last operation of a block.
  void followLast(Operation *op, const Tokens &tokens) {
    addWrites(op);
    Operation *parent = op->getParentOp();
    if (auto yieldOp = dyn_cast<YieldOp>(op);
        yieldOp && isa<RegionOp>(parent)) {
      // Another region ends; or the enclosing one, whose own paths see to all
      // that completes with it.
      if (parent->isProperAncestor(pendingOp) &&
          !containsAny(tokens, yieldOp.getTokens()))
        pushAfter(parent, {});
      return;
    }
    if (auto branchOp = dyn_cast<BranchOpInterface>(op)) {
      for (auto [i, block] : llvm::enumerate(op->getSuccessors())) {
        SuccessorOperands operands = branchOp.getSuccessorOperands(i);
        SmallVector<Value> values;
        for (unsigned j = 0, e = operands.size(); j != e; ++j)
          values.push_back(operands[j]);
        push(&block->front(), forward(tokens, block->getArguments(), values));
      }
      return;
    }
    auto branchOp = dyn_cast<RegionBranchOpInterface>(parent);
    auto terminator = dyn_cast<RegionBranchTerminatorOpInterface>(op);
    if (branchOp && terminator) {
      SmallVector<RegionSuccessor> successors;
      branchOp.getSuccessorRegions(terminator, successors);
      for (const RegionSuccessor &successor : successors)
        push(branchOp, successor, tokens,
             terminator.getSuccessorOperands(successor));
      return;
    }
    if (isa<FunctionOpInterface>(parent)) {
      // Callers of an async function take its token for it.
      if (!isa<FuncOp>(parent) || op->getNumOperands() == 0 ||
          !tokens.contains(op->getOperands().back()))
        exits.insert(op);
      return;
    }
    followUnknown(parent);
  }

  /// Assumes of control flow that can't be followed that anything around `root`
  /// may execute.
  void followUnknown(Operation *root) {
    while (root->getParentOp() &&
           !root->hasTrait<OpTrait::IsIsolatedFromAbove>())
      root = root->getParentOp();
    root->walk<WalkOrder::PreOrder>([&](Operation *nested) {
      addWrites(nested);
      if (nested->hasTrait<OpTrait::IsTerminator>() &&
          isa<FunctionOpInterface>(nested->getParentOp()))
        exits.insert(nested);
    });
  }

  Operation *pendingOp;
  const AnalysisState &state;
  SmallVector<Operation *> worklist;
  /// What is known at the start of each path.
  DenseMap<Operation *, Tokens> known;
};
} // namespace

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Makes a copy of `value`, which needs no copies of its own.
static FailureOr<Value> makeCopy(RewriterBase &rewriter, Location loc,
                                 Value value, const AnalysisState &state,
                                 const BufferizationState &bufferState) {
  FailureOr<Value> copy = allocateTensorForShapedValue(
      rewriter, loc, value, state.getOptions(), bufferState);
  if (failed(copy))
    return failure();
  // The state is passed as constant, but new operations, says its interface,
  // may be added to it.
  if (auto *oneShotState = const_cast<OneShotAnalysisState *>(
          dyn_cast<OneShotAnalysisState>(&state)))
    if (auto allocOp = copy->getDefiningOp<AllocTensorOp>())
      oneShotState->bufferizeInPlace(allocOp.getCopyMutable()[0]);
  return copy;
}

/// Lets `op`, and what is nested in it, use copies of the values from outside
/// that `value` has its buffer from.
static LogicalResult copyCaptured(RewriterBase &rewriter, Operation *op,
                                  Value value, const AnalysisState &state,
                                  const BufferizationState &bufferState) {
  SetVector<Value> origins;
  addOrigins(value, state, origins);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  for (Value origin : origins) {
    auto isInside = [&](OpOperand &use) {
      return op->isAncestor(use.getOwner());
    };
    if (op->isAncestor(getOwnerOfValue(origin)) ||
        llvm::none_of(origin.getUses(), isInside))
      continue;
    FailureOr<Value> copy =
        makeCopy(rewriter, op->getLoc(), origin, state, bufferState);
    if (failed(copy))
      return failure();
    rewriter.replaceUsesWithIf(origin, *copy, isInside);
  }
  return success();
}

/// Adds to `exposed` what the callers of a function may write to after it has
/// returned: arguments, and what it returns.
static void addExposedToCallers(const PendingPaths &paths,
                                const AnalysisState &state,
                                SetVector<Value> &exposed) {
  for (Operation *exit : paths.exits) {
    auto funcOp = cast<FunctionOpInterface>(exit->getParentOp());
    // A function that keeps its tensors does not share buffers.
    if (!isa<FuncOp>(funcOp) && !state.getOptions().bufferizeFunctionBoundaries)
      continue;
    for (Value argument : funcOp.getArguments())
      if (isa<TensorType>(argument.getType()))
        exposed.insert(argument);
    for (Value result : exit->getOperands())
      if (isa<TensorType>(result.getType()))
        addOrigins(result, state, exposed);
  }
}

/// Inserts the copies that `op` needs because it may be running, and access its
/// buffers, until `token` is complete.
static LogicalResult
resolvePendingConflicts(Operation *op, Value token, RewriterBase &rewriter,
                        const AnalysisState &state,
                        const BufferizationState &bufferState) {
  // The buffers that the operation accesses.
  SetVector<Value> origins;
  SmallVector<OpOperand *> reads;
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
      if (isRead && !isWrite)
        reads.push_back(&operand);
    }
  });
  if (origins.empty())
    return success();

  PendingPaths paths(op, token, state);
  SetVector<Value> exposed;
  for (OpOperand *write : paths.writes) {
    Operation *owner = write->getOwner();
    // Whoever uses a result of the operation does so after its token is
    // complete.
    if (write->get().getDefiningOp() == op ||
        !sharesOrigin(write->get(), origins, state))
      continue;
    // No copy fits between the operations of a terminator's body.
    if (owner->getParentOp()->hasTrait<OpTrait::IsTerminator>()) {
      addOrigins(write->get(), state, exposed);
      continue;
    }
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(owner);
    FailureOr<Value> copy =
        makeCopy(rewriter, owner->getLoc(), write->get(), state, bufferState);
    if (failed(copy))
      return failure();
    rewriter.modifyOpInPlace(owner, [&] { write->set(*copy); });
  }

  addExposedToCallers(paths, state, exposed);
  for (OpOperand *read : reads)
    if (sharesOrigin(read->get(), exposed, state))
      if (failed(copyCaptured(rewriter, op, read->get(), state, bufferState)))
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
    : public BufferizableOpInterface::ExternalModel<FuncOpModel, FuncOp> {
  bool hasTensorSemantics(Operation *op) const {
    FunctionType type = cast<FuncOp>(op).getFunctionType();
    return llvm::any_of(type.getInputs(), llvm::IsaPred<TensorType>) ||
           llvm::any_of(type.getResults(), llvm::IsaPred<TensorType>);
  }

  AliasingOpOperandList getAliasingOpOperands(Operation *, Value,
                                              const AnalysisState &) const {
    return {};
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
    if (!funcOp.isExternal() &&
        failed(bufferizeBlockSignature(&funcOp.getBody().front(), rewriter,
                                       options, state)))
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
    if (failed(
            cast<BufferizableOpInterface>(op).resolveTensorOpOperandConflicts(
                rewriter, state, bufferState)))
      return failure();
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

void async_opt::async::registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, AsyncDialect *, BufferizationDialect *) {
        RegionOp::attachInterface<RegionOpModel>(*context);
        YieldOp::attachInterface<YieldOpModel>(*context);
        FuncOp::attachInterface<FuncOpModel>(*context);
        CallOp::attachInterface<CallOpModel>(*context);
      });
}
