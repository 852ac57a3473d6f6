//===- PendingPaths.h - What executes while a task is running ---*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_ASYNC_PENDINGPATHS_H
#define ASYNC_OPT_ASYNC_PENDINGPATHS_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace async_opt::async {

/// Returns true if bufferization writes to the buffer of `operand` itself.
bool isWriteInPlace(mlir::OpOperand &operand,
                    const mlir::bufferization::AnalysisState &state);

/// Where to look for the origins of what a task yields.
enum class Origins {
  /// In the task as well.
  Buffers,
  /// Nowhere: it is complete when the task's token is, whoever made it.
  Completion
};

/// Adds `value` to `origins` and every value from which it may have its buffer.
/// Two values may share a buffer only if they share an origin.
void addOrigins(mlir::Value value,
                const mlir::bufferization::AnalysisState &state,
                llvm::SetVector<mlir::Value> &origins,
                Origins kind = Origins::Buffers);

/// Returns true if the buffer of `value` may have one of `origins`.
bool sharesOrigin(mlir::Value value,
                  const llvm::SetVector<mlir::Value> &origins,
                  const mlir::bufferization::AnalysisState &state,
                  Origins kind = Origins::Buffers);

/// What may execute while an asynchronous operation is running: follows every
/// path from the operation to one that waits for its token. Along each path it
/// knows which tokens tell that the operation is complete, and which values
/// have been computed anew and have other buffers than those with `origins`.
class PendingPaths {
public:
  using Values = llvm::DenseSet<mlir::Value>;

  PendingPaths(mlir::Operation *pendingOp, mlir::Value token,
               const llvm::SetVector<mlir::Value> &origins,
               const mlir::bufferization::AnalysisState &state,
               Origins kind = Origins::Buffers);

  /// Operands where the operation may be running, each with the tokens that
  /// tell there that it is complete; in no order but that of operations before
  /// the operations nested in them.
  using Operands = llvm::MapVector<mlir::OpOperand *, Values>;

  /// Writes in place that may go to a buffer with one of the origins.
  Operands writes;

  /// What bufferization copies, where it may be a buffer with one of the
  /// origins. For completion also what crosses the border of a function, on the
  /// other side of which it may be copied.
  Operands copies;

  /// Terminators of functions that may return while the operation is running,
  /// and return no token that says so.
  llvm::SmallSetVector<mlir::Operation *, 2> exits;

private:
  /// What holds at a point of a path.
  struct Facts {
    /// When any of them is complete, so is the operation.
    Values tokens;
    /// They have other buffers than those that the operation accesses.
    Values others;
  };

  void push(mlir::Operation *from, Facts facts);
  void pushAfter(mlir::Operation *op, Facts facts);
  void push(mlir::RegionBranchOpInterface branchOp,
            const mlir::RegionSuccessor &successor, const Facts &facts,
            mlir::ValueRange operands);
  Facts forward(Facts facts, mlir::ValueRange inputs,
                mlir::ValueRange operands);
  void follow(mlir::Operation *op);
  void followLast(mlir::Operation *op, const Facts &facts);
  void followUnknown(mlir::Operation *root);
  void add(mlir::OpOperand &operand, Operands &found, const Facts &facts);
  void addAccesses(mlir::Operation *op, const Facts &facts);
  void addExit(mlir::Operation *op, const Facts &facts);
  void compute(mlir::Operation *op, Facts &facts);
  bool mayShare(mlir::Value value, const Facts &facts);

  mlir::Operation *pendingOp;
  const llvm::SetVector<mlir::Value> &origins;
  const mlir::bufferization::AnalysisState &state;
  Origins kind;
  llvm::SmallVector<mlir::Operation *> worklist;
  /// What is known at the start of each path.
  llvm::DenseMap<mlir::Operation *, Facts> known;
  /// For values, whether they share an origin.
  llvm::DenseMap<mlir::Value, bool> shares;
};

/// Makes a buffer like that of `value`, which needs no copies of its own; a
/// copy of it if `copy`.
llvm::FailureOr<mlir::Value>
makeBuffer(mlir::RewriterBase &rewriter, mlir::Location loc, mlir::Value value,
           bool copy, const mlir::bufferization::AnalysisState &state,
           const mlir::bufferization::BufferizationState &bufferState);

/// Inserts the copies that `op` needs because it may be running, and access its
/// buffers, until `token` is complete; awaits the token before copies of what
/// `op` yields. An external model of an asynchronous operation calls it to
/// resolve conflicts.
llvm::LogicalResult resolvePendingConflicts(
    mlir::Operation *op, mlir::Value token, mlir::RewriterBase &rewriter,
    const mlir::bufferization::AnalysisState &state,
    const mlir::bufferization::BufferizationState &bufferState);

} // namespace async_opt::async

#endif // ASYNC_OPT_ASYNC_PENDINGPATHS_H
