//===- Completion.cpp - What asynchronous operations mean -----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/Completion.h"
#include "async/AsyncInterfaces.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;
using namespace async_opt::async;

static_assert(static_cast<int>(GroupEffect::Wait) ==
              ASYNC_OPT_GROUP_EFFECT_WAIT);
static_assert(static_cast<int>(ExecutionScope::Block) ==
              ASYNC_OPT_EXECUTION_SCOPE_BLOCK);

static const GroupQueue &unwrap(AsyncOptGroupQueue queue) {
  return *static_cast<const GroupQueue *>(queue.ptr);
}

MlirStringRef asyncOptGroupQueueGetName(AsyncOptGroupQueue queue) {
  return wrap(unwrap(queue).getName());
}

uint32_t asyncOptGroupQueueGetMaxPendingGroups(AsyncOptGroupQueue queue) {
  return unwrap(queue).getMaxPendingGroups();
}

bool asyncOptGroupQueueHasFreeEmptyGroups(AsyncOptGroupQueue queue) {
  return unwrap(queue).hasFreeEmptyGroups();
}

bool asyncOptGroupQueueHasConvergentCommits(AsyncOptGroupQueue queue) {
  return unwrap(queue).hasConvergentCommits();
}

MlirOperation asyncOptGroupQueueBuildCommit(AsyncOptGroupQueue queue,
                                            MlirLocation location) {
  Location loc = ::unwrap(location);
  OpBuilder builder(loc.getContext());
  return wrap(unwrap(queue).buildCommit(builder, loc));
}

MlirOperation asyncOptGroupQueueBuildWait(AsyncOptGroupQueue queue,
                                          MlirLocation location,
                                          uint32_t pending, bool read) {
  Location loc = ::unwrap(location);
  OpBuilder builder(loc.getContext());
  return wrap(unwrap(queue).buildWait(builder, loc, pending, read));
}

bool asyncOptOperationGetCompletion(MlirOperation op,
                                    AsyncOptCompletion *completion) {
  auto interface = dyn_cast<AsyncCompletionOpInterface>(::unwrap(op));
  if (!interface)
    return false;
  completion->effect =
      static_cast<AsyncOptGroupEffect>(interface.getGroupEffect());
  completion->scope =
      static_cast<AsyncOptExecutionScope>(interface.getExecutionScope());
  completion->queue = {interface.getGroupQueue()};
  completion->done = wrap(interface.getDoneToken());
  completion->read = wrap(interface.getReadToken());
  completion->source = wrap(interface.getAsyncSource());
  SmallVector<Value, 2> matrices = interface.getAsyncMatrices();
  for (auto [i, matrix] : llvm::enumerate(completion->matrices))
    matrix = wrap(i < matrices.size() ? matrices[i] : Value());
  completion->destination = wrap(interface.getAsyncDestination());
  completion->pending = interface.getPendingGroups();
  completion->waitsForReads = interface.waitsForReads();
  return true;
}

intptr_t asyncOptFindGroupOps(MlirOperation first, MlirType token,
                              intptr_t size, AsyncOptGroupOp *ops,
                              MlirOperation *next) {
  auto isToken = [token = ::unwrap(token)](Type type) { return type == token; };
  intptr_t n = 0;
  Operation *op = ::unwrap(first);
  for (; op && n < size; op = op->getNextNode()) {
    auto interface = dyn_cast<AsyncCompletionOpInterface>(op);
    const GroupQueue *queue = interface ? interface.getGroupQueue() : nullptr;
    if (!queue) {
      if (op->getNumRegions() > 0 ||
          llvm::any_of(op->getResultTypes(), isToken) ||
          llvm::any_of(op->getOperandTypes(), isToken))
        ops[n++] = {wrap(op),  {nullptr}, {nullptr},
                    {nullptr}, 0,         ASYNC_OPT_GROUP_EFFECT_NONE,
                    false};
      continue;
    }
    ops[n++] = {wrap(op),
                {queue},
                wrap(interface.getDoneToken()),
                wrap(interface.getReadToken()),
                interface.getPendingGroups(),
                static_cast<AsyncOptGroupEffect>(interface.getGroupEffect()),
                interface.waitsForReads()};
  }
  *next = wrap(op);
  return n;
}
