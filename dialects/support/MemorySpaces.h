//===- MemorySpaces.h - Where memory is -------------------------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A memory space is written in gpu's words, or as a number of the NVPTX back
// end.
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_SUPPORT_MEMORYSPACES_H
#define ASYNC_OPT_SUPPORT_MEMORYSPACES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace async_opt {

/// Returns true if `memorySpace` is the memory that all threads of the grid
/// see.
inline bool isGlobalMemory(mlir::Attribute memorySpace) {
  if (!memorySpace)
    return true;
  if (auto space = llvm::dyn_cast<mlir::gpu::AddressSpaceAttr>(memorySpace))
    return space.getValue() == mlir::gpu::AddressSpace::Global;
  if (auto space = llvm::dyn_cast<mlir::IntegerAttr>(memorySpace))
    return space.getValue() == 1;
  return false;
}

/// Returns true if `memorySpace` is the memory that the threads of a block
/// share.
inline bool isWorkgroupMemory(mlir::Attribute memorySpace) {
  if (!memorySpace)
    return false;
  if (auto space = llvm::dyn_cast<mlir::gpu::AddressSpaceAttr>(memorySpace))
    return space.getValue() == mlir::gpu::AddressSpace::Workgroup;
  if (auto space = llvm::dyn_cast<mlir::IntegerAttr>(memorySpace))
    return space.getValue() == 3;
  return false;
}

} // namespace async_opt

#endif // ASYNC_OPT_SUPPORT_MEMORYSPACES_H
