//===- Nvgpu.cpp - Upstream's lowering of nvgpu ---------------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/MLIR/Nvgpu.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

bool asyncOptLowerNvgpuCopies(MlirOperation op) {
  MLIRContext *context = unwrap(op)->getContext();
  // As upstream's pass sets it up.
  LLVMTypeConverter converter(context, LowerToLLVMOptions(context));
  nvgpu::populateCommonGPUTypeAndAttributeConversions(converter);
  converter.addConversion([](nvgpu::DeviceAsyncTokenType type) -> Type {
    return IntegerType::get(type.getContext(), 32);
  });
  RewritePatternSet patterns(context);
  populateNVGPUToNVVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  if (failed(applyPartialConversion(unwrap(op), target, std::move(patterns))))
    return false;
  return !unwrap(op)
              ->walk([](nvgpu::DeviceAsyncCopyOp) {
                return WalkResult::interrupt();
              })
              .wasInterrupted();
}

static uint32_t getSwizzledBytes(nvgpu::TensorMapSwizzleKind kind) {
  switch (kind) {
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_NONE:
    return 0;
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_32B:
    return 32;
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_64B:
    return 64;
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_128B:
    return 128;
  }
  llvm_unreachable("all kinds are above");
}

bool asyncOptTensorMapGetBox(MlirType type, MlirType *box, uint32_t *swizzle,
                             bool *nan) {
  auto tensorMap = dyn_cast<nvgpu::TensorMapDescriptorType>(unwrap(type));
  if (!tensorMap)
    return false;
  *box = wrap(cast<Type>(tensorMap.getTensor()));
  *swizzle = getSwizzledBytes(tensorMap.getSwizzle());
  *nan = tensorMap.getOob() == nvgpu::TensorMapOOBKind::OOB_NAN;
  return true;
}

bool asyncOptMBarrierGroupGetNumber(MlirType type, uint32_t *number) {
  auto group = dyn_cast<nvgpu::MBarrierGroupType>(unwrap(type));
  if (!group)
    return false;
  *number = group.getNumBarriers();
  return true;
}

bool asyncOptWarpgroupDescriptorGetMatrix(MlirType type, MlirType *matrix) {
  auto descriptor =
      dyn_cast<nvgpu::WarpgroupMatrixDescriptorType>(unwrap(type));
  if (!descriptor)
    return false;
  *matrix = wrap(cast<Type>(descriptor.getTensor()));
  return true;
}

bool asyncOptWarpgroupAccumulatorGetMatrix(MlirType type, MlirType *matrix) {
  auto accumulator = dyn_cast<nvgpu::WarpgroupAccumulatorType>(unwrap(type));
  if (!accumulator)
    return false;
  *matrix = wrap(cast<Type>(accumulator.getFragmented()));
  return true;
}
