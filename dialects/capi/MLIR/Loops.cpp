//===- Loops.cpp - Upstream's transformations of loops --------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/MLIR/Loops.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"

using namespace mlir;

bool asyncOptLoopUnroll(MlirOperation loop, uint64_t factor,
                        MlirOperation *remainder) {
  FailureOr<UnrolledLoopInfo> loops =
      loopUnrollByFactor(cast<scf::ForOp>(unwrap(loop)), factor);
  if (failed(loops))
    return false;
  std::optional<scf::ForOp> epilogue = loops->epilogueLoopOp;
  *remainder = wrap(epilogue ? epilogue->getOperation() : nullptr);
  return true;
}
