//===- ControlFlow.h - Control flow, read through interfaces ----*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What RegionBranchOpInterface, BranchOpInterface and LoopLikeOpInterface say
// of an operation, with constant conditions and bounds honored: an edge that
// constants rule out is reported as not possible.
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_MLIR_CONTROLFLOW_H
#define ASYNCOPT_C_MLIR_CONTROLFLOW_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Takes one control-flow edge. `target` is the index of a region or of a
/// successor block, or -1 for "after the operation with the regions". The
/// values of `from` are bound to those of `to`, pair by pair, also where
/// constants rule out that the edge is taken and it is not `possible`.
typedef void (*AsyncOptEdgeCallback)(intptr_t target, bool possible, intptr_t n,
                                     const MlirValue *from, const MlirValue *to,
                                     void *userData);

/// Calls `callback` for every edge on which `op` is entered. Returns false if
/// control flow through its regions is not known (RegionBranchOpInterface).
MLIR_CAPI_EXPORTED bool asyncOptForEachEntry(MlirOperation op,
                                             AsyncOptEdgeCallback callback,
                                             void *userData);

/// Calls `callback` for every edge between regions that leaves `terminator`.
/// Returns false if the terminator's edges are not known, or its parent is no
/// region branch.
MLIR_CAPI_EXPORTED bool asyncOptForEachRegionExit(MlirOperation terminator,
                                                  AsyncOptEdgeCallback callback,
                                                  void *userData);

/// Calls `callback` for every edge to a successor block of `terminator`.
/// Returns false if it has successors whose edges are not known.
MLIR_CAPI_EXPORTED bool asyncOptForEachBranch(MlirOperation terminator,
                                              AsyncOptEdgeCallback callback,
                                              void *userData);

/// Has `terminator`, whose edges are known, hand `numValues` more values to the
/// successor block of this index.
MLIR_CAPI_EXPORTED void asyncOptBranchAppend(MlirOperation terminator,
                                             intptr_t index, intptr_t numValues,
                                             MlirValue const *values);

/// The control flow of most operations with regions, which is soon told.
typedef enum AsyncOptSimpleFlow {
  ASYNC_OPT_SIMPLE_FLOW_NONE,
  /// An scf.for that may run any number of times.
  ASYNC_OPT_SIMPLE_FLOW_LOOP,
  /// An scf.if whose condition may be true or false.
  ASYNC_OPT_SIMPLE_FLOW_BRANCH
} AsyncOptSimpleFlow;

MLIR_CAPI_EXPORTED AsyncOptSimpleFlow asyncOptGetSimpleFlow(MlirOperation op);

/// Returns true if `block` may be run several times in one run of the function
/// around it: it is inside of a loop, on a cycle of blocks, or inside of an
/// operation that does something unknown with its regions.
MLIR_CAPI_EXPORTED bool asyncOptBlockMayRepeat(MlirBlock block);

/// Returns true if `op` is an scf.for of constant bounds and step whose
/// variable wraps around after its last value; how often it runs is not known.
MLIR_CAPI_EXPORTED bool asyncOptWrapsAround(MlirOperation op);

/// Returns true if it is known how often the only region of `op`, a loop, is
/// run, and sets `trip` to it.
MLIR_CAPI_EXPORTED bool asyncOptConstantTripCount(MlirOperation op,
                                                  uint64_t *trip);

/// Returns true if `op` selects one of two values (SelectLikeOpInterface), and
/// sets them; a value that a constant condition rules out is null.
MLIR_CAPI_EXPORTED bool asyncOptSelectedValues(MlirOperation op,
                                               MlirValue *trueValue,
                                               MlirValue *falseValue);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_MLIR_CONTROLFLOW_H
