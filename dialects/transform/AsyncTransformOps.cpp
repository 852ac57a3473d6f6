//===- AsyncTransformOps.cpp - Our passes in transform scripts ------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "transform/AsyncTransformOps.h"
#include "MLIR/RustTransform.h"
#include "async/Async.h"
#include "gpux/Gpux.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace async_opt;

#define GET_OP_CLASSES
#include "transform/AsyncTransformOps.h.inc"

#define GET_OP_CLASSES
#include "transform/AsyncTransformOps.cpp.inc"

DiagnosedSilenceableFailure
AsyncPipelineOp::apply(transform::TransformRewriter &rewriter,
                       transform::TransformResults &results,
                       transform::TransformState &state) {
  SmallVector<Operation *> loops =
      llvm::to_vector(state.getPayloadOps(getTarget()));
  SmallVector<Operation *> kernels;
  DiagnosedSilenceableFailure result =
      applyRustTransform(*this, loops, rewriter, state, kernels);
  results.set(cast<OpResult>(getKernels()), kernels);
  return result;
}

void AsyncPipelineOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::consumesHandle(getTargetMutable(), effects);
  transform::producesHandle(getOperation()->getOpResults(), effects);
  transform::modifiesPayload(effects);
}

namespace {
class AsyncTransformExtension
    : public transform::TransformDialectExtension<AsyncTransformExtension> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AsyncTransformExtension)

  void init() {
    // Those of the operations that pipelining makes. (`gpux` loads `async`.)
    declareGeneratedDialect<arith::ArithDialect>();
    declareGeneratedDialect<gpu::GPUDialect>();
    declareGeneratedDialect<gpux::GpuxDialect>();
    declareGeneratedDialect<memref::MemRefDialect>();
    declareGeneratedDialect<scf::SCFDialect>();
    declareGeneratedDialect<ub::UBDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "transform/AsyncTransformOps.cpp.inc"
        >();
  }
};
} // namespace

void async_opt::registerTransformExtension(DialectRegistry &registry) {
  registry.addExtensions<AsyncTransformExtension>();
}
