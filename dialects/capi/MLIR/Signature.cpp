//===- Signature.cpp - Fewer and more operands and results ----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/MLIR/Signature.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

/// Counts down the segment that holds `index` in the array attribute `name`, if
/// there is one, counting positions from `start`.
static void shrinkSegment(Operation *op, StringRef name, int64_t index,
                          int64_t start) {
  auto segments = op->getAttrOfType<DenseI32ArrayAttr>(name);
  if (!segments)
    return;
  SmallVector<int32_t> sizes(segments.asArrayRef());
  int64_t end = start;
  for (int32_t &size : sizes) {
    end += size;
    if (index < end) {
      --size;
      break;
    }
  }
  op->setAttr(name, DenseI32ArrayAttr::get(op->getContext(), sizes));
}

void asyncOptOperationEraseOperand(MlirOperation op, intptr_t index) {
  Operation *operation = unwrap(op);
  // `cf.switch` counts the operands of its cases in an attribute of its own,
  // after the flag and those of the default.
  if (auto segments =
          operation->getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes")) {
    if (segments.size() == 3 && operation->hasAttr("case_operand_segments")) {
      int64_t start = segments[0] + segments[1];
      if (index >= start)
        shrinkSegment(operation, "case_operand_segments", index, start);
    }
  }
  shrinkSegment(operation, "operandSegmentSizes", index, 0);
  operation->eraseOperand(index);
}

MlirOperation asyncOptOperationEraseResults(MlirOperation op,
                                            const bool *erase) {
  Operation *old = unwrap(op);
  SmallVector<Value> kept;
  SmallVector<Type> types;
  for (OpResult result : old->getResults()) {
    if (erase[result.getResultNumber()])
      continue;
    kept.push_back(result);
    types.push_back(result.getType());
  }
  // As Operation::clone does: properties are copied, and no attributes made of
  // them.
  Operation *replacement = Operation::create(
      old->getLoc(), old->getName(), types, old->getOperands(),
      old->getRawDictionaryAttrs(), old->getPropertiesStorage(),
      old->getSuccessors(), old->getNumRegions());
  for (auto [from, to] :
       llvm::zip_equal(old->getRegions(), replacement->getRegions()))
    to.takeBody(from);
  OpBuilder(old).insert(replacement);
  for (auto [from, to] : llvm::zip_equal(kept, replacement->getResults()))
    from.replaceAllUsesWith(to);
  return wrap(replacement);
}

MlirOperation asyncOptOperationAppend(MlirOperation op, intptr_t numOperands,
                                      MlirValue const *operands,
                                      intptr_t numTypes,
                                      MlirType const *types) {
  Operation *old = unwrap(op);
  OperationState state(old->getLoc(), old->getName());
  state.addOperands(old->getOperands());
  state.addSuccessors(old->getSuccessors());
  state.addAttributes(old->getAttrs());
  state.addTypes(old->getResultTypes());
  for (intptr_t i = 0; i < numOperands; ++i)
    state.operands.push_back(unwrap(operands[i]));
  for (intptr_t i = 0; i < numTypes; ++i)
    state.types.push_back(unwrap(types[i]));
  StringRef segments = "operandSegmentSizes";
  if (auto sizes = old->getAttrOfType<DenseI32ArrayAttr>(segments)) {
    SmallVector<int32_t> grown(sizes.asArrayRef());
    grown.back() += static_cast<int32_t>(numOperands);
    state.attributes.set(segments,
                         DenseI32ArrayAttr::get(old->getContext(), grown));
  }
  for (Region &region : old->getRegions())
    state.addRegion()->takeBody(region);
  OpBuilder builder(old);
  Operation *replacement = builder.create(state);
  old->replaceAllUsesWith(
      replacement->getResults().take_front(old->getNumResults()));
  return wrap(replacement);
}
