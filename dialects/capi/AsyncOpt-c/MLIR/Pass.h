//===- Pass.h - C API to write passes outside C++ ---------------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's own C API has external passes, but no options, no failure to
// initialize and no way into the registry of passes that `--pass-pipeline`
// reads. A pass registered here is like any C++ one: textual pipelines,
// nesting, options, `--help`, reproducers, timing, IR printing and
// multithreading all work.
//
// A pass has no state of its own: all that it may read is its operation and its
// options. So there is nothing to clone and nothing to free.
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_PASS_H
#define ASYNCOPT_C_MLIR_PASS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A pass while it runs: gives access to its options and statistics.
typedef struct AsyncOptPass {
  void *ptr;
} AsyncOptPass;

/// The option values that a pipeline was given.
typedef struct AsyncOptPipelineOptions {
  const void *ptr;
} AsyncOptPipelineOptions;

typedef enum AsyncOptOptionKind {
  AsyncOptOptionBool,
  AsyncOptOptionInt,
  AsyncOptOptionString,
} AsyncOptOptionKind;

/// An option of a pass or a pipeline. Only the default of its kind is read.
typedef struct AsyncOptOption {
  MlirStringRef name;
  MlirStringRef description;
  AsyncOptOptionKind kind;
  bool boolDefault;
  int64_t intDefault;
  MlirStringRef stringDefault;
} AsyncOptOption;

typedef struct AsyncOptStatistic {
  MlirStringRef name;
  MlirStringRef description;
} AsyncOptStatistic;

typedef enum AsyncOptAnchor {
  /// Runs on any operation.
  AsyncOptAnchorAny,
  /// Runs on operations of the names in `anchorNames`.
  AsyncOptAnchorNames,
  /// Runs on functions (FunctionOpInterface). Scheduled on anything else, it
  /// runs on the outermost functions inside, in parallel.
  AsyncOptAnchorFunctions,
} AsyncOptAnchor;

typedef struct AsyncOptPassInfo {
  MlirStringRef argument;
  MlirStringRef description;
  AsyncOptAnchor anchor;
  const MlirStringRef *anchorNames;
  intptr_t numAnchorNames;
  const AsyncOptOption *options;
  intptr_t numOptions;
  const AsyncOptStatistic *statistics;
  intptr_t numStatistics;
  /// The dialects whose operations the pass may create.
  const MlirDialectHandle *dependentDialects;
  intptr_t numDependentDialects;
  /// Runs the pass; returns false if it failed (after emitting a diagnostic).
  /// Called from several threads at once, on different operations.
  bool (*run)(AsyncOptPass pass, MlirOperation op);
} AsyncOptPassInfo;

/// Adds a pass to MLIR's global registry. Everything in `info` is copied.
MLIR_CAPI_EXPORTED void asyncOptRegisterPass(const AsyncOptPassInfo *info);

/// The value of the option at `index`, which has the kind in the name.
MLIR_CAPI_EXPORTED bool asyncOptPassGetBool(AsyncOptPass pass, intptr_t index);
MLIR_CAPI_EXPORTED int64_t asyncOptPassGetInt(AsyncOptPass pass,
                                              intptr_t index);
MLIR_CAPI_EXPORTED MlirStringRef asyncOptPassGetString(AsyncOptPass pass,
                                                       intptr_t index);

/// Adds `delta` to the statistic at `index`. Safe from any thread.
MLIR_CAPI_EXPORTED void
asyncOptPassAddStatistic(AsyncOptPass pass, intptr_t index, uint64_t delta);

/// Starts or stops what `--mlir-timing` shows below the pass as "(A) Check".
/// Does nothing on a thread that MLIR does not know to run the pass.
MLIR_CAPI_EXPORTED void asyncOptPassTimeCheck(AsyncOptPass pass, bool start);

/// Returns true if a pass may start threads: multithreading is enabled in the
/// context.
MLIR_CAPI_EXPORTED bool asyncOptMayUseThreads(MlirContext context);

typedef struct AsyncOptPipelineInfo {
  MlirStringRef argument;
  MlirStringRef description;
  const AsyncOptOption *options;
  intptr_t numOptions;
  /// Calls `emit` once with the textual pipeline that the options ask for, or
  /// returns false after calling it with an error message instead.
  bool (*build)(AsyncOptPipelineOptions options, const void *userData,
                void (*emit)(MlirStringRef text, void *emitData),
                void *emitData);
  /// Handed to `build`; must live as long as the process.
  const void *userData;
} AsyncOptPipelineInfo;

/// Adds a pipeline to MLIR's global registry. Everything in `info` but
/// `userData` is copied.
MLIR_CAPI_EXPORTED void
asyncOptRegisterPipeline(const AsyncOptPipelineInfo *info);

MLIR_CAPI_EXPORTED bool asyncOptPipelineGetBool(AsyncOptPipelineOptions options,
                                                intptr_t index);
MLIR_CAPI_EXPORTED int64_t
asyncOptPipelineGetInt(AsyncOptPipelineOptions options, intptr_t index);
MLIR_CAPI_EXPORTED MlirStringRef
asyncOptPipelineGetString(AsyncOptPipelineOptions options, intptr_t index);

/// Says that a pass has failed for a fault of its own, so that whoever ran it
/// should keep its input.
MLIR_CAPI_EXPORTED void asyncOptRequestReproducer(void);
/// Returns true if a pass of this process has.
MLIR_CAPI_EXPORTED bool asyncOptIsReproducerRequested(void);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_PASS_H
