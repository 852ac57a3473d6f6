//===- Registration.cpp - Dialects and passes in C++ and C ----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/AsyncOpt.h"
#include "AsyncOpt/AsyncOpt.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

/// Adds our passes and pipelines, which are in Rust, to MLIR's registry.
extern "C" void asyncOptRegisterPasses();

/// What `gpux-lower-to-nvvm` names beside our own passes.
static void registerUpstreamPassesOfPipelines() {
  affine::registerAffineLoopUnroll();
  memref::registerExpandStridedMetadataPass();
  registerCSEPass();
  registerCanonicalizerPass();
  registerConvertGpuOpsToNVVMOps();
  registerConvertNVGPUToNVVMPass();
  registerConvertNVVMToLLVMPass();
  registerConvertVectorToSCF();
  registerGpuKernelOutliningPass();
  registerGpuModuleToBinaryPass();
  registerGpuNVVMAttachTarget();
  registerLowerAffinePass();
  registerReconcileUnrealizedCastsPass();
  registerSCFToControlFlowPass();
}

void asyncopt::registerAllPasses() {
  static bool once = [] {
    registerUpstreamPassesOfPipelines();
    asyncOptRegisterPasses();
    return true;
  }();
  (void)once;
}

void asyncOptRegisterAllPasses() { asyncopt::registerAllPasses(); }

/// Ends the process, as MLIR does where two dialects have one name.
static void failOnConflict(MlirStringRef message, void *) {
  llvm::report_fatal_error(unwrap(message), /*gen_crash_diag=*/false);
}

void asyncopt::registerDialects(DialectRegistry &registry) {
  // Without them, conversions find no patterns, which says nothing of what is
  // missing. What is there already stays.
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  asyncOptRegisterDialectsBesideUpstream(wrap(&registry), failOnConflict,
                                         nullptr);
}

void asyncopt::registerAllDialects(DialectRegistry &registry) {
  // First, where it can tell that upstream's `async` is there.
  asyncOptRegisterDialects(wrap(&registry), failOnConflict, nullptr);
  asyncOptRegisterAllDialects(wrap(&registry));
}
