//===- Tool.h - C API of the command line tools -----------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_TOOL_H
#define ASYNCOPT_C_TOOL_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of LLVM that this library was built with, such as "22.1.8".
MLIR_CAPI_EXPORTED MlirStringRef asyncOptLLVMVersion(void);

/// Adds every upstream pass and pipeline that does not load upstream's `async`
/// dialect to MLIR's global registry, and LLVM's code generator for NVIDIA
/// GPUs.
MLIR_CAPI_EXPORTED void asyncOptRegisterUpstreamPasses(void);

/// The driver of `async-opt`: upstream's MlirOptMain over all dialects.
///
/// `version` is this project's own. `stackSize` is the size of the calling
/// thread's stack: worker threads get the same, and input that nests too deep
/// for it is refused. Returns the exit code.
MLIR_CAPI_EXPORTED int asyncOptMlirOptMain(int argc, char **argv,
                                           MlirStringRef version,
                                           size_t stackSize);

/// Rewrites a module in a context that has upstream's `async`; returns false
/// after emitting a diagnostic.
typedef bool (*AsyncOptRewrite)(MlirOperation module);

/// The driver of `async-translate`; arguments as above. `importAsync` rewrites
/// upstream's `async` to ours, and `exportAsync` ours to upstream's; what they
/// read or leave of ours is not registered in that context.
MLIR_CAPI_EXPORTED int asyncOptTranslateMain(int argc, char **argv,
                                             MlirStringRef version,
                                             size_t stackSize,
                                             AsyncOptRewrite importAsync,
                                             AsyncOptRewrite exportAsync);

/// The driver of `async-lsp-server`: upstream's MlirLspServerMain over all
/// dialects; arguments as above.
MLIR_CAPI_EXPORTED int asyncOptLspServerMain(int argc, char **argv,
                                             MlirStringRef version,
                                             size_t stackSize);

/// The driver of `async-opt reduce`: upstream's mlirReduceMain over all
/// dialects and passes; arguments as above.
MLIR_CAPI_EXPORTED int asyncOptReduceMain(int argc, char **argv,
                                          MlirStringRef version,
                                          size_t stackSize);

/// Parses the module in a file ("-" is standard input), rewrites it with
/// `importAsync` if it is in upstream's `async`, runs passes over it, each
/// written as "PASS{OPTION=VALUE ...}" or as a pipeline such as
/// "lower-affine,cse", and hands it to `callback`, whose answer it returns;
/// false where something went wrong before, which was printed. Whatever
/// `callback` reports at locations of the module is printed with its source.
MLIR_CAPI_EXPORTED bool
asyncOptWithModule(MlirStringRef path, intptr_t numPasses,
                   const MlirStringRef *passes, size_t stackSize,
                   AsyncOptRewrite importAsync,
                   bool (*callback)(MlirOperation, void *), void *userData);

/// Parses `text`, which has one operation of the same name as `other`, puts it
/// right before `other`, and verifies it there, where what it refers to can be
/// found. Text that nests too deep for `stackSize` bytes is refused. Nothing is
/// emitted: if something is wrong, `callback` gets a message, and the result is
/// null.
MLIR_CAPI_EXPORTED MlirOperation
asyncOptParseBefore(MlirOperation other, MlirStringRef text, size_t stackSize,
                    MlirStringCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_TOOL_H
