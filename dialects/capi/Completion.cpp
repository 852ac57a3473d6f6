//===- Completion.cpp - What asynchronous operations mean -----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/Completion.h"
#include "async/Async.h"
#include "async/AsyncInterfaces.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

#include <array>

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

namespace {

/// What all operations of a name have in common.
struct NameInfo {
  /// Null if there is no such name.
  const void *name = nullptr;
  /// Null if the operations take no part in asynchronous completion.
  const AsyncCompletionOpInterface::Concept *completion = nullptr;
  AsyncOptTokenOp tokenOp = ASYNC_OPT_TOKEN_OP_OTHER;
  bool mayBeTerminator = false;
};

/// Finds operations, with a small table of what their names say: to ask an
/// operation for an interface or a trait takes longer than all else.
class GroupOpFinder {
public:
  explicit GroupOpFinder(Type token) : token(token) {}

  /// Returns true if `op` has to do with groups, and says in what way.
  bool find(Operation *op, AsyncOptGroupOp &found);

private:
  const NameInfo &getInfo(Operation *op);
  bool hasToken(Operation *op) const;

  Type token;
  std::array<NameInfo, 64> names;
};

} // namespace

/// By name: where the passes are plugins, upstream has the dialect `async`.
static AsyncOptTokenOp getTokenOp(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name == AwaitOp::getOperationName())
    return ASYNC_OPT_TOKEN_OP_AWAIT;
  if (name == ReadyOp::getOperationName() || name == JoinOp::getOperationName())
    return ASYNC_OPT_TOKEN_OP_JOIN;
  return ASYNC_OPT_TOKEN_OP_OTHER;
}

const NameInfo &GroupOpFinder::getInfo(Operation *op) {
  const void *name = op->getName().getAsOpaquePointer();
  NameInfo &info = names[llvm::DenseMapInfo<const void *>::getHashValue(name) %
                         names.size()];
  if (info.name == name)
    return info;
  info.name = name;
  info.completion = op->getName().getInterface<AsyncCompletionOpInterface>();
  info.tokenOp = getTokenOp(op);
  info.mayBeTerminator = op->mightHaveTrait<OpTrait::IsTerminator>();
  return info;
}

bool GroupOpFinder::hasToken(Operation *op) const {
  auto isToken = [token = token](Type type) { return type == token; };
  return llvm::any_of(op->getResultTypes(), isToken) ||
         llvm::any_of(op->getOperandTypes(), isToken);
}

bool GroupOpFinder::find(Operation *op, AsyncOptGroupOp &found) {
  const NameInfo &info = getInfo(op);
  const auto *completion = info.completion;
  const GroupQueue *queue =
      completion ? completion->getGroupQueue(completion, op) : nullptr;
  bool isTerminator = info.mayBeTerminator && !op->getNextNode();
  found = {wrap(op),     {queue}, {nullptr},
           {nullptr},    0,       ASYNC_OPT_GROUP_EFFECT_NONE,
           info.tokenOp, false,   isTerminator};
  // They are on their way from memory when somebody looks into them.
  for (Region &region : op->getRegions())
    if (!region.empty())
      __builtin_prefetch(&region.front());
  if (!queue)
    return isTerminator || op->getNumRegions() > 0 || hasToken(op);
  GroupEffect effect = completion->getGroupEffect(completion, op);
  found.effect = static_cast<AsyncOptGroupEffect>(effect);
  if (op->getNumResults() > 0) {
    found.done = wrap(completion->getDoneToken(completion, op));
    found.read = wrap(completion->getReadToken(completion, op));
  }
  if (effect == GroupEffect::Wait) {
    found.pending = completion->getPendingGroups(completion, op);
    found.waitsForReads = completion->waitsForReads(completion, op);
  }
  return true;
}

/// Fetches an operation, its results, and most of its operands and properties,
/// which are next to each other.
static void prefetch(const Operation *op) {
  constexpr int lineSize = 64, numLines = 4;
  const char *line =
      reinterpret_cast<const char *>(op) - sizeof(mlir::detail::InlineOpResult);
  for (int i = 0; i < numLines; ++i)
    __builtin_prefetch(line + i * lineSize);
}

AsyncOptGroupOpFinder asyncOptGroupOpFinderCreate(MlirType token) {
  return {new GroupOpFinder(::unwrap(token))};
}

void asyncOptGroupOpFinderDestroy(AsyncOptGroupOpFinder finder) {
  delete static_cast<GroupOpFinder *>(finder.ptr);
}

intptr_t asyncOptGroupOpFinderFind(AsyncOptGroupOpFinder finder,
                                   MlirOperation first, intptr_t size,
                                   AsyncOptGroupOp *ops, MlirOperation *next) {
  auto *known = static_cast<GroupOpFinder *>(finder.ptr);
  intptr_t n = 0;
  Operation *op = ::unwrap(first);
  while (op && n < size) {
    Operation *after = op->getNextNode();
    // It is on its way from memory while this one is looked at.
    if (after)
      prefetch(after);
    if (known->find(op, ops[n]))
      ++n;
    op = after;
  }
  *next = wrap(op);
  return n;
}
