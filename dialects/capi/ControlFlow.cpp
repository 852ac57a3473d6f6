//===- ControlFlow.cpp - Control flow, read through interfaces ------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/ControlFlow.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

/// The constants that the operands of `op` are known to hold, null elsewhere.
static SmallVector<Attribute> getConstantOperands(Operation *op) {
  SmallVector<Attribute> constants;
  for (Value operand : op->getOperands()) {
    Attribute constant;
    matchPattern(operand, m_Constant(&constant));
    constants.push_back(constant);
  }
  return constants;
}

static void call(AsyncOptEdgeCallback callback, void *userData, intptr_t target,
                 bool possible, ValueRange from, ValueRange to) {
  size_t n = std::min(from.size(), to.size());
  SmallVector<MlirValue> fromValues, toValues;
  for (size_t i = 0; i < n; ++i) {
    fromValues.push_back(wrap(from[i]));
    toValues.push_back(wrap(to[i]));
  }
  callback(target, possible, n, fromValues.data(), toValues.data(), userData);
}

static intptr_t getTarget(RegionSuccessor successor) {
  Region *region = successor.getSuccessor();
  return region ? static_cast<intptr_t>(region->getRegionNumber()) : -1;
}

/// Returns true if `successors` has one with the target of `successor`.
static bool contains(ArrayRef<RegionSuccessor> successors,
                     RegionSuccessor successor) {
  return llvm::any_of(successors, [&](RegionSuccessor other) {
    return getTarget(other) == getTarget(successor);
  });
}

bool asyncOptIsRegionBranch(MlirOperation op) {
  return isa<RegionBranchOpInterface>(unwrap(op));
}

void asyncOptForEachEntry(MlirOperation op, AsyncOptEdgeCallback callback,
                          void *userData) {
  auto branch = cast<RegionBranchOpInterface>(unwrap(op));
  SmallVector<RegionSuccessor> all, possible;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), all);
  branch.getEntrySuccessorRegions(getConstantOperands(branch), possible);
  for (RegionSuccessor successor : all)
    call(callback, userData, getTarget(successor),
         contains(possible, successor),
         branch.getEntrySuccessorOperands(successor),
         successor.getSuccessorInputs());
  // A body that is never run is not entered, but has its arguments.
  auto loop = dyn_cast<LoopLikeOpInterface>(unwrap(op));
  if (!loop)
    return;
  for (Region *region : loop.getLoopRegions())
    if (!region->empty() && !contains(all, RegionSuccessor(region)))
      call(callback, userData, region->getRegionNumber(), /*possible=*/false,
           loop.getInits(), loop.getRegionIterArgs());
}

bool asyncOptForEachRegionExit(MlirOperation terminator,
                               AsyncOptEdgeCallback callback, void *userData) {
  auto branch = dyn_cast<RegionBranchTerminatorOpInterface>(unwrap(terminator));
  if (!branch)
    return false;
  SmallVector<RegionSuccessor> all, possible;
  SmallVector<Attribute> unknown(branch->getNumOperands());
  branch.getSuccessorRegions(unknown, all);
  branch.getSuccessorRegions(getConstantOperands(branch), possible);
  // The end of a body that is never run leads nowhere, but its values are bound
  // to the results all the same.
  if (all.empty())
    all.emplace_back(branch->getParentOp(),
                     branch->getParentOp()->getResults());
  for (RegionSuccessor successor : all)
    call(callback, userData, getTarget(successor),
         contains(possible, successor), branch.getSuccessorOperands(successor),
         successor.getSuccessorInputs());
  return true;
}

bool asyncOptForEachBranch(MlirOperation terminator,
                           AsyncOptEdgeCallback callback, void *userData) {
  Operation *op = unwrap(terminator);
  if (op->getNumSuccessors() == 0)
    return true;
  auto branch = dyn_cast<BranchOpInterface>(op);
  if (!branch)
    return false;
  Block *taken = branch.getSuccessorForOperands(getConstantOperands(op));
  for (unsigned i = 0, e = op->getNumSuccessors(); i < e; ++i) {
    Block *successor = op->getSuccessor(i);
    bool possible = !taken || successor == taken;
    SuccessorOperands operands = branch.getSuccessorOperands(i);
    unsigned produced = operands.getProducedOperandCount();
    ValueRange arguments = successor->getArguments();
    call(callback, userData, i, possible, operands.getForwardedOperands(),
         arguments.drop_front(produced));
  }
  return true;
}

int64_t asyncOptConstantTripCount(MlirOperation op) {
  auto loop = dyn_cast<LoopLikeOpInterface>(unwrap(op));
  auto branch = dyn_cast<RegionBranchOpInterface>(unwrap(op));
  if (!loop || !branch || branch->getNumRegions() != 1)
    return -1;
  if (std::optional<APInt> trip = loop.getStaticTripCount())
    return trip->getActiveBits() < 63 ? trip->getSExtValue() : -1;
  SmallVector<InvocationBounds> bounds;
  branch.getRegionInvocationBounds(getConstantOperands(branch), bounds);
  if (bounds.size() != 1 || !bounds[0].getUpperBound() ||
      *bounds[0].getUpperBound() != bounds[0].getLowerBound())
    return -1;
  return bounds[0].getLowerBound();
}

bool asyncOptSelectedValues(MlirOperation op, MlirValue *trueValue,
                            MlirValue *falseValue) {
  auto select = dyn_cast<SelectLikeOpInterface>(unwrap(op));
  if (!select)
    return false;
  APInt condition;
  bool constant =
      matchPattern(select.getCondition(), m_ConstantInt(&condition));
  *trueValue = constant && condition.isZero() ? MlirValue{nullptr}
                                              : wrap(select.getTrueValue());
  *falseValue = constant && !condition.isZero() ? MlirValue{nullptr}
                                                : wrap(select.getFalseValue());
  return true;
}
