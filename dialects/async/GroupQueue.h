//===- GroupQueue.h - FIFOs of groups --------------------------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_ASYNC_GROUPQUEUE_H
#define ASYNC_OPT_ASYNC_GROUPQUEUE_H

#include "mlir/IR/Builders.h"

namespace async_opt::async {

/// A FIFO of groups of asynchronous operations. A commit makes one group of all
/// operations issued since the last commit; a wait blocks until at most so many
/// of the most recent groups are in flight.
///
/// A queue is known by its address and lives as long as the process.
class GroupQueue {
public:
  virtual ~GroupQueue();

  /// What messages call it, such as `cp_async`.
  virtual llvm::StringRef getName() const = 0;

  /// The most groups that a wait can leave in flight: up to 63.
  virtual unsigned getMaxPendingGroups() const = 0;

  /// True if a commit of no operations costs next to nothing, so that empty
  /// groups may make the counts of different paths equal.
  virtual bool hasFreeEmptyGroups() const { return true; }

  /// True if all threads of a warp have to commit together (`.sync.aligned`),
  /// so that no commit may be added to divergent code.
  virtual bool hasConvergentCommits() const { return false; }

  /// Builds a commit.
  virtual mlir::Operation *buildCommit(mlir::OpBuilder &builder,
                                       mlir::Location loc) const = 0;

  /// Builds a wait until at most `pending` groups are in flight; with `read`,
  /// until the others have read their sources.
  virtual mlir::Operation *buildWait(mlir::OpBuilder &builder,
                                     mlir::Location loc, unsigned pending,
                                     bool read) const = 0;
};

/// What an operation does to the groups of its queue.
enum class GroupEffect {
  /// Nothing.
  None,
  /// Issues an asynchronous operation, which joins the open group; or one that
  /// completes on an mbarrier, if it has no queue.
  Issue,
  /// Makes a group of what is open.
  Commit,
  /// Waits for groups.
  Wait,
};

/// Which threads execute an operation together.
enum class ExecutionScope { Thread, Warp, Warpgroup, Block };

} // namespace async_opt::async

#endif // ASYNC_OPT_ASYNC_GROUPQUEUE_H
