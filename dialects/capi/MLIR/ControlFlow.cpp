//===- ControlFlow.cpp - Control flow, read through interfaces ------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/MLIR/ControlFlow.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

/// The constants that the operands of `op` are known to hold, null elsewhere.
static SmallVector<Attribute> getConstantOperands(Operation *op) {
  SmallVector<Attribute> constants;
  for (Value operand : op->getOperands()) {
    Attribute constant;
    // Conditions and bounds are integers.
    if (!operand.getType().isIntOrIndex()) {
      constants.push_back(constant);
      continue;
    }
    // Most constants are of one kind, which need not be folded.
    if (auto known = operand.getDefiningOp<arith::ConstantOp>())
      constant = known.getValue();
    else
      matchPattern(operand, m_Constant(&constant));
    constants.push_back(constant);
  }
  return constants;
}

/// The distance between the constant bounds of `loop`, if a signed number of
/// their type can't hold it. Upstream takes such a loop for one that never
/// runs.
static std::optional<APInt> getLongDistance(scf::ForOp loop) {
  APInt lower, upper;
  if (loop.getUnsignedCmp() ||
      !matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      lower.sge(upper))
    return std::nullopt;
  bool isLong = false;
  APInt distance = upper.ssub_ov(lower, isLong);
  return isLong ? std::optional(distance) : std::nullopt;
}

template <typename From, typename To>
static void call(AsyncOptEdgeCallback callback, void *userData, intptr_t target,
                 bool possible, From from, To to) {
  SmallVector<MlirValue> fromValues, toValues;
  for (auto [fromValue, toValue] : llvm::zip(from, to)) {
    fromValues.push_back(wrap(Value(fromValue)));
    toValues.push_back(wrap(Value(toValue)));
  }
  callback(target, possible, fromValues.size(), fromValues.data(),
           toValues.data(), userData);
}

/// Returns true if the last value of the variable of `loop`, whose bounds and
/// step are constant, plus the step is no number of its type. Upstream's trip
/// count is that of a loop that ends there, and what upstream makes of the loop
/// wraps around and goes on.
static bool wrapsAround(scf::ForOp loop) {
  APInt lower, upper, step;
  if (!matchPattern(loop->getOperand(0), m_ConstantInt(&lower)) ||
      !matchPattern(loop->getOperand(1), m_ConstantInt(&upper)) ||
      !matchPattern(loop->getOperand(2), m_ConstantInt(&step)) ||
      step.isNonPositive())
    return false;
  bool isSigned = !loop.getUnsignedCmp();
  unsigned width = lower.getBitWidth();
  APInt most =
      isSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
  // Wide enough for the sum.
  auto widen = [&](const APInt &number) {
    return isSigned ? number.sext(width + 2) : number.zext(width + 2);
  };
  APInt first = widen(lower), distance = widen(upper) - first;
  if (!distance.isStrictlyPositive())
    return false;
  APInt trips =
      llvm::APIntOps::RoundingUDiv(distance, widen(step), APInt::Rounding::UP);
  return (first + trips * widen(step)).sgt(widen(most));
}

/// Returns true if nothing can be known of how often `loop` runs, since its
/// bound is neither constant nor the sum of something: most loops, of which the
/// interfaces take long to say the same. Likewise if its variable wraps around.
static bool isOfUnknownTripCount(scf::ForOp loop) {
  // Its own accessors count operands first.
  Value lower = loop->getOperand(0), upper = loop->getOperand(1);
  Operation *bound = upper.getDefiningOp();
  bool isKnown = bound && (bound->hasTrait<OpTrait::ConstantLike>() ||
                           isa<arith::AddIOp>(bound));
  return (!isKnown && upper != lower) || wrapsAround(loop);
}

static AsyncOptSimpleFlow getSimpleFlow(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return isOfUnknownTripCount(loop) ? ASYNC_OPT_SIMPLE_FLOW_LOOP
                                      : ASYNC_OPT_SIMPLE_FLOW_NONE;
  auto branch = dyn_cast<scf::IfOp>(op);
  return branch && !matchPattern(branch.getCondition(), m_Constant())
             ? ASYNC_OPT_SIMPLE_FLOW_BRANCH
             : ASYNC_OPT_SIMPLE_FLOW_NONE;
}

AsyncOptSimpleFlow asyncOptGetSimpleFlow(MlirOperation op) {
  return getSimpleFlow(unwrap(op));
}

/// Calls `callback` for the edges of a loop from before its body or from the
/// end of it, which hand `values` on.
static void callOfLoop(AsyncOptEdgeCallback callback, void *userData,
                       scf::ForOp loop, OperandRange values) {
  call(callback, userData, 0, /*possible=*/true, values,
       loop.getRegionIterArgs());
  call(callback, userData, -1, /*possible=*/true, values, loop.getResults());
}

/// Calls `callback` for the edges on which `op` is entered, and returns true,
/// if its control flow is simple.
static bool callOfSimpleEntry(AsyncOptEdgeCallback callback, void *userData,
                              Operation *op) {
  AsyncOptSimpleFlow flow = getSimpleFlow(op);
  if (flow == ASYNC_OPT_SIMPLE_FLOW_LOOP) {
    auto loop = cast<scf::ForOp>(op);
    callOfLoop(callback, userData, loop, loop.getInitArgs());
  }
  if (flow == ASYNC_OPT_SIMPLE_FLOW_BRANCH) {
    bool hasElse = !cast<scf::IfOp>(op).getElseRegion().empty();
    ValueRange none;
    call(callback, userData, 0, /*possible=*/true, none, none);
    call(callback, userData, hasElse ? 1 : -1, /*possible=*/true, none, none);
  }
  return flow != ASYNC_OPT_SIMPLE_FLOW_NONE;
}

/// The same for the edges that leave `terminator`.
static bool callOfSimpleExit(AsyncOptEdgeCallback callback, void *userData,
                             Operation *terminator) {
  auto yield = dyn_cast<scf::YieldOp>(terminator);
  if (!yield)
    return false;
  Operation *parent = yield->getParentOp();
  AsyncOptSimpleFlow flow = getSimpleFlow(parent);
  if (flow == ASYNC_OPT_SIMPLE_FLOW_LOOP)
    callOfLoop(callback, userData, cast<scf::ForOp>(parent),
               yield.getResults());
  if (flow == ASYNC_OPT_SIMPLE_FLOW_BRANCH)
    call(callback, userData, -1, /*possible=*/true, yield.getResults(),
         parent->getResults());
  return flow != ASYNC_OPT_SIMPLE_FLOW_NONE;
}

static intptr_t getTarget(RegionSuccessor successor) {
  Region *region = successor.getSuccessor();
  return region ? static_cast<intptr_t>(region->getRegionNumber()) : -1;
}

/// Returns true if `successors` has one with the target of `successor`.
static bool contains(ArrayRef<RegionSuccessor> successors,
                     RegionSuccessor successor) {
  return llvm::any_of(successors, [&](RegionSuccessor other) {
    return other.getSuccessor() == successor.getSuccessor();
  });
}

bool asyncOptForEachEntry(MlirOperation op, AsyncOptEdgeCallback callback,
                          void *userData) {
  if (callOfSimpleEntry(callback, userData, unwrap(op)))
    return true;
  auto branch = dyn_cast<RegionBranchOpInterface>(unwrap(op));
  if (!branch)
    return false;
  SmallVector<RegionSuccessor> all, possible;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), all);
  branch.getEntrySuccessorRegions(getConstantOperands(branch), possible);
  if (auto loop = dyn_cast<scf::ForOp>(unwrap(op));
      loop && !contains(all, RegionSuccessor(&loop.getRegion())) &&
      getLongDistance(loop)) {
    all.assign(1, RegionSuccessor(&loop.getRegion(), loop.getRegionIterArgs()));
    possible = all;
  }
  for (RegionSuccessor successor : all)
    call(callback, userData, getTarget(successor),
         contains(possible, successor),
         branch.getEntrySuccessorOperands(successor),
         successor.getSuccessorInputs());
  // A body that is never run is not entered, but has its arguments.
  auto loop = dyn_cast<LoopLikeOpInterface>(unwrap(op));
  if (!loop)
    return true;
  for (Region *region : loop.getLoopRegions())
    if (!region->empty() && !contains(all, RegionSuccessor(region)))
      call(callback, userData, region->getRegionNumber(), /*possible=*/false,
           loop.getInits(), loop.getRegionIterArgs());
  return true;
}

bool asyncOptForEachRegionExit(MlirOperation terminator,
                               AsyncOptEdgeCallback callback, void *userData) {
  if (callOfSimpleExit(callback, userData, unwrap(terminator)))
    return true;
  auto branch = dyn_cast<RegionBranchTerminatorOpInterface>(unwrap(terminator));
  // A func.return has the interface, too.
  if (!branch || !isa<RegionBranchOpInterface>(branch->getParentOp()))
    return false;
  SmallVector<RegionSuccessor> all, possible;
  SmallVector<Attribute> constants = getConstantOperands(branch);
  SmallVector<Attribute> unknown(constants.size());
  branch.getSuccessorRegions(unknown, all);
  // Most terminators have none.
  if (llvm::any_of(constants, [](Attribute constant) { return !!constant; }))
    branch.getSuccessorRegions(constants, possible);
  else
    possible = all;
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

/// The successor that a constant condition chooses; unlike the block alone, it
/// tells two edges to one block apart.
static std::optional<unsigned> getTakenIndex(Operation *op,
                                             ArrayRef<Attribute> constants) {
  auto value = constants.empty() ? IntegerAttr()
                                 : dyn_cast_or_null<IntegerAttr>(constants[0]);
  if (!value)
    return std::nullopt;
  if (isa<cf::CondBranchOp>(op))
    return value.getValue().isZero() ? 1 : 0;
  auto branch = dyn_cast<cf::SwitchOp>(op);
  if (!branch)
    return std::nullopt;
  if (std::optional<DenseIntElementsAttr> cases = branch.getCaseValues())
    for (auto [i, known] : llvm::enumerate(cases->getValues<APInt>()))
      if (known == value.getValue())
        return i + 1;
  return 0;
}

bool asyncOptForEachBranch(MlirOperation terminator,
                           AsyncOptEdgeCallback callback, void *userData) {
  Operation *op = unwrap(terminator);
  if (op->getNumSuccessors() == 0)
    return true;
  auto branch = dyn_cast<BranchOpInterface>(op);
  if (!branch)
    return false;
  SmallVector<Attribute> constants = getConstantOperands(op);
  Block *taken = branch.getSuccessorForOperands(constants);
  std::optional<unsigned> index = getTakenIndex(op, constants);
  for (unsigned i = 0, e = op->getNumSuccessors(); i < e; ++i) {
    Block *successor = op->getSuccessor(i);
    bool possible = index ? i == *index : !taken || successor == taken;
    SuccessorOperands operands = branch.getSuccessorOperands(i);
    unsigned produced = operands.getProducedOperandCount();
    ValueRange arguments = successor->getArguments();
    call(callback, userData, i, possible, operands.getForwardedOperands(),
         arguments.drop_front(produced));
  }
  return true;
}

void asyncOptBranchAppend(MlirOperation terminator, intptr_t index,
                          intptr_t numValues, MlirValue const *values) {
  SmallVector<Value> appended;
  for (intptr_t i = 0; i < numValues; ++i)
    appended.push_back(unwrap(values[i]));
  cast<BranchOpInterface>(unwrap(terminator))
      .getSuccessorOperands(static_cast<unsigned>(index))
      .append(appended);
}

/// The bound or step of a loop that has one of them, null otherwise.
static OpFoldResult getOnly(std::optional<SmallVector<OpFoldResult>> values) {
  return values && values->size() == 1 ? values->front() : OpFoldResult();
}

/// How often `loop` runs, from the interface's answer or from its bounds.
static std::optional<APInt> getTripCount(LoopLikeOpInterface loop) {
  if (std::optional<APInt> trip = loop.getStaticTripCount())
    return trip;
  // A loop that says nothing of itself counts up to a signed bound.
  OpFoldResult lower = getOnly(loop.getLoopLowerBounds());
  OpFoldResult upper = getOnly(loop.getLoopUpperBounds());
  OpFoldResult step = getOnly(loop.getLoopSteps());
  if (!lower || !upper || !step || isa<scf::ForOp>(loop.getOperation()) ||
      loop->hasTrait<OpTrait::HasParallelRegion>())
    return std::nullopt;
  return constantTripCount(lower, upper, step, /*isSigned=*/true,
                           scf::computeUbMinusLb);
}

bool asyncOptBlockMayRepeat(MlirBlock block) {
  if (LoopLikeOpInterface::blockIsInLoop(unwrap(block)))
    return true;
  for (Operation *op = unwrap(block)->getParentOp();
       op && !isa<FunctionOpInterface>(op); op = op->getParentOp()) {
    if (!isa<RegionBranchOpInterface>(op))
      return true;
  }
  return false;
}

bool asyncOptWrapsAround(MlirOperation op) {
  auto loop = dyn_cast<scf::ForOp>(unwrap(op));
  return loop && wrapsAround(loop);
}

bool asyncOptConstantTripCount(MlirOperation op, uint64_t *trip) {
  if (auto loop = dyn_cast<scf::ForOp>(unwrap(op))) {
    if (isOfUnknownTripCount(loop))
      return false;
    if (std::optional<APInt> distance = getLongDistance(loop)) {
      APInt step;
      if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
          !step.isStrictlyPositive())
        return false;
      *trip = llvm::APIntOps::RoundingUDiv(*distance, step, APInt::Rounding::UP)
                  .getLimitedValue();
      return true;
    }
  }
  auto loop = dyn_cast<LoopLikeOpInterface>(unwrap(op));
  auto branch = dyn_cast<RegionBranchOpInterface>(unwrap(op));
  if (!loop || !branch || branch->getNumRegions() != 1)
    return false;
  if (std::optional<APInt> count = getTripCount(loop)) {
    *trip = count->getLimitedValue();
    return count->getActiveBits() <= 64;
  }
  SmallVector<InvocationBounds> bounds;
  branch.getRegionInvocationBounds(getConstantOperands(branch), bounds);
  if (bounds.size() != 1 || !bounds[0].getUpperBound() ||
      *bounds[0].getUpperBound() != bounds[0].getLowerBound())
    return false;
  *trip = bounds[0].getLowerBound();
  return true;
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
