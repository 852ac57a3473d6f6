//===- Attributes.cpp - What attributes and types say ---------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/MLIR/Attributes.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexAttrs.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

MlirStringRef asyncOptEnumGetKeyword(MlirAttribute attribute) {
  auto keyword = [](auto attr) { return stringifyEnum(attr.getValue()); };
  return wrap(llvm::TypeSwitch<Attribute, StringRef>(unwrap(attribute))
                  .Case<gpu::AddressSpaceAttr, gpu::AllReduceOperationAttr,
                        gpu::DimensionAttr, gpu::ShuffleModeAttr,
                        index::IndexCmpPredicateAttr, NVVM::ProxyKindAttr,
                        vector::CombiningKindAttr>(keyword)
                  .Default(StringRef()));
}

bool asyncOptLLVMArrayGetNumElements(MlirType type, uint64_t *number) {
  auto array = dyn_cast<LLVM::LLVMArrayType>(unwrap(type));
  if (!array)
    return false;
  *number = array.getNumElements();
  return true;
}

bool asyncOptHasInherentAttribute(MlirContext context, MlirStringRef op,
                                  MlirStringRef attribute) {
  auto name = RegisteredOperationName::lookup(unwrap(op), unwrap(context));
  return name && llvm::any_of(name->getAttributeNames(), [&](StringAttr known) {
           return known.getValue() == unwrap(attribute);
         });
}
