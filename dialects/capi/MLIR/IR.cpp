//===- IR.cpp - What MLIR's C API lacks to rewrite IR ---------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/MLIR/IR.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <limits>

using namespace mlir;

static IRMapping &unwrap(AsyncOptMapping mapping) {
  return *static_cast<IRMapping *>(mapping.ptr);
}

AsyncOptMapping asyncOptMappingCreate(void) { return {new IRMapping}; }

void asyncOptMappingDestroy(AsyncOptMapping mapping) {
  delete &unwrap(mapping);
}

void asyncOptMappingMap(AsyncOptMapping mapping, MlirValue from, MlirValue to) {
  unwrap(mapping).map(unwrap(from), unwrap(to));
}

MlirValue asyncOptMappingLookup(AsyncOptMapping mapping, MlirValue from) {
  return wrap(unwrap(mapping).lookupOrDefault(unwrap(from)));
}

MlirBlock asyncOptMappingLookupBlock(AsyncOptMapping mapping, MlirBlock from) {
  return wrap(unwrap(mapping).lookupOrDefault(unwrap(from)));
}

MlirOperation asyncOptOperationClone(MlirOperation op,
                                     AsyncOptMapping mapping) {
  return wrap(unwrap(op)->clone(unwrap(mapping)));
}

void asyncOptRegionCloneInto(MlirRegion from, MlirRegion to,
                             AsyncOptMapping mapping) {
  unwrap(from)->cloneInto(unwrap(to), unwrap(mapping));
}

MlirBlock asyncOptBlockSplitBefore(MlirOperation op) {
  Operation *operation = unwrap(op);
  return wrap(operation->getBlock()->splitBlock(operation));
}

MlirOperation asyncOptOperationGetPrev(MlirOperation op) {
  return wrap(unwrap(op)->getPrevNode());
}

void asyncOptOperationMoveToEnd(MlirOperation op, MlirBlock block) {
  unwrap(op)->moveBefore(unwrap(block), unwrap(block)->end());
}

void asyncOptBlockMoveOperations(MlirBlock from, MlirBlock to) {
  Block *source = unwrap(from), *target = unwrap(to);
  target->getOperations().splice(target->end(), source->getOperations());
}

void asyncOptOperationDropAllReferences(MlirOperation op) {
  unwrap(op)->dropAllReferences();
}

void asyncOptBlockDropAllReferences(MlirBlock block) {
  unwrap(block)->dropAllReferences();
}

void asyncOptBlockMoveArgument(MlirBlock block, intptr_t index, MlirBlock to) {
  // There is no way to take an argument out of its block but to destroy it, so
  // one that nobody knows takes its place, and is destroyed there.
  BlockArgument &argument = unwrap(block)->getArguments()[index];
  unwrap(to)->addArgument(argument.getType(), argument.getLoc());
  std::swap(argument, unwrap(to)->getArguments().back());
  unwrap(block)->eraseArgument(index);
}

bool asyncOptOperationIsAncestor(MlirOperation ancestor, MlirOperation op) {
  return unwrap(ancestor)->isAncestor(unwrap(op));
}

bool asyncOptOperationIsPure(MlirOperation op) { return isPure(unwrap(op)); }

bool asyncOptOperationIsFunction(MlirOperation op) {
  // A function has a region, and the interface takes longer to look up.
  return unwrap(op)->getNumRegions() > 0 &&
         isa<FunctionOpInterface>(unwrap(op));
}

MlirValue asyncOptOperationGetViewSource(MlirOperation op) {
  auto view = dyn_cast<ViewLikeOpInterface>(unwrap(op));
  return view ? wrap(view.getViewSource()) : MlirValue{nullptr};
}

bool asyncOptForEachMemoryEffect(MlirOperation op,
                                 void (*callback)(AsyncOptMemoryEffect,
                                                  MlirValue, void *),
                                 void *userData) {
  Operation *operation = unwrap(op);
  auto interface = dyn_cast<MemoryEffectOpInterface>(operation);
  if (!interface)
    return operation->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    // Other resources are no buffers.
    if (!effect.getValue() &&
        effect.getResource() != SideEffects::DefaultResource::get())
      continue;
    auto kind = isa<MemoryEffects::Read>(effect.getEffect())
                    ? ASYNC_OPT_MEMORY_EFFECT_READ
                : isa<MemoryEffects::Write>(effect.getEffect())
                    ? ASYNC_OPT_MEMORY_EFFECT_WRITE
                : isa<MemoryEffects::Allocate>(effect.getEffect())
                    ? ASYNC_OPT_MEMORY_EFFECT_ALLOCATE
                    : ASYNC_OPT_MEMORY_EFFECT_FREE;
    callback(kind, wrap(effect.getValue()), userData);
  }
  return true;
}

bool asyncOptForEachConstantNumber(MlirAttribute attribute,
                                   void (*callback)(uint64_t, void *),
                                   void *userData) {
  Attribute constant = unwrap(attribute);
  auto number = [&](const APInt &bits) {
    callback(bits.getLimitedValue(), userData);
  };
  if (auto integer = dyn_cast<IntegerAttr>(constant)) {
    number(integer.getValue());
  } else if (auto real = dyn_cast<FloatAttr>(constant)) {
    number(real.getValue().bitcastToAPInt());
  } else if (auto dense = dyn_cast<DenseFPElementsAttr>(constant)) {
    for (const APFloat &real : dense.getValues<APFloat>())
      number(real.bitcastToAPInt());
  } else if (auto dense = dyn_cast<DenseIntElementsAttr>(constant)) {
    for (const APInt &integer : dense.getValues<APInt>())
      number(integer);
  } else {
    return false;
  }
  return true;
}

bool asyncOptValueGetConstantInt(MlirValue v, int64_t *value) {
  APInt constant;
  if (!matchPattern(unwrap(v), m_ConstantInt(&constant)) ||
      !constant.isSignedIntN(64))
    return false;
  *value = constant.getSExtValue();
  return true;
}

MlirAsmState asyncOptAsmStateCreate(MlirOperation op) {
  // Upstream's parser does not take the custom assembly format of a switch that
  // hands on one of several results.
  bool isGeneric = unwrap(op)
                       ->walk([](cf::SwitchOp branch) {
                         return branch->getNumOperands() > 1
                                    ? WalkResult::interrupt()
                                    : WalkResult::advance();
                       })
                       .wasInterrupted();
  OpPrintingFlags flags;
  flags.useLocalScope()
      .printGenericOpForm(isGeneric)
      .enableDebugInfo(false)
      .skipRegions(false)
      .assumeVerified(false)
      .printValueUsers(false)
      .printUniqueSSAIDs(false)
      .printNameLocAsPrefix(false)
      // Nothing is as large.
      .elideLargeElementsAttrs(std::numeric_limits<int64_t>::max())
      .elideLargeResourceString(std::numeric_limits<int64_t>::max());
  return wrap(new AsmState(unwrap(op), flags));
}
