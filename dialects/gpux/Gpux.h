//===- Gpux.h - The gpux dialect --------------------------------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_GPUX_GPUX_H
#define ASYNC_OPT_GPUX_GPUX_H

#include "async/Async.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/GPU/IR/CompilationInterfaces.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "gpux/GpuxDialect.h.inc"
#include "gpux/GpuxEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "gpux/GpuxAttrs.h.inc"

#define GET_OP_CLASSES
#include "gpux/GpuxOps.h.inc"

namespace async_opt::gpux {

/// The queue of groups that `queue` names. Its commits and waits are operations
/// of this dialect, which has to be loaded to build them.
const async_opt::async::GroupQueue &getGroupQueue(Queue queue);

/// Registers the dialect, what upstream's operations mean, and what upstream's
/// dialect `async` lacks. The dialect loads `async` when it is loaded.
void registerGpuxDialect(mlir::DialectRegistry &registry);

/// Appends code for the interpreter to `bytes`, for the kernels of a
/// `gpu.module`; or emits errors.
using KernelSerializer = llvm::LogicalResult (*)(
    mlir::Operation *module, llvm::SmallVectorImpl<char> &bytes);

/// Sets what `#gpux.sim_target` calls. Before, it can't make anything.
void setKernelSerializer(KernelSerializer serializer);

/// Registers the bufferization of the dialect's ops.
void registerBufferizationModels(mlir::DialectRegistry &registry);

/// Registers `AsyncCompletionOpInterface` for operations of `nvgpu` and `nvvm`.
void registerCompletionModels(mlir::DialectRegistry &registry);

} // namespace async_opt::gpux

#endif // ASYNC_OPT_GPUX_GPUX_H
