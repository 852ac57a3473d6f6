//===- AsyncOpt.h - async-opt in C programs ---------------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration, pipelines on modules and on text, and PTX as text. (To add the
// dialects to a registry, see Dialects.h.) Strings and handles are those of
// MLIR's C API: text that a callback gets lives during the call. Modules and
// PTX may come in several pieces.
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_ASYNCOPT_H
#define ASYNCOPT_C_ASYNCOPT_H

#include "AsyncOpt-c/Dialects.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Adds every pass and pipeline of async-opt to MLIR's global registry, and the
/// passes of upstream that `gpux-lower-to-nvvm` uses. Those that are there
/// already stay. Call it from one thread, before passes run.
MLIR_CAPI_EXPORTED void asyncOptRegisterAllPasses(void);

/// Runs a pipeline such as "gpux-lower-to-nvvm{chip=sm_80}" on `module`. What
/// is wrong goes to the diagnostic handlers of its context.
MLIR_CAPI_EXPORTED MlirLogicalResult
asyncOptRunPipeline(MlirModule module, MlirStringRef pipeline);

/// Calls `onText` with the PTX of the `gpu.binary` or `gpu.module` of `module`
/// that is called `name`, or of the only one if `name` is empty. A `gpu.module`
/// needs a target, and is compiled to PTX on the way. `module` stays as it is.
/// What is wrong goes to the diagnostic handlers of its context.
MLIR_CAPI_EXPORTED MlirLogicalResult asyncOptEmitPTX(MlirModule module,
                                                     MlirStringRef name,
                                                     MlirStringCallback onText,
                                                     void *userData);

/// Parses `source`, a module as text, in a context of its own with all
/// dialects, ours and upstream's (but its `async`); runs `pipeline` on it, and
/// calls `onText` with the module as text, or, if `ptx`, with the PTX of its
/// only GPU module. `onDiagnostic`, which may be null, is called once for each
/// diagnostic, with its notes, as the lines that the tools print: severity,
/// message, and line and column of the text. Registers all passes first.
MLIR_CAPI_EXPORTED MlirLogicalResult asyncOptCompileText(
    MlirStringRef source, MlirStringRef pipeline, bool ptx,
    MlirStringCallback onText, MlirStringCallback onDiagnostic, void *userData);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCOPT_C_ASYNCOPT_H */
