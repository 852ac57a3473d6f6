//===- Engine.h - C API of MLIR's execution engine --------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_ENGINE_H
#define ASYNCOPT_C_ENGINE_H

#include "mlir-c/ExecutionEngine.h"
#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Does what mlirExecutionEngineCreate does, but for three things: it tells
/// `onError` what is wrong when it returns a null engine, it gives the module
/// the data layout of the machine before it is translated, and it leaves no
/// files for `perf` behind, which MLIR's own writes below the home folder
/// wherever LLVM was built with support for it.
MLIR_CAPI_EXPORTED MlirExecutionEngine asyncOptEngineCreate(
    MlirOperation module, int optLevel, intptr_t numLibraries,
    const MlirStringRef *libraries, MlirStringCallback onError, void *userData);

/// Like mlirExecutionEngineLookup, but tells `onError` what is wrong.
MLIR_CAPI_EXPORTED void *asyncOptEngineLookup(MlirExecutionEngine engine,
                                              MlirStringRef name,
                                              MlirStringCallback onError,
                                              void *userData);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_ENGINE_H
