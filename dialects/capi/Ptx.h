//===- Ptx.h - PTX as text ---------------------------------------*- C++ -*===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_CAPI_PTX_H
#define ASYNCOPT_CAPI_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"

namespace async_opt {

/// Prints the PTX of the GPU module or binary of `module` that is called
/// `name`, or of the only one there is if `name` is empty.
llvm::LogicalResult printPtx(mlir::ModuleOp module, llvm::StringRef name,
                             llvm::raw_ostream &os);

} // namespace async_opt

#endif // ASYNCOPT_CAPI_PTX_H
