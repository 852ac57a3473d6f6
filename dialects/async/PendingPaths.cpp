//===- PendingPaths.cpp - What executes while a task is running -----------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "async/PendingPaths.h"

#include "async/Async.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetOperations.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace async_opt::async;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

bool async_opt::async::isWriteInPlace(OpOperand &operand,
                                      const AnalysisState &state) {
  return isa<TensorType>(operand.get().getType()) && state.isInPlace(operand) &&
         state.bufferizesToMemoryWrite(operand);
}

void async_opt::async::addOrigins(Value value, const AnalysisState &state,
                                  SetVector<Value> &origins, Origins kind) {
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
    if (kind == Origins::Completion && isa<RegionOp, CallOp>(owner))
      continue;
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

bool async_opt::async::sharesOrigin(Value value,
                                    const SetVector<Value> &origins,
                                    const AnalysisState &state, Origins kind) {
  SetVector<Value> others;
  addOrigins(value, state, others, kind);
  return llvm::any_of(others,
                      [&](Value other) { return origins.contains(other); });
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

static bool containsAny(const PendingPaths::Values &values, ValueRange range) {
  return llvm::any_of(range,
                      [&](Value value) { return values.contains(value); });
}

PendingPaths::PendingPaths(Operation *pendingOp, Value token,
                           const SetVector<Value> &origins,
                           const AnalysisState &state, Origins kind)
    : pendingOp(pendingOp), origins(origins), state(state), kind(kind) {
  pushAfter(pendingOp, {{token}, {}});
  while (!worklist.empty())
    follow(worklist.pop_back_val());
}

/// Follows a path from `from`. Paths that meet know only what all of them know.
void PendingPaths::push(Operation *from, Facts facts) {
  auto [it, isNew] = known.try_emplace(from, facts);
  if (!isNew) {
    Facts &old = it->second;
    if (llvm::set_is_subset(old.tokens, facts.tokens) &&
        llvm::set_is_subset(old.others, facts.others))
      return;
    llvm::set_intersect(old.tokens, facts.tokens);
    llvm::set_intersect(old.others, facts.others);
  }
  worklist.push_back(from);
}

/// Follows the path after `op`.
void PendingPaths::pushAfter(Operation *op, Facts facts) {
  if (Operation *next = op->getNextNode())
    push(next, std::move(facts));
  else
    followUnknown(op->getParentOp());
}

void PendingPaths::push(RegionBranchOpInterface branchOp,
                        const RegionSuccessor &successor, const Facts &facts,
                        ValueRange operands) {
  Facts next = forward(facts, successor.getSuccessorInputs(), operands);
  Region *region = successor.getSuccessor();
  if (!region)
    pushAfter(branchOp, std::move(next));
  else if (!region->empty() && !region->front().empty())
    push(&region->front().front(), std::move(next));
}

/// Returns `facts` after `inputs` have taken the values of `operands`.
PendingPaths::Facts PendingPaths::forward(Facts facts, ValueRange inputs,
                                          ValueRange operands) {
  SmallVector<Value> tokens, others;
  for (auto [input, operand] : llvm::zip(inputs, operands)) {
    if (!operand)
      continue;
    if (facts.tokens.contains(operand))
      tokens.push_back(input);
    if (isa<TensorType>(operand.getType()) && !mayShare(operand, facts))
      others.push_back(input);
  }
  for (Value input : inputs) {
    facts.tokens.erase(input);
    facts.others.erase(input);
  }
  facts.tokens.insert(tokens.begin(), tokens.end());
  facts.others.insert(others.begin(), others.end());
  return facts;
}

/// Returns true if `value` may have a buffer that the operation accesses.
bool PendingPaths::mayShare(Value value, const Facts &facts) {
  if (facts.others.contains(value))
    return false;
  auto it = shares.find(value);
  if (it == shares.end())
    it = shares.try_emplace(value, sharesOrigin(value, origins, state, kind))
             .first;
  return it->second;
}

/// Notes what is known of the results of `op` once it has executed: what is
/// computed again is no longer the value that the path began with.
void PendingPaths::compute(Operation *op, Facts &facts) {
  for (OpResult result : op->getResults()) {
    facts.tokens.erase(result);
    facts.others.erase(result);
    if (!isa<TensorType>(result.getType()))
      continue;
    AliasingOpOperandList aliases = state.getAliasingOpOperands(result);
    bool shares = llvm::any_of(aliases, [&](AliasingOpOperand alias) {
      OpOperand &operand = *alias.opOperand;
      return state.isInPlace(operand) && mayShare(operand.get(), facts);
    });
    // Of a value that has its buffer from nowhere that is known, only a new
    // buffer is another one.
    auto bufferizableOp = state.getOptions().dynCastBufferizableOp(op);
    bool isKnown =
        aliases.getNumAliases() != 0 ||
        (bufferizableOp && bufferizableOp.bufferizesToAllocation(result));
    if (isKnown && !shares)
      facts.others.insert(result);
  }
}

/// Returns true if `value` may have a buffer from outside of `region`, or that
/// of an argument of it other than `argument`.
static bool mayComeFromOutside(Value value, Region *region, Value argument,
                               const AnalysisState &state) {
  const auto *oneShotState = dyn_cast<OneShotAnalysisState>(&state);
  if (!oneShotState)
    return true;
  bool comes = false;
  oneShotState->applyOnAliases(value, [&](Value alias) {
    Region *aliasRegion = alias.getParentRegion();
    bool isInside = isa<OpResult>(alias)
                        ? region->isAncestor(aliasRegion)
                        : region->isProperAncestor(aliasRegion);
    comes |= alias != argument && !isInside;
  });
  return comes;
}

/// Returns true if a loop may copy an operand of its terminator: one that is
/// not in the buffer in which the loop carries it, or also in another one.
static bool isCopiedByLoop(OpOperand &operand, const AnalysisState &state) {
  Operation *op = operand.getOwner();
  Operation *parent = op->getParentOp();
  unsigned index = operand.getOperandNumber();
  ValueRange carried;
  if (auto forOp = dyn_cast<scf::ForOp>(parent)) {
    carried = forOp.getRegionIterArgs();
  } else if (isa<scf::WhileOp>(parent)) {
    carried = op->getBlock()->getArguments();
    // The first operand says whether the loop goes on.
    if (isa<scf::ConditionOp>(op))
      --index;
  } else {
    return false;
  }
  if (!op->hasTrait<OpTrait::IsTerminator>())
    return false;
  return index >= carried.size() ||
         !state.areEquivalentBufferizedValues(carried[index], operand.get()) ||
         mayComeFromOutside(operand.get(), op->getParentRegion(),
                            carried[index], state);
}

/// Returns true if bufferization copies `operand`, or has said so.
static bool isCopied(OpOperand &operand, const AnalysisState &state) {
  Operation *op = operand.getOwner();
  if (!state.getOptions().dynCastBufferizableOp(op))
    return false;
  return isa<AllocTensorOp>(op) || !state.isInPlace(operand) ||
         isCopiedByLoop(operand, state);
}

/// Returns true if the operation with the tensor `operand` accesses elements of
/// it where it stands, so that programs have it complete there.
static bool accessesElements(OpOperand &operand, const AnalysisState &state) {
  Operation *op = operand.getOwner();
  // A copy that bufferization has inserted before such an operation.
  if (auto allocOp = dyn_cast<AllocTensorOp>(op)) {
    Operation *next = op->getNextNode();
    while (isa_and_nonnull<AllocTensorOp>(next))
      next = next->getNextNode();
    return llvm::all_of(allocOp->getUses(), [&](OpOperand &use) {
      return use.getOwner() == next && accessesElements(use, state);
    });
  }
  auto isToken = llvm::IsaPred<TokenType>;
  return state.getOptions().dynCastBufferizableOp(op) &&
         !isa<RegionBranchOpInterface, CallOpInterface>(op) &&
         !op->hasTrait<OpTrait::IsTerminator>() &&
         llvm::none_of(op->getOperandTypes(), isToken) &&
         llvm::none_of(op->getResultTypes(), isToken) &&
         (state.bufferizesToMemoryRead(operand) ||
          state.bufferizesToMemoryWrite(operand));
}

/// Returns true if a call passes `operand`, and the callee may have a copy of
/// it where it is not complete: it knows no token of it.
static bool mustBeCompleteForCallee(OpOperand &operand,
                                    const AnalysisState &state) {
  auto callOp = dyn_cast<CallOpInterface>(operand.getOwner());
  if (!callOp ||
      (!isa<CallOp>(callOp) && !state.getOptions().bufferizeFunctionBoundaries))
    return false;
  auto funcOp = dyn_cast_or_null<FunctionOpInterface>(callOp.resolveCallable());
  OperandRange operands = callOp.getArgOperands();
  if (!funcOp || funcOp.isExternal() ||
      funcOp.getNumArguments() != operands.size())
    return true;
  unsigned index = operand.getOperandNumber() - operands.getBeginOperandIndex();
  return !llvm::all_of(
      funcOp.getArgument(index).getUses(),
      [&](OpOperand &use) { return accessesElements(use, state); });
}

/// Notes that `operand` is copied, or written to, if it may share an origin.
void PendingPaths::add(OpOperand &operand, Operands &found,
                       const Facts &facts) {
  if (!mayShare(operand.get(), facts))
    return;
  auto [it, isNew] = found.try_emplace(&operand, facts.tokens);
  if (!isNew)
    llvm::set_intersect(it->second, facts.tokens);
}

void PendingPaths::addAccesses(Operation *op, const Facts &facts) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<TensorType>(operand.get().getType()))
      continue;
    if (isCopied(operand, state) || (kind == Origins::Completion &&
                                     mustBeCompleteForCallee(operand, state)))
      add(operand, copies, facts);
    else if (isWriteInPlace(operand, state))
      add(operand, writes, facts);
  }
}

/// Notes that a function may return at `op`. Its callers may copy what it
/// returns, and have no token that says when it is complete.
void PendingPaths::addExit(Operation *op, const Facts &facts) {
  exits.insert(op);
  bool isPlain = !isa<FuncOp>(op->getParentOp());
  if (kind != Origins::Completion ||
      (isPlain && !state.getOptions().bufferizeFunctionBoundaries))
    return;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<TensorType>(operand.get().getType()))
      add(operand, copies, facts);
}

void PendingPaths::follow(Operation *op) {
  Facts facts = known.lookup(op);
  for (; op->getNextNode(); op = op->getNextNode()) {
    addAccesses(op, facts);

    if (auto awaitOp = dyn_cast<AwaitOp>(op)) {
      if (containsAny(facts.tokens, awaitOp.getTokens()))
        return;
      continue;
    }
    if (auto other = dyn_cast<RegionOp>(op)) {
      bool waits = containsAny(facts.tokens, other.getDependencies());
      compute(op, facts);
      if (waits)
        facts.tokens.insert(other.getToken());
      else
        push(&other.getBody().front().front(), facts);
      continue;
    }
    if (auto branchOp = dyn_cast<RegionBranchOpInterface>(op)) {
      SmallVector<RegionSuccessor> successors;
      branchOp.getSuccessorRegions(RegionBranchPoint::parent(), successors);
      for (const RegionSuccessor &successor : successors)
        push(branchOp, successor, facts,
             branchOp.getEntrySuccessorOperands(successor));
      return;
    }
    for (Region &region : op->getRegions())
      region.walk([&](Operation *nested) { addAccesses(nested, facts); });
    bool waits = op->hasTrait<StartsAfterTokens>() &&
                 containsAny(facts.tokens, op->getOperands());
    compute(op, facts);
    if (waits)
      for (Value result : op->getResults())
        if (isa<TokenType>(result.getType()))
          facts.tokens.insert(result);
  }
  followLast(op, facts);
}

/// Follows the paths from the last operation of a block.
void PendingPaths::followLast(Operation *op, const Facts &facts) {
  addAccesses(op, facts);
  Operation *parent = op->getParentOp();
  if (auto yieldOp = dyn_cast<YieldOp>(op); yieldOp && isa<RegionOp>(parent)) {
    // Another region ends; or the enclosing one, whose own paths see to all
    // that completes with it.
    if (parent->isProperAncestor(pendingOp) &&
        !containsAny(facts.tokens, yieldOp.getTokens()))
      pushAfter(parent, {});
    return;
  }
  if (auto branchOp = dyn_cast<BranchOpInterface>(op)) {
    for (auto [i, block] : llvm::enumerate(op->getSuccessors())) {
      SuccessorOperands operands = branchOp.getSuccessorOperands(i);
      SmallVector<Value> values;
      for (unsigned j = 0, e = operands.size(); j != e; ++j)
        values.push_back(operands[j]);
      push(&block->front(), forward(facts, block->getArguments(), values));
    }
    return;
  }
  auto branchOp = dyn_cast<RegionBranchOpInterface>(parent);
  auto terminator = dyn_cast<RegionBranchTerminatorOpInterface>(op);
  if (branchOp && terminator) {
    SmallVector<RegionSuccessor> successors;
    branchOp.getSuccessorRegions(terminator, successors);
    for (const RegionSuccessor &successor : successors)
      push(branchOp, successor, facts,
           terminator.getSuccessorOperands(successor));
    return;
  }
  if (isa<FunctionOpInterface>(parent)) {
    // Callers of an async function take its token for it.
    if (!isa<FuncOp>(parent) || op->getNumOperands() == 0 ||
        !facts.tokens.contains(op->getOperands().back()))
      addExit(op, facts);
    return;
  }
  followUnknown(parent);
}

/// Assumes of control flow that can't be followed that anything around `root`
/// may execute.
void PendingPaths::followUnknown(Operation *root) {
  while (root->getParentOp() && !root->hasTrait<OpTrait::IsIsolatedFromAbove>())
    root = root->getParentOp();
  root->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    addAccesses(nested, {});
    if (nested->hasTrait<OpTrait::IsTerminator>() &&
        isa<FunctionOpInterface>(nested->getParentOp()))
      addExit(nested, {});
  });
}
