//===- Completion.h - What asynchronous operations mean ---------*- C -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_C_COMPLETION_H
#define ASYNCOPT_C_COMPLETION_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A FIFO of groups. It is known by its address and lives as long as the
/// process.
typedef struct AsyncOptGroupQueue {
  const void *ptr;
} AsyncOptGroupQueue;

MLIR_CAPI_EXPORTED MlirStringRef
asyncOptGroupQueueGetName(AsyncOptGroupQueue queue);

/// The most groups that a wait can leave in flight.
MLIR_CAPI_EXPORTED uint32_t
asyncOptGroupQueueGetMaxPendingGroups(AsyncOptGroupQueue queue);

/// True if a commit of no operations costs next to nothing.
MLIR_CAPI_EXPORTED bool
asyncOptGroupQueueHasFreeEmptyGroups(AsyncOptGroupQueue queue);

/// True if all threads of a warp have to commit together.
MLIR_CAPI_EXPORTED bool
asyncOptGroupQueueHasConvergentCommits(AsyncOptGroupQueue queue);

/// Builds a commit, detached.
MLIR_CAPI_EXPORTED MlirOperation
asyncOptGroupQueueBuildCommit(AsyncOptGroupQueue queue, MlirLocation location);

/// Builds a wait until at most `pending` groups are in flight, or with `read`
/// have not read their sources, detached.
MLIR_CAPI_EXPORTED MlirOperation
asyncOptGroupQueueBuildWait(AsyncOptGroupQueue queue, MlirLocation location,
                            uint32_t pending, bool read);

typedef enum AsyncOptGroupEffect {
  ASYNC_OPT_GROUP_EFFECT_NONE,
  ASYNC_OPT_GROUP_EFFECT_ISSUE,
  ASYNC_OPT_GROUP_EFFECT_COMMIT,
  ASYNC_OPT_GROUP_EFFECT_WAIT
} AsyncOptGroupEffect;

typedef enum AsyncOptExecutionScope {
  ASYNC_OPT_EXECUTION_SCOPE_THREAD,
  ASYNC_OPT_EXECUTION_SCOPE_WARP,
  ASYNC_OPT_EXECUTION_SCOPE_WARPGROUP,
  ASYNC_OPT_EXECUTION_SCOPE_BLOCK
} AsyncOptExecutionScope;

/// What `AsyncCompletionOpInterface` says of an operation.
typedef struct AsyncOptCompletion {
  AsyncOptGroupEffect effect;
  AsyncOptExecutionScope scope;
  /// Null if the operation completes on an mbarrier.
  AsyncOptGroupQueue queue;
  /// Null where there is none, like the values below.
  MlirValue done;
  MlirValue read;
  MlirValue source;
  /// Descriptors of matrices that are read asynchronously.
  MlirValue matrices[2];
  MlirValue destination;
  int64_t pending;
  bool waitsForReads;
} AsyncOptCompletion;

/// Returns false if `op` does not implement the interface.
MLIR_CAPI_EXPORTED bool
asyncOptOperationGetCompletion(MlirOperation op,
                               AsyncOptCompletion *completion);

/// Operations without a queue that tokens of groups go through.
typedef enum AsyncOptTokenOp {
  ASYNC_OPT_TOKEN_OP_AWAIT,
  /// Makes a token of others, perhaps of none.
  ASYNC_OPT_TOKEN_OP_JOIN,
  ASYNC_OPT_TOKEN_OP_OTHER
} AsyncOptTokenOp;

/// An operation that may have to do with groups, and what it does to its
/// queue; null if it has none.
typedef struct AsyncOptGroupOp {
  MlirOperation op;
  AsyncOptGroupQueue queue;
  /// Null where there is none.
  MlirValue done;
  MlirValue read;
  /// Of a wait, like `waitsForReads`.
  int64_t pending;
  AsyncOptGroupEffect effect;
  AsyncOptTokenOp tokenOp;
  bool waitsForReads;
  bool isTerminator;
} AsyncOptGroupOp;

/// Finds operations that have to do with groups. It remembers what it was told
/// of operations of a name, and must not outlive their context.
typedef struct AsyncOptGroupOpFinder {
  void *ptr;
} AsyncOptGroupOpFinder;

/// A finder for tokens of type `token`, to be destroyed.
MLIR_CAPI_EXPORTED AsyncOptGroupOpFinder
asyncOptGroupOpFinderCreate(MlirType token);

MLIR_CAPI_EXPORTED void
asyncOptGroupOpFinderDestroy(AsyncOptGroupOpFinder finder);

/// Finds the operations from `first` to the end of its block that have a queue,
/// regions, or operands or results that are tokens, and the terminator. Returns
/// their number, at most `size`, and in `next` the operation to go on with,
/// null at the end.
MLIR_CAPI_EXPORTED intptr_t asyncOptGroupOpFinderFind(
    AsyncOptGroupOpFinder finder, MlirOperation first, intptr_t size,
    AsyncOptGroupOp *ops, MlirOperation *next);

#ifdef __cplusplus
}
#endif

#endif // ASYNCOPT_C_COMPLETION_H
