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
#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
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
  return wrap(
      llvm::TypeSwitch<Attribute, StringRef>(unwrap(attribute))
          .Case<gpu::AddressSpaceAttr, gpu::AllReduceOperationAttr,
                gpu::DimensionAttr, gpu::MMAElementwiseOpAttr,
                gpu::ShuffleModeAttr, index::IndexCmpPredicateAttr,
                NVVM::BarrierReductionAttr, NVVM::DotAccumulateTypeAttr,
                NVVM::FPRoundingModeAttr, NVVM::PermuteModeAttr,
                NVVM::SaturationModeAttr, NVVM::LdStMatrixEltTypeAttr,
                NVVM::LoadCacheModifierKindAttr, NVVM::MMAFragAttr,
                NVVM::MMAIntOverflowAttr, NVVM::MMALayoutAttr,
                NVVM::MMATypesAttr, NVVM::MatchSyncKindAttr,
                NVVM::ProxyKindAttr, NVVM::ReduxKindAttr, NVVM::ShflKindAttr,
                NVVM::TMALoadModeAttr, NVVM::TMAStoreModeAttr,
                NVVM::VoteSyncKindAttr, NVVM::WGMMAScaleInAttr,
                NVVM::WGMMAScaleOutAttr, NVVM::WGMMATypesAttr,
                vector::CombiningKindAttr, vector::PrintPunctuationAttr>(
              keyword)
          .Default(StringRef()));
}

bool asyncOptLLVMArrayGetNumElements(MlirType type, uint64_t *number) {
  auto array = dyn_cast<LLVM::LLVMArrayType>(unwrap(type));
  if (!array)
    return false;
  *number = array.getNumElements();
  return true;
}

MlirType asyncOptLLVMConvertType(MlirType type) {
  MLIRContext *context = unwrap(type).getContext();
  LLVMTypeConverter converter(context, LowerToLLVMOptions(context));
  return wrap(converter.convertType(unwrap(type)));
}

bool asyncOptMMAShapeGetSizes(MlirAttribute attribute, int64_t sizes[3]) {
  if (auto shape = dyn_cast<NVVM::MMAShapeAttr>(unwrap(attribute))) {
    sizes[0] = shape.getM();
    sizes[1] = shape.getN();
    sizes[2] = shape.getK();
    return true;
  }
  return false;
}

bool asyncOptMMAMatrixGetShape(MlirType type, int64_t *rows, int64_t *columns,
                               MlirType *element) {
  auto matrix = dyn_cast<gpu::MMAMatrixType>(unwrap(type));
  if (!matrix)
    return false;
  // The verifier lets matrices of two dimensions pass only.
  *rows = matrix.getShape()[0];
  *columns = matrix.getShape()[1];
  *element = wrap(matrix.getElementType());
  return true;
}

bool asyncOptHasInherentAttribute(MlirContext context, MlirStringRef op,
                                  MlirStringRef attribute) {
  auto name = RegisteredOperationName::lookup(unwrap(op), unwrap(context));
  return name && llvm::any_of(name->getAttributeNames(), [&](StringAttr known) {
           return known.getValue() == unwrap(attribute);
         });
}
