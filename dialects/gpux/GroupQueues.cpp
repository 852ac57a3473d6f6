//===- GroupQueues.cpp - The hardware's queues ---------------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"

using namespace mlir;
using namespace async_opt;
using namespace async_opt::gpux;

namespace {
class HardwareQueue final : public async_opt::async::GroupQueue {
public:
  explicit constexpr HardwareQueue(Queue queue) : queue(queue) {}

  StringRef getName() const final { return stringifyQueue(queue); }

  unsigned getMaxPendingGroups() const final {
    // DEPBAR has six bits for it, and WARPGROUP.DEPBAR three. `ptxas` takes
    // larger counts for the largest one, without a word.
    return queue == Queue::Wgmma ? 7 : 63;
  }

  bool hasFreeEmptyGroups() const final {
    // `ptxas` makes a dummy HGMMA of an empty group.
    return queue != Queue::Wgmma;
  }

  bool hasConvergentCommits() const final { return queue == Queue::Wgmma; }

  Operation *buildCommit(OpBuilder &builder, Location loc) const final {
    return CommitGroupOp::create(builder, loc, Type(), queue);
  }

  Operation *buildWait(OpBuilder &builder, Location loc, unsigned pending,
                       bool read) const final {
    return WaitGroupOp::create(builder, loc, queue, pending, read);
  }

private:
  Queue queue;
};
} // namespace

const async_opt::async::GroupQueue &
async_opt::gpux::getGroupQueue(Queue queue) {
  static const HardwareQueue cpAsync(Queue::CpAsync), bulk(Queue::Bulk),
      wgmma(Queue::Wgmma);
  switch (queue) {
  case Queue::CpAsync:
    return cpAsync;
  case Queue::Bulk:
    return bulk;
  case Queue::Wgmma:
    return wgmma;
  }
  llvm_unreachable("all queues are covered");
}

//===----------------------------------------------------------------------===//
// Operations of gpux
//===----------------------------------------------------------------------===//

using async_opt::async::ExecutionScope;
using async_opt::async::GroupEffect;
using async_opt::async::GroupQueue;

GroupEffect CopyOp::getGroupEffect() { return GroupEffect::Issue; }
const GroupQueue *CopyOp::getGroupQueue() {
  return &gpux::getGroupQueue(Queue::CpAsync);
}
Value CopyOp::getDoneToken() { return getToken(); }
Value CopyOp::getAsyncSource() { return getSrc(); }
Value CopyOp::getAsyncDestination() { return getDst(); }

GroupEffect CommitGroupOp::getGroupEffect() { return GroupEffect::Commit; }
const GroupQueue *CommitGroupOp::getGroupQueue() {
  return &gpux::getGroupQueue(getQueue());
}
Value CommitGroupOp::getDoneToken() { return getToken(); }

GroupEffect WaitGroupOp::getGroupEffect() { return GroupEffect::Wait; }
const GroupQueue *WaitGroupOp::getGroupQueue() {
  return &gpux::getGroupQueue(getQueue());
}
int64_t WaitGroupOp::getPendingGroups() { return getPending(); }
bool WaitGroupOp::waitsForReads() { return getRead(); }

// Block-wide operations: every thread executes the token form, and one thread
// the issued form.

static ExecutionScope scopeOf(bool isTokenForm) {
  return isTokenForm ? ExecutionScope::Block : ExecutionScope::Thread;
}

GroupEffect TmaLoadOp::getGroupEffect() { return GroupEffect::Issue; }
const GroupQueue *TmaLoadOp::getGroupQueue() { return nullptr; }
Value TmaLoadOp::getDoneToken() { return getToken(); }
Value TmaLoadOp::getAsyncDestination() { return getDst(); }
ExecutionScope TmaLoadOp::getExecutionScope() {
  return scopeOf(getToken() != nullptr);
}

GroupEffect BulkLoadOp::getGroupEffect() { return GroupEffect::Issue; }
const GroupQueue *BulkLoadOp::getGroupQueue() { return nullptr; }
Value BulkLoadOp::getDoneToken() { return getToken(); }
Value BulkLoadOp::getAsyncSource() { return getSrc(); }
Value BulkLoadOp::getAsyncDestination() { return getDst(); }
ExecutionScope BulkLoadOp::getExecutionScope() {
  return scopeOf(getToken() != nullptr);
}

GroupEffect TmaStoreOp::getGroupEffect() { return GroupEffect::Issue; }
const GroupQueue *TmaStoreOp::getGroupQueue() {
  return &gpux::getGroupQueue(Queue::Bulk);
}
Value TmaStoreOp::getDoneToken() { return getDone(); }
Value TmaStoreOp::getReadToken() { return getRead(); }
Value TmaStoreOp::getAsyncSource() { return getSrc(); }
ExecutionScope TmaStoreOp::getExecutionScope() {
  return scopeOf(!getTokens().empty());
}

GroupEffect BulkStoreOp::getGroupEffect() { return GroupEffect::Issue; }
const GroupQueue *BulkStoreOp::getGroupQueue() {
  return &gpux::getGroupQueue(Queue::Bulk);
}
Value BulkStoreOp::getDoneToken() { return getDone(); }
Value BulkStoreOp::getReadToken() { return getRead(); }
Value BulkStoreOp::getAsyncSource() { return getSrc(); }
Value BulkStoreOp::getAsyncDestination() { return getDst(); }
ExecutionScope BulkStoreOp::getExecutionScope() {
  return scopeOf(!getTokens().empty());
}

GroupEffect WgmmaOp::getGroupEffect() { return GroupEffect::Issue; }
const GroupQueue *WgmmaOp::getGroupQueue() {
  return &gpux::getGroupQueue(Queue::Wgmma);
}
Value WgmmaOp::getDoneToken() { return getToken(); }
SmallVector<Value, 2> WgmmaOp::getAsyncMatrices() {
  // A may be in registers.
  if (!isa<nvgpu::WarpgroupMatrixDescriptorType>(getA().getType()))
    return {getB()};
  return {getA(), getB()};
}
ExecutionScope WgmmaOp::getExecutionScope() {
  return ExecutionScope::Warpgroup;
}
